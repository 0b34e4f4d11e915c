// Tests of csv: rows are the same wherever a file is cut, fields are what RFC 4180 says.

#include "store/record/record_testing.h"

enum { FIELDS_MAX = 64 };

// Byte by byte.
static void rows_by_loop(weft_bytes text, struct testing_records *records)
{
    records->count = 0;
    for (size_t begin = 0, at = 0; at < text.size; begin = ++at) {
        bool is_quoted = false;
        for (; at < text.size && (is_quoted || text.data[at] != '\n'); at++)
            is_quoted ^= text.data[at] == '"';
        const bool has_return = at < text.size && at > begin && text.data[at - 1] == '\r';
        if (at - has_return > begin)
            records->items[records->count++] =
                (weft_bytes){text.data + begin, at - begin - has_return};
    }
}

static bool has_open_quote(weft_bytes text)
{
    bool is_quoted = false;
    for (size_t i = 0; i < text.size; i++)
        is_quoted ^= text.data[i] == '"';
    return is_quoted;
}

static void make_text(struct buf *buf, size_t words, bool is_tidy)
{
    static const char *const wild[] = {
        "\"", "\"", "\n", "\r\n", "\r", ",", "a", "\"\"", "some words of text", NULL};
    static const char *const tidy[] = {
        "a,b\n",
        "12,\"x\ny\"\r\n",
        "\"a \"\"b\"\"\",,\n",
        "\"\"\n",
        "\n",
        "\r\n",
        ",\n",
        "\"\r\n\",1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20\n",
        "2024-01-01,a name that is long,0.25,,\"quoted, with comma\",17,,x\n",
        NULL};
    buf->size = 0;
    for (size_t i = 0; i < words; i++)
        testing_append_word(buf, is_tidy ? tidy : wild);
    if (testing_below(2))
        buf_append_text(buf, "last,row");
    if (has_open_quote(buf_bytes(buf)))
        buf_append_text(buf, "\"");
}

static void rows_are_the_same_wherever_a_file_is_cut(void **state)
{
    (void)state;
    static struct testing_records expected;
    const struct record_format format = testing_format("csv");
    struct buf buf = {0};
    for (int round = 0; round < 300; round++) {
        const bool is_tidy = round % 2;
        make_text(&buf, testing_below(is_tidy ? 20 : 80), is_tidy);
        rows_by_loop(buf_bytes(&buf), &expected);
        assert_cuts_do_not_matter(&format, buf_bytes(&buf), &expected);
        assert_counts_tell_numbers(&format, buf_bytes(&buf), &expected);
    }
    buf_fini(&buf);
}

static void an_open_quote_is_told_of_the_row_at_the_begin(void **state)
{
    (void)state;
    static struct testing_records records;
    const struct record_format format = testing_format("csv");
    for (size_t step = 1; step < 30; step++) {
        const struct testing_file file = {&format, weft_text("a,b\nc,d\ne,\"f\ng,h\n"), step};
        records.count = 0;
        assert_int_equal(testing_read_piece(&file, 0, file.text.size, &records), WEFT_DATA_LOSS);
        assert_non_null(strstr(err_text(), "open quote"));
        assert_int_equal(records.count, 2);
        records.count = 0;
        assert_int_equal(testing_read_piece(&file, 0, 8, &records), WEFT_OK);
        assert_int_equal(records.count, 2);
    }
}

// ---- fields

// Appends {field}{field}..., or "stray".
static void format_fields(struct buf *out, const struct record_format *format, weft_bytes row,
                          size_t max)
{
    weft_bytes fields[FIELDS_MAX];
    struct buf room = {0};
    const size_t count = record_split_csv(format, row, fields, max, &room);
    if (count == SIZE_MAX)
        buf_append_text(out, "stray");
    for (size_t i = 0; count != SIZE_MAX && i < count && i < max; i++) {
        buf_append_text(out, "{");
        buf_append(out, fields[i].data, fields[i].size);
        buf_append_text(out, "}");
    }
    if (count != SIZE_MAX && count > max)
        buf_format(out, "+%zu", count - max);
    buf_fini(&room);
}

