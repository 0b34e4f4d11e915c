// served: files of this client's workers that others fetch. A worker names a file by its descriptor; here it gets a number that
// no other file of this client has, is kept open, and so outlives the worker. Thread: that of the loop.
#ifndef RUN_CLIENT_SERVED_H
#define RUN_CLIENT_SERVED_H

#include "base/vec.h"
#include "run/driver/agent/agent.h"

struct fetch_files;

struct served_file {
    uint64_t inode;
    int fd;         // -1: forgotten
    uint64_t size;  // that others may read
};

struct served {
    struct fetch_files *files;     // borrowed
    VEC(struct served_file) list;  // the number of a file is its place here, plus 1
};

void served_fini(struct served *served);  // the files must not be served any more; zeroed is fine

// Keeps a file that the agent's worker has open under that descriptor, and serves its present content. UNAVAILABLE: the
// worker has ended. Other failures: it has no such file, or out of memory.
MUST_CHECK weft_err served_hold(struct served *served, const struct agent *agent,
                                uint32_t descriptor, uint32_t *number);

// Takes over a file of ours, whose content is complete, and serves it. On failure it stays the caller's.
MUST_CHECK weft_err served_add(struct served *served, int fd, uint32_t *number);

// A file by its number; NULL: there is none.
const struct served_file *served_find(const struct served *served, uint64_t number);

// No task reads the file any more. A number that is not there is fine.
void served_forget(struct served *served, uint64_t number);

#endif
