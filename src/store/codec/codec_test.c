// Tests of store/codec: every format read in every way it is written, whole, cut and damaged.
// Takes long.

#include "store/codec/codec_testing.h"

#include <stdio.h>

static const enum codec_kind kinds[] = {CODEC_GZIP, CODEC_ZSTD, CODEC_LZ4, CODEC_BZIP2, CODEC_XZ};
enum { KINDS = sizeof kinds / sizeof *kinds };

static struct buf pack(enum codec_kind kind, weft_bytes text)
{
    struct buf packed = {0};
    assert_int_equal(codec_compress(kind, text, &packed), WEFT_OK);
    return packed;
}

static struct buf make_text(size_t size)
{
    struct buf text = {0};
    testing_append_text(&text, size);
    return text;
}

static void assert_reads_as(enum codec_kind kind, weft_bytes packed, size_t step,
                            weft_bytes expected)
{
    struct buf plain = {0};
    const weft_err err = testing_read(kind, packed, step, &plain);
    if (err)
        print_error("%s: %s\n", codec_name(kind), err_text());
    assert_int_equal(err, WEFT_OK);
    testing_assert_same(&plain, expected);
    buf_fini(&plain);
}

static void assert_fails(enum codec_kind kind, weft_bytes packed, weft_err code, const char *words)
{
    struct buf plain = {0};
    assert_int_equal(testing_read(kind, packed, 1000, &plain), code);
    if (!strstr(err_text(), words) || !strstr(err_text(), "some.file") ||
        !strstr(err_text(), "\n  try: "))
        fail_msg("the sentence lacks \"%s\", the name or a way on: %s", words, err_text());
    buf_fini(&plain);
}

// ---- Recognizing, naming

static void a_format_is_told_by_its_first_bytes(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        struct buf empty = pack(kinds[i], (weft_bytes){NULL, 0});
        struct buf packed = pack(kinds[i], weft_text("weft"));
        assert_true(empty.size > 0);
        assert_int_equal(codec_sniff(packed.data, CODEC_SNIFF_BYTES), kinds[i]);
        assert_int_equal(codec_sniff(empty.data, empty.size < CODEC_SNIFF_BYTES
                                                     ? empty.size
                                                     : CODEC_SNIFF_BYTES),
                         kinds[i]);
        buf_fini(&empty);
        buf_fini(&packed);
    }
}

static void what_only_begins_alike_is_plain(void **state)
{
    (void)state;
    assert_int_equal(codec_sniff("", 0), CODEC_NONE);
    assert_int_equal(codec_sniff("BZh9 is how bzip", 16), CODEC_NONE);
    assert_int_equal(codec_sniff("BZh91AY&SY is so", 16), CODEC_BZIP2);
    assert_int_equal(codec_sniff("BZh01AY&SY is so", 16), CODEC_NONE);
    assert_int_equal(codec_sniff("BZh9", 4), CODEC_NONE);
    assert_int_equal(codec_sniff("\x1f", 1), CODEC_NONE);
    assert_int_equal(codec_sniff("\x1f\x8b", 2), CODEC_GZIP);  // cut off, and no text
    assert_int_equal(codec_sniff("\x1f\x8b\x07", 3), CODEC_NONE);
    assert_int_equal(codec_sniff("\x1f\x8b\x08\x20", 4), CODEC_NONE);
    assert_int_equal(codec_sniff("\x28\xb5\x2f", 3), CODEC_NONE);
    assert_int_equal(codec_sniff("\x04\x22\x4d\x19", 4), CODEC_NONE);
}

