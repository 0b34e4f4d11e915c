// Frames of Hadoop's remote calls.

#include "wire/hadoop/rpc_frame.h"

#include <stdio.h>

#include "wire/hadoop.pb-c.h"

enum { KIND_PROTOBUF = 2, OP_WHOLE = 0, CALL_CONTEXT = -3, STATUS_FATAL = 2 };
enum { SASL_SUCCESS = 0, SASL_NEGOTIATE = 1, SASL_INITIATE = 2 };

// Room for the size of a frame, which is known at its end.
static size_t begin_frame(struct buf *out)
{
    const size_t at = out->size;
    buf_append(out, "\0\0\0\0", RPC_SIZE_BYTES);
    return at;
}

static void end_frame(struct buf *out, size_t at)
{
    if (out->has_failed)
        return;
    const uint32_t size = (uint32_t)(out->size - at - RPC_SIZE_BYTES);
    for (int i = 0; i < RPC_SIZE_BYTES; i++)
        out->data[at + (size_t)i] = (char)(size >> (24 - 8 * i));
}

static void write_header(struct buf *out, const struct rpc_names *names, int32_t call,
                         int32_t retry_count)
{
    Hadoop__CallHeader header = HADOOP__CALL_HEADER__INIT;
    header.rpc_kind = KIND_PROTOBUF;
    header.rpc_op = OP_WHOLE;
    header.call = call;
    if (names)
        header.client = (ProtobufCBinaryData){RPC_CLIENT_BYTES, (uint8_t *)names->client};
    header.has_retry_count = true;
    header.retry_count = retry_count;
    delimited_write(out, &header.base);
}

void rpc_write_hello(struct buf *out, const struct rpc_names *names)
{
    static const char simple[] = {'h', 'r', 'p', 'c', 9, 0, 0};
    buf_append(out, simple, sizeof simple);
    rpc_write_context(out, names);
}

void rpc_write_context(struct buf *out, const struct rpc_names *names)
{
    Hadoop__UserInfo user = HADOOP__USER_INFO__INIT;
    Hadoop__ConnectionContext context = HADOOP__CONNECTION_CONTEXT__INIT;
    user.effective_user = (char *)names->user;
    context.user = &user;
    context.protocol = (char *)names->protocol;
    const size_t at = begin_frame(out);
    write_header(out, names, CALL_CONTEXT, -1);
    delimited_write(out, &context.base);
    end_frame(out, at);
}

void rpc_write_call(struct buf *out, const struct rpc_names *names, const char *method,
                    int32_t call, int32_t retry_count, const ProtobufCMessage *message)
{
    Hadoop__CallName name = HADOOP__CALL_NAME__INIT;
    name.method = (char *)method;
    name.protocol = (char *)names->protocol;
    name.version = 1;
    const size_t at = begin_frame(out);
    write_header(out, names, call, retry_count);
    delimited_write(out, &name.base);
    delimited_write(out, message);
    end_frame(out, at);
}

// ---- Logins -------------------------------------------------------------------------------------------------

static void write_sasl(struct buf *out, const Hadoop__Sasl *sasl)
{
    const size_t at = begin_frame(out);
    write_header(out, NULL, RPC_CALL_SASL, -1);
    delimited_write(out, &sasl->base);
    end_frame(out, at);
}

void rpc_write_negotiate(struct buf *out)
{
    static const char by_token[] = {'h', 'r', 'p', 'c', 9, 0, (char)0xdf};
    Hadoop__Sasl sasl = HADOOP__SASL__INIT;
    sasl.state = SASL_NEGOTIATE;
    buf_append(out, by_token, sizeof by_token);
    write_sasl(out, &sasl);
}

static Hadoop__SaslMethod *find_method(const Hadoop__Sasl *sasl, const char *method)
{
    for (size_t i = 0; i < sasl->n_methods; i++)
        if (strcmp(sasl->methods[i]->method, method) == 0)
            return sasl->methods[i];
    return NULL;
}

static weft_err refuse_methods(const Hadoop__Sasl *sasl)
{
    if (find_method(sasl, "KERBEROS"))
        return err_set(WEFT_UNIMPLEMENTED,
                       "the service asks for Kerberos, which Weft does not speak yet");
    return err_set(WEFT_UNIMPLEMENTED, "the service does not let tokens in");
}

