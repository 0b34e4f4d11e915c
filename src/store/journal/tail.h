// The segment of a journal that is appended to: its file, and how it is written. Used by journal.c only.
#ifndef STORE_JOURNAL_TAIL_H
#define STORE_JOURNAL_TAIL_H

#include "base/buf.h"
#include "base/err.h"

enum tail_way {
    TAIL_GROWS,       // the file ends where the records do
    TAIL_OVERWRITES,  // blocks that are there: the disk has no sizes and places to note at a sync
    TAIL_DIRECT       // the same past the cache: a write is a sync
};

struct tail {
    int fd;
    char *path;
    uint64_t number;
    uint64_t written;  // bytes of it in the file: header and records
    enum tail_way way;
    char *blocks;  // unless it grows: begins with what the last block holds, it is written again
};

// Closes and frees; the file stays.
void tail_fini(struct tail *tail);

// Continues in a file that has path, number and written: after that it has zeros, or room for other bytes
// that no reader takes for records.
MUST_CHECK weft_err tail_open_blocks(struct tail *tail);

// Writes the waiting records and takes them out of the buffer. On failure the unwritten ones still wait.
MUST_CHECK weft_err tail_write(struct tail *tail, struct buf *waiting);

// Waits until all written bytes are on the disk.
MUST_CHECK weft_err tail_sync(struct tail *tail);

// Whether the file still has its name: without it no other process finds the records. DATA_LOSS.
MUST_CHECK weft_err tail_check_name(const struct tail *tail);

#endif
