// spool: makes a file of an input that is not one, so that another process can read it at any offset.
//
// A pipe, a FIFO, a terminal or a file that reports a wrong size (of /proc, /sys) is copied to a nameless file;
// a plain file that only this process has a name for (standard input, /dev/fd/3) is kept open. Either way another process of the same user
// opens it as /proc/PID/fd/N, as long as the spool is open.
#ifndef SYS_FILE_SPOOL_H
#define SYS_FILE_SPOOL_H

#include "base/err.h"
#include "sys/file/wait_limit.h"

struct spool {
    int fd;
    uint64_t size;
    char path[64];
};

struct spool_limits {
    const char *tmp;  // the directory for the copy
    struct wait_limit wait;
    // The pipe or socket to which the answer goes: when its reader has gone, the
    // copying ends with CANCELLED. 0: none.
    int answer_fd;
    // A pipe may have no end. Where the copy would leave less room than this in `tmp`, it is RESOURCE_EXHAUSTED;
    // 0: 1 GiB, or an eighth of the room that was there if that is less.
    uint64_t room_bytes_left;
};

// Standard input from its position on: a plain file that stands at its start is used as it is,
// anything else is copied. Waits for its end. FAILED_PRECONDITION when standard input is closed,
// INVALID_ARGUMENT when it is a directory.
MUST_CHECK weft_err spool_open_stdin(struct spool *spool, const struct spool_limits *limits);

// A path that is not a plain file of its own: a FIFO (waits for its writer), a device, /dev/fd/N.
MUST_CHECK weft_err spool_open(struct spool *spool, const char *path,
                               const struct spool_limits *limits);
void spool_close(struct spool *spool);

// Whether a path means something else in another process: /dev/stdin, /dev/fd/N, /proc/self/...
bool spool_is_own_name(const char *path);

#endif