static void behind_skippable_frames_the_next_one_tells(void **state)
{
    (void)state;
    assert_int_equal(codec_sniff("\x50\x2a\x4d\x18\4\0\0\0abcd\x28\xb5\x2f\xfd", 16), CODEC_ZSTD);
    assert_int_equal(codec_sniff("\x50\x2a\x4d\x18\4\0\0\0abcd\x04\x22\x4d\x18", 16), CODEC_LZ4);
    assert_int_equal(codec_sniff("\x5f\x2a\x4d\x18\0\0\0\0\x04\x22\x4d\x18zzzz", 16), CODEC_LZ4);
    assert_int_equal(codec_sniff("\x50\x2a\x4d\x18\4\0\0\0abcdabcd", 16), CODEC_NONE);
    // What cannot be seen is zstd's: lz4 writes no such frames of its own.
    assert_int_equal(codec_sniff("\x50\x2a\x4d\x18\x40\0\0\0abcdabcd", 16), CODEC_ZSTD);
    assert_int_equal(codec_sniff("\x50\x2a\x4d\x18\xff\xff\xff\xff\xff\xff\xff\xff", 12),
                     CODEC_ZSTD);
}

static void names_lead_back(void **state)
{
    (void)state;
    for (int i = 0; i < CODEC_FOREIGN; i++) {
        enum codec_kind kind = CODEC_KIND_COUNT;
        assert_true(codec_find(codec_name((enum codec_kind)i), &kind));
        assert_int_equal(kind, i);
    }
    enum codec_kind kind = CODEC_LZ4;
    assert_false(codec_find("rar", &kind));
    assert_false(codec_find("foreign", &kind));
    assert_int_equal(kind, CODEC_LZ4);
    assert_string_equal(codec_suffix(CODEC_NONE), "");
    assert_string_equal(codec_suffix(CODEC_BZIP2), ".bz2");
    assert_string_equal(codec_suffix(CODEC_XZ), ".xz");
}

// ---- Sound files

static void text_survives_in_reads_of_any_size(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 17, 5000, 65536, 300001};
    static const size_t steps[] = {1, 2, 7, 1000, 4096, 100003, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct buf text = make_text(sizes[i]);
        for (int k = 0; k < KINDS; k++) {
            struct buf packed = pack(kinds[k], buf_bytes(&text));
            for (size_t s = 0; s < sizeof steps / sizeof *steps; s++)
                assert_reads_as(kinds[k], buf_bytes(&packed), steps[s], buf_bytes(&text));
            buf_fini(&packed);
        }
        buf_fini(&text);
    }
}

static void files_of_many_stretches_are_read(void **state)
{
    (void)state;
    struct buf text = make_text(6 << 20);
    for (int k = 0; k < KINDS; k++) {
        struct buf packed = pack(kinds[k], buf_bytes(&text));
        assert_true(packed.size > 3 * (256 << 10));
        assert_reads_as(kinds[k], buf_bytes(&packed), 777777, buf_bytes(&text));
        buf_fini(&packed);
    }
    buf_fini(&text);
}

static void the_same_text_gives_the_same_bytes(void **state)
{
    (void)state;
    struct buf text = make_text(200000);
    for (int k = 0; k < KINDS; k++) {
        struct buf first = pack(kinds[k], buf_bytes(&text));
        struct buf second = pack(kinds[k], buf_bytes(&text));
        testing_assert_same(&second, buf_bytes(&first));
        buf_fini(&first);
        buf_fini(&second);
    }
    buf_fini(&text);
    struct buf gzip = pack(CODEC_GZIP, weft_text("weft\nweft\nweft\n"));
    // gzip -n writes the same header: no name, no time, Unix.
    assert_memory_equal(gzip.data, "\x1f\x8b\x08\0\0\0\0\0\0\x03", 10);
    buf_fini(&gzip);
}

static void none_only_copies(void **state)
{
    (void)state;
    struct buf out = pack(CODEC_NONE, weft_text("weft"));
    testing_assert_same(&out, weft_text("weft"));
    buf_fini(&out);
}

