// Writing to the last segment. The usual file grows with every record, and a sync must bring its new size
// and new blocks to the disk besides the bytes: two or three writes of the disk instead of one. A file that
// was written ahead is written in whole blocks; the last one, half full, is filled up with zeros and
// written again with what comes next. A power cut leaves the old or the new content of a block, and the
// old is a beginning of the new.

#include "store/journal/tail.h"

#include <stdlib.h>

#include "sys/file/file.h"

enum { BLOCKS_BYTES = 1 << 20 };  // in one write

void tail_fini(struct tail *tail)
{
    file_close(tail->fd);
    free(tail->path);
    free(tail->blocks);
    *tail = (struct tail){.fd = -1};
}

// Opens the file anew in the best way that works.
static weft_err open_file(struct tail *tail, bool tries_direct)
{
    int fd = -1;
    weft_err err = tries_direct ? file_open_direct(tail->path, true, &fd) : WEFT_UNIMPLEMENTED;
    tail->way = TAIL_DIRECT;
    if (err == WEFT_UNIMPLEMENTED) {
        err_clear();
        err = file_open_private(tail->path, &fd);
        tail->way = TAIL_OVERWRITES;
    }
    if (err)
        return err;
    file_close(tail->fd);
    tail->fd = fd;
    return WEFT_OK;
}

// What the last block holds, through a descriptor that reads any number of bytes.
static weft_err load_last_block(struct tail *tail)
{
    const size_t size = tail->written % FILE_BLOCK_BYTES;
    int fd = -1;
    size_t got = 0;
    weft_err err = file_open(tail->path, &fd);
    if (!err)
        err = file_read_at(fd, tail->path, tail->blocks, size, tail->written - size, &got);
    if (!err && got < size)
        err = err_set(WEFT_DATA_LOSS, "%s was cut while it was opened", tail->path);
    file_close(fd);
    return err;
}

weft_err tail_open_blocks(struct tail *tail)
{
    tail->blocks = aligned_alloc(FILE_BLOCK_BYTES, BLOCKS_BYTES);
    if (!tail->blocks)
        return err_no_memory("to write %s", tail->path);
    const weft_err err = load_last_block(tail);
    return err ? err : open_file(tail, true);
}

// Writes some bytes, and zeros up to the end of their last block.
static weft_err write_blocks(struct tail *tail, const char *data, size_t size)
{
    const size_t kept = tail->written % FILE_BLOCK_BYTES, end = kept + size;
    const size_t last = end % FILE_BLOCK_BYTES;
    const size_t padding = last ? FILE_BLOCK_BYTES - last : 0;
    const uint64_t at = tail->written - kept;
    memcpy(tail->blocks + kept, data, size);
    memset(tail->blocks + end, 0, padding);
    weft_err err = file_write_at(tail->fd, tail->path, tail->blocks, end + padding, at);
    if (err == WEFT_INVALID_ARGUMENT && tail->way == TAIL_DIRECT) {
        // A file system that took the flag and does not want the write, or a limit that cut it.
        err_clear();
        err = open_file(tail, false);
        if (!err)
            err = file_write_at(tail->fd, tail->path, tail->blocks, end + padding, at);
    }
    if (err)
        return err;
    tail->written += size;
    memmove(tail->blocks, tail->blocks + end - last, last);
    return WEFT_OK;
}

weft_err tail_write(struct tail *tail, struct buf *waiting)
{
    size_t done = 0;
    weft_err err = WEFT_OK;
    while (!err && done < waiting->size) {
        const size_t left = waiting->size - done;
        const size_t room = BLOCKS_BYTES - tail->written % FILE_BLOCK_BYTES;
        const size_t size = tail->way == TAIL_GROWS || left < room ? left : room;
        if (tail->way == TAIL_GROWS) {
            err = file_write_at(tail->fd, tail->path, waiting->data, size, tail->written);
            tail->written += err ? 0 : size;
        } else {
            err = write_blocks(tail, waiting->data + done, size);
        }
        done += err ? 0 : size;
    }
    if (done)
        memmove(waiting->data, waiting->data + done, waiting->size - done);
    waiting->size -= done;
    return err;
}

weft_err tail_sync(struct tail *tail)
{
    return tail->way == TAIL_DIRECT ? WEFT_OK : file_sync(tail->fd, tail->path);
}

weft_err tail_check_name(const struct tail *tail)
{
    struct file_stat named, open;
    weft_err err = file_stat(tail->path, &named);
    if (!err)
        err = file_stat_fd(tail->fd, tail->path, &open);
    if (err || (named.kind != FILE_MISSING && named.inode == open.inode))
        return err;
    return err_set(WEFT_DATA_LOSS, "%s was %s while it was in use", tail->path,
                   named.kind == FILE_MISSING ? "removed or moved" : "replaced by another file");
}
