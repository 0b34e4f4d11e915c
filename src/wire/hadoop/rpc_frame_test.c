// Tests of the bytes of Hadoop's remote calls: those that its own daemons accept and send.
#include "wire/hadoop/rpc_frame.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "wire/hadoop.pb-c.h"

static const struct rpc_names names = {
    .protocol = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB",
    .user = "al",
    .client = "ABCDEFGHIJKLMNOP",
};

#define CLIENT "ABCDEFGHIJKLMNOP"
#define PROTOCOL "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"

static void expect(struct buf *out, const char *bytes, size_t size)
{
    assert_false(out->has_failed);
    assert_int_equal(out->size, size);
    assert_memory_equal(out->data, bytes, size);
    buf_fini(out);
}

static void a_connection_begins_as_hadoop_expects(void **state)
{
    (void)state;
    static const char bytes[] =
        "hrpc\x09\x00\x00"
        "\x00\x00\x00\x5a\x1a\x08\x02\x10\x00\x18\x05\x22\x10" CLIENT "\x28\x01\x3e\x12\x04\x0a\x02"
        "al\x1a\x36" PROTOCOL;
    struct buf out = {0};
    rpc_write_hello(&out, &names);
    expect(&out, bytes, sizeof bytes - 1);
}

static void a_call_names_its_method_and_protocol(void **state)
{
    (void)state;
    static const char bytes[] =
        "\x00\x00\x00\x6a\x1a\x08\x02\x10\x00\x18\x00\x22\x10" CLIENT
        "\x28\x00\x4d\x0a\x11getNewApplication\x12\x36" PROTOCOL "\x18\x01\x00";
    struct buf out = {0};
    const Hadoop__Done empty = HADOOP__DONE__INIT;
    rpc_write_call(&out, &names, "getNewApplication", 0, 0, &empty.base);
    expect(&out, bytes, sizeof bytes - 1);
}

static weft_bytes bytes_of(const char *data, size_t size)
{
    return (weft_bytes){data, size};
}

static void a_good_answer_is_passed_on(void **state)
{
    (void)state;
    struct rpc_answer answer;
    static const char bytes[] = "\x06\x08\x07\x10\x00\x18\x09\x02\x08\x01";
    assert_int_equal(rpc_read_answer(bytes_of(bytes, sizeof bytes - 1), &answer), WEFT_OK);
    assert_int_equal(answer.call, 7);
    assert_int_equal(answer.code, WEFT_OK);
    assert_false(answer.is_fatal);
    ProtobufCMessage *message;
    assert_int_equal(delimited_read(&answer.message, &hadoop__done__descriptor, &message), WEFT_OK);
    assert_true(((Hadoop__Done *)message)->result);
    protobuf_c_message_free_unpacked(message, NULL);
}

// The header of a failure.
static weft_err read_failure(const char *exception, const char *text, uint32_t status,
                             struct rpc_answer *answer)
{
    Hadoop__AnswerHeader header = HADOOP__ANSWER_HEADER__INIT;
    struct buf out = {0};
    header.has_call = header.has_status = true;
    header.call = (uint32_t)-33;
    header.status = status;
    header.exception = (char *)exception;
    header.text = (char *)text;
    delimited_write(&out, &header.base);
    const weft_err code = rpc_read_answer(buf_bytes(&out), answer);
    buf_fini(&out);
    return code;
}

