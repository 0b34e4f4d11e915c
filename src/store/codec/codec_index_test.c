// Tests of store/codec's index: files that can be read from anywhere give the same bytes from everywhere,
// and one that lies about its frames is found out.
// Takes long.

#include "store/codec/codec_testing.h"

enum { FRAME_BYTES = (1 << 20) + 5000 };  // each has a point

struct indexed {
    struct buf packed;
    struct testing_file file;
    struct codec_index *index;
    enum codec_kind kind;
};

// Makes a file of the packed bytes and opens its index, which may be none.
static void indexed_open(struct indexed *indexed, enum codec_kind kind)
{
    indexed->kind = kind;
    indexed->file = testing_file_new(buf_bytes(&indexed->packed));
    assert_int_equal(
        codec_index_open(&indexed->file.file, indexed->file.size, kind, &indexed->index), WEFT_OK);
}

static void indexed_close(struct indexed *indexed)
{
    codec_index_free(indexed->index);
    close(indexed->file.fd);
    buf_fini(&indexed->packed);
}

static weft_err read_some(struct indexed *indexed, uint64_t from, size_t size, struct buf *out)
{
    struct codec_reader *reader = codec_reader_new(&indexed->file.file, indexed->file.size,
                                                   indexed->kind, indexed->index, from);
    assert_non_null(reader);
    size_t got;
    out->size = 0;
    char *to = buf_reserve(out, size);
    assert_non_null(to);
    const weft_err err = codec_reader_read(reader, to, size, &got);
    out->size = got;
    codec_reader_free(reader);
    return err;
}

static void assert_reads_from(struct indexed *indexed, weft_bytes text, uint64_t from, size_t size)
{
    struct buf plain = {0};
    const weft_err err = read_some(indexed, from, size, &plain);
    if (err)
        fail_msg("from %llu: %s", (unsigned long long)from, err_text());
    const size_t rest = text.size - from;
    testing_assert_same(&plain, (weft_bytes){text.data + from, rest < size ? rest : size});
    buf_fini(&plain);
}

static void assert_reads_whole(struct indexed *indexed, weft_bytes text, size_t step)
{
    struct codec_reader *reader =
        codec_reader_new(&indexed->file.file, indexed->file.size, indexed->kind, indexed->index, 0);
    struct buf plain = {0};
    assert_int_equal(testing_read_rest(reader, step, &plain), WEFT_OK);
    testing_assert_same(&plain, text);
    buf_fini(&plain);
    codec_reader_free(reader);
}

static void make_bgzip(struct indexed *indexed, weft_bytes text, size_t block_size)
{
    testing_append_bgzip(&indexed->packed, text, block_size);
    indexed_open(indexed, CODEC_GZIP);
}

static void make_seekable(struct indexed *indexed, weft_bytes text, size_t frame_size,
                          bool has_checksums)
{
    size_t count;
    struct testing_frame *frames =
        testing_append_frames(&indexed->packed, text, frame_size, &count);
    testing_append_table(&indexed->packed, frames, count, has_checksums);
    free(frames);
    indexed_open(indexed, CODEC_ZSTD);
}

static void assert_every_offset_is_the_same(struct indexed *indexed, weft_bytes text)
{
    assert_non_null(indexed->index);
    assert_int_equal(codec_index_size(indexed->index), text.size);
    for (uint64_t from = 0; from <= text.size; from++)
        assert_reads_from(indexed, text, from, 900);
    for (size_t step = 1; step < 8192; step = step * 3 + 1)
        assert_reads_whole(indexed, text, step);
    struct buf beyond = {0};
    assert_int_equal(read_some(indexed, text.size + 1, 10, &beyond), WEFT_OK);
    assert_int_equal(beyond.size, 0);
    buf_fini(&beyond);
    indexed_close(indexed);
}

static void small_files_read_the_same_from_every_offset(void **state)
{
    (void)state;
    struct buf text = {0};
    testing_append_text(&text, 5000);
    struct indexed bgzip = {0}, seekable = {0}, with_checksums = {0};
    make_bgzip(&bgzip, buf_bytes(&text), 700);
    assert_every_offset_is_the_same(&bgzip, buf_bytes(&text));
    make_seekable(&seekable, buf_bytes(&text), 700, false);
    assert_every_offset_is_the_same(&seekable, buf_bytes(&text));
    make_seekable(&with_checksums, buf_bytes(&text), 5000, true);
    assert_every_offset_is_the_same(&with_checksums, buf_bytes(&text));
    buf_fini(&text);
}

