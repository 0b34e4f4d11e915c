// Hello: the two state machines. A frame that does not fit the state is DATA_LOSS: there is only
// one order.

#include "wire/hello.h"

#include <stdio.h>

#include "base/bytes.h"

enum { REFUSAL_TEXT_BYTES_MAX = 2048 };

static const char host_label[] = "weft host 1", member_label[] = "weft member 1";
static const char refusal_label[] = "weft refusal 1";

// All parts but the last have a fixed size for each label, and no label begins another: two different
// sets of parts never make the same bytes.
static void make_proof(const struct secret *token, const char *label, const uint8_t *client_nonce,
                       const uint8_t *server_nonce, weft_bytes hello,
                       uint8_t proof[SECRET_MAC_BYTES])
{
    const weft_bytes parts[] = {
        {label, strlen(label)},
        {(const char *)client_nonce, HELLO_NONCE_BYTES},
        {(const char *)server_nonce, HELLO_NONCE_BYTES},
        hello,
    };
    secret_hmac(token, parts, sizeof parts / sizeof *parts, proof);
}

// Of a refusal: it may come before the host's nonce, and still answers this one client.
static void make_refusal_proof(const struct secret *token, const uint8_t *client_nonce,
                               uint32_t code, const char *text, uint8_t proof[SECRET_MAC_BYTES])
{
    const char number[] = {(char)code, (char)(code >> 8), (char)(code >> 16), (char)(code >> 24)};
    const weft_bytes parts[] = {
        {refusal_label, strlen(refusal_label)},
        {(const char *)client_nonce, HELLO_NONCE_BYTES},
        {number, sizeof number},
        {text, strlen(text)},
    };
    secret_hmac(token, parts, sizeof parts / sizeof *parts, proof);
}

static ProtobufCBinaryData field_of(const uint8_t *bytes, size_t size)
{
    return message_bytes((weft_bytes){(const char *)bytes, size});
}

// Copies a field of exactly `size` bytes.
static bool take_bytes(ProtobufCBinaryData field, uint8_t *to, size_t size)
{
    if (field.len != size)
        return false;
    memcpy(to, field.data, size);
    return true;
}

static bool take_text(const char *field, char *to, size_t to_size)
{
    const size_t size = strlen(field);
    if (size >= to_size)
        return false;
    memcpy(to, field, size + 1);
    return true;
}

// Texts of a peer are shown to people: characters that control a terminal are removed. A message
// may have several lines.
static void make_printable(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' ? *text != '\n' : *text == 127)
            *text = '?';
}

// A name or a version: it becomes part of a line, and must not begin another one, as in a log.
static void make_plain(char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
}

// ---- The member's side ----------------------------------------------------------------------------

static weft_err client_fail(struct hello_client *client, weft_err code)
{
    client->state = HELLO_CLIENT_FAILED;
    return code;
}

weft_err hello_client_start(struct hello_client *client, const struct hello *hello,
                            const struct secret *token, struct buf *out)
{
    ASSERT(client->state == HELLO_CLIENT_NEW);
    const size_t before = out->size;
    Weft__HostHello message = WEFT__HOST_HELLO__INIT;
    message.wire_version = WIRE_VERSION;
    message.version = (char *)WEFT_VERSION_TEXT;
    message.member = (char *)hello->member;
    message.incarnation = hello->incarnation;
    message.session = field_of(hello->session, sizeof hello->session);
    message.epoch = hello->epoch;
    message.resumes = hello->resumes;
    message.answers_received = hello->answers_received;
    message.life = hello->life;
    message.life_mark = hello->life_mark;
    message.session_number = hello->session_number;
    message.changes = hello->changes;
    message.nonce = field_of(hello->nonce, sizeof hello->nonce);
    message.expected_host = (char *)hello->expected_host;
    message.purpose = hello->purpose;
    message.target = hello->target;
    message.architecture = (char *)hello->architecture;
    const weft_err code = message_append(out, WEFT__FRAME_TYPE__FRAME_HOST_HELLO, &message.base);
    if (code != WEFT_OK)
        return client_fail(client, code);
    client->token = *token;
    memcpy(client->nonce, hello->nonce, sizeof client->nonce);
    memcpy(client->expected_host, hello->expected_host, sizeof client->expected_host);
    buf_append(&client->hello, out->data + before + FRAME_HEADER_BYTES,
               out->size - before - FRAME_HEADER_BYTES);
    if (client->hello.has_failed)
        return client_fail(client, err_no_memory("for a connection"));
    client->state = HELLO_CLIENT_GREETED;
    return WEFT_OK;
}