static void memory_that_is_refused_is_told(void **state)
{
    (void)state;
    for (int kind = 0; kind < CODEC_FOREIGN; kind++) {
        struct buf out = {.has_failed = true};
        assert_int_equal(codec_compress((enum codec_kind)kind, weft_text("weft"), &out),
                         WEFT_RESOURCE_EXHAUSTED);
        assert_int_equal(out.size, 0);
    }
}

static void frames_one_behind_the_other_are_one_file(void **state)
{
    (void)state;
    struct buf text = make_text(9000);
    for (int k = 0; k < KINDS; k++) {
        struct buf packed = {0};
        for (size_t at = 0; at < text.size; at += 1000) {
            const weft_bytes part = {text.data + at, 1000};
            assert_int_equal(codec_compress(kinds[k], part, &packed), WEFT_OK);
            assert_int_equal(codec_compress(kinds[k], weft_text(""), &packed), WEFT_OK);
        }
        for (size_t step = 1; step < 3000; step = step * 3 + 1)
            assert_reads_as(kinds[k], buf_bytes(&packed), step, buf_bytes(&text));
        buf_fini(&packed);
    }
    buf_fini(&text);
}

// Written by the commands gzip, zstd, lz4 and bzip2 of Debian 12 from a file "t".
static void what_the_commands_write_is_read(void **state)
{
    (void)state;
    static const char gzip[] = "\x1f\x8b\x08\x08\x75\xe8\xf9\x6a\0\x03t\0+OM+\xe1*\x87\x13\0\x61-"
                               "\x8a$\x0f\0\0";
    static const char zstd[] = "\x28\xb5\x2f\xfd\x24\x0f\x5d\0\0(weft\x0a\x01\0\xd8\x8a\x16\x09>K"
                               "\xc8";
    static const char lz4[] = "\x04\x22\x4d\x18\x64\x40\xa7\x0f\0\0\x80weft\nweft\nweft\n\0\0\0\0"
                              "\xef.\xfd\x82";
    static const char bzip2[] = "BZh91AY&SY!\xea\xd5\xf2\0\0\x07\x41\x80\0\x10\x03\0\x04\x80 \0!"
                                "\xb5\x33Pf\x83\x09\x84O\x17\x72\x45\x38\x50\x90!\xea\xd5\xf2";
    const weft_bytes expected = weft_text("weft\nweft\nweft\n");
    // The zero that ends a string is the last byte of gzip's trailer.
    assert_reads_as(CODEC_GZIP, (weft_bytes){gzip, sizeof gzip}, 4, expected);
    assert_reads_as(CODEC_ZSTD, (weft_bytes){zstd, sizeof zstd - 1}, 4, expected);
    assert_reads_as(CODEC_LZ4, (weft_bytes){lz4, sizeof lz4 - 1}, 4, expected);
    assert_reads_as(CODEC_BZIP2, (weft_bytes){bzip2, sizeof bzip2 - 1}, 4, expected);
}

static void skippable_frames_are_skipped(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        if (kinds[k] != CODEC_ZSTD && kinds[k] != CODEC_LZ4)
            continue;
        struct buf packed = {0};
        for (int i = 0; i < 3; i++) {
            testing_put32(&packed, 0x184D2A50 + (uint32_t)i);
            testing_put32(&packed, (uint32_t)i * 5);
            buf_append(&packed, "0123456789", (size_t)i * 5);
            assert_int_equal(codec_compress(kinds[k], weft_text("weft"), &packed), WEFT_OK);
        }
        testing_put32(&packed, 0x184D2A5F);
        testing_put32(&packed, 0);
        assert_reads_as(kinds[k], buf_bytes(&packed), 3, weft_text("weftweftweft"));
        buf_fini(&packed);
    }
}

