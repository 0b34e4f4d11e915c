// The index of runs that outlive their worker. Numbers are little-endian; varints as in run_pair.h.
//
//   file     run | run | index | run | index | ...       an index names runs before it, not all of them
//
//   index    0  u32  magic "WRX1"
//            4  u32  CRC-32C of the rest
//            8  u64  where the index stands in the file
//           16  u64  bytes of the index, all in all
//           24  u32  format version, 1
//           28  u32  bits: 1 not all values are integers
//           32       varint size of the identity, and its bytes
//                    varint number of ranges, of tasks, of runs
//                    tasks: varint the first, then how much more each one is than the one before
//                    runs, oldest first: varint level, bytes of a block, offset of the run,
//                        then of each range: varint bytes, and of those that have any: pairs
//
// The first 32 bytes and the checksum keep their form in all versions.

#include "mapreduce/work/run/run_index.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/crc32c.h"
#include "mapreduce/work/run/run_pair.h"
#include "sys/file/file.h"

enum {
    INDEX_MAGIC = 0x31585257,  // "WRX1"
    HEADER_BYTES = 32,
    CHECKED_FROM = 8,
    VARINT_BYTES_MAX = 10,
    BIT_MIXED = 1,
    INDEX_BYTES_MAX = 1 << 28,  // 100 runs of 100,000 ranges, and more tasks than a job has
    BLOCK_BYTES_MAX = 1 << 30,  // as in run_file.c
};

struct index_header {
    uint32_t magic, crc;
    uint64_t offset, bytes;
    uint32_t version, bits;
};
_Static_assert(sizeof(struct index_header) == HEADER_BYTES, "the layout has no gaps");

// ---- Writing ------------------------------------------------------------------------------------

static void put(struct buf *buf, uint64_t number)
{
    char bytes[VARINT_BYTES_MAX];
    buf_append(buf, bytes, (size_t)(pair_encode_varint(bytes, number) - bytes));
}

static uint64_t run_offset(const struct run *run)
{
    for (uint32_t range = 0; range < run->range_count; range++)
        if (run->segments[range].size)
            return run->segments[range].offset;
    return 0;
}

static void put_run(struct buf *buf, const struct run *run)
{
    put(buf, run->level);
    put(buf, run->block_bytes);
    put(buf, run_offset(run));
    for (uint32_t range = 0; range < run->range_count; range++) {
        put(buf, run->segments[range].size);
        if (run->segments[range].size)
            put(buf, run->segments[range].pair_count);
    }
}

static void put_index(struct buf *buf, const struct run_index *index, weft_bytes identity)
{
    put(buf, identity.size);
    buf_append(buf, identity.data, identity.size);
    put(buf, index->range_count);
    put(buf, index->task_count);
    put(buf, index->run_count);
    for (uint32_t i = 0; i < index->task_count; i++) {
        ASSERT(i == 0 || index->tasks[i] > index->tasks[i - 1]);
        put(buf, i ? index->tasks[i] - index->tasks[i - 1] : index->tasks[i]);
    }
    for (uint32_t i = 0; i < index->run_count; i++) {
        ASSERT(index->runs[i].range_count == index->range_count);
        put_run(buf, &index->runs[i]);
    }
}

weft_err run_index_write(struct spill *spill, const struct run_index *index, weft_bytes identity)
{
    ASSERT(identity.size <= RUN_IDENTITY_BYTES_MAX);
    struct buf buf = {0};
    struct index_header header = {.magic = INDEX_MAGIC,
                                  .offset = spill->size,
                                  .version = RUN_INDEX_VERSION,
                                  .bits = index->has_mixed ? BIT_MIXED : 0};
    buf_append(&buf, &header, sizeof header);
    put_index(&buf, index, identity);
    weft_err err = WEFT_OK;
    if (buf.has_failed || buf.size > INDEX_BYTES_MAX) {
        err = err_no_memory("for an index of %u runs in %s", index->run_count, spill->directory);
    } else {
        header.bytes = buf.size;
        memcpy(buf.data, &header, sizeof header);
        header.crc = crc32c(0, buf.data + CHECKED_FROM, buf.size - CHECKED_FROM);
        memcpy(buf.data, &header, sizeof header);
        err = spill_append(spill, buf.data, buf.size);
    }
    buf_fini(&buf);
    return err;
}