static void fields_are_what_the_rfc_says(void **state)
{
    (void)state;
    static const struct {
        const char *format, *row, *fields;
    } cases[] = {
        {"csv", "a,b,c", "{a}{b}{c}"},
        {"csv", "a", "{a}"},
        {"csv", "", "{}"},
        {"csv", ",", "{}{}"},
        {"csv", "a,,b,", "{a}{}{b}{}"},
        {"csv", "\"a\",\"b\"", "{a}{b}"},
        {"csv", "\"\"", "{}"},
        {"csv", "\"\",\"\"", "{}{}"},
        {"csv", "\"a,b\",c", "{a,b}{c}"},
        {"csv", "\"a\nb\",\"c\r\nd\"", "{a\nb}{c\r\nd}"},
        {"csv", "\"say \"\"hi\"\"\",x", "{say \"hi\"}{x}"},
        {"csv", "\"\"\"\"", "{\"}"},
        {"csv", "\"\"\",\"\"\",x", "{\",\"}{x}"},
        {"csv", " \"a\"", "stray"},
        {"csv", "a\"b", "stray"},
        {"csv", "a\"b\"", "stray"},
        {"csv", "\"a\"b", "stray"},
        {"csv", "\"a\"b\"", "stray"},
        {"csv", "\"\"a\"\"", "stray"},
        {"csv", "\"a\" ,b", "stray"},
        {"csv", "\"open", "stray"},
        {"csv", "\"", "stray"},
        {"csv", "x,\"a\"\"", "stray"},
        {"csv:separator=;", "a,b;c", "{a,b}{c}"},
        {"csv:separator=\\t", "a\tb", "{a}{b}"},
    };
    struct buf out = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct record_format format = testing_format(cases[i].format);
        out.size = 0;
        format_fields(&out, &format, weft_text(cases[i].row), FIELDS_MAX);
        assert_string_equal(buf_text(&out), cases[i].fields);
    }
    buf_fini(&out);
}

static void a_separator_can_be_a_zero_byte(void **state)
{
    (void)state;
    const struct record_format format = testing_format("csv:separator=\\0");
    weft_bytes fields[4];
    struct buf room = {0};
    assert_int_equal(record_split_csv(&format, (weft_bytes){"a\0b", 3}, fields, 4, &room), 2);
    assert_bytes_equal(fields[1], weft_text("b"));
}

static void fields_beyond_the_most_are_counted(void **state)
{
    (void)state;
    const struct record_format format = testing_format("csv");
    struct buf out = {0};
    format_fields(&out, &format, weft_text("a,b,c,d"), 2);
    assert_string_equal(buf_text(&out), "{a}{b}+2");
    out.size = 0;
    format_fields(&out, &format, weft_text("a,\"b\",\"c\"\"\",d"), 1);
    assert_string_equal(buf_text(&out), "{a}+3");
    out.size = 0;
    format_fields(&out, &format, weft_text("a,b,c,d\"e"), 0);
    assert_string_equal(buf_text(&out), "stray");
    buf_fini(&out);
}

static void append_field(struct buf *row, weft_bytes field, bool is_quoted)
{
    if (!is_quoted) {
        buf_append(row, field.data, field.size);
        return;
    }
    buf_append_text(row, "\"");
    for (size_t i = 0; i < field.size; i++)
        buf_append(row, field.data[i] == '"' ? "\"\"" : field.data + i, 1 + (field.data[i] == '"'));
    buf_append_text(row, "\"");
}

// Random fields, written as csv and split again.
static void what_is_joined_is_split_the_same(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "\"", ",", "\n", "a", "some words", "\r\n", "0123456789abcdef", NULL};
    const struct record_format format = testing_format("csv");
    struct buf row = {0}, expected = {0}, out = {0}, field = {0};
    for (int round = 0; round < 20000; round++) {
        const bool is_special = round % 2;
        row.size = expected.size = out.size = 0;
        for (size_t i = 0, count = 1 + testing_below(20); i < count; i++) {
            field.size = 0;
            for (size_t left = testing_below(4); left; left--)
                testing_append_word(&field, is_special ? parts : parts + 3);
            buf_append_text(&row, i ? "," : "");
            append_field(&row, buf_bytes(&field), is_special || testing_below(2));
            buf_append_text(&expected, "{");
            buf_append(&expected, field.data, field.size);
            buf_append_text(&expected, "}");
        }
        format_fields(&out, &format, buf_bytes(&row), FIELDS_MAX);
        assert_string_equal(buf_text(&out), buf_text(&expected));
    }
    buf_fini(&row);
    buf_fini(&expected);
    buf_fini(&out);
    buf_fini(&field);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_the_same_wherever_a_file_is_cut),
        cmocka_unit_test(an_open_quote_is_told_of_the_row_at_the_begin),
        cmocka_unit_test(fields_are_what_the_rfc_says),
        cmocka_unit_test(a_separator_can_be_a_zero_byte),
        cmocka_unit_test(fields_beyond_the_most_are_counted),
        cmocka_unit_test(what_is_joined_is_split_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