static void zeros_behind_a_gzip_member_are_padding(void **state)
{
    (void)state;
    struct buf packed = pack(CODEC_GZIP, weft_text("weft"));
    for (int i = 0; i < 600; i++)
        buf_append(&packed, "", 1);
    assert_reads_as(CODEC_GZIP, buf_bytes(&packed), 100, weft_text("weft"));
    assert_int_equal(codec_compress(CODEC_GZIP, weft_text("more"), &packed), WEFT_OK);
    assert_reads_as(CODEC_GZIP, buf_bytes(&packed), 100, weft_text("weftmore"));
    buf_fini(&packed);
}

static void reading_may_begin_inside_without_an_index(void **state)
{
    (void)state;
    struct buf text = make_text(200000);
    for (int k = 0; k < KINDS; k++) {
        struct buf packed = pack(kinds[k], buf_bytes(&text)), rest = {0};
        struct testing_file file = testing_file_new(buf_bytes(&packed));
        static const uint64_t places[] = {1, 65535, 65536, 199999, 200000, 200001};
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            const uint64_t from = places[i] < text.size ? places[i] : text.size;
            struct codec_reader *reader =
                codec_reader_new(&file.file, file.size, kinds[k], NULL, places[i]);
            rest.size = 0;
            assert_int_equal(testing_read_rest(reader, 4096, &rest), WEFT_OK);
            testing_assert_same(&rest, (weft_bytes){text.data + from, text.size - from});
            codec_reader_free(reader);
        }
        close(file.fd);
        buf_fini(&rest);
        buf_fini(&packed);
    }
    buf_fini(&text);
}

// ---- Files that are not sound

static void a_file_cut_anywhere_is_data_loss(void **state)
{
    (void)state;
    struct buf text = make_text(700);
    for (int k = 0; k < KINDS; k++) {
        struct buf packed = pack(kinds[k], buf_bytes(&text));
        for (size_t cut = 1; cut < packed.size; cut++)
            assert_fails(kinds[k], (weft_bytes){packed.data, cut}, WEFT_DATA_LOSS, "too early");
        buf_fini(&packed);
    }
    buf_fini(&text);
}

static void a_file_cut_in_its_second_frame_is_data_loss(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        struct buf packed = pack(kinds[k], weft_text("weft"));
        const size_t one = packed.size;
        assert_int_equal(codec_compress(kinds[k], weft_text("more"), &packed), WEFT_OK);
        for (size_t cut = one + 1; cut < packed.size; cut++)
            assert_fails(kinds[k], (weft_bytes){packed.data, cut}, WEFT_DATA_LOSS, "too early");
        assert_reads_as(kinds[k], (weft_bytes){packed.data, one}, 3, weft_text("weft"));
        buf_fini(&packed);
    }
}

static void assert_flip_is_harmless_or_told(enum codec_kind kind, struct buf *packed, size_t bit,
                                            weft_bytes text)
{
    struct buf plain = {0};
    packed->data[bit / 8] = (char)(packed->data[bit / 8] ^ 1 << bit % 8);
    const weft_err err = testing_read(kind, buf_bytes(packed), 64, &plain);
    packed->data[bit / 8] = (char)(packed->data[bit / 8] ^ 1 << bit % 8);
    if (!err)
        testing_assert_same(&plain, text);
    else if (err != WEFT_DATA_LOSS && err != WEFT_RESOURCE_EXHAUSTED &&
             err != WEFT_FAILED_PRECONDITION)
        fail_msg("%s, bit %zu: %s", codec_name(kind), bit, err_text());
    else
        assert_non_null(strstr(err_text(), "some.file"));
    buf_fini(&plain);
}

static void a_flipped_bit_never_changes_the_text(void **state)
{
    (void)state;
    struct buf text = make_text(500);
    for (int k = 0; k < KINDS; k++) {
        struct buf packed = pack(kinds[k], buf_bytes(&text));
        for (size_t bit = 0; bit < packed.size * 8; bit++)
            assert_flip_is_harmless_or_told(kinds[k], &packed, bit, buf_bytes(&text));
        buf_fini(&packed);
    }
    buf_fini(&text);
}