static weft_err append_login(Hadoop__SaslMethod *method, const struct hadoop_token *token,
                             const char *nonce, struct buf *out, char expected[DIGEST_TEXT_BYTES])
{
    struct buf user = {0}, password = {0}, uri = {0}, text = {0};
    const weft_bytes challenge = {(const char *)method->challenge.data, method->challenge.len};
    Hadoop__Sasl sasl = HADOOP__SASL__INIT;
    digest_append_base64(&user, token->identifier);
    digest_append_base64(&password, token->password);
    buf_format(&uri, "%s/%s", method->protocol ? method->protocol : "",
               method->server ? method->server : "");
    const struct digest_login login = {buf_text(&user), buf_text(&password), buf_text(&uri), nonce};
    const weft_err err = user.has_failed || password.has_failed || uri.has_failed
                             ? err_no_memory("for a login")
                             : digest_answer(&login, challenge, &text, expected);
    sasl.state = SASL_INITIATE;
    sasl.has_token = true;
    sasl.token = (ProtobufCBinaryData){text.size, (uint8_t *)text.data};
    sasl.n_methods = 1;
    sasl.methods = &method;
    method->has_challenge =
        false;  // the server looks for this entry among those that it has offered
    if (!err)
        write_sasl(out, &sasl);
    buf_fini(&user);
    buf_fini(&password);
    buf_fini(&uri);
    buf_fini(&text);
    return err;
}

weft_err rpc_answer_login(weft_bytes message, const struct hadoop_token *token, const char *nonce,
                          struct buf *out, char expected[DIGEST_TEXT_BYTES], bool *is_done)
{
    ProtobufCMessage *unpacked;
    weft_err err = delimited_read(&message, &hadoop__sasl__descriptor, &unpacked);
    if (err)
        return err;
    const Hadoop__Sasl *sasl = (const Hadoop__Sasl *)unpacked;
    Hadoop__SaslMethod *method = find_method(sasl, "TOKEN");
    *is_done = sasl->state == SASL_SUCCESS;
    if (!*is_done && sasl->state != SASL_NEGOTIATE)
        err = err_set(WEFT_DATA_LOSS, "the service answers a login out of order");
    else if (!*is_done && !method)
        err = refuse_methods(sasl);
    else if (!*is_done && strcmp(method->mechanism, "DIGEST-MD5") != 0)
        err = err_set(WEFT_UNIMPLEMENTED,
                      "the service wants logins by %.40s, and Weft knows DIGEST-MD5",
                      method->mechanism);
    else if (!*is_done)
        err = append_login(method, token, nonce, out, expected);
    protobuf_c_message_free_unpacked(unpacked, NULL);
    return err;
}

weft_err rpc_check_login(weft_bytes message, const char expected[DIGEST_TEXT_BYTES])
{
    static const char name[] = "rspauth=";
    ProtobufCMessage *unpacked;
    const weft_err err = delimited_read(&message, &hadoop__sasl__descriptor, &unpacked);
    if (err)
        return err;
    const Hadoop__Sasl *sasl = (const Hadoop__Sasl *)unpacked;
    const bool is_known =
        sasl->state == SASL_SUCCESS && sasl->has_token &&
        sasl->token.len == strlen(name) + DIGEST_TEXT_BYTES - 1 &&
        memcmp(sasl->token.data, name, strlen(name)) == 0 &&
        memcmp(sasl->token.data + strlen(name), expected, DIGEST_TEXT_BYTES - 1) == 0;
    protobuf_c_message_free_unpacked(unpacked, NULL);
    return is_known
               ? WEFT_OK
               : err_set(WEFT_UNAUTHENTICATED, "the service does not know the secret of our token");
}

// ---- Answers ------------------------------------------------------------------------------------------------

