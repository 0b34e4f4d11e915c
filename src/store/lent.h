// lent: files of another machine, as this process reads them. Another process on this machine has a file with holes in the place of each
// (transport/mirror.h), and fills them on request. A read asks for the blocks it needs, waits until they are lent, and then reads
// the file. A block is asked for once, whichever thread needs it, and again only after it could not be lent.
//
// A thread that reads on and on has the next blocks asked for ahead, so that they come while it works: up to `ahead_end` of its
// open file, and no further, because the rest is often another machine's work.
#ifndef STORE_LENT_H
#define STORE_LENT_H

#include "store/store.h"

enum { LENT_BLOCK_BYTES = 1 << 20, LENT_AHEAD_BLOCKS_MAX = 4 };

struct lending;  // all lent files of this process

// Asks for a stretch of a file: whole blocks, but for the last of the file. lending_settle answers, once for each. Called
// without a lock, by any thread that reads.
typedef void lending_ask_fn(void *owner, uint32_t file, uint64_t offset, uint64_t size);

// For files with numbers below file_count. NULL with a sentence: no memory.
struct lending *lending_new(uint32_t file_count, lending_ask_fn *ask, void *owner);
void lending_free(struct lending *lending);  // no thread reads; NULL is fine

// The file with that number is `size` bytes of a larger one, from `at` on; before it is opened. Files that are not placed are one file each.
void lending_place(struct lending *lending, uint32_t number, uint64_t at, uint64_t size);

// The stretch is in the file now; or a failure, with this thread's sentence: reads that wait for it fail. Any thread.
void lending_settle(struct lending *lending, uint32_t file, uint64_t offset, uint64_t size,
                    weft_err code);

// From now on nothing is lent any more: all reads of bytes that are not there fail, CANCELLED. Any thread.
void lending_stop(struct lending *lending);

// Opens a lent file for one thread. Reads fail with what lending_settle was given; UNAVAILABLE: it may be lent again later.
MUST_CHECK weft_err lent_open(struct lending *lending, uint32_t number, const char *path,
                              const char *name, struct store_file *file);

// Asks for the block at `offset` of a file that will be opened soon, and does not wait. A failure shows when it is read.
void lent_ask_ahead(struct lending *lending, uint32_t number, const char *path, uint64_t offset);

#endif