// Over several points, which lie a megabyte or more apart.
static void assert_large_file_is_the_same(struct indexed *indexed, weft_bytes text)
{
    assert_non_null(indexed->index);
    assert_int_equal(codec_index_size(indexed->index), text.size);
    for (uint64_t from = 0; from < text.size; from += 50021)
        assert_reads_from(indexed, text, from, 200000);
    for (uint64_t middle = 65280; middle < text.size; middle += 65280 * 5)
        for (uint64_t from = middle - 2; from <= middle + 2; from++)
            assert_reads_from(indexed, text, from, 3);
    assert_reads_from(indexed, text, 1 << 20, text.size);
    assert_reads_whole(indexed, text, 65280);
    assert_reads_whole(indexed, text, 1000003);
    indexed_close(indexed);
}

static void large_files_read_the_same_from_many_offsets(void **state)
{
    (void)state;
    struct buf text = {0};
    testing_append_text(&text, 6 << 20);
    struct indexed bgzip = {0}, seekable = {0}, of_large_frames = {0};
    make_bgzip(&bgzip, buf_bytes(&text), 65280);
    assert_large_file_is_the_same(&bgzip, buf_bytes(&text));
    make_seekable(&seekable, buf_bytes(&text), 65280, true);
    assert_large_file_is_the_same(&seekable, buf_bytes(&text));
    make_seekable(&of_large_frames, buf_bytes(&text), 65280 * 30, false);
    assert_large_file_is_the_same(&of_large_frames, buf_bytes(&text));
    buf_fini(&text);
}

static void a_file_that_says_it_is_empty_is_read_from_its_front(void **state)
{
    (void)state;
    struct indexed empty = {0}, lie = {0};
    make_bgzip(&empty, weft_text(""), 100);
    assert_null(empty.index);
    assert_reads_whole(&empty, weft_text(""), 10);
    indexed_close(&empty);
    // Padding inside a block hides its size: the last number is 0, and the block is longer than it is.
    testing_append_block(&lie.packed, weft_text("weft"));
    buf_append(&lie.packed, "\0\0\0\0\0\0\0", 8);
    lie.packed.data[16] = (char)(lie.packed.data[16] + 8);
    indexed_open(&lie, CODEC_GZIP);
    assert_null(lie.index);
    assert_reads_whole(&lie, weft_text("weft"), 10);
    indexed_close(&lie);
}

static void empty_blocks_lie_anywhere(void **state)
{
    (void)state;
    struct indexed bgzip = {0};
    testing_append_block(&bgzip.packed, weft_text(""));
    testing_append_block(&bgzip.packed, weft_text("weft"));
    testing_append_block(&bgzip.packed, weft_text(""));
    testing_append_block(&bgzip.packed, weft_text("more"));  // and no empty block at the end
    indexed_open(&bgzip, CODEC_GZIP);
    assert_every_offset_is_the_same(&bgzip, weft_text("weftmore"));
}

static void ordinary_files_have_no_index(void **state)
{
    (void)state;
    static const enum codec_kind kinds[] = {CODEC_GZIP, CODEC_ZSTD, CODEC_LZ4, CODEC_BZIP2};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct indexed plain = {0};
        assert_int_equal(codec_compress(kinds[i], weft_text("weft"), &plain.packed), WEFT_OK);
        indexed_open(&plain, kinds[i]);
        assert_null(plain.index);
        assert_reads_whole(&plain, weft_text("weft"), 10);
        indexed_close(&plain);
    }
}

// Without an index the file is read from its front, which does not look at block sizes.
static void a_bgzip_file_with_a_wrong_block_size_is_read_from_its_front(void **state)
{
    (void)state;
    struct buf text = {0};
    testing_append_text(&text, 3000);
    for (int change = -1; change <= 1; change += 2) {
        struct indexed bgzip = {0};
        testing_append_bgzip(&bgzip.packed, buf_bytes(&text), 1000);
        bgzip.packed.data[16] = (char)(bgzip.packed.data[16] + change);
        indexed_open(&bgzip, CODEC_GZIP);
        assert_null(bgzip.index);
        assert_reads_whole(&bgzip, buf_bytes(&text), 100);
        indexed_close(&bgzip);
    }
    buf_fini(&text);
}

static void a_bgzip_file_that_is_cut_has_no_index(void **state)
{
    (void)state;
    struct buf packed = {0};
    testing_append_bgzip(&packed, weft_text("weft"), 2);
    // 28 bytes are an empty block: without it the file is still a chain.
    const size_t whole = packed.size - 28;
    for (size_t cut = 0; cut < whole; cut++) {
        struct indexed bgzip = {0};
        buf_append(&bgzip.packed, packed.data, cut);
        indexed_open(&bgzip, CODEC_GZIP);
        if (cut == whole / 2)
            assert_int_equal(codec_index_size(bgzip.index), 2);
        else
            assert_null(bgzip.index);
        indexed_close(&bgzip);
    }
    buf_fini(&packed);
}

