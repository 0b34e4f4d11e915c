// Runs on disk: blocks of pairs, each checked before a byte of it is believed.
//
//   spill file   run | run | ...
//   run          segment of range 0 | segment of range 1 | ...     empty ones take no bytes
//   segment      block | block | ...                               no block crosses ranges
//
//   block    0  u32  magic "WRB1"
//            4  u32  CRC-32C of the rest of the block
//            8  u64  where the block stands in the file: a block read from the wrong place is refused
//           16  u64  bytes of pairs
//           24  u32  number of pairs
//           28  u32  range
//           32       pairs
//
//   pair     0  u8   type of the value (3 bits), HEAD_TASK, HEAD_LONG; the upper bits are 0
//            1  u8   bytes shared with the key before it in the block   (u32 when HEAD_LONG)
//            2  u8   bytes of the key that follow                       (u32 when HEAD_LONG)
//               varint  task, when HEAD_TASK; else that of the pair before, 0 at the start
//               bytes   the rest of the key
//               value   INT: zigzag varint; DOUBLE: 8 bytes; BYTES, SUM, MEAN: varint size, bytes
//
// Numbers are little-endian. Where the segments are is known only to the process that wrote them, unless
// the file has a name and an index: see run_index.c.

#include "mapreduce/work/run/run_file.h"

#include <stdlib.h>

#include "base/crc32c.h"
#include "mapreduce/work/run/run_pair.h"
#include "sys/file/file.h"

enum {
    BLOCK_MAGIC = 0x31425257,  // "WRB1"
    HEADER_BYTES = 32,
    CHECKED_FROM = 8,  // the checksum covers the header after itself, and the pairs
    BLOCK_BYTES_MIN = 256,
    BLOCK_BYTES_MAX = 1 << 30,
    BYTES_PER_MB = 1000000,
};

struct block_header {
    uint32_t magic, crc;
    uint64_t offset, payload_bytes;
    uint32_t pair_count, range;
};
_Static_assert(sizeof(struct block_header) == HEADER_BYTES, "the layout has no gaps");

// ---- The file -----------------------------------------------------------------------------------

weft_err spill_open(struct spill *spill, const char *directory)
{
    *spill = (struct spill){.fd = -1, .directory = strdup(directory)};
    if (!spill->directory)
        return err_no_memory("to spill to %s", directory);
    const weft_err err = file_create_nameless(directory, &spill->fd);
    if (err)
        spill_close(spill);
    return err;
}

static weft_err spill_begin_named(struct spill *spill, const char *path)
{
    *spill = (struct spill){.fd = -1, .directory = strdup(path), .has_name = true};
    return spill->directory ? WEFT_OK : err_no_memory("to open %s", path);
}

weft_err spill_create_named(struct spill *spill, const char *path)
{
    weft_err err = spill_begin_named(spill, path);
    if (!err)
        err = file_create_new(path, &spill->fd);
    if (err)
        spill_close(spill);
    return err;
}

weft_err spill_open_named(struct spill *spill, const char *path)
{
    weft_err err = spill_begin_named(spill, path);
    if (!err)
        err = file_open(path, &spill->fd);
    if (err)
        spill_close(spill);
    return err;
}

void spill_close(struct spill *spill)
{
    file_close(spill->fd);
    free(spill->directory);
    *spill = (struct spill){.fd = -1};
}

weft_err spill_append(struct spill *spill, const void *data, size_t size)
{
    const weft_err err = file_write_at(spill->fd, spill->directory, data, size, spill->size);
    const unsigned long long so_far = spill->size / BYTES_PER_MB;
    if (err == WEFT_RESOURCE_EXHAUSTED && spill->has_name)
        return err_set(err,
                       "no room in %s for map output that is kept (%llu MB so far); free some and "
                       "run the same command again",
                       spill->directory, so_far);
    if (err == WEFT_RESOURCE_EXHAUSTED)
        return err_set(err,
                       "no room in %s for spilled data (%llu MB so far); free some or give --tmp "
                       "another directory",
                       spill->directory, so_far);
    if (err)
        return err_wrap(err, "spilled data");
    spill->size += size;
    return WEFT_OK;
}

// ---- Writing ------------------------------------------------------------------------------------

struct run_writer {
    struct spill *spill;
    struct run run;
    uint32_t range;               // being written; range_count before the first
    uint64_t range_pairs;         // in closed blocks of this range
    struct pair_encoder encoder;  // the open block; its buffer begins with room for the header
};

