// Fuzzes the reader of runs with a segment of any bytes.
//
//   0  u8   bits: 1 the rest are pairs, to be put into a block with a right header and checksum, so
//           that the decoder behind the checksum is reached; 2 the job brings its own order
//   1  u16  how many pairs the segment is said to hold
//   3       the segment, or the pairs
//
// What is read as sound must survive being written and read again.
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "mapreduce/work/run_file.h"
#include "sys/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEADER_BYTES = 32, PREAMBLE_BYTES = 3, BITS_WRAP = 1, BITS_ORDER = 2 };

static int compare_last_byte(weft_bytes a, weft_bytes b)
{
    const int last_a = a.size ? a.data[a.size - 1] : -1, last_b = b.size ? b.data[b.size - 1] : -1;
    return last_a - last_b;
}

static struct spill spill_new(void)
{
    struct spill spill = {.fd = memfd_create("run", MFD_CLOEXEC), .directory = strdup("memory")};
    if (spill.fd < 0)
        abort();
    return spill;
}

static void spill_put(struct spill *spill, const void *data, size_t size)
{
    if (file_write_at(spill->fd, "memory", data, size, spill->size) != WEFT_OK)
        abort();
    spill->size += size;
}

// The header as run_file.c draws it, by hand: the fuzzer must not trust the writer.
static void put_header(struct spill *spill, const uint8_t *pairs, size_t size, uint32_t pair_count)
{
    const uint32_t magic = 0x31425257, range = 0;
    const uint64_t offset = 0, bytes = size;
    char header[HEADER_BYTES];
    memcpy(header, &magic, 4);
    memcpy(header + 8, &offset, 8);
    memcpy(header + 16, &bytes, 8);
    memcpy(header + 24, &pair_count, 4);
    memcpy(header + 28, &range, 4);
    const uint32_t crc = crc32c(crc32c(0, header + 8, HEADER_BYTES - 8), pairs, size);
    memcpy(header + 4, &crc, 4);
    spill_put(spill, header, sizeof header);
}

static uint32_t digest_bytes(uint32_t crc, weft_bytes bytes)
{
    crc = crc32c(crc, &bytes.size, sizeof bytes.size);
    return crc32c(crc, bytes.data, bytes.size);
}

static uint32_t digest_pair(uint32_t crc, const struct pair *pair)
{
    crc = crc32c(crc, &pair->prefix, sizeof pair->prefix);
    crc = crc32c(crc, &pair->number, sizeof pair->number);
    crc = crc32c(crc, &pair->task, sizeof pair->task);
    crc = crc32c(crc, &pair->type, sizeof pair->type);
    return digest_bytes(digest_bytes(crc, pair->key), pair->bytes);
}

// Reads a range to its end, adds each pair to `writer` if there is one, and gives a digest of all.
static weft_err read_all(const struct run *run, const struct key_order *order,
                         struct run_writer *writer, uint32_t *digest)
{
    struct run_reader *reader = run_reader_new(run, 0, order);
    bool has_pair = true;
    weft_err err = WEFT_OK;
    *digest = 0;
    for (struct pair pair; has_pair && !err;) {
        err = run_reader_next(reader, &pair, &has_pair);
        if (err || !has_pair)
            break;
        *digest = digest_pair(*digest, &pair);
        if (run_writer_add(writer, &pair) != WEFT_OK)
            abort();
    }
    run_reader_free(reader);
    return err;
}

static struct run_writer *writer_new(struct spill *spill)
{
    struct run_writer *writer = run_writer_new(spill, 1, 512);
    if (!writer || run_writer_begin_range(writer, 0) != WEFT_OK)
        abort();
    return writer;
}

static void check_segment(struct spill *spill, uint32_t pair_count, const struct key_order *order)
{
    struct run_segment segment = {0, spill->size, pair_count};
    const struct run run = {.spill = spill,
                            .segments = &segment,
                            .range_count = 1,
                            .size = spill->size,
                            .pair_count = pair_count,
                            .block_bytes = 512};
    struct spill again_spill = spill_new();
    struct run_writer *writer = writer_new(&again_spill);
    uint32_t digest, again_digest;
    const weft_err err = read_all(&run, order, writer, &digest);
    if (err) {
        if (err != WEFT_DATA_LOSS || !strstr(err_text(), "memory"))
            abort();
        run_writer_cancel(writer);
    } else {
        struct run again, last;
        if (run_writer_finish(writer, &again) != WEFT_OK || again.pair_count != pair_count)
            abort();
        writer = writer_new(&again_spill);
        if (read_all(&again, order, writer, &again_digest) != WEFT_OK || digest != again_digest)
            abort();
        if (run_writer_finish(writer, &last) != WEFT_OK || last.size != again.size)
            abort();
        run_fini(&again);
        run_fini(&last);
    }
    spill_close(&again_spill);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < PREAMBLE_BYTES)
        return 0;
    const uint8_t bits = data[0];
    const uint32_t pair_count = data[1] | (uint32_t)data[2] << 8;
    const struct key_order order = {bits & BITS_ORDER ? compare_last_byte : NULL};
    data += PREAMBLE_BYTES;
    size -= PREAMBLE_BYTES;
    struct spill spill = spill_new();
    if (bits & BITS_WRAP)
        put_header(&spill, data, size, pair_count);
    spill_put(&spill, data, size);
    check_segment(&spill, pair_count, &order);
    spill_close(&spill);
    return 0;
}