static void what_follows_the_last_frame_must_be_one(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        struct buf packed = pack(kinds[k], weft_text("weft"));
        buf_append_text(&packed, "this is not compressed at all");
        assert_fails(kinds[k], buf_bytes(&packed), WEFT_DATA_LOSS, codec_name(kinds[k]));
        buf_fini(&packed);
    }
}

static void a_few_bytes_behind_xz_are_told_from_a_stream_that_is_cut(void **state)
{
    (void)state;
    struct buf packed = pack(CODEC_XZ, weft_text("weft"));
    const size_t one = packed.size;
    buf_append_text(&packed, "garbage");
    assert_fails(CODEC_XZ, buf_bytes(&packed), WEFT_DATA_LOSS, "the data that follows is not xz's");
    packed.size = one;
    buf_append(&packed, "\xfd\x37", 2);
    assert_fails(CODEC_XZ, buf_bytes(&packed), WEFT_DATA_LOSS, "too early");
    buf_fini(&packed);
}

static void padding_of_xz_comes_in_fours(void **state)
{
    (void)state;
    static const char zeros[9];
    struct buf next = pack(CODEC_XZ, weft_text(" and more"));
    for (size_t count = 0; count <= sizeof zeros; count++) {
        struct buf packed = pack(CODEC_XZ, weft_text("weft"));
        buf_append(&packed, zeros, count);
        if (count % 4 == 0)
            assert_reads_as(CODEC_XZ, buf_bytes(&packed), 3, weft_text("weft"));
        else
            assert_fails(CODEC_XZ, buf_bytes(&packed), WEFT_DATA_LOSS, "zero bytes");
        buf_append(&packed, next.data, next.size);
        if (count % 4 == 0)
            assert_reads_as(CODEC_XZ, buf_bytes(&packed), 3, weft_text("weft and more"));
        else
            assert_fails(CODEC_XZ, buf_bytes(&packed), WEFT_DATA_LOSS, "zero bytes");
        buf_fini(&packed);
    }
    buf_fini(&next);
}

static void assert_refused_by_name(const char *name, const char *data, size_t size, weft_err code)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
    assert_int_equal(codec_refuse_cut(name, size), code);
    if (code)
        assert_non_null(strstr(err_text(), "too early"));
    assert_int_equal(unlink(name), 0);
}

// Too short to be recognized by its first bytes.
static void a_file_cut_to_its_first_bytes_is_told_by_its_name(void **state)
{
    (void)state;
    char name[64];
    for (int k = 0; k < KINDS; k++) {
        struct buf packed = pack(kinds[k], weft_text("weft"));
        snprintf(name, sizeof name, "cut-%ld%s", (long)getpid(), codec_suffix(kinds[k]));
        for (size_t cut = 1; cut < 16; cut++)
            if (codec_sniff(packed.data, cut) == CODEC_NONE)
                assert_refused_by_name(name, packed.data, cut, WEFT_DATA_LOSS);
        assert_refused_by_name(name, "", 0, WEFT_OK);
        assert_refused_by_name(name, "weft", 4, WEFT_OK);
        assert_refused_by_name(name, packed.data, packed.size, WEFT_OK);
        snprintf(name, sizeof name, "cut-%ld.txt", (long)getpid());
        assert_refused_by_name(name, packed.data, 1, WEFT_OK);
        buf_fini(&packed);
    }
}

static void the_sentence_says_where_and_what(void **state)
{
    (void)state;
    struct buf packed = pack(CODEC_GZIP, weft_text("weft"));
    packed.data[packed.size - 8] ^= 1;
    assert_fails(CODEC_GZIP, buf_bytes(&packed), WEFT_DATA_LOSS,
                 "cannot decompress some.file: incorrect data check, at byte ");
    assert_non_null(strstr(err_text(), "of 24\n  try: gzip -t some.file"));
    buf_fini(&packed);
}

