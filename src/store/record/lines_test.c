// Tests of lines, chunks, jsonl, files and fixed records: a file gives the same records wherever it is cut.

#include "store/record/record_testing.h"

static void add_record(struct testing_records *records, const char *data, size_t size)
{
    records->items[records->count++] = (weft_bytes){data, size};
}

// Byte by byte.
static void lines_by_loop(weft_bytes text, char delimiter, bool leaves_out_empty,
                          struct testing_records *records)
{
    records->count = 0;
    for (size_t begin = 0, at = 0; at < text.size; begin = ++at) {
        while (at < text.size && text.data[at] != delimiter)
            at++;
        const bool has_return =
            at < text.size && delimiter == '\n' && at > begin && text.data[at - 1] == '\r';
        if (at - has_return > begin || !leaves_out_empty)
            add_record(records, text.data + begin, at - begin - has_return);
    }
}

static void make_text(struct buf *buf, size_t words)
{
    static const char *const list[] = {
        "\n", "\n", "\r\n", "a", "bcd", ";", "\r", "\"", "line with some length", NULL};
    buf->size = 0;
    for (size_t i = 0; i < words; i++)
        testing_append_word(buf, list);
    if (testing_below(2))
        buf_append(buf, "\0", 1);
}

static void lines_are_the_same_wherever_a_file_is_cut(void **state)
{
    (void)state;
    static const char *const formats[] = {"lines", "jsonl", "lines:delimiter=;",
                                          "lines:delimiter=\\0", "lines:delimiter=\\r"};
    static const char delimiters[] = {'\n', '\n', ';', '\0', '\r'};
    static struct testing_records expected;
    struct buf buf = {0};
    for (int round = 0; round < 100; round++) {
        for (size_t i = 0; i < 5; i++) {
            make_text(&buf, testing_below(60));
            const struct record_format format = testing_format(formats[i]);
            lines_by_loop(buf_bytes(&buf), delimiters[i], i == 1, &expected);
            assert_cuts_do_not_matter(&format, buf_bytes(&buf), &expected);
            assert_counts_tell_numbers(&format, buf_bytes(&buf), &expected);
        }
    }
    buf_fini(&buf);
}

static void a_carriage_return_belongs_to_the_end_only_before_a_line_feed(void **state)
{
    (void)state;
    const struct record_format lines = testing_format("lines"),
                               others = testing_format("lines:delimiter=;");
    weft_bytes block = weft_text("a\r\n\r\nb\rc\nd\r"), record;
    const char *const expected[] = {"a", "", "b\rc", "d\r"};
    weft_err code;
    for (size_t i = 0; i < 4; i++) {
        assert_true(record_next(&lines, &block, &record, &code));
        assert_bytes_equal(record, weft_text(expected[i]));
    }
    assert_false(record_next(&lines, &block, &record, &code));
    assert_int_equal(code, WEFT_OK);
    block = weft_text("a\r;b");
    assert_true(record_next(&others, &block, &record, &code));
    assert_bytes_equal(record, weft_text("a\r"));
}

