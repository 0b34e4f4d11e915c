// Tests of writing: written records are read back the same, by our readers and by jansson.

#include "store/record/record_testing.h"

#include <jansson.h>

static void append_random(struct buf *out)
{
    static const char *const parts[] = {"a",
                                        "\"",
                                        ",",
                                        "\n",
                                        "\r",
                                        "\t",
                                        "\\",
                                        "\x01",
                                        "\x7f",
                                        "\xc3\xa9",
                                        "\xc3",
                                        "\xff",
                                        "\xef\xbb\xbf",
                                        "\xed\xa0\x80",
                                        "\xf0\x9f\x98\x80",
                                        "a text of more than sixteen bytes",
                                        "{",
                                        NULL};
    out->size = 0;
    for (size_t left = testing_below(8); left; left--)
        testing_append_word(out, parts);
    if (testing_below(8) == 0)
        buf_append(out, "\0", 1);
}

// In memory of exactly the size that was promised to be enough.
static weft_bytes written(enum record_output output, const struct record_pair *pair)
{
    const size_t max = record_write_max(output, pair);
    char *room = malloc(max);
    const size_t size = (size_t)(record_write(output, pair, room) - room);
    assert_true(size <= max);
    return (weft_bytes){room, size};
}

static void assert_csv(weft_bytes text, const struct record_pair *pair)
{
    const struct record_format format = testing_format("csv");
    weft_bytes row, fields[3];
    struct buf room = {0};
    weft_err code;
    assert_int_equal(text.data[text.size - 1], '\n');
    assert_int_equal(record_bom_size(text), 0);  // as the first row of a file it would lose it
    assert_true(record_next(&format, &text, &row, &code));
    assert_int_equal(text.size, 0);
    assert_int_equal(record_split_csv(&format, row, fields, 3, &room), 1 + pair->has_value);
    assert_bytes_equal(fields[0], pair->key);
    if (pair->has_value)
        assert_bytes_equal(fields[1], pair->value);
    buf_fini(&room);
}

static void assert_member(const json_t *object, const char *name, weft_bytes expected)
{
    const json_t *value = json_object_get(object, name);
    assert_true(json_is_string(value));
    assert_bytes_equal((weft_bytes){json_string_value(value), json_string_length(value)}, expected);
}

static void assert_jsonl(weft_bytes text, const struct record_pair *pair)
{
    struct buf room = {0};
    weft_bytes value;
    assert_int_equal(text.data[text.size - 1], '\n');
    assert_null(memchr(text.data, '\n', text.size - 1));
    assert_int_equal(record_json_check(text), SIZE_MAX);
    assert_int_equal(record_json_get(text, "key", &value, &room), RECORD_JSON_STRING);
    assert_bytes_equal(value, pair->key);
    const enum record_json kind = record_json_get(text, "value", &value, &room);
    assert_int_equal(kind, pair->has_value ? RECORD_JSON_STRING : RECORD_JSON_MISSING);
    if (pair->has_value)
        assert_bytes_equal(value, pair->value);
    // jansson reads only UTF-8.
    json_t *object = json_loadb(text.data, text.size, JSON_ALLOW_NUL, NULL);
    assert_true(object || memmem(text.data, text.size, "\\udc", 4));
    if (object) {
        assert_member(object, "key", pair->key);
        if (pair->has_value)
            assert_member(object, "value", pair->value);
    }
    json_decref(object);
    buf_fini(&room);
}

static void assert_tfrecord(weft_bytes text, const struct record_pair *pair)
{
    const struct record_format format = testing_format("tfrecord");
    weft_bytes record;
    weft_err code;
    assert_true(record_next(&format, &text, &record, &code));
    assert_int_equal(text.size, 0);
    const weft_bytes expected = written(OUTPUT_TEXT, pair);
    assert_bytes_equal(record, (weft_bytes){expected.data, expected.size - 1});
    free((char *)expected.data);
}

static void what_is_written_is_read_back_the_same(void **state)
{
    (void)state;
    struct buf key = {0}, value = {0};
    for (int round = 0; round < 50000; round++) {
        append_random(&key);
        append_random(&value);
        const struct record_pair pair = {buf_bytes(&key), buf_bytes(&value), testing_below(3),
                                         false};
        const weft_bytes csv = written(OUTPUT_CSV, &pair), jsonl = written(OUTPUT_JSONL, &pair),
                         tfrecord = written(OUTPUT_TFRECORD, &pair);
        assert_csv(csv, &pair);
        assert_jsonl(jsonl, &pair);
        assert_tfrecord(tfrecord, &pair);
        free((char *)csv.data);
        free((char *)jsonl.data);
        free((char *)tfrecord.data);
    }
    buf_fini(&key);
    buf_fini(&value);
}

static void pairs_are_written_as_documented(void **state)
{
    (void)state;
    static const struct {
        enum record_output output;
        const char *key, *value;
        bool is_number;
        const char *expected;
    } cases[] = {
        {OUTPUT_TEXT, "k", "v", false, "k\tv\n"},
        {OUTPUT_TEXT, "k", NULL, false, "k\n"},
        {OUTPUT_TEXT, "k", "", false, "k\t\n"},
        {OUTPUT_CSV, "k", "v", false, "k,v\n"},
        {OUTPUT_CSV, "k", NULL, false, "k\n"},
        {OUTPUT_CSV, "", NULL, false, "\"\"\n"},
        {OUTPUT_CSV, "", "", false, ",\n"},
        {OUTPUT_CSV, "a,b", "say \"hi\"", false, "\"a,b\",\"say \"\"hi\"\"\"\n"},
        {OUTPUT_CSV, "a\rb", "c\nd", false, "\"a\rb\",\"c\nd\"\n"},
        {OUTPUT_JSONL, "k", "v", false, "{\"key\":\"k\",\"value\":\"v\"}\n"},
        {OUTPUT_JSONL, "k", "12", true, "{\"key\":\"k\",\"value\":12}\n"},
        {OUTPUT_JSONL, "k", NULL, false, "{\"key\":\"k\"}\n"},
        {OUTPUT_JSONL, "\"\\\n\x01", "\xff\xc3\xa9", false,
         "{\"key\":\"\\\"\\\\\\n\\u0001\",\"value\":\"\\udcff\xc3\xa9\"}\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct record_pair pair = {weft_text(cases[i].key), weft_text(cases[i].value),
                                         cases[i].value, cases[i].is_number};
        const weft_bytes text = written(cases[i].output, &pair);
        assert_bytes_equal(text, weft_text(cases[i].expected));
        free((char *)text.data);
    }
}

static void a_pair_of_the_dullest_bytes_needs_no_more_than_was_said(void **state)
{
    (void)state;
    static const char bytes[] = {'"', '\n', '\x01', '\xff', 'a', 0};
    char text[40];
    for (size_t i = 0; i < sizeof bytes; i++) {
        memset(text, bytes[i], sizeof text);
        const struct record_pair pair = {{text, sizeof text}, {text, sizeof text}, true, false};
        for (int output = 0; output < OUTPUT_FORMAT_COUNT; output++)
            free((char *)written((enum record_output)output, &pair).data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_back_the_same),
        cmocka_unit_test(pairs_are_written_as_documented),
        cmocka_unit_test(a_pair_of_the_dullest_bytes_needs_no_more_than_was_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
