// Tests of the words for formats.

#include "store/record/record_testing.h"

static void names_and_options_are_understood(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        struct record_format format;
    } cases[] = {
        {"lines", {RECORD_LINES, '\n', ',', false, 0}},
        {"lines:delimiter=;", {RECORD_LINES, ';', ',', false, 0}},
        {"lines:delimiter=\\0", {RECORD_LINES, 0, ',', false, 0}},
        {"chunks:delimiter=\\x1F", {RECORD_CHUNKS, 0x1f, ',', false, 0}},
        {"chunks", {RECORD_CHUNKS, '\n', ',', false, 0}},
        {"files", {RECORD_FILES, '\n', ',', false, 0}},
        {"csv", {RECORD_CSV, '\n', ',', false, 0}},
        {"csv:header", {RECORD_CSV, '\n', ',', true, 0}},
        {"csv:header,separator=;", {RECORD_CSV, '\n', ';', true, 0}},
        {"csv:separator=,,header", {RECORD_CSV, '\n', ',', true, 0}},
        {"csv:separator=\\t", {RECORD_CSV, '\n', '\t', false, 0}},
        {"csv:separator=:", {RECORD_CSV, '\n', ':', false, 0}},
        {"csv:separator=\\\\", {RECORD_CSV, '\n', '\\', false, 0}},
        {"jsonl", {RECORD_JSONL, '\n', ',', false, 0}},
        {"tfrecord", {RECORD_TFRECORD, '\n', ',', false, 0}},
        {"fixed:16", {RECORD_FIXED, '\n', ',', false, 16}},
        {"fixed:4294967295", {RECORD_FIXED, '\n', ',', false, UINT32_MAX}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct record_format found = testing_format(cases[i].text),
                                   *wanted = &cases[i].format;
        assert_int_equal(found.kind, wanted->kind);
        assert_int_equal(found.delimiter, wanted->delimiter);
        assert_int_equal(found.separator, wanted->separator);
        assert_int_equal(found.has_header, wanted->has_header);
        assert_int_equal(found.fixed_bytes, wanted->fixed_bytes);
    }
}

static void what_is_no_format_is_refused_with_what_is_possible(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "tfrecord"},
        {"line", "tfrecord"},
        {"parquet", "tfrecord"},
        {"CSV", "tfrecord"},
        {"csv:", "csv:header"},
        {"csv:headers", "csv:header"},
        {"csv:header,", "csv:header"},
        {"csv:separator=", "csv:header"},
        {"csv:separator=ab", "csv:header"},
        {"csv:separator=\\x1", "csv:header"},
        {"csv:separator=\\q", "csv:header"},
        {"csv:delimiter=;", "csv:header"},
        {"csv:separator=\"", "quote"},
        {"csv:separator=\\n", "line end"},
        {"lines:separator=;", "delimiter="},
        {"jsonl:header", "options"},
        {"fixed", "1 to"},
        {"fixed:", "1 to"},
        {"fixed:0", "1 to"},
        {"fixed:-1", "1 to"},
        {"fixed: 1", "1 to"},
        {"fixed:16k", "1 to"},
        {"fixed:4294967296", "1 to"},
        {"fixed:99999999999999999999999", "1 to"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct record_format format;
        assert_int_equal(record_format_parse(cases[i].text, &format), WEFT_INVALID_ARGUMENT);
        assert_non_null(strstr(err_text(), cases[i].says));
    }
}

static void outputs_have_names(void **state)
{
    (void)state;
    for (int i = 0; i < OUTPUT_FORMAT_COUNT; i++) {
        enum record_output output = OUTPUT_FORMAT_COUNT;
        assert_true(record_output_find(record_output_name((enum record_output)i), &output));
        assert_int_equal(output, i);
    }
    enum record_output output;
    assert_false(record_output_find("lines", &output));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_options_are_understood),
        cmocka_unit_test(what_is_no_format_is_refused_with_what_is_possible),
        cmocka_unit_test(outputs_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