static bool is_refusal_proven(const struct hello_client *client, const Weft__HostRefused *refused)
{
    uint8_t shown[SECRET_MAC_BYTES], proof[SECRET_MAC_BYTES];
    make_refusal_proof(&client->token, client->nonce, refused->code, refused->text, proof);
    return take_bytes(refused->proof, shown, sizeof shown) &&
           secret_equal(shown, proof, sizeof shown);
}

static weft_err client_refused(struct hello_client *client, const struct frame *frame)
{
    Weft__HostRefused *refused = NULL;
    weft_err code = message_unpack(frame, &weft__host_refused__descriptor, &refused);
    if (code != WEFT_OK)
        return code;
    client->is_host_proven = client->is_host_proven || is_refusal_proven(client, refused);
    const uint32_t number = refused->code;
    const bool is_known =
        number != WEFT_OK && strcmp(weft_err_name((weft_err)number), "UNKNOWN") != 0;
    make_printable(refused->text);
    const char *text = refused->text[0] ? refused->text : "it gave no reason";
    // ABORTED and DATA_LOSS: the host has lost its state, which is not a refusal.
    const bool is_loss = number == WEFT_ABORTED || number == WEFT_DATA_LOSS;
    if (client->is_host_proven)
        code = err_set(is_known ? (weft_err)number : WEFT_UNKNOWN, "%s%s",
                       is_loss ? "" : "the host refused: ", text);
    else
        code = err_set(WEFT_UNAVAILABLE,
                       "a process that has not proven that it has the token refused: %s", text);
    message_free(refused);
    return code;
}

static weft_err client_challenged(struct hello_client *client, const struct frame *frame,
                                  struct buf *out)
{
    Weft__HostChallenge *challenge = NULL;
    Weft__HostProof answer = WEFT__HOST_PROOF__INIT;
    uint8_t nonce[HELLO_NONCE_BYTES], shown[SECRET_MAC_BYTES], proof[SECRET_MAC_BYTES];
    weft_err code = message_unpack(frame, &weft__host_challenge__descriptor, &challenge);
    if (code != WEFT_OK)
        return code;
    const bool is_whole = take_bytes(challenge->nonce, nonce, sizeof nonce) &&
                          take_bytes(challenge->proof, shown, sizeof shown);
    message_free(challenge);
    if (!is_whole)
        return err_set(WEFT_DATA_LOSS, "the host's challenge has nonces or proofs of a wrong size");
    const weft_bytes hello = buf_bytes(&client->hello);
    make_proof(&client->token, host_label, client->nonce, nonce, hello, proof);
    if (!secret_equal(proof, shown, sizeof proof))
        return err_set(
            WEFT_UNAUTHENTICATED,
            "the program there has another token than this one\n  try: give both the same "
            "one, by --token-file or WEFT_TOKEN; or another user's host is there");
    client->is_host_proven = true;
    make_proof(&client->token, member_label, client->nonce, nonce, hello, proof);
    answer.proof = field_of(proof, sizeof proof);
    client->state = HELLO_CLIENT_PROVEN;
    return message_append(out, WEFT__FRAME_TYPE__FRAME_HOST_PROOF, &answer.base);
}

static weft_err refuse_host(const char *expected, const char *found)
{
    return err_set(WEFT_FAILED_PRECONDITION,
                   "%.255s was expected at this address, but %.255s is there\n  try: look whether "
                   "the addresses of the cluster are those it was started with",
                   expected, found[0] ? found : "a host without a name");
}

static weft_err client_welcomed(struct hello_client *client, const struct frame *frame,
                                struct hello_welcome *welcome)
{
    Weft__HostWelcome *message = NULL;
    weft_err code = message_unpack(frame, &weft__host_welcome__descriptor, &message);
    if (code != WEFT_OK)
        return code;
    *welcome = (struct hello_welcome){
        .epoch = message->epoch,
        .applied = message->applied,
        .life = message->life,
        .life_mark = message->life_mark,
        .session_number = message->session_number,
    };
    if (!take_text(message->host, welcome->host, sizeof welcome->host))
        code = err_set(WEFT_DATA_LOSS, "the host's name is too long");
    else if (client->expected_host[0] && strcmp(client->expected_host, welcome->host) != 0)
        code = refuse_host(client->expected_host, welcome->host);
    else
        client->state = HELLO_CLIENT_DONE;
    message_free(message);
    return code;
}

