// mirror: a copy of a file that another process serves, with holes. It is a nameless file here with the size of the original; stretches
// are fetched when they are wanted, in whole blocks, each once. So other code reads it at the offsets of the original, also another
// process, through /proc/PID/fd. Many mirrors share one fetch_client. Thread: that of the loop.
#ifndef TRANSPORT_MIRROR_H
#define TRANSPORT_MIRROR_H

#include "base/err.h"

struct fetch_client;
struct mirror;

enum {
    MIRROR_BLOCK_BYTES = 1 << 20,
    MIRROR_UNDER_WAY_BYTES = 16 << 20,  // of one mirror, and at least two blocks: others have turns
};

struct mirror_options {
    struct fetch_client *client;  // stays the caller's, and lives longer
    uint64_t file, size;          // of the server
    const char *tmp;  // the directory, which sentences name; stays the caller's, and lives longer
    uint32_t block_bytes;  // 0: MIRROR_BLOCK_BYTES
    // A file that many mirrors share, each from its own place on, so that they need no descriptor each; the caller's. 0: a file of its
    // own.
    int room;
    uint64_t room_offset;
};

// NULL with a sentence: no memory, or no such file can be made in tmp.
struct mirror *mirror_new(const struct mirror_options *options);

// Wants are forgotten: their `done` is not called. May be called from a `done`. NULL is fine.
void mirror_free(struct mirror *mirror);

int mirror_fd(const struct mirror *mirror);  // open until mirror_free
uint64_t mirror_place(
    const struct mirror *mirror);  // where the first byte of the original is in it

// Whether all bytes of the stretch are there.
bool mirror_has(const struct mirror *mirror, uint64_t offset, uint64_t size);

// Fetches the blocks of a stretch that are not there, after those of earlier wants; blocks under way are waited for. Calls `done` once: before
// it returns when nothing has to be fetched (all is there; OUT_OF_RANGE: it is not in the file; no memory), otherwise later, from the
// loop. A failure has this thread's sentence; UNAVAILABLE: the server is out of reach; others as fetch_done_fn has
// them, a full disk with the name of tmp. The blocks that failed are fetched when they are wanted again. `done` may call
// every function here.
typedef void mirror_done_fn(void *owner, weft_err code);
void mirror_want(struct mirror *mirror, uint64_t offset, uint64_t size, mirror_done_fn *done,
                 void *owner);

// Gives the disk of the blocks that lie in the stretch as a whole back: they are not there any more, and read as zeros. Blocks that
// a want still waits for stay, and so do those at the edges, but for the last of the file. Bytes after the end are ignored.
void mirror_forget(struct mirror *mirror, uint64_t offset, uint64_t size);

uint64_t mirror_fetched_bytes(const struct mirror *mirror);  // in all, also those forgotten since

#endif