static void a_reader_that_failed_stays_failed(void **state)
{
    (void)state;
    struct buf packed = pack(CODEC_ZSTD, weft_text("weft"));
    struct testing_file file = testing_file_new(buf_bytes(&packed));
    struct codec_reader *reader = codec_reader_new(&file.file, file.size - 1, CODEC_ZSTD, NULL, 0);
    char plain[10];
    size_t got = 77;
    assert_int_equal(codec_reader_read(reader, plain, sizeof plain, &got), WEFT_DATA_LOSS);
    assert_int_equal(codec_reader_read(reader, plain, sizeof plain, &got), WEFT_DATA_LOSS);
    assert_int_equal(got, 0);
    assert_non_null(strstr(err_text(), "failed before"));
    codec_reader_free(reader);
    close(file.fd);
    buf_fini(&packed);
}

static void a_file_that_shrank_is_cut(void **state)
{
    (void)state;
    struct buf packed = pack(CODEC_LZ4, weft_text("weft"));
    struct testing_file file = testing_file_new(buf_bytes(&packed));
    assert_int_equal(ftruncate(file.fd, (off_t)file.size - 3), 0);
    struct codec_reader *reader = codec_reader_new(&file.file, file.size, CODEC_LZ4, NULL, 0);
    char plain[10];
    size_t got;
    assert_int_equal(codec_reader_read(reader, plain, sizeof plain, &got), WEFT_DATA_LOSS);
    assert_non_null(strstr(err_text(), "too early"));
    codec_reader_free(reader);
    close(file.fd);
    buf_fini(&packed);
}

static void a_zstd_window_that_is_too_large_is_refused(void **state)
{
    (void)state;
    // A frame header with a window of 256 MiB and nothing known of the content's size.
    assert_fails(CODEC_ZSTD, (weft_bytes){"\x28\xb5\x2f\xfd\0\x90\x01\0\0", 9},
                 WEFT_RESOURCE_EXHAUSTED, "128 MiB");
    // 128 MiB are fine: an empty raw block that is the last one.
    assert_reads_as(CODEC_ZSTD, (weft_bytes){"\x28\xb5\x2f\xfd\0\x88\x01\0\0", 9}, 10,
                    weft_text(""));
}

static void a_zstd_frame_with_a_dictionary_is_refused(void **state)
{
    (void)state;
    assert_fails(CODEC_ZSTD, (weft_bytes){"\x28\xb5\x2f\xfd\x21\x07\0\x01\0\0", 10},
                 WEFT_FAILED_PRECONDITION, "dictionary");
}

static void the_legacy_format_of_lz4_is_refused_by_name(void **state)
{
    (void)state;
    static const char legacy[] = "\x02\x21\x4c\x18\x11\0\0\0\xf0\0weft\nweft\nweft\n";
    const weft_bytes bytes = {legacy, sizeof legacy - 1};
    assert_int_equal(codec_sniff(legacy, CODEC_SNIFF_BYTES), CODEC_LZ4);
    assert_fails(CODEC_LZ4, bytes, WEFT_UNIMPLEMENTED, "legacy");
    struct buf packed = pack(CODEC_LZ4, weft_text("weft"));
    buf_append(&packed, bytes.data, bytes.size);
    assert_fails(CODEC_LZ4, buf_bytes(&packed), WEFT_UNIMPLEMENTED, "legacy");
    buf_fini(&packed);
}