// ---- Loading ------------------------------------------------------------------------------------

// The rest of the index. Its checksum was right, so only a program that writes checksums can have
// made it wrong: it is still not believed.
struct cursor {
    const char *at, *end;
    bool is_wrong;
};

static uint64_t take(struct cursor *cursor, uint64_t max)
{
    uint64_t number = 0;
    unsigned shift = 0;
    bool goes_on = !cursor->is_wrong;
    while (goes_on && cursor->at < cursor->end && shift < 64) {
        const uint64_t byte = (unsigned char)*cursor->at++;
        number |= (byte & 0x7f) << shift;
        shift += 7;
        goes_on = byte & 0x80;
    }
    if (goes_on || number > max)
        cursor->is_wrong = true;
    return cursor->is_wrong ? 0 : number;
}

static weft_err wrong(const char *path, uint64_t offset, const char *what)
{
    return err_set(WEFT_DATA_LOSS, "the index at offset %llu of %s is damaged: %s",
                   (unsigned long long)offset, path, what);
}

static weft_err no_memory(const char *path)
{
    return err_no_memory("for the index of %s", path);
}

static bool take_tasks(struct cursor *cursor, struct run_index *index)
{
    uint64_t task = 0;
    for (uint32_t i = 0; i < index->task_count; i++) {
        const uint64_t more = take(cursor, UINT32_MAX);
        if (i && !more)
            return false;
        task += more;
        if (cursor->is_wrong || task > UINT32_MAX)
            return false;
        index->tasks[i] = (uint32_t)task;
    }
    return true;
}

// A run must lie before its index.
static bool take_run(struct cursor *cursor, struct run *run, uint64_t index_offset)
{
    run->level = (uint32_t)take(cursor, UINT32_MAX);
    run->block_bytes = (size_t)take(cursor, BLOCK_BYTES_MAX);
    uint64_t at = take(cursor, index_offset);
    for (uint32_t range = 0; range < run->range_count && !cursor->is_wrong; range++) {
        const uint64_t size = take(cursor, index_offset - at);
        const uint64_t pairs = size ? take(cursor, size) : 0;
        run->segments[range] = (struct run_segment){at, size, pairs};
        at += size;
        run->size += size;
        run->pair_count += pairs;
    }
    return !cursor->is_wrong;
}

static weft_err take_runs(struct cursor *cursor, struct run_index *index, uint64_t offset)
{
    for (uint32_t i = 0; i < index->run_count; i++) {
        struct run *run = &index->runs[i];
        *run = (struct run){.spill = &index->file,
                            .range_count = index->range_count,
                            .segments = calloc(index->range_count, sizeof *run->segments)};
        if (!run->segments)
            return no_memory(index->file.directory);
        if (!take_run(cursor, run, offset))
            return wrong(index->file.directory, offset, "a run is not where it says");
    }
    return cursor->at == cursor->end
               ? WEFT_OK
               : wrong(index->file.directory, offset, "more is there than it says");
}

static weft_err check_identity(const struct cursor *cursor, size_t size, weft_bytes identity,
                               const char *path)
{
    const weft_bytes found = {cursor->at, size};
    return bytes_equal(found, identity)
               ? WEFT_OK
               : err_set(WEFT_FAILED_PRECONDITION,
                         "%s holds the map output of another job or of other inputs", path);
}