struct run_writer *run_writer_new(struct spill *spill, uint32_t range_count, size_t block_bytes)
{
    ASSERT(block_bytes <= BLOCK_BYTES_MAX);
    if (block_bytes < BLOCK_BYTES_MIN)
        block_bytes = BLOCK_BYTES_MIN;
    struct run_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        goto refused;
    writer->spill = spill;
    writer->range = range_count;
    writer->run = (struct run){
        .spill = spill,
        .segments = calloc(range_count ? range_count : 1, sizeof *writer->run.segments),
        .range_count = range_count,
        .size = spill->size,  // where it began, until it is finished
        .block_bytes = block_bytes,
    };
    if (!writer->run.segments || !pair_encoder_init(&writer->encoder, HEADER_BYTES, block_bytes))
        goto refused;
    return writer;
refused:
    run_writer_cancel(writer);
    err_no_memory("to spill to %s", spill->directory);
    return NULL;
}

static void writer_free(struct run_writer *writer)
{
    pair_encoder_fini(&writer->encoder);
    run_fini(&writer->run);
    free(writer);
}

void run_writer_cancel(struct run_writer *writer)
{
    if (!writer)
        return;
    writer->spill->size = writer->run.size;
    writer_free(writer);
}

void run_fini(struct run *run)
{
    free(run->segments);
    *run = (struct run){0};
}

void run_release(struct run *run)
{
    for (uint32_t range = 0; range < run->range_count; range++)
        if (run->segments[range].size) {
            file_forget(run->spill->fd, run->segments[range].offset, run->size);
            break;  // a run is one stretch, from its first segment on
        }
    run_fini(run);
}

static struct block_header describe_block(const struct run_writer *writer, uint64_t payload_bytes,
                                          uint32_t pair_count)
{
    return (struct block_header){
        .magic = BLOCK_MAGIC,
        .offset = writer->spill->size,
        .payload_bytes = payload_bytes,
        .pair_count = pair_count,
        .range = writer->range,
    };
}

// Closes the open block and writes it.
static weft_err flush_block(struct run_writer *writer)
{
    struct pair_encoder *encoder = &writer->encoder;
    if (encoder->pair_count == 0)
        return WEFT_OK;
    char *block = encoder->block;
    const size_t size = (size_t)(encoder->at - block);
    struct block_header header = describe_block(writer, size - HEADER_BYTES, encoder->pair_count);
    memcpy(block, &header, sizeof header);
    header.crc = crc32c(0, block + CHECKED_FROM, size - CHECKED_FROM);
    memcpy(block + offsetof(struct block_header, crc), &header.crc, sizeof header.crc);
    writer->range_pairs += encoder->pair_count;
    pair_encoder_reset(encoder);
    return spill_append(writer->spill, block, size);
}

// A pair that is larger than a block is one of its own, written from where it lies.
static weft_err write_large_pair(struct run_writer *writer, const struct pair *pair)
{
    char head[PAIR_OVERHEAD_MAX], middle[PAIR_OVERHEAD_MAX];
    const weft_bytes pieces[] = {
        {head, (size_t)(pair_encode_head(head, pair, 0, pair->key.size, 0) - head)},
        pair->key,
        {middle, (size_t)(pair_encode_number(middle, pair) - middle)},
        pair_has_bytes(pair->type) ? pair->bytes : weft_none(),
    };
    enum { PIECES = sizeof pieces / sizeof *pieces };
    uint64_t size = 0;
    for (size_t i = 0; i < PIECES; i++)
        size += pieces[i].size;
    struct block_header header = describe_block(writer, size, 1);
    uint32_t crc = crc32c(0, (const char *)&header + CHECKED_FROM, HEADER_BYTES - CHECKED_FROM);
    for (size_t i = 0; i < PIECES; i++)
        crc = crc32c(crc, pieces[i].data, pieces[i].size);
    header.crc = crc;
    weft_err err = spill_append(writer->spill, &header, sizeof header);
    for (size_t i = 0; i < PIECES && !err; i++)
        err = spill_append(writer->spill, pieces[i].data, pieces[i].size);
    writer->range_pairs++;
    return err;
}

weft_err run_writer_add(struct run_writer *writer, const struct pair *pair)
{
    if (__builtin_expect(pair_encoder_add(&writer->encoder, pair), 1))
        return WEFT_OK;
    ASSERT(writer->range < writer->run.range_count);
    ASSERT(pair->key.size <= UINT32_MAX && pair->bytes.size <= UINT32_MAX);
    const weft_err err = flush_block(writer);
    if (err)
        return err;
    return pair_encoder_add(&writer->encoder, pair) ? WEFT_OK : write_large_pair(writer, pair);
}