static void what_is_known_and_not_read_is_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *data, *words;
    } files[] = {
        {"PK\3\4...............", "zip archive"},  {"7z\xbc\xaf\x27\x1c............", "7z archive"},
        {"Rar!\x1a\7............", "rar archive"}, {"\x1f\x9d\x90............", "compress (.Z)"},
        {"LZIP\1...............", "lzip"},         {"!<arch>\n.........", "ar archive"},
        {"SEQ\6............", "SequenceFile"},     {"Obj\1.............", "Avro"},
        {"PAR1\x15............", "Parquet"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        assert_int_equal(codec_sniff(files[i].data, CODEC_SNIFF_BYTES), CODEC_FOREIGN);
        struct testing_file file = testing_file_new(weft_text(files[i].data));
        assert_null(codec_reader_new(&file.file, file.size, CODEC_FOREIGN, NULL, 0));
        assert_non_null(strstr(err_text(), files[i].words));
        assert_non_null(strstr(err_text(), " some.file | weft run JOB -"));
        close(file.fd);
    }
    assert_int_equal(codec_sniff("\x89LZO\0\r\n\x1a\n.......", 16), CODEC_FOREIGN);
    assert_int_equal(codec_sniff("\xff\6\0\0sNaPpY......", 16), CODEC_FOREIGN);
    assert_int_equal(codec_sniff("\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff...", 16),
                     CODEC_FOREIGN);
    assert_int_equal(codec_sniff("\x5d\0\0\x80\0\1\0\0\0\0\0\0\0...", 16), CODEC_FOREIGN);
    // Texts and numbers that only look a little like it.
    assert_int_equal(codec_sniff("PKZIP was a tool", 16), CODEC_NONE);
    assert_int_equal(codec_sniff("]\0\0\1\2\3\4\5\6\7abcdef", 16), CODEC_NONE);
    assert_int_equal(codec_sniff("LZIP is a tool. ", 16), CODEC_NONE);
    assert_int_equal(codec_sniff("Rar! is a cry...", 16), CODEC_NONE);
    assert_int_equal(codec_sniff("MSCF\0\0\0\0........", 16), CODEC_FOREIGN);
    assert_int_equal(codec_sniff("SEQ 6 in the list", 16), CODEC_NONE);
    assert_int_equal(codec_sniff("PAR1 and PAR2 are", 16), CODEC_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_format_is_told_by_its_first_bytes),
        cmocka_unit_test(what_only_begins_alike_is_plain),
        cmocka_unit_test(behind_skippable_frames_the_next_one_tells),
        cmocka_unit_test(names_lead_back),
        cmocka_unit_test(text_survives_in_reads_of_any_size),
        cmocka_unit_test(files_of_many_stretches_are_read),
        cmocka_unit_test(the_same_text_gives_the_same_bytes),
        cmocka_unit_test(none_only_copies),
        cmocka_unit_test(memory_that_is_refused_is_told),
        cmocka_unit_test(frames_one_behind_the_other_are_one_file),
        cmocka_unit_test(what_the_commands_write_is_read),
        cmocka_unit_test(skippable_frames_are_skipped),
        cmocka_unit_test(zeros_behind_a_gzip_member_are_padding),
        cmocka_unit_test(reading_may_begin_inside_without_an_index),
        cmocka_unit_test(a_file_cut_anywhere_is_data_loss),
        cmocka_unit_test(a_file_cut_in_its_second_frame_is_data_loss),
        cmocka_unit_test(a_flipped_bit_never_changes_the_text),
        cmocka_unit_test(what_follows_the_last_frame_must_be_one),
        cmocka_unit_test(the_sentence_says_where_and_what),
        cmocka_unit_test(a_reader_that_failed_stays_failed),
        cmocka_unit_test(a_file_that_shrank_is_cut),
        cmocka_unit_test(a_few_bytes_behind_xz_are_told_from_a_stream_that_is_cut),
        cmocka_unit_test(padding_of_xz_comes_in_fours),
        cmocka_unit_test(a_file_cut_to_its_first_bytes_is_told_by_its_name),
        cmocka_unit_test(a_zstd_window_that_is_too_large_is_refused),
        cmocka_unit_test(a_zstd_frame_with_a_dictionary_is_refused),
        cmocka_unit_test(the_legacy_format_of_lz4_is_refused_by_name),
        cmocka_unit_test(what_is_known_and_not_read_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
