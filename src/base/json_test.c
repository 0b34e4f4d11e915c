// Tests of base/json: its output is JSON whatever the texts hold; jansson is the judge.

#include "base/json.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void texts_are_escaped(void **state)
{
    (void)state;
    static const struct {
        const char *text, *json;
    } cases[] = {
        {"plain", "\"plain\""},
        {"", "\"\""},
        {"a\"b\\c", "\"a\\\"b\\\\c\""},
        {"\b\t\n\f\r", "\"\\b\\t\\n\\f\\r\""},
        {"\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\""},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {"\xff", "\"\\ufffd\""},
        {"a\xc3", "\"a\\ufffd\""},                                 // cut
        {"\xc0\x80", "\"\\ufffd\\ufffd\""},                        // overlong
        {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},             // half of a surrogate pair
        {"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},  // beyond Unicode
        {"\xe2\x28\xa1", "\"\\ufffd(\\ufffd\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf buf = {0};
        json_append_string(&buf, weft_text(cases[i].text));
        assert_string_equal(buf_text(&buf), cases[i].json);
        buf_fini(&buf);
    }
}

static void any_bytes_make_a_string_that_can_be_read(void **state)
{
    (void)state;
    uint32_t random = 12345;
    for (int round = 0; round < 2000; round++) {
        char bytes[24];
        for (size_t i = 0; i < sizeof bytes; i++) {
            random = random * 1664525 + 1013904223;
            bytes[i] = (char)(random >> 24);
        }
        struct buf buf = {0};
        buf_append_text(&buf, "[");
        json_append_string(&buf, (weft_bytes){bytes, sizeof bytes});
        buf_append_text(&buf, "]");
        json_t *read = json_loadb(buf.data, buf.size, JSON_ALLOW_NUL, NULL);
        assert_non_null(read);
        json_decref(read);
        buf_fini(&buf);
    }
}

static void members_get_their_commas(void **state)
{
    (void)state;
    struct buf buf = {0};
    json_open(&buf, NULL, '{');
    json_append_text(&buf, "text", "{");
    json_append_text(&buf, "none", NULL);
    json_append_uint(&buf, "largest", UINT64_MAX);
    json_append_int(&buf, "smallest", INT64_MIN);
    json_append_bool(&buf, "yes", true);
    json_append_seconds(&buf, "seconds", UINT64_C(61000500000));
    json_open(&buf, "inner", '{');
    json_close(&buf, '}');
    json_open(&buf, "list", '[');
    json_append_uint(&buf, NULL, 1);
    json_append_uint(&buf, NULL, 2);
    json_close(&buf, ']');
    json_close(&buf, '}');
    assert_string_equal(
        buf_text(&buf),
        "{\"text\":\"{\",\"none\":null,\"largest\":18446744073709551615,"
        "\"smallest\":-9223372036854775808,\"yes\":true,\"seconds\":61.001,\"inner\":{},"
        "\"list\":[1,2]}");
    buf_fini(&buf);
}

static void an_object_follows_a_line_without_a_comma(void **state)
{
    (void)state;
    struct buf buf = {0};
    for (int i = 0; i < 2; i++) {
        json_open(&buf, NULL, '{');
        json_append_seconds(&buf, "s", 999499999);
        json_close(&buf, '}');
        buf_append_text(&buf, "\n");
    }
    assert_string_equal(buf_text(&buf), "{\"s\":0.999}\n{\"s\":0.999}\n");
    buf_fini(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_escaped),
        cmocka_unit_test(any_bytes_make_a_string_that_can_be_read),
        cmocka_unit_test(members_get_their_commas),
        cmocka_unit_test(an_object_follows_a_line_without_a_comma),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