static void failures_have_a_code_and_their_first_line(void **state)
{
    (void)state;
    static const struct {
        const char *exception;
        weft_err code;
    } cases[] = {
        {"java.io.FileNotFoundException", WEFT_NOT_FOUND},
        {"org.apache.hadoop.ipc.StandbyException", WEFT_UNAVAILABLE},
        {"org.apache.hadoop.security.token.SecretManager$InvalidToken", WEFT_UNAUTHENTICATED},
        {"org.apache.hadoop.security.AccessControlException", WEFT_PERMISSION_DENIED},
        {"org.apache.hadoop.fs.FileAlreadyExistsException", WEFT_ALREADY_EXISTS},
        {"javax.security.sasl.SaslException", WEFT_UNAUTHENTICATED},
        {"org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException", WEFT_NOT_FOUND},
        {"java.lang.NullPointerException", WEFT_UNKNOWN},
        {NULL, WEFT_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rpc_answer answer;
        assert_int_equal(read_failure(cases[i].exception, "words\n\tat java.lang", 1, &answer),
                         WEFT_OK);
        assert_int_equal(answer.code, cases[i].code);
        assert_int_equal(answer.call, -33);
        assert_false(answer.is_fatal);
        assert_non_null(strstr(err_text(), ": words"));
        assert_null(strstr(err_text(), "java.lang"));
    }
    struct rpc_answer answer;
    assert_int_equal(read_failure("a.B", NULL, 2, &answer), WEFT_OK);
    assert_true(answer.is_fatal);
    assert_string_equal(answer.exception, "B");
}

static void words_of_a_stranger_do_not_reach_the_terminal_as_they_are(void **state)
{
    (void)state;
    struct rpc_answer answer;
    assert_int_equal(read_failure("a.\x1b[31mB", "x\x1b[2Jy", 1, &answer), WEFT_OK);
    assert_null(strchr(err_text(), 0x1b));
}

static void who_is_not_hadoop_is_told_from_it(void **state)
{
    (void)state;
    uint32_t size;
    assert_int_equal(rpc_read_size("HTTP", &size), WEFT_DATA_LOSS);
    assert_non_null(strstr(err_text(), "web server"));
    assert_int_equal(rpc_read_size("\xff\xff\xff\xff", &size), WEFT_DATA_LOSS);
    assert_non_null(strstr(err_text(), "version"));
    assert_int_equal(rpc_read_size("\x7f\x00\x00\x00", &size), WEFT_DATA_LOSS);
    assert_int_equal(rpc_read_size("\x00\x00\x00\x00", &size), WEFT_DATA_LOSS);
    assert_int_equal(rpc_read_size("\x00\x00\x01\x02", &size), WEFT_OK);
    assert_int_equal(size, 258);
    err_clear();
}

static void an_answer_that_is_cut_off_is_refused(void **state)
{
    (void)state;
    struct rpc_answer answer;
    static const char bytes[] = "\x06\x08\x07\x10\x00\x18\x09";
    for (size_t size = 0; size + 1 < sizeof bytes; size++)
        assert_int_equal(rpc_read_answer(bytes_of(bytes, size), &answer), WEFT_DATA_LOSS);
    assert_int_equal(rpc_read_answer(bytes_of("\xff\xff\xff\xff\xff", 5), &answer), WEFT_DATA_LOSS);
    err_clear();
}

// ---- Logins -------------------------------------------------------------------------------------------------

static void a_login_begins_as_hadoop_expects(void **state)
{
    (void)state;
    static const char bytes[] = "hrpc\x09\x00\xdf"
                                "\x00\x00\x00\x0e\x0a\x08\x02\x10\x00\x18\x41\x22\x00\x28\x01"
                                "\x02\x10\x01";
    struct buf out = {0};
    rpc_write_negotiate(&out);
    expect(&out, bytes, sizeof bytes - 1);
}

static void who_logs_in_by_a_token_names_no_user(void **state)
{
    (void)state;
    static const char bytes[] = "\x00\x00\x00\x56\x1a\x08\x02\x10\x00\x18\x05\x22\x10" CLIENT
                                "\x28\x01\x3a\x12\x00\x1a\x36" PROTOCOL;
    const struct rpc_names no_user = {.protocol = PROTOCOL, .client = "ABCDEFGHIJKLMNOP"};
    struct buf out = {0};
    rpc_write_context(&out, &no_user);
    expect(&out, bytes, sizeof bytes - 1);
}

static const struct hadoop_token token = {.identifier = {"id", 2}, .password = {"pass", 4}};

// The message of a server that offers one method.
static weft_err answer_offer(const char *method, const char *mechanism, const char *challenge,
                             struct buf *out, bool *is_done)
{
    char expected[DIGEST_TEXT_BYTES];
    struct buf message = {0};
    Hadoop__Sasl sasl = HADOOP__SASL__INIT;
    Hadoop__SaslMethod offered = HADOOP__SASL_METHOD__INIT, *methods[] = {&offered};
    sasl.state = 1;
    sasl.n_methods = 1;
    sasl.methods = methods;
    offered.method = (char *)method;
    offered.mechanism = (char *)mechanism;
    offered.protocol = (char *)"";
    offered.server = (char *)"default";
    offered.has_challenge = true;
    offered.challenge = (ProtobufCBinaryData){strlen(challenge), (uint8_t *)challenge};
    delimited_write(&message, &sasl.base);
    const weft_err err =
        rpc_answer_login(buf_bytes(&message), &token, "cn", out, expected, is_done);
    buf_fini(&message);
    return err;
}

#define CHALLENGE "realm=\"default\",nonce=\"n\",qop=\"auth\",charset=utf-8,algorithm=md5-sess"

static void the_offered_method_comes_back_without_its_challenge(void **state)
{
    (void)state;
    static const char method[] = "\x22\x1e\x0a\x05TOKEN\x12\x0a"
                                 "DIGEST-MD5\x1a\x00\x22\x07"
                                 "default";
    struct buf out = {0};
    bool is_done = true;
    assert_int_equal(answer_offer("TOKEN", "DIGEST-MD5", CHALLENGE, &out, &is_done), WEFT_OK);
    assert_false(is_done);
    assert_true(out.size > sizeof method);
    assert_memory_equal(out.data + out.size - (sizeof method - 1), method, sizeof method - 1);
    assert_non_null(memmem(out.data, out.size, "username=\"aWQ=\"", 15));
    assert_non_null(memmem(out.data, out.size, "digest-uri=\"/default\"", 21));
    buf_fini(&out);
}

static void a_service_that_takes_no_token_is_told_apart(void **state)
{
    (void)state;
    struct buf out = {0};
    bool is_done;
    assert_int_equal(answer_offer("KERBEROS", "GSSAPI", "", &out, &is_done), WEFT_UNIMPLEMENTED);
    assert_non_null(strstr(err_text(), "Kerberos"));
    assert_int_equal(answer_offer("SIMPLE", "", "", &out, &is_done), WEFT_UNIMPLEMENTED);
    assert_int_equal(answer_offer("TOKEN", "SCRAM", "", &out, &is_done), WEFT_UNIMPLEMENTED);
    assert_int_equal(answer_offer("TOKEN", "DIGEST-MD5", "", &out, &is_done), WEFT_DATA_LOSS);
    assert_int_equal(
        rpc_answer_login(bytes_of("\x02\x10\x00", 3), &token, "cn", &out, NULL, &is_done), WEFT_OK);
    assert_true(is_done);
    assert_int_equal(
        rpc_answer_login(bytes_of("\x02\x10\x05", 3), &token, "cn", &out, NULL, &is_done),
        WEFT_DATA_LOSS);
    assert_int_equal(out.size, 0);
    buf_fini(&out);
    err_clear();
}

static void a_server_without_the_password_is_refused(void **state)
{
    (void)state;
    static const char expected[] = "0123456789abcdef0123456789abcdef";
    static const char right[] = "\x2c\x10\x00\x1a\x28rspauth=0123456789abcdef0123456789abcdef";
    static const char wrong[] = "\x2c\x10\x00\x1a\x28rspauth=0123456789abcdef0123456789abcdee";
    assert_int_equal(rpc_check_login(bytes_of(right, sizeof right - 1), expected), WEFT_OK);
    assert_int_equal(rpc_check_login(bytes_of(wrong, sizeof wrong - 1), expected),
                     WEFT_UNAUTHENTICATED);
    assert_int_equal(rpc_check_login(bytes_of("\x02\x10\x00", 3), expected), WEFT_UNAUTHENTICATED);
    err_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_begins_as_hadoop_expects),
        cmocka_unit_test(a_call_names_its_method_and_protocol),
        cmocka_unit_test(a_good_answer_is_passed_on),
        cmocka_unit_test(failures_have_a_code_and_their_first_line),
        cmocka_unit_test(words_of_a_stranger_do_not_reach_the_terminal_as_they_are),
        cmocka_unit_test(who_is_not_hadoop_is_told_from_it),
        cmocka_unit_test(an_answer_that_is_cut_off_is_refused),
        cmocka_unit_test(a_login_begins_as_hadoop_expects),
        cmocka_unit_test(who_logs_in_by_a_token_names_no_user),
        cmocka_unit_test(the_offered_method_comes_back_without_its_challenge),
        cmocka_unit_test(a_service_that_takes_no_token_is_told_apart),
        cmocka_unit_test(a_server_without_the_password_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