// Reads the part after the header. Every task and every range of a run takes a byte at least, so
// that memory is asked for only in proportion to the bytes of the index; an index without runs may
// have any number of ranges.
static weft_err take_index(struct cursor *cursor, struct run_index *index, weft_bytes identity,
                           uint64_t offset)
{
    const char *path = index->file.directory;
    const uint64_t left = (uint64_t)(cursor->end - cursor->at);
    const size_t identity_size = (size_t)take(cursor, left);
    if (cursor->is_wrong || identity_size > (size_t)(cursor->end - cursor->at))
        return wrong(path, offset, "it ends too early");
    weft_err err = check_identity(cursor, identity_size, identity, path);
    if (err)
        return err;
    cursor->at += identity_size;
    index->range_count = (uint32_t)take(cursor, UINT32_MAX);
    index->task_count = (uint32_t)take(cursor, left);
    const uint64_t run_count = take(cursor, left);
    if (cursor->is_wrong || !index->range_count || run_count > left / index->range_count)
        return wrong(path, offset, "it counts more than it holds");
    index->tasks = calloc(index->task_count + (size_t)1, sizeof *index->tasks);
    index->runs = calloc((size_t)run_count + 1, sizeof *index->runs);
    if (!index->tasks || !index->runs)
        return no_memory(path);
    index->run_count = (uint32_t)run_count;
    if (!take_tasks(cursor, index))
        return wrong(path, offset, "its tasks are not in order");
    return take_runs(cursor, index, offset);
}

static weft_err check_header(const struct index_header *header, uint64_t offset, const char *path)
{
    if (header->magic != INDEX_MAGIC)
        return wrong(path, offset, "none begins there");
    if (header->offset != offset || header->bytes < HEADER_BYTES || header->bytes > INDEX_BYTES_MAX)
        return wrong(path, offset, "it belongs elsewhere");
    return WEFT_OK;
}

static weft_err read_exactly(const struct spill *file, void *to, size_t size, uint64_t offset)
{
    size_t got;
    const weft_err err = file_read_at(file->fd, file->directory, to, size, offset, &got);
    if (err)
        return err;
    return got == size ? WEFT_OK
                       : err_set(WEFT_DATA_LOSS, "%s ends before the index at offset %llu",
                                 file->directory, (unsigned long long)offset);
}

static weft_err parse(struct run_index *index, const char *bytes, const struct index_header *header,
                      weft_bytes identity)
{
    const char *path = index->file.directory;
    const size_t size = (size_t)header->bytes;
    if (crc32c(0, bytes + CHECKED_FROM, size - CHECKED_FROM) != header->crc)
        return wrong(path, header->offset, "its checksum is wrong");
    if (header->version > RUN_INDEX_VERSION)
        return err_set(WEFT_FAILED_PRECONDITION, "%s was written by a newer weft (format %u)", path,
                       header->version);
    index->has_mixed = header->bits & BIT_MIXED;
    struct cursor cursor = {bytes + HEADER_BYTES, bytes + size, false};
    return take_index(&cursor, index, identity, header->offset);
}

static weft_err load(struct run_index *index, uint64_t offset, weft_bytes identity)
{
    struct index_header header;
    weft_err err = read_exactly(&index->file, &header, sizeof header, offset);
    if (!err)
        err = check_header(&header, offset, index->file.directory);
    if (err)
        return err;
    char *bytes = malloc((size_t)header.bytes);
    err = bytes ? read_exactly(&index->file, bytes, (size_t)header.bytes, offset)
                : no_memory(index->file.directory);
    if (!err)
        err = parse(index, bytes, &header, identity);
    free(bytes);
    return err;
}

weft_err run_index_open(struct run_index **index, const char *path, uint64_t offset,
                        weft_bytes identity, bool checks_blocks)
{
    *index = NULL;
    struct run_index *opened = calloc(1, sizeof *opened);
    if (!opened)
        return no_memory(path);
    weft_err err = spill_open_named(&opened->file, path);
    if (!err)
        err = load(opened, offset, identity);
    for (uint32_t i = 0; i < opened->run_count && !err && checks_blocks; i++)
        err = run_check_blocks(&opened->runs[i]);
    if (err)
        run_index_close(opened);
    else
        *index = opened;
    return err;
}

void run_index_close(struct run_index *index)
{
    if (!index)
        return;
    for (uint32_t i = 0; index->runs && i < index->run_count; i++)
        run_fini(&index->runs[i]);
    free(index->runs);
    free(index->tasks);
    spill_close(&index->file);
    free(index);
}