weft_err rpc_read_size(const char bytes[RPC_SIZE_BYTES], uint32_t *size)
{
    *size = 0;
    if (memcmp(bytes, "HTTP", RPC_SIZE_BYTES) == 0)
        return err_set(WEFT_DATA_LOSS, "a web server answers there, not Hadoop's remote calls");
    for (int i = 0; i < RPC_SIZE_BYTES; i++)
        *size = *size << 8 | (uint8_t)bytes[i];
    if (*size == UINT32_MAX)
        return err_set(WEFT_DATA_LOSS, "a Hadoop answers there that speaks another version of "
                                       "remote calls (Weft speaks 9: Hadoop 2 and 3)");
    if (*size == 0 || *size > RPC_ANSWER_BYTES_MAX)
        return err_set(WEFT_DATA_LOSS, "no answer of Hadoop's remote calls");
    return WEFT_OK;
}

static const char *last_name(const char *name)
{
    for (const char *at = name; *at; at++)
        if (*at == '.' || *at == '$')
            name = at + 1;
    return name;
}

weft_err rpc_exception_code(const char *exception)
{
    static const struct {
        const char *name;
        weft_err code;
    } known[] = {
        {"FileNotFoundException", WEFT_NOT_FOUND},
        {"AccessControlException", WEFT_PERMISSION_DENIED},
        {"AuthorizationException", WEFT_PERMISSION_DENIED},
        {"InvalidToken", WEFT_UNAUTHENTICATED},
        {"SaslException", WEFT_UNAUTHENTICATED},
        {"FileAlreadyExistsException", WEFT_ALREADY_EXISTS},
        {"PathIsNotEmptyDirectoryException", WEFT_FAILED_PRECONDITION},
        {"ParentNotDirectoryException", WEFT_FAILED_PRECONDITION},
        {"InvalidPathException", WEFT_INVALID_ARGUMENT},
        {"RpcNoSuchMethodException", WEFT_UNIMPLEMENTED},
        {"RpcNoSuchProtocolException", WEFT_UNIMPLEMENTED},
        {"StandbyException", WEFT_UNAVAILABLE},
        {"RetriableException", WEFT_UNAVAILABLE},
        {"SafeModeException", WEFT_UNAVAILABLE},
        {"QuotaExceededException", WEFT_RESOURCE_EXHAUSTED},
        {"DSQuotaExceededException", WEFT_RESOURCE_EXHAUSTED},
        {"NSQuotaExceededException", WEFT_RESOURCE_EXHAUSTED},
        {"ApplicationNotFoundException", WEFT_NOT_FOUND},
        {"ApplicationAttemptNotFoundException", WEFT_NOT_FOUND},
        {"ApplicationMasterNotRegisteredException", WEFT_FAILED_PRECONDITION},
        {"InvalidApplicationMasterRequestException", WEFT_FAILED_PRECONDITION},
        {"InvalidResourceRequestException", WEFT_INVALID_ARGUMENT},
        {"InvalidLabelResourceRequestException", WEFT_INVALID_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, exception) == 0)
            return known[i].code;
    return WEFT_UNKNOWN;
}

// The first line of Hadoop's words; a Java stack may follow, and words may have any bytes.
static weft_err tell(struct rpc_answer *answer, const Hadoop__AnswerHeader *header)
{
    char sentence[400];
    const char *text = header->text ? header->text : "";
    size_t size = 0;
    while (size + 1 < sizeof sentence && (unsigned char)text[size] >= ' ' && text[size] != 0x7f) {
        sentence[size] = text[size];
        size++;
    }
    sentence[size] = 0;
    snprintf(answer->exception, sizeof answer->exception, "%s",
             last_name(header->exception ? header->exception : "failure"));
    for (char *at = answer->exception; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = '?';
    return err_set(rpc_exception_code(answer->exception), "%s%s%s", answer->exception,
                   size ? ": " : "", sentence);
}

weft_err rpc_read_answer(weft_bytes frame, struct rpc_answer *answer)
{
    ProtobufCMessage *message;
    *answer = (struct rpc_answer){0};
    const weft_err code = delimited_read(&frame, &hadoop__answer_header__descriptor, &message);
    if (code != WEFT_OK)
        return code;
    const Hadoop__AnswerHeader *header = (const Hadoop__AnswerHeader *)message;
    answer->call = (int32_t)header->call;
    answer->is_fatal = header->status >= STATUS_FATAL;
    answer->code = header->status ? tell(answer, header) : WEFT_OK;
    answer->message = frame;
    protobuf_c_message_free_unpacked(message, NULL);
    return WEFT_OK;
}