static weft_err end_range(struct run_writer *writer)
{
    if (writer->range == writer->run.range_count)
        return WEFT_OK;
    const weft_err err = flush_block(writer);
    struct run_segment *segment = &writer->run.segments[writer->range];
    segment->size = writer->spill->size - segment->offset;
    segment->pair_count = writer->range_pairs;
    writer->run.pair_count += writer->range_pairs;
    writer->range_pairs = 0;
    return err;
}

weft_err run_writer_begin_range(struct run_writer *writer, uint32_t range)
{
    ASSERT(range < writer->run.range_count);
    ASSERT(writer->range == writer->run.range_count || writer->range < range);
    const weft_err err = end_range(writer);
    writer->range = range;
    writer->run.segments[range].offset = writer->spill->size;
    pair_encoder_reset(&writer->encoder);
    return err;
}

weft_err run_writer_finish(struct run_writer *writer, struct run *run)
{
    *run = (struct run){0};
    const weft_err err = end_range(writer);
    if (err) {
        run_writer_cancel(writer);
        return err;
    }
    *run = writer->run;
    run->size = writer->spill->size - writer->run.size;
    writer->run.segments = NULL;  // the run's now
    writer_free(writer);
    return WEFT_OK;
}

// ---- Reading ------------------------------------------------------------------------------------

struct run_reader {
    struct pair_decoder decoder;  // the block being read
    const struct spill *spill;
    uint32_t range, pairs_left;  // pairs_left: in the block
    uint64_t range_pairs_left;   // in blocks not begun
    uint64_t offset, end;        // of the next block and of the segment
    uint64_t block_offset;       // of the block being read
    size_t block_bytes, capacity;
    char *block;
    struct block_header header;  // of the next block, read together with the one before it
    bool has_header;
};

struct run_reader *run_reader_new(const struct run *run, uint32_t range,
                                  const struct key_order *order)
{
    ASSERT(range < run->range_count);
    const struct run_segment *segment = &run->segments[range];
    struct run_reader *reader = malloc(sizeof *reader);
    if (!reader) {
        err_no_memory("to read spilled data");
        return NULL;
    }
    *reader = (struct run_reader){
        .decoder = {.has_prefix = !order->compare},
        .spill = run->spill,
        .range = range,
        .range_pairs_left = segment->pair_count,
        .offset = segment->offset,
        .end = segment->offset + segment->size,
        .block_bytes = run->block_bytes,
    };
    return reader;
}

void run_reader_free(struct run_reader *reader)
{
    if (!reader)
        return;
    pair_decoder_fini(&reader->decoder);
    free(reader->block);
    free(reader);
}

static _Thread_local uint32_t last_damaged;

uint32_t run_take_damaged(void)
{
    const uint32_t number = last_damaged;
    last_damaged = 0;
    return number;
}

static weft_err damaged(const struct run_reader *reader, uint64_t offset, const char *what)
{
    const bool has_name = reader->spill->has_name;
    last_damaged = reader->spill->number;
    return err_set(WEFT_DATA_LOSS, "%s %s is damaged at offset %llu: %s; check that disk%s",
                   has_name ? "map output in" : "spilled data in", reader->spill->directory,
                   (unsigned long long)offset, what,
                   has_name ? "" : ", or give --tmp another directory and run again");
}

// Reads exactly that many bytes: if the file has fewer than were written, they were lost.
static weft_err read_exactly(const struct run_reader *reader, void *data, size_t size,
                             uint64_t offset)
{
    size_t got;
    const weft_err err =
        file_read_at(reader->spill->fd, reader->spill->directory, data, size, offset, &got);
    if (err)
        return err_wrap(err, "spilled data");
    return got == size ? WEFT_OK : damaged(reader, offset + got, "the file ends there");
}

static weft_err check_header(const struct run_reader *reader, const struct block_header *header)
{
    const uint64_t room = reader->end - reader->offset - HEADER_BYTES;
    const char *what = NULL;
    if (header->magic != BLOCK_MAGIC)
        what = "no block begins there";
    else if (header->offset != reader->offset || header->range != reader->range)
        what = "the block there belongs elsewhere";
    else if (header->payload_bytes > room || header->payload_bytes > SIZE_MAX / 2)
        what = "the block there is longer than its segment";
    else if (header->pair_count == 0 || header->pair_count > reader->range_pairs_left)
        what = "the number of pairs there is wrong";
    return what ? damaged(reader, reader->offset, what) : WEFT_OK;
}

