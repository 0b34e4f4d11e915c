// Tests of tfrecord: the frame is the published one, and no damage goes unseen.

#include "store/record/record_testing.h"

static void append_record(struct buf *file, const char *key)
{
    const struct record_pair pair = {.key = weft_text(key)};
    char *to = buf_reserve(file, record_write_max(OUTPUT_TFRECORD, &pair));
    file->size = (size_t)(record_write(OUTPUT_TFRECORD, &pair, to) - file->data);
}

// Reads all; *count says how many records came before the failure.
static weft_err read_all(weft_bytes text, size_t step, size_t *count)
{
    const struct record_format format = testing_format("tfrecord");
    struct record_scan scan = {0};
    weft_err code = WEFT_OK;
    weft_bytes record;
    *count = 0;
    for (size_t at = 0, filled = 0, whole, left; at < text.size;) {
        bool is_last;
        left = text.size - at;
        filled = left - filled < step ? left : filled + step;
        code = record_find_whole(&format, &scan, (weft_bytes){text.data + at, filled}, SIZE_MAX,
                                 filled == left, &whole, &is_last);
        weft_bytes block = {text.data + at, whole};
        while (!code && record_next(&format, &block, &record, &code))
            ++*count;
        if (code)
            return code;
        at += whole;
        filled -= whole;
    }
    return WEFT_OK;
}

static void the_frame_is_the_published_one(void **state)
{
    (void)state;
    // {length, its sum, "hello", its sum}, the sums computed bit by bit elsewhere.
    static const unsigned char expected[] = {5,   0,    0,    0,    0,    0,    0,
                                             0,   0xea, 0xb2, 0x04, 0x3e, 'h',  'e',
                                             'l', 'l',  'o',  0xbb, 0x1f, 0x1c, 0x19};
    struct buf file = {0};
    append_record(&file, "hello");
    assert_int_equal(file.size, sizeof expected);
    assert_memory_equal(file.data, expected, sizeof expected);
    buf_fini(&file);
}

static void records_are_read_back_for_any_buffer(void **state)
{
    (void)state;
    struct buf file = {0};
    size_t count;
    append_record(&file, "one");
    append_record(&file, "");
    append_record(&file, "a longer record that has some more bytes");
    for (size_t step = 1; step < file.size + 2; step++) {
        assert_int_equal(read_all(buf_bytes(&file), step, &count), WEFT_OK);
        assert_int_equal(count, 3);
    }
    const struct record_format format = testing_format("tfrecord");
    assert_int_equal(record_count(&format, buf_bytes(&file)), 3);
    buf_fini(&file);
}

static void every_flipped_bit_is_found(void **state)
{
    (void)state;
    struct buf file = {0};
    size_t count;
    append_record(&file, "one");
    append_record(&file, "second");
    for (size_t bit = 0; bit < 8 * file.size; bit++) {
        file.data[bit / 8] ^= (char)(1 << bit % 8);
        assert_int_equal(read_all(buf_bytes(&file), 7, &count), WEFT_DATA_LOSS);
        assert_int_equal(count, bit / 8 >= 19);
        file.data[bit / 8] ^= (char)(1 << bit % 8);
    }
    buf_fini(&file);
}

static void every_cut_is_found(void **state)
{
    (void)state;
    struct buf file = {0};
    size_t count;
    append_record(&file, "one");
    append_record(&file, "second");
    for (size_t size = 1; size < file.size; size++) {
        const weft_err expected = size == 19 ? WEFT_OK : WEFT_DATA_LOSS;
        assert_int_equal(read_all((weft_bytes){file.data, size}, 5, &count), expected);
        assert_int_equal(count, size >= 19);
    }
    buf_fini(&file);
}

static void a_record_with_wrong_bytes_can_be_passed_over(void **state)
{
    (void)state;
    const struct record_format format = testing_format("tfrecord");
    struct buf file = {0};
    append_record(&file, "one");
    append_record(&file, "two");
    file.data[12] = 'O';
    weft_bytes block = buf_bytes(&file), record;
    weft_err code;
    assert_false(record_next(&format, &block, &record, &code));
    assert_int_equal(code, WEFT_DATA_LOSS);
    assert_bytes_equal(record, weft_text("One"));
    assert_true(record_next(&format, &block, &record, &code));
    assert_bytes_equal(record, weft_text("two"));
    buf_fini(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_frame_is_the_published_one),
        cmocka_unit_test(records_are_read_back_for_any_buffer),
        cmocka_unit_test(every_flipped_bit_is_found),
        cmocka_unit_test(every_cut_is_found),
        cmocka_unit_test(a_record_with_wrong_bytes_can_be_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