weft_err hello_client_take(struct hello_client *client, const struct frame *frame, struct buf *out,
                           bool *is_done, struct hello_welcome *welcome)
{
    weft_err code;
    *is_done = false;
    const bool waits =
        client->state == HELLO_CLIENT_GREETED || client->state == HELLO_CLIENT_PROVEN;
    if (waits && frame->type == WEFT__FRAME_TYPE__FRAME_HOST_REFUSED)
        code = client_refused(client, frame);
    else if (client->state == HELLO_CLIENT_GREETED &&
             frame->type == WEFT__FRAME_TYPE__FRAME_HOST_CHALLENGE)
        code = client_challenged(client, frame, out);
    else if (client->state == HELLO_CLIENT_PROVEN &&
             frame->type == WEFT__FRAME_TYPE__FRAME_HOST_WELCOME)
        code = client_welcomed(client, frame, welcome);
    else
        code = err_set(WEFT_DATA_LOSS, "the other side sent a frame of type %d instead of a %s",
                       (int)frame->type,
                       client->state == HELLO_CLIENT_GREETED ? "challenge" : "welcome");
    *is_done = code == WEFT_OK && client->state == HELLO_CLIENT_DONE;
    return code == WEFT_OK ? WEFT_OK : client_fail(client, code);
}

void hello_client_fini(struct hello_client *client)
{
    secret_clear(&client->token);
    buf_fini(&client->hello);
}

// ---- The host's side ------------------------------------------------------------------------------

void hello_server_init(struct hello_server *server, const struct secret *token,
                       const uint8_t nonce[HELLO_NONCE_BYTES], const char *member)
{
    *server = (struct hello_server){.token = token};
    memcpy(server->nonce, nonce, sizeof server->nonce);
    snprintf(server->member, sizeof server->member, "%s", member);
}

weft_err hello_server_refuse(struct hello_server *server, weft_err code, const char *sentence,
                             struct buf *out)
{
    ASSERT(server->state != HELLO_SERVER_DONE);
    char text[REFUSAL_TEXT_BYTES_MAX];
    uint8_t proof[SECRET_MAC_BYTES];
    Weft__HostRefused message = WEFT__HOST_REFUSED__INIT;
    snprintf(text, sizeof text, "%s", sentence);
    message.code = (uint32_t)code;
    message.text = text;
    if (server->has_nonce) {
        make_refusal_proof(server->token, server->hello.nonce, message.code, text, proof);
        message.proof = field_of(proof, sizeof proof);
    }
    server->state = HELLO_SERVER_REFUSED;
    return message_append(out, WEFT__FRAME_TYPE__FRAME_HOST_REFUSED, &message.base);
}

// Sends this thread's message to the client, and returns the code.
static weft_err server_fail(struct hello_server *server, weft_err code, struct buf *out)
{
    char sentence[ERR_TEXT_BYTES_MAX];
    snprintf(sentence, sizeof sentence, "%s", err_text());
    const weft_err appended = hello_server_refuse(server, code, sentence, out);
    return appended == WEFT_OK ? err_set(code, "%s", sentence) : appended;
}

static weft_err read_hello(struct hello *hello, const Weft__HostHello *message)
{
    hello->incarnation = message->incarnation;
    hello->epoch = message->epoch;
    hello->resumes = message->resumes;
    hello->answers_received = message->answers_received;
    hello->life = message->life;
    hello->life_mark = message->life_mark;
    hello->session_number = message->session_number;
    hello->changes = message->changes;
    hello->purpose = message->purpose;
    hello->target = message->target;
    const bool is_whole =
        take_bytes(message->session, hello->session, sizeof hello->session) &&
        take_bytes(message->nonce, hello->nonce, sizeof hello->nonce) &&
        take_text(message->member, hello->member, sizeof hello->member) &&
        take_text(message->expected_host, hello->expected_host, sizeof hello->expected_host) &&
        take_text(message->architecture, hello->architecture, sizeof hello->architecture);
    return is_whole ? WEFT_OK
                    : err_set(WEFT_DATA_LOSS, "the member's hello has fields of a wrong size");
}