// Makes the buffer fit; one that was grown for a large pair is given back with the next block.
static weft_err fit_buffer(struct run_reader *reader, size_t payload_bytes)
{
    const size_t usual = reader->block_bytes + 2 * HEADER_BYTES + PAIR_SLACK;
    const size_t needed = payload_bytes + HEADER_BYTES + PAIR_SLACK;
    const size_t wanted = needed > usual ? needed : usual;
    if (reader->capacity == wanted || (reader->capacity >= needed && reader->capacity <= usual))
        return WEFT_OK;
    free(reader->block);
    reader->block = malloc(wanted);
    reader->capacity = reader->block ? wanted : 0;
    if (!reader->block)
        return err_no_memory("for a spilled block of %zu bytes", payload_bytes);
    return WEFT_OK;
}

// Reads and checks the pairs of the block at reader->offset, and the header after it.
static weft_err load_block(struct run_reader *reader, const struct block_header *header)
{
    const size_t size = (size_t)header->payload_bytes;
    weft_err err = fit_buffer(reader, size);
    if (err)
        return err;
    const uint64_t begin = reader->offset + HEADER_BYTES;
    reader->has_header = reader->end - begin - size >= HEADER_BYTES;
    err =
        read_exactly(reader, reader->block, size + (reader->has_header ? HEADER_BYTES : 0), begin);
    if (err)
        return err;
    uint32_t crc = crc32c(0, (const char *)header + CHECKED_FROM, HEADER_BYTES - CHECKED_FROM);
    if (crc32c(crc, reader->block, size) != header->crc)
        return damaged(reader, reader->offset, "the checksum of the block there is wrong");
    reader->block_offset = reader->offset;
    reader->offset = begin + size;
    reader->pairs_left = header->pair_count;
    reader->range_pairs_left -= header->pair_count;
    if (reader->has_header)
        memcpy(&reader->header, reader->block + size, HEADER_BYTES);
    memset(reader->block + size, 0, PAIR_SLACK);
    pair_decoder_begin(&reader->decoder, reader->block, size);
    return WEFT_OK;
}

// Continues with the next block; *has_block = false at the end of the range.
static weft_err next_block(struct run_reader *reader, bool *has_block)
{
    *has_block = reader->offset < reader->end;
    if (reader->decoder.at != reader->decoder.end)
        return damaged(reader, reader->block_offset, "the block there holds more than its pairs");
    if (!*has_block)
        return reader->range_pairs_left == 0 ? WEFT_OK
                                             : damaged(reader, reader->offset, "pairs are missing");
    if (reader->end - reader->offset < HEADER_BYTES)
        return damaged(reader, reader->offset, "no block fits there");
    struct block_header header = reader->header;
    weft_err err = WEFT_OK;
    if (!reader->has_header)
        err = read_exactly(reader, &header, sizeof header, reader->offset);
    if (!err)
        err = check_header(reader, &header);
    return err ? err : load_block(reader, &header);
}

weft_err run_check_blocks(const struct run *run)
{
    weft_err err = WEFT_OK;
    for (uint32_t range = 0; range < run->range_count && !err; range++) {
        if (run->segments[range].size == 0)
            continue;
        struct run_reader *reader =
            run_reader_new(run, range, &(struct key_order){.compare = NULL});
        bool has_block = reader != NULL;
        err = reader ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
        while (!err && has_block) {
            reader->decoder.at = reader->decoder.end;  // the pairs are not looked at
            err = next_block(reader, &has_block);
        }
        run_reader_free(reader);
    }
    return err;
}

static weft_err bad_pair(const struct run_reader *reader)
{
    if (reader->decoder.is_out_of_memory)
        return err_no_memory("for a spilled key");
    return damaged(reader, reader->block_offset, "a pair of the block there makes no sense");
}

weft_err run_reader_next(struct run_reader *reader, struct pair *pair, bool *has_pair)
{
    if (__builtin_expect(reader->pairs_left == 0, 0)) {
        const weft_err err = next_block(reader, has_pair);
        if (err || !*has_pair)
            return err;
    }
    if (__builtin_expect(!pair_decoder_next(&reader->decoder, pair), 0))
        return bad_pair(reader);
    reader->pairs_left--;
    *has_pair = true;
    return WEFT_OK;
}
