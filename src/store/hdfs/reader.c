// Blocks one after the other, each from a place that works.

#include "store/hdfs/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"
#include "store/hdfs/block.h"
#include "store/hdfs/web.h"

struct reader {
    struct namenode *namenode;
    char *path;
    uint64_t size, number;  // of the file
    Hadoop__BlockLocations *blocks;
    VEC(struct net_address) failed;  // data nodes that are tried last
    // Where bytes come from now: one of the two, or neither.
    struct block *block;
    struct web *web;
    uint64_t at, end;   // in the file: the next byte from there, and the last one that will come
    uint32_t failures;  // of data nodes, without a byte between them
};

// After that many failures the bytes are read by WebHDFS; after more, not at all.
enum { FAILURES_OF_BLOCKS_MAX = 4, FAILURES_MAX = 6 };

// ---- Blocks -------------------------------------------------------------------------------------------------------

// The list of a name node as it must be: one block after the other, from 0 to the end.
static weft_err check_blocks(const struct reader *reader, const Hadoop__LocatedBlocks *located)
{
    uint64_t at = 0;
    for (size_t i = 0; i < located->n_blocks; i++) {
        const Hadoop__LocatedBlock *one = located->blocks[i];
        if (!one->block || one->offset != at || one->block->size > UINT64_MAX / 2 - at)
            return err_set(WEFT_DATA_LOSS, "the name node lists blocks of %s that do not fit",
                           reader->path);
        at += one->block->size;
    }
    if (at < located->file_length && !located->has_erasure_coding)
        return err_set(WEFT_DATA_LOSS, "the name node lists too few blocks of %s", reader->path);
    return WEFT_OK;
}

static weft_err was_replaced(const struct reader *reader)
{
    return err_set(WEFT_DATA_LOSS, "%s was replaced by another file while it was read",
                   reader->path);
}

// A path may mean another file by now. A block keeps its number as long as the file has it, also when it is appended to.
static weft_err check_same(const struct reader *reader, const Hadoop__LocatedBlocks *located)
{
    const Hadoop__LocatedBlocks *before = reader->blocks->located;
    for (size_t i = 0; i < before->n_blocks && before->blocks[i]->offset < reader->size; i++) {
        if (i == located->n_blocks)
            break;
        if (located->blocks[i]->block->number != before->blocks[i]->block->number ||
            strcmp(located->blocks[i]->block->pool, before->blocks[i]->block->pool) != 0)
            return was_replaced(reader);
    }
    if (located->file_length < reader->size)
        return err_set(WEFT_DATA_LOSS, "%s became shorter while it was read", reader->path);
    return WEFT_OK;
}

// WebHDFS names no blocks. The file that has the path after it was opened there is the one that is read.
static weft_err check_number(const struct reader *reader)
{
    Hadoop__FileInfo *info = NULL;
    weft_err code = namenode_stat(reader->namenode, reader->path, &info);
    if (code == WEFT_OK && info->status->number != reader->number)
        code = was_replaced(reader);
    hdfs_free(info);
    return code;
}

static weft_err locate(struct reader *reader)
{
    Hadoop__BlockLocations *blocks = NULL;
    weft_err code = namenode_locate(reader->namenode, reader->path, &blocks);
    if (code == WEFT_OK)
        code = check_blocks(reader, blocks->located);
    if (code == WEFT_OK && reader->blocks)
        code = check_same(reader, blocks->located);
    if (code != WEFT_OK) {
        hdfs_free(blocks);
        return code;
    }
    hdfs_free(reader->blocks);
    reader->blocks = blocks;
    return WEFT_OK;
}

// NULL: no data node has it in one piece.
static const Hadoop__LocatedBlock *find_block(const struct reader *reader, uint64_t offset)
{
    const Hadoop__LocatedBlocks *located = reader->blocks->located;
    size_t low = 0, high = located->n_blocks;
    if (located->has_erasure_coding)
        return NULL;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const Hadoop__LocatedBlock *one = located->blocks[middle];
        if (offset < one->offset)
            high = middle;
        else if (offset >= one->offset + one->block->size)
            low = middle + 1;
        else
            return one;
    }
    return NULL;
}

weft_err reader_open(struct namenode *namenode, const char *path, struct reader **opened)
{
    struct reader *reader = calloc(1, sizeof *reader);
    Hadoop__FileInfo *info = NULL;
    *opened = NULL;
    if (!reader || !(reader->path = strdup(path))) {
        free(reader);
        return err_no_memory("to read from HDFS");
    }
    reader->namenode = namenode;
    weft_err code = namenode_stat(namenode, path, &info);
    if (code == WEFT_OK && info->status->type == 1)
        code = err_set(WEFT_FAILED_PRECONDITION, "%s is a directory", path);
    if (code == WEFT_OK) {
        reader->number = info->status->number;
        code = locate(reader);
    }
    hdfs_free(info);
    if (code == WEFT_OK) {
        reader->size = reader->blocks->located->file_length;
        *opened = reader;
    } else {
        reader_close(reader);
    }
    return code;
}

// ---- Places -------------------------------------------------------------------------------------------------------

static void close_source(struct reader *reader)
{
    block_close(reader->block);
    web_close(reader->web);
    reader->block = NULL;
    reader->web = NULL;
}

void reader_close(struct reader *reader)
{
    if (!reader)
        return;
    close_source(reader);
    hdfs_free(reader->blocks);
    VEC_FINI(&reader->failed);
    free(reader->path);
    free(reader);
}

uint64_t reader_size(const struct reader *reader)
{
    return reader->size;
}

const struct net_address *reader_data_node(const struct reader *reader)
{
    return reader->block ? block_address(reader->block) : NULL;
}

