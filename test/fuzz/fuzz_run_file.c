// Fuzzes the reader of runs with a segment of any bytes, and the reader of their index.
//
//   0  u8   bits: 1 the rest are pairs, to be put into a block with a right header and checksum, so
//           that the decoder behind the checksum is reached; 2 the job brings its own order;
//           4 the rest is an index of runs, or with 1 what stands behind its header
//   1  u16  how many pairs the segment is said to hold; of an index: where it stands
//   3       the segment, the pairs, or the index
//
// What is read as sound must survive being written and read again.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "mapreduce/work/run/run_index.h"
#include "sys/file/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEADER_BYTES = 32, PREAMBLE_BYTES = 3, BITS_WRAP = 1, BITS_ORDER = 2, BITS_INDEX = 4 };

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

// ---- the index

static const weft_bytes identity = {"id", 2};

static struct run_index *open_index(const struct spill *spill, uint64_t offset)
{
    char path[32];
    struct run_index *index;
    snprintf(path, sizeof path, "/proc/self/fd/%d", spill->fd);
    const weft_err err = run_index_open(&index, path, offset, identity, true);
    if (err && !strstr(err_text(), path))
        abort();
    return index;
}

// The header as run_index.c draws it, and the identity, by hand.
static void put_index_header(struct spill *spill, const uint8_t *data, size_t size)
{
    enum { INDEX_HEADER_BYTES = 35 };
    char header[INDEX_HEADER_BYTES] = "WRX1....";
    const uint64_t bytes = sizeof header + size;
    const uint32_t version = 1, bits = 0;
    memcpy(header + 8, &spill->size, 8);
    memcpy(header + 16, &bytes, 8);
    memcpy(header + 24, &version, 4);
    memcpy(header + 28, &bits, 4);
    memcpy(header + 32, "\2id", 3);
    const uint32_t crc = crc32c(crc32c(0, header + 8, sizeof header - 8), data, size);
    memcpy(header + 4, &crc, 4);
    spill_put(spill, header, sizeof header);
}

// What was understood is written at the same place of another file and understood as the same. Its
// blocks are not there, and not looked at.
static void check_index(const struct run_index *index, uint64_t offset)
{
    struct spill again = spill_new();
    again.size = offset;
    if (run_index_write(&again, index, identity) != WEFT_OK)
        abort();
    char path[32];
    struct run_index *found;
    snprintf(path, sizeof path, "/proc/self/fd/%d", again.fd);
    if (run_index_open(&found, path, offset, identity, false) != WEFT_OK)
        abort();
    if (found->run_count != index->run_count || found->task_count != index->task_count ||
        found->range_count != index->range_count ||
        memcmp(found->tasks, index->tasks, index->task_count * sizeof *index->tasks) != 0)
        abort();
    for (uint32_t i = 0; i < index->run_count; i++)
        if (found->runs[i].size != index->runs[i].size ||
            found->runs[i].pair_count != index->runs[i].pair_count || found->runs[i].size > offset)
            abort();
    run_index_close(found);
    spill_close(&again);
}

static void fuzz_index(const uint8_t *data, size_t size, uint8_t bits, uint64_t offset)
{
    struct spill spill = spill_new();
    spill.size = offset;
    if (bits & BITS_WRAP)
        put_index_header(&spill, data, size);
    spill_put(&spill, data, size);
    struct run_index *index = open_index(&spill, offset);
    if (index)
        check_index(index, offset);
    run_index_close(index);
    spill_close(&spill);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < PREAMBLE_BYTES)
        return 0;
    const uint8_t bits = data[0];
    const uint32_t pair_count = data[1] | (uint32_t)data[2] << 8;
    const struct key_order order = {.compare = bits & BITS_ORDER ? compare_last_byte : NULL};
    data += PREAMBLE_BYTES;
    size -= PREAMBLE_BYTES;
    if (bits & BITS_INDEX) {
        fuzz_index(data, size, bits, pair_count);
        return 0;
    }
    struct spill spill = spill_new();
    if (bits & BITS_WRAP)
        put_header(&spill, data, size, pair_count);
    spill_put(&spill, data, size);
    check_segment(&spill, pair_count, &order);
    spill_close(&spill);
    return 0;
}
