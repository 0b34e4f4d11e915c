// Fuzzes the codecs with a file of any bytes.
//
//   0  u8   bits 0-1 the format; 2 the rest is a text, to be compressed and read back; 3 give the file a
//           table, or block headers, that are right, so that what lies behind them is reached; 4 the
//           format is xz
//   1  u8   how much to read at a time
//   2       the file, or the text
//
// Nothing may crash, hang or say nothing. What is read with the index must be what is read without it,
// wherever reading begins. At most PLAIN_MAX plain bytes are looked at, fewer in small steps.
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/codec/codec.h"
#include "sys/file/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    PREAMBLE_BYTES = 2,
    BITS_KIND = 3,
    BITS_TEXT = 4,
    BITS_WRAP = 8,
    BITS_XZ = 16,
    PLAIN_MAX = 16 << 20,
    STEPS_MAX = 16 << 10
};

struct input {
    int fd;
    struct store_file *file;  // of fd
    uint64_t size;
    enum codec_kind kind;
    size_t step, limit;  // bytes at a time, and in all
};

static void put32(struct buf *buf, uint32_t number)
{
    buf_append(buf, &number, sizeof number);
}

// The rest as one frame that a table of seekable zstd tells of.
static void wrap_zstd(struct buf *file, const uint8_t *data, size_t size)
{
    buf_append(file, data, size);
    put32(file, 0x184D2A5E);
    put32(file, 17);
    put32(file, (uint32_t)size);
    put32(file, size ? data[size - 1] : 0);
    put32(file, 1);
    buf_append(file, "", 1);
    put32(file, 0x8F92EAB1);
}

// The rest as the deflated data, checksum and size of one block of bgzip, with a sound block behind it.
static void wrap_bgzip(struct buf *file, const uint8_t *data, size_t size)
{
    static const char header[] = "\x1f\x8b\x08\4\0\0\0\0\0\xff\6\0BC\2";
    static const char end[] = "\x1f\x8b\x08\4\0\0\0\0\0\xff\6\0BC\2\0\x1b\0\3\0\0\0\0\0\0\0\0";
    size = size > 60000 ? 60000 : size;
    const uint16_t whole = (uint16_t)(sizeof header + 2 + size - 1);
    buf_append(file, header, sizeof header);
    buf_append(file, &whole, sizeof whole);
    buf_append(file, data, size);
    buf_append(file, end, sizeof end);
}

static struct codec_reader *reader_new(const struct input *input, const struct codec_index *index,
                                       uint64_t from)
{
    struct codec_reader *reader =
        codec_reader_new(input->file, input->size, input->kind, index, from);
    if (!reader)
        abort();
    return reader;
}

static weft_err read_all(const struct input *input, const struct codec_index *index, uint64_t from,
                         size_t limit, struct buf *plain)
{
    struct codec_reader *reader = reader_new(input, index, from);
    weft_err err = WEFT_OK;
    size_t got = input->step;
    while (!err && got == input->step && plain->size < limit) {
        char *to = buf_reserve(plain, input->step);
        err = codec_reader_read(reader, to, input->step, &got);
        if (got > input->step || codec_reader_taken(reader) > input->size)
            abort();
        plain->size += got;
    }
    if (err && (!*err_text() || !strstr(err_text(), "memory")))
        abort();
    codec_reader_free(reader);
    return err;
}

// All of it, and then from a few places. A file that is sound when read from its front may still have an
// index that lies; one that the index reads to its end is the same.
static void check_index(const struct input *input, const struct buf *plain, weft_err front)
{
    struct codec_index *index;
    if (codec_index_open(input->file, input->size, input->kind, &index) != WEFT_OK)
        abort();
    if (!index)
        return;
    struct buf again = {0};
    const uint64_t size = codec_index_size(index);
    const weft_err err = read_all(input, index, 0, input->limit, &again);
    if (!err && size < input->limit && again.size != size)
        abort();
    if (!err && !front && plain->size < input->limit) {
        if (again.size != plain->size || memcmp(again.data, plain->data, plain->size) != 0)
            abort();
        for (uint64_t from = 1; from < size; from = from * 5 + 3) {
            again.size = 0;
            if (read_all(input, index, from, input->limit, &again) != WEFT_OK ||
                again.size != size - from ||
                memcmp(again.data, plain->data + from, again.size) != 0)
                abort();
        }
    }
    buf_fini(&again);
    codec_index_free(index);
}

static void check_text(struct input *input, struct buf *file, weft_bytes text)
{
    struct buf plain = {0};
    if (codec_compress(input->kind, text, file) != WEFT_OK ||
        file_write_at(input->fd, "memory", file->data, file->size, 0) != WEFT_OK)
        abort();
    input->size = file->size;
    if (codec_sniff(file->data, file->size) != input->kind ||
        read_all(input, NULL, 0, SIZE_MAX, &plain) != WEFT_OK || plain.size != text.size ||
        (text.size && memcmp(plain.data, text.data, text.size) != 0))
        abort();
    buf_fini(&plain);
}

static void check_file(struct input *input, struct buf *file, const uint8_t *data, size_t size,
                       bool is_wrapped)
{
    struct buf plain = {0};
    if (is_wrapped && input->kind == CODEC_ZSTD)
        wrap_zstd(file, data, size);
    else if (is_wrapped && input->kind == CODEC_GZIP)
        wrap_bgzip(file, data, size);
    else
        buf_append(file, data, size);
    input->size = file->size;
    if (file->size && file_write_at(input->fd, "memory", file->data, file->size, 0) != WEFT_OK)
        abort();
    codec_sniff(file->data,
                file->size < CODEC_SNIFF_BYTES ? file->size : (size_t)CODEC_SNIFF_BYTES);
    const weft_err err = read_all(input, NULL, 0, input->limit, &plain);
    check_index(input, &plain, err);
    buf_fini(&plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < PREAMBLE_BYTES)
        return 0;
    const uint8_t bits = data[0];
    // Steps from one byte to some 64 KiB, none of them even.
    struct input input = {
        .fd = memfd_create("codec", MFD_CLOEXEC),
        .kind = bits & BITS_XZ ? CODEC_XZ : (enum codec_kind)(CODEC_GZIP + (bits & BITS_KIND)),
        .step = ((size_t)data[1] * data[1]) | 1};
    input.limit = input.step * STEPS_MAX < PLAIN_MAX ? input.step * STEPS_MAX : PLAIN_MAX;
    struct buf file = {0};
    struct store_file memory = store_plain(input.fd, "memory");
    input.file = &memory;
    if (input.fd < 0)
        abort();
    data += PREAMBLE_BYTES;
    size -= PREAMBLE_BYTES;
    if (bits & BITS_TEXT)
        check_text(&input, &file, (weft_bytes){(const char *)data, size});
    else
        check_file(&input, &file, data, size, bits & BITS_WRAP);
    buf_fini(&file);
    close(input.fd);
    return 0;
}
