// Held text: output that waits until its place is known, in memory up to a limit, then in a nameless file.
//
// The blocks of a long text are used again for the next one: to get an untouched page from the
// system costs more than to fill it. Thread: a store, any; a held text, one at a time.
#ifndef MAPREDUCE_WORK_OUTPUT_HELD_H
#define MAPREDUCE_WORK_OUTPUT_HELD_H

#include "base/bytes.h"
#include "base/err.h"
#include "base/vec.h"
#include "sys/thread/thread.h"

#include <stdint.h>

struct held_block;

struct held_store {
    const char *tmp;  // not ours
    size_t bytes_max;

    struct mutex mutex;  // guards all below
    size_t bytes;        // of all memory that is ours, in use or not
    struct held_block *unused;
    int spool_fd;  // -1 until it is needed
    uint64_t spool_size;
};

// In memory, or in the spool when memory is NULL.
struct held_chunk {
    char *memory;
    size_t size, capacity;
    uint64_t spool_offset;
};

// Zeroed: nothing.
struct held {
    VEC(struct held_chunk) chunks;
};

// tmp: where the nameless file is made when memory beyond bytes_max would be needed; lives as long as the store.
void held_store_init(struct held_store *store, const char *tmp, size_t bytes_max);
void held_store_fini(struct held_store *store);  // all texts were dropped before

// Whether so much more stays in memory.
bool held_has_room(struct held_store *store, size_t size);

// Copies text after the held one. A full disk is RESOURCE_EXHAUSTED; the text held before stays.
MUST_CHECK weft_err held_add(struct held_store *store, struct held *held, weft_bytes text);

// Gives room after the held text, to be filled without a copy: at least *size bytes, which is set
// to the actual size; NULL: out of memory. held_fill then adds the bytes that were filled.
char *held_room(struct held_store *store, struct held *held, size_t *size);
void held_fill(struct held *held, size_t size);

// Writes all of it at *offset of a file, moves *offset after it, and drops it, also on failure.
MUST_CHECK weft_err held_write(struct held_store *store, struct held *held, int fd,
                               const char *path, uint64_t *offset);

void held_drop(struct held_store *store, struct held *held);

#endif