// If a hello has another version, only these two fields and the nonce can be relied on.
static weft_err check_version(struct hello *hello, Weft__HostHello *message)
{
    make_plain(message->version);
    snprintf(hello->version, sizeof hello->version, "%.31s", message->version);
    hello->wire_version = message->wire_version;
    if (hello->wire_version == WIRE_VERSION)
        return WEFT_OK;
    return err_set(WEFT_FAILED_PRECONDITION,
                   "the member is weft %s and speaks wire version %u, the host is weft %s and "
                   "speaks version %d\n  try: run the same version on both sides",
                   hello->version, hello->wire_version, WEFT_VERSION_TEXT, WIRE_VERSION);
}

static weft_err server_greeted(struct hello_server *server, const struct frame *frame,
                               struct buf *out)
{
    Weft__HostHello *message = NULL;
    weft_err code = message_unpack(frame, &weft__host_hello__descriptor, &message);
    if (code != WEFT_OK)
        return code;
    server->has_nonce = take_bytes(message->nonce, server->hello.nonce, sizeof server->hello.nonce);
    code = check_version(&server->hello, message);
    if (code == WEFT_OK)
        code = read_hello(&server->hello, message);
    message_free(message);
    if (code != WEFT_OK)
        return code;
    uint8_t proof[SECRET_MAC_BYTES];
    const uint8_t *theirs = server->hello.nonce, *ours = server->nonce;
    make_proof(server->token, host_label, theirs, ours, frame->payload, proof);
    make_proof(server->token, member_label, theirs, ours, frame->payload, server->expected_proof);
    Weft__HostChallenge challenge = WEFT__HOST_CHALLENGE__INIT;
    challenge.nonce = field_of(ours, HELLO_NONCE_BYTES);
    challenge.proof = field_of(proof, sizeof proof);
    server->state = HELLO_SERVER_CHALLENGED;
    return message_append(out, WEFT__FRAME_TYPE__FRAME_HOST_CHALLENGE, &challenge.base);
}

static weft_err server_proven(struct hello_server *server, const struct frame *frame)
{
    Weft__HostProof *message = NULL;
    uint8_t shown[SECRET_MAC_BYTES];
    const weft_err code = message_unpack(frame, &weft__host_proof__descriptor, &message);
    if (code != WEFT_OK)
        return code;
    const bool is_whole = take_bytes(message->proof, shown, sizeof shown);
    message_free(message);
    if (!is_whole || !secret_equal(shown, server->expected_proof, sizeof shown))
        return err_set(
            WEFT_UNAUTHENTICATED,
            "the program that connects has another token than this one\n  try: give both the same one, "
            "by --token-file or WEFT_TOKEN");
    if (server->hello.expected_host[0] &&
        strcmp(server->hello.expected_host, server->member) != 0) {
        make_plain(server->hello.expected_host);
        return refuse_host(server->hello.expected_host, server->member);
    }
    server->state = HELLO_SERVER_PROVEN;
    return WEFT_OK;
}

weft_err hello_server_take(struct hello_server *server, const struct frame *frame, struct buf *out)
{
    weft_err code;
    if (frame->payload.size > HELLO_FRAME_BYTES_MAX)
        code = err_set(WEFT_DATA_LOSS,
                       "a frame of %zu bytes is too large before the proof, at most %d",
                       frame->payload.size, HELLO_FRAME_BYTES_MAX);
    else if (server->state == HELLO_SERVER_WAITS &&
             frame->type == WEFT__FRAME_TYPE__FRAME_HOST_HELLO)
        code = server_greeted(server, frame, out);
    else if (server->state == HELLO_SERVER_CHALLENGED &&
             frame->type == WEFT__FRAME_TYPE__FRAME_HOST_PROOF)
        code = server_proven(server, frame);
    else
        code = err_set(WEFT_DATA_LOSS, "the other side sent a frame of type %d instead of a %s",
                       (int)frame->type, server->state == HELLO_SERVER_WAITS ? "hello" : "proof");
    return code == WEFT_OK ? WEFT_OK : server_fail(server, code, out);
}

weft_err hello_server_welcome(struct hello_server *server, const struct hello_welcome *welcome,
                              struct buf *out)
{
    ASSERT(server->state == HELLO_SERVER_PROVEN);
    Weft__HostWelcome message = WEFT__HOST_WELCOME__INIT;
    message.epoch = welcome->epoch;
    message.applied = welcome->applied;
    message.life = welcome->life;
    message.life_mark = welcome->life_mark;
    message.session_number = welcome->session_number;
    message.host = server->member;
    const weft_err code = message_append(out, WEFT__FRAME_TYPE__FRAME_HOST_WELCOME, &message.base);
    if (code == WEFT_OK)
        server->state = HELLO_SERVER_DONE;
    return code;
}