// After the limit the last end is searched for, before it any.
static void bytes_once_looked_at_are_not_looked_at_again(void **state)
{
    (void)state;
    static const struct {
        const char *format;
        size_t limit;
    } cases[] = {{"lines", SIZE_MAX}, {"lines", 1}, {"csv", SIZE_MAX}, {"csv", 1}, {"chunks", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct record_format format = testing_format(cases[i].format);
        struct record_scan scan = {0};
        size_t whole;
        bool is_last;
        char text[] = "aaaaaaaa";
        assert_int_equal(record_find_whole(&format, &scan, (weft_bytes){text, 4}, cases[i].limit,
                                           false, &whole, &is_last),
                         WEFT_OK);
        assert_int_equal(whole, 0);
        assert_int_equal(scan.seen, 4);
        text[2] = '\n';
        assert_int_equal(record_find_whole(&format, &scan, (weft_bytes){text, 8}, cases[i].limit,
                                           false, &whole, &is_last),
                         WEFT_OK);
        assert_int_equal(whole, 0);
    }
}

// A reader need not read on to know that.
static void a_piece_that_ends_with_a_record_has_no_more(void **state)
{
    (void)state;
    static const char *const formats[] = {"lines", "jsonl", "chunks", "csv", "fixed:4"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        const struct record_format format = testing_format(formats[i]);
        struct record_scan scan = {0};
        size_t whole;
        bool is_last;
        assert_int_equal(
            record_find_whole(&format, &scan, weft_text("abc\ndefg"), 4, false, &whole, &is_last),
            WEFT_OK);
        assert_int_equal(whole, 4);
        assert_true(is_last);
    }
}

// ---- chunks

// Lines of up to 2000 bytes, three and a half chunks.
static void make_large_text(struct buf *buf)
{
    buf->size = 0;
    while (buf->size < 7 * (size_t)RECORD_CHUNK_BYTES / 2) {
        const size_t size = testing_below(2000);
        char *to = buf_reserve(buf, size + 1);
        memset(to, 'x', size);
        to[size] = '\n';
        buf->size += size + 1;
    }
    buf_append_text(buf, "without an end");
}

static size_t line_end(weft_bytes text, size_t from)
{
    const char *end = from < text.size ? memchr(text.data + from, '\n', text.size - from) : NULL;
    return end ? (size_t)(end - text.data) + 1 : text.size;
}

static void chunks_by_loop(weft_bytes text, size_t begin, size_t end,
                           struct testing_records *records)
{
    size_t at = begin ? line_end(text, begin - 1) : 0;
    const size_t last = end ? line_end(text, end - 1) : 0;
    while (at < last) {
        size_t stop = line_end(text, at + RECORD_CHUNK_BYTES - 1);
        stop = stop < last ? stop : last;
        add_record(records, text.data + at, stop - at);
        at = stop;
    }
}

static void chunks_follow_from_places_in_the_piece_only(void **state)
{
    (void)state;
    static struct testing_records expected, records;
    const struct record_format format = testing_format("chunks");
    struct buf buf = {0};
    for (int round = 0; round < 30; round++) {
        make_large_text(&buf);
        const size_t size = buf.size, cut = testing_below(size + 1);
        const struct testing_file file = {&format, buf_bytes(&buf),
                                          1 + testing_below(round % 2 ? 100000 : 3000000)};
        expected.count = records.count = 0;
        chunks_by_loop(file.text, 0, cut, &expected);
        chunks_by_loop(file.text, cut, size, &expected);
        assert_int_equal(testing_read_piece(&file, 0, cut, &records), WEFT_OK);
        assert_int_equal(testing_read_piece(&file, cut, size, &records), WEFT_OK);
        assert_same_records(&records, &expected);
        assert_true(records.count >= 4);
    }
    buf_fini(&buf);
}

static void small_files_of_lines_are_one_chunk(void **state)
{
    (void)state;
    static struct testing_records records;
    const struct record_format format = testing_format("chunks");
    const struct testing_file file = {&format, weft_text("a\nb\r\n\nc"), 2};
    records.count = 0;
    assert_int_equal(testing_read_piece(&file, 0, 8, &records), WEFT_OK);
    assert_int_equal(records.count, 1);
    assert_bytes_equal(records.items[0], file.text);
}

// ---- files and fixed

static void a_file_is_one_record(void **state)
{
    (void)state;
    static struct testing_records records;
    const struct record_format format = testing_format("files");
    const struct testing_file file = {&format, weft_text("a\nb\nc"), 2};
    records.count = 0;
    assert_false(record_is_splittable(&format));
    assert_int_equal(testing_read_piece(&file, 0, 5, &records), WEFT_OK);
    assert_int_equal(records.count, 1);
    assert_bytes_equal(records.items[0], file.text);
}

static void fixed_records_are_the_same_wherever_a_file_is_cut(void **state)
{
    (void)state;
    static struct testing_records expected;
    char text[600];
    memset(text, 'f', sizeof text);
    for (uint32_t bytes = 1; bytes < 40; bytes++) {
        struct record_format format = testing_format("fixed:1");
        format.fixed_bytes = bytes;
        const size_t count = testing_below(600 / bytes + 1);
        expected.count = 0;
        for (size_t i = 0; i < count; i++)
            add_record(&expected, text + i * bytes, bytes);
        assert_cuts_do_not_matter(&format, (weft_bytes){text, count * bytes}, &expected);
    }
}

static void what_is_left_behind_fixed_records_is_data_loss(void **state)
{
    (void)state;
    static struct testing_records records;
    const struct record_format format = testing_format("fixed:4");
    const struct testing_file file = {&format, weft_text("aaaabbbbcc"), 3};
    records.count = 0;
    assert_int_equal(testing_read_piece(&file, 0, 10, &records), WEFT_DATA_LOSS);
    assert_non_null(strstr(err_text(), "2 bytes are left"));
    assert_int_equal(records.count, 2);
    // The piece before does not know.
    records.count = 0;
    assert_int_equal(testing_read_piece(&file, 0, 8, &records), WEFT_OK);
    assert_int_equal(records.count, 2);
}

static void an_empty_text_has_no_records_and_an_end(void **state)
{
    (void)state;
    static const char *const formats[] = {"lines", "chunks",   "files",  "csv",
                                          "jsonl", "tfrecord", "fixed:3"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        const struct record_format format = testing_format(formats[i]);
        struct record_scan scan = {0};
        weft_bytes empty = {NULL, 0}, record;
        size_t whole = 1;
        bool is_last = false;
        weft_err code;
        assert_int_equal(record_find_whole(&format, &scan, empty, SIZE_MAX, true, &whole, &is_last),
                         WEFT_OK);
        assert_true(is_last && whole == 0);
        assert_int_equal(
            record_find_whole(&format, &scan, empty, SIZE_MAX, false, &whole, &is_last), WEFT_OK);
        assert_false(is_last);
        assert_false(record_next(&format, &empty, &record, &code));
        assert_int_equal(code, WEFT_OK);
        assert_int_equal(record_count(&format, empty), 0);
        assert_int_equal(record_count_stretch(&format, empty).ends[0], 0);
    }
}

static void a_byte_order_mark_is_known(void **state)
{
    (void)state;
    assert_int_equal(record_bom_size(weft_text("\xef\xbb\xbfname")), 3);
    assert_int_equal(record_bom_size(weft_text("\xef\xbb")), 0);
    assert_int_equal(record_bom_size(weft_text("name")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_the_same_wherever_a_file_is_cut),
        cmocka_unit_test(a_carriage_return_belongs_to_the_end_only_before_a_line_feed),
        cmocka_unit_test(bytes_once_looked_at_are_not_looked_at_again),
        cmocka_unit_test(a_piece_that_ends_with_a_record_has_no_more),
        cmocka_unit_test(chunks_follow_from_places_in_the_piece_only),
        cmocka_unit_test(small_files_of_lines_are_one_chunk),
        cmocka_unit_test(a_file_is_one_record),
        cmocka_unit_test(fixed_records_are_the_same_wherever_a_file_is_cut),
        cmocka_unit_test(what_is_left_behind_fixed_records_is_data_loss),
        cmocka_unit_test(an_empty_text_has_no_records_and_an_end),
        cmocka_unit_test(a_byte_order_mark_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