static void assert_read_is_data_loss(struct indexed *indexed, uint64_t from, const char *words)
{
    struct buf plain = {0};
    assert_non_null(indexed->index);
    assert_int_equal(read_some(indexed, from, 10 << 20, &plain), WEFT_DATA_LOSS);
    if (!strstr(err_text(), words))
        fail_msg("expected \"%s\": %s", words, err_text());
    buf_fini(&plain);
}

static void a_bgzip_block_that_lies_about_its_text_is_data_loss(void **state)
{
    (void)state;
    for (int byte = 1; byte <= 8; byte++) {
        struct indexed bgzip = {0};
        testing_append_block(&bgzip.packed, weft_text("weft"));
        // The plain size is the last number of a block, its checksum the one before.
        bgzip.packed.data[bgzip.packed.size - (size_t)byte] ^= 1;
        testing_append_block(&bgzip.packed, weft_text("more"));
        indexed_open(&bgzip, CODEC_GZIP);
        if (byte <= 2)
            assert_null(bgzip.index);  // more than a block can hold
        else
            assert_read_is_data_loss(&bgzip, 0, "block");
        indexed_close(&bgzip);
    }
}

static void a_bgzip_block_with_more_than_its_data_is_data_loss(void **state)
{
    (void)state;
    struct indexed bgzip = {0};
    testing_append_block(&bgzip.packed, weft_text("weft"));
    // The trailer twice: sound at both ends.
    char trailer[8];
    memcpy(trailer, bgzip.packed.data + bgzip.packed.size - sizeof trailer, sizeof trailer);
    buf_append(&bgzip.packed, trailer, sizeof trailer);
    bgzip.packed.data[16] = (char)(bgzip.packed.data[16] + 8);
    indexed_open(&bgzip, CODEC_GZIP);
    assert_read_is_data_loss(&bgzip, 0, "not as long as it says");
    indexed_close(&bgzip);
}

static void a_flipped_bit_in_a_block_never_changes_the_text(void **state)
{
    (void)state;
    const weft_bytes text = weft_text("weft weaves what you give it");
    struct buf packed = {0}, plain = {0};
    testing_append_bgzip(&packed, text, 10);
    for (size_t bit = 0; bit < packed.size * 8; bit++) {
        struct indexed bgzip = {0};
        buf_append(&bgzip.packed, packed.data, packed.size);
        bgzip.packed.data[bit / 8] = (char)(bgzip.packed.data[bit / 8] ^ 1 << bit % 8);
        indexed_open(&bgzip, CODEC_GZIP);
        if (read_some(&bgzip, 0, 100, &plain) == WEFT_OK)
            testing_assert_same(&plain, text);
        indexed_close(&bgzip);
    }
    buf_fini(&plain);
    buf_fini(&packed);
}

// ---- Tables of seekable zstd

static void a_table_that_does_not_add_up_is_no_index(void **state)
{
    (void)state;
    for (int wrong = 0; wrong < 7; wrong++) {
        struct indexed zstd = {0};
        size_t count;
        struct testing_frame *frames =
            testing_append_frames(&zstd.packed, weft_text("weftmore"), 4, &count);
        frames[0].packed += wrong == 0;
        frames[1].packed -= wrong == 1;
        if (wrong == 2) {
            frames[0].packed += frames[1].packed;
            frames[1].packed = 0;
        }
        testing_append_table(&zstd.packed, frames, count, false);
        const size_t end = zstd.packed.size;
        if (wrong == 3)
            zstd.packed.data[end - 9]++;  // more frames than there are
        if (wrong == 4)
            zstd.packed.data[end - 5] = 0x40;  // a reserved bit
        if (wrong == 5)
            zstd.packed.data[end - 6] = 0x7f;  // very many frames
        if (wrong == 6)
            zstd.packed.data[end - 29]++;  // the size of the skippable frame
        indexed_open(&zstd, CODEC_ZSTD);
        assert_null(zstd.index);
        free(frames);
        if (wrong != 6)
            assert_reads_whole(&zstd, weft_text("weftmore"), 10);
        indexed_close(&zstd);
    }
}

