// standard: what a descriptor that was handed to us (standard output, standard error) is, and what can
// be done with it.
#ifndef SYS_FILE_STANDARD_H
#define SYS_FILE_STANDARD_H

#include "base/err.h"
#include "sys/file/wait_limit.h"

enum standard_kind {
    STANDARD_CLOSED,  // not there, not for writing, or not given to us: close-on-exec, above 2
    STANDARD_NULL,    // /dev/null
    STANDARD_STREAM,  // a pipe, a terminal, a file: written in order, where its position stands
};

MUST_CHECK weft_err standard_look(int fd, enum standard_kind *kind);

// The same file under a number above 2, closed on exec; -1 on failure with the sentence set.
int standard_duplicate(int fd);

// Which descriptor of this process the path is a name for: /dev/stdout, /dev/fd/N, /proc/self/fd/N; -1: none.
// Opening such a name again would begin at the front of a file, and cut it.
int standard_number(const char *path);

// Opens an existing device, file or FIFO for writing; waits for the reader of a FIFO, within the limit.
MUST_CHECK weft_err standard_open_stream(const char *path, const struct wait_limit *limit, int *fd);

// Whether something is piped or redirected into the descriptor: a pipe, a FIFO, a socket or a plain file.
// A device (a terminal, /dev/null) and a closed descriptor are not.
bool standard_is_fed(int fd);

// Whether another process reads there and may leave: of a pipe, a FIFO or a socket.
bool standard_has_reader(int fd);

// Whether the descriptor is a terminal, and how wide it is (80 when it does not say).
bool standard_is_terminal(int fd);
uint32_t standard_columns(int fd);

#endif