static bool has_failed(const struct reader *reader, const struct net_address *address)
{
    for (size_t i = 0; i < reader->failed.count; i++)
        if (reader->failed.items[i].port == address->port &&
            strcmp(reader->failed.items[i].host, address->host) == 0)
            return true;
    return false;
}

static bool read_place(const Hadoop__DataNode *place, struct net_address *address)
{
    const Hadoop__DataNodeId *id = place->id;
    *address = (struct net_address){0};
    if (!id || !id->ip || !id->ip[0] || id->port == 0 || id->port > UINT16_MAX)
        return false;
    snprintf(address->host, sizeof address->host, "%s", id->ip);
    address->port = (uint16_t)id->port;
    return true;
}

// Without memory for it, it is tried again.
static void note_failed(struct reader *reader, const struct net_address *address)
{
    if (!has_failed(reader, address) && !VEC_PUSH(&reader->failed, *address))
        err_clear();
}

// From the first data node that gives it and has not failed before.
static weft_err open_block(struct reader *reader, const Hadoop__LocatedBlock *located,
                           uint64_t offset)
{
    weft_err code = WEFT_UNAVAILABLE;
    for (size_t i = 0; i < located->n_places; i++) {
        struct block_options options = {.located = located,
                                        .client = namenode_client(reader->namenode),
                                        .begin = offset - located->offset,
                                        .end = located->block->size};
        if (!read_place(located->places[i], &options.address) ||
            has_failed(reader, &options.address))
            continue;
        code = block_open(&options, &reader->block);
        if (code == WEFT_OK || code == WEFT_RESOURCE_EXHAUSTED)
            return code;
        note_failed(reader, &options.address);
    }
    return code;
}

static weft_err open_web(struct reader *reader, uint64_t offset, uint64_t end)
{
    return web_open(reader->namenode, reader->path, offset, end, &reader->web);
}

// Wherever it can be had. The last failure is reported, with the first one's words if it is about the data.
static weft_err open_source(struct reader *reader, uint64_t offset)
{
    struct err_kept first;
    const Hadoop__LocatedBlock *located = find_block(reader, offset);
    weft_err code = WEFT_UNAVAILABLE;
    err_set(WEFT_UNAVAILABLE, "no data node has a block of %s", reader->path);
    close_source(reader);
    const bool tries_blocks = located && reader->failures < FAILURES_OF_BLOCKS_MAX;
    if (tries_blocks)
        code = open_block(reader, located, offset);
    if (tries_blocks && code != WEFT_OK) {
        // A data node may have come back, or the block may have moved.
        err_keep(&first);
        reader->failed.count = 0;
        code = locate(reader);
        if (code == WEFT_DATA_LOSS)
            return code;
        located = code == WEFT_OK ? find_block(reader, offset) : NULL;
        if (code == WEFT_OK)
            code = located ? open_block(reader, located, offset) : WEFT_UNAVAILABLE;
        if (code != WEFT_OK)
            err_put_back(&first);
    }
    reader->at = offset;
    reader->end = located ? located->offset + located->block->size : reader->size;
    if (code == WEFT_OK || code == WEFT_RESOURCE_EXHAUSTED)
        return code;
    err_keep(&first);
    const uint64_t end = reader->end < reader->size ? reader->end : reader->size;
    reader->end = end;
    if (open_web(reader, offset, end) == WEFT_OK) {
        err_clear();
        code = check_number(reader);
        if (code != WEFT_OK)
            close_source(reader);
        return code;
    }
    if (located)
        err_put_back(&first);
    return err_wrap(WEFT_UNAVAILABLE, "cannot read %s at byte %" PRIu64, reader->path, offset);
}

// ---- Reading ------------------------------------------------------------------------------------------------------

static weft_err read_source(struct reader *reader, void *data, size_t size, size_t *got)
{
    const weft_err code = reader->block ? block_read(reader->block, data, size, got)
                                        : web_read(reader->web, data, size, got);
    if (code == WEFT_OK && *got == 0)
        return err_set(WEFT_UNAVAILABLE, "%s: a data node sent too few bytes", reader->path);
    return code;
}

// The current source has failed: the next one continues at the same byte.
static weft_err take_failure(struct reader *reader, weft_err code)
{
    if (code == WEFT_RESOURCE_EXHAUSTED || ++reader->failures > FAILURES_MAX)
        return err_wrap(code, "cannot read %s at byte %" PRIu64, reader->path, reader->at);
    if (reader->block)
        note_failed(reader, block_address(reader->block));
    close_source(reader);
    return WEFT_OK;
}

weft_err reader_read_at(struct reader *reader, void *data, size_t size, uint64_t offset,
                        size_t *got)
{
    *got = 0;
    reader->failures = 0;
    if (offset >= reader->size)
        return WEFT_OK;
    if (size > reader->size - offset)
        size = (size_t)(reader->size - offset);
    while (*got < size) {
        const bool has_source = (reader->block || reader->web) && reader->at == offset + *got &&
                                reader->at < reader->end;
        weft_err code = has_source ? WEFT_OK : open_source(reader, offset + *got);
        if (code != WEFT_OK)
            return code;
        size_t step = 0, left = size - *got;
        if (left > reader->end - reader->at)
            left = (size_t)(reader->end - reader->at);
        code = read_source(reader, (char *)data + *got, left, &step);
        reader->at += step;
        *got += step;
        reader->failures = step ? 0 : reader->failures;
        if (code != WEFT_OK)
            code = take_failure(reader, code);
        if (code != WEFT_OK)
            return code;
    }
    return WEFT_OK;
}