static void a_table_may_be_long(void **state)
{
    (void)state;
    enum { FRAMES = 10000 };
    struct indexed zstd = {0};
    struct buf frame = {0}, text = {0};
    struct testing_frame *frames = calloc(FRAMES, sizeof *frames);
    assert_int_equal(codec_compress(CODEC_ZSTD, weft_text("weft\n"), &frame), WEFT_OK);
    for (size_t i = 0; i < FRAMES; i++) {
        buf_append(&zstd.packed, frame.data, frame.size);
        buf_append_text(&text, "weft\n");
        frames[i] = (struct testing_frame){(uint32_t)frame.size, 5};
    }
    testing_append_table(&zstd.packed, frames, FRAMES, true);
    indexed_open(&zstd, CODEC_ZSTD);
    assert_non_null(zstd.index);
    assert_int_equal(codec_index_size(zstd.index), text.size);
    assert_reads_whole(&zstd, buf_bytes(&text), 1001);
    assert_reads_from(&zstd, buf_bytes(&text), text.size - 7, 100);
    indexed_close(&zstd);
    free(frames);
    buf_fini(&frame);
    buf_fini(&text);
}

// Sizes that are wrong and add up, in frames with points between them: both readers of a place where two
// splits meet must not be content.
static void assert_lie_is_found(weft_bytes text, int packed_change, int plain_change)
{
    struct indexed zstd = {0};
    size_t count;
    struct testing_frame *frames = testing_append_frames(&zstd.packed, text, FRAME_BYTES, &count);
    assert_int_equal(count, 3);
    frames[0].packed += (uint32_t)packed_change;
    frames[1].packed -= (uint32_t)packed_change;
    frames[0].plain += (uint32_t)plain_change;
    frames[1].plain -= (uint32_t)plain_change;
    testing_append_table(&zstd.packed, frames, count, false);
    indexed_open(&zstd, CODEC_ZSTD);
    assert_read_is_data_loss(&zstd, 0, "some.file");
    // Just up to the point, and not a byte more.
    struct buf plain = {0};
    assert_int_equal(read_some(&zstd, 0, frames[0].plain, &plain), WEFT_DATA_LOSS);
    assert_int_equal(read_some(&zstd, 0, frames[0].plain + 10, &plain), WEFT_DATA_LOSS);
    assert_read_is_data_loss(&zstd, frames[0].plain, "");
    buf_fini(&plain);
    free(frames);
    indexed_close(&zstd);
}

static void a_table_that_lies_is_data_loss(void **state)
{
    (void)state;
    struct buf text = {0};
    testing_append_text(&text, 3 * FRAME_BYTES);
    assert_lie_is_found(buf_bytes(&text), 1, 0);
    assert_lie_is_found(buf_bytes(&text), -1, 0);
    assert_lie_is_found(buf_bytes(&text), 0, 1);
    assert_lie_is_found(buf_bytes(&text), 0, -1);
    assert_lie_is_found(buf_bytes(&text), 0, 1000);
    assert_lie_is_found(buf_bytes(&text), 0, -1000);
    buf_fini(&text);
}

static void a_table_that_promises_more_or_less_is_data_loss(void **state)
{
    (void)state;
    for (int change = -1; change <= 1; change += 2) {
        struct indexed zstd = {0};
        size_t count;
        struct testing_frame *frames =
            testing_append_frames(&zstd.packed, weft_text("weftmore"), 4, &count);
        frames[1].plain += (uint32_t)change;
        testing_append_table(&zstd.packed, frames, count, false);
        indexed_open(&zstd, CODEC_ZSTD);
        assert_read_is_data_loss(&zstd, 0, "index");
        free(frames);
        indexed_close(&zstd);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_files_read_the_same_from_every_offset),
        cmocka_unit_test(large_files_read_the_same_from_many_offsets),
        cmocka_unit_test(a_file_that_says_it_is_empty_is_read_from_its_front),
        cmocka_unit_test(empty_blocks_lie_anywhere),
        cmocka_unit_test(ordinary_files_have_no_index),
        cmocka_unit_test(a_bgzip_file_with_a_wrong_block_size_is_read_from_its_front),
        cmocka_unit_test(a_bgzip_file_that_is_cut_has_no_index),
        cmocka_unit_test(a_bgzip_block_that_lies_about_its_text_is_data_loss),
        cmocka_unit_test(a_bgzip_block_with_more_than_its_data_is_data_loss),
        cmocka_unit_test(a_flipped_bit_in_a_block_never_changes_the_text),
        cmocka_unit_test(a_table_that_does_not_add_up_is_no_index),
        cmocka_unit_test(a_table_may_be_long),
        cmocka_unit_test(a_table_that_lies_is_data_loss),
        cmocka_unit_test(a_table_that_promises_more_or_less_is_data_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
