// For the tests of codecs: files, texts, and the two kinds of files that nothing here writes
// otherwise: bgzip's and seekable zstd's.
#ifndef STORE_CODEC_CODEC_TESTING_H
#define STORE_CODEC_CODEC_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <unistd.h>
#include <zlib.h>

#include "store/codec/codec.h"
#include "sys/file/file.h"

struct testing_file {
    int fd;
    uint64_t size;
    struct store_file file;
};

static inline struct testing_file testing_file_new(weft_bytes bytes)
{
    struct testing_file file = {.fd = -1, .size = bytes.size};
    assert_int_equal(file_create_nameless("/tmp", &file.fd), WEFT_OK);
    assert_int_equal(file_write_at(file.fd, "memory", bytes.data, bytes.size, 0), WEFT_OK);
    file.file = store_plain(file.fd, "some.file");
    return file;
}

// Words that compress neither too well nor too badly, the same every time.
static inline void testing_append_text(struct buf *buf, size_t size)
{
    uint64_t seed = 42;
    const size_t end = buf->size + size;
    while (buf->size < end) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        buf_format(buf, "%x%c", (unsigned)(seed >> 50), seed >> 40 & 7 ? ' ' : '\n');
    }
    buf->size = end;
}

// Reads on to the end, `step` bytes at a time.
static inline weft_err testing_read_rest(struct codec_reader *reader, size_t step, struct buf *out)
{
    for (;;) {
        size_t got;
        char *to = buf_reserve(out, step);
        assert_non_null(to);
        const weft_err err = codec_reader_read(reader, to, step, &got);
        assert_true(got <= step);
        out->size += got;
        if (err || got < step)
            return err;
    }
}

static inline weft_err testing_read(enum codec_kind kind, weft_bytes packed, size_t step,
                                    struct buf *out)
{
    struct testing_file file = testing_file_new(packed);
    struct codec_reader *reader = codec_reader_new(&file.file, file.size, kind, NULL, 0);
    assert_non_null(reader);
    const weft_err err = testing_read_rest(reader, step, out);
    if (!err)
        assert_int_equal(codec_reader_taken(reader), file.size);
    codec_reader_free(reader);
    close(file.fd);
    return err;
}

static inline void testing_assert_same(const struct buf *got, weft_bytes expected)
{
    assert_int_equal(got->size, expected.size);
    if (expected.size)
        assert_memory_equal(got->data, expected.data, expected.size);
}

static inline void testing_put32(struct buf *out, uint32_t number)
{
    const unsigned char bytes[] = {(unsigned char)number, (unsigned char)(number >> 8),
                                   (unsigned char)(number >> 16), (unsigned char)(number >> 24)};
    buf_append(out, bytes, sizeof bytes);
}

// One block of bgzip; an empty one ends a file.
static inline void testing_append_block(struct buf *out, weft_bytes text)
{
    static const unsigned char header[] = {0x1f, 0x8b, 8, 4, 0,  0,  0, 0,
                                           0,    0xff, 6, 0, 66, 67, 2, 0};
    unsigned char data[70000];
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = (Bytef *)text.data;
    stream.avail_in = (unsigned)text.size;
    stream.next_out = data;
    stream.avail_out = sizeof data;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    const size_t size = sizeof data - stream.avail_out, whole = 18 + size + 8 - 1;
    deflateEnd(&stream);
    assert_true(whole < 65536);
    buf_append(out, header, sizeof header);
    buf_append(out, (char[]){(char)whole, (char)(whole >> 8)}, 2);
    buf_append(out, data, size);
    testing_put32(out, (uint32_t)crc32(0, (const Bytef *)text.data, (unsigned)text.size));
    testing_put32(out, (uint32_t)text.size);
}

static inline void testing_append_bgzip(struct buf *out, weft_bytes text, size_t block_size)
{
    for (size_t at = 0; at < text.size; at += block_size) {
        const size_t rest = text.size - at;
        testing_append_block(out,
                             (weft_bytes){text.data + at, rest < block_size ? rest : block_size});
    }
    testing_append_block(out, (weft_bytes){NULL, 0});
}

struct testing_frame {
    uint32_t packed, plain;
};

// The table of a seekable zstd file.
static inline void testing_append_table(struct buf *out, const struct testing_frame *frames,
                                        size_t count, bool has_checksums)
{
    testing_put32(out, 0x184D2A5E);
    testing_put32(out, (uint32_t)(count * (has_checksums ? 12 : 8) + 9));
    for (size_t i = 0; i < count; i++) {
        testing_put32(out, frames[i].packed);
        testing_put32(out, frames[i].plain);
        if (has_checksums)
            testing_put32(out, 0);
    }
    testing_put32(out, (uint32_t)count);
    buf_append(out, has_checksums ? "\x80" : "\0", 1);
    testing_put32(out, 0x8F92EAB1);
}

// Frames of that plain size; *count of them, which the caller frees.
static inline struct testing_frame *testing_append_frames(struct buf *out, weft_bytes text,
                                                          size_t frame_size, size_t *count)
{
    struct testing_frame *frames = calloc(text.size / frame_size + 1, sizeof *frames);
    *count = 0;
    for (size_t at = 0; at < text.size; at += frame_size) {
        const size_t rest = text.size - at, before = out->size;
        const weft_bytes plain = {text.data + at, rest < frame_size ? rest : frame_size};
        assert_int_equal(codec_compress(CODEC_ZSTD, plain, out), WEFT_OK);
        frames[(*count)++] =
            (struct testing_frame){(uint32_t)(out->size - before), (uint32_t)plain.size};
    }
    return frames;
}

#endif
