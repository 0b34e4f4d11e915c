// Tests of logins: the standard's own example, and one that a Java of version 17 accepts.

#include "wire/hadoop/digest.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static weft_bytes bytes_of(const char *text)
{
    return (weft_bytes){text, strlen(text)};
}

static void the_example_of_the_standard(void **state)
{
    (void)state;
    const struct digest_login login = {.user = "chris",
                                       .password = "secret",
                                       .uri = "imap/elwood.innosoft.com",
                                       .nonce = "OA6MHXh6VqTrRk"};
    struct buf answer = {0};
    char expected[DIGEST_TEXT_BYTES];
    assert_int_equal(
        digest_answer(&login,
                      bytes_of("realm=\"elwood.innosoft.com\",nonce=\"OA6MG9tEQGm2hh\","
                               "qop=\"auth\",algorithm=md5-sess,charset=utf-8"),
                      &answer, expected),
        WEFT_OK);
    assert_string_equal(
        buf_text(&answer),
        "charset=utf-8,username=\"chris\",realm=\"elwood.innosoft.com\",nonce=\"OA6MG9tEQGm2hh\","
        "nc=00000001,cnonce=\"OA6MHXh6VqTrRk\",digest-uri=\"imap/elwood.innosoft.com\","
        "maxbuf=65536,response=d388dad90d4bbd760a152321f2143af7,qop=auth");
    assert_string_equal(expected, "ea40f60335c427b5527b84dbabcdfffd");
    buf_fini(&answer);
}

static void a_login_with_a_token_of_hadoop(void **state)
{
    (void)state;
    const struct digest_login login = {.user = "aWQ=",
                                       .password = "cGFzcw==",
                                       .uri = "/default",
                                       .nonce = "3bH3ozPxlxSLIRNUk2XUrGpjN7NmF55c9cRH/iQV"};
    struct buf answer = {0};
    char expected[DIGEST_TEXT_BYTES];
    assert_int_equal(
        digest_answer(
            &login,
            bytes_of("realm=\"default\",nonce=\"myLfEjZEvaol9T0oMQhXT4p/dup2CqHc1+L3QcX+\""
                     ",qop=\"auth\",charset=utf-8,algorithm=md5-sess"),
            &answer, expected),
        WEFT_OK);
    assert_non_null(strstr(buf_text(&answer), "response=adb79bbcff05c08290ab5cc3cf725510,"));
    assert_string_equal(expected, "3acf0a94ab6b38d54681fe4d6d23e3d4");
    buf_fini(&answer);
}

static weft_err answer_to(const char *challenge)
{
    const struct digest_login login = {.user = "u", .password = "p", .uri = "/x", .nonce = "n"};
    struct buf answer = {0};
    char expected[DIGEST_TEXT_BYTES];
    const weft_err err = digest_answer(&login, bytes_of(challenge), &answer, expected);
    buf_fini(&answer);
    return err;
}

static void auth_is_taken_where_it_is_offered_among_others(void **state)
{
    (void)state;
    assert_int_equal(answer_to("nonce=\"n\",algorithm=md5-sess,qop=\"auth-conf,auth-int,auth\""),
                     WEFT_OK);
    assert_int_equal(answer_to(" nonce = \"n\" , algorithm = md5-sess "), WEFT_OK);
    assert_int_equal(answer_to("nonce=\"n\",algorithm=md5-sess,qop=\"auth-conf,auth-int\""),
                     WEFT_UNIMPLEMENTED);
    assert_non_null(strstr(err_text(), "auth-conf,auth-int"));
    err_clear();
}

static void what_is_no_challenge_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "nonce",
        "nonce=\"n",
        "nonce=\"n\"",
        "nonce=\"n\",algorithm=md5",
        "nonce=\"n\\\"\",algorithm=md5-sess",
        "nonce=\"n\"algorithm=md5-sess",
        "=,algorithm=md5-sess",
        "nonce=\"\n\",algorithm=md5-sess",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(answer_to(wrong[i]), WEFT_DATA_LOSS);
    err_clear();
}

static void base64_is_padded(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", ""},       {"f", "Zg=="},       {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="},
        {"id", "aWQ="}, {"\xff\xfe", "//4="}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = {0};
        digest_append_base64(&out, bytes_of(cases[i][0]));
        assert_string_equal(buf_text(&out), cases[i][1]);
        buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_the_standard),
        cmocka_unit_test(a_login_with_a_token_of_hadoop),
        cmocka_unit_test(auth_is_taken_where_it_is_offered_among_others),
        cmocka_unit_test(what_is_no_challenge_is_refused),
        cmocka_unit_test(base64_is_padded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
