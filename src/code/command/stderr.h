// What a command says on its standard error: counters and status for us, everything else for people.
//
//   reporter:counter:GROUP,NAME,N   adds N to the counter "GROUP.NAME"
//   reporter:status:TEXT            shown as the status
//   any other line                  passed on, however much there is; its end is remembered for the
//                                   sentence of a failure
//
// The message about a failure quotes a command that fails within a second, so its text is not shown
// twice: it is passed on when the command has lived longer, has written much, or ended well.
// Thread: one owner.
#ifndef CODE_COMMAND_STDERR_H
#define CODE_COMMAND_STDERR_H

#include "base/buf.h"

enum {
    COMMAND_TAIL_BYTES = 2048,
    COMMAND_HELD_BYTES_MAX = 64 << 10,    // held back within the first second
    COMMAND_ERROR_LINE_BYTES_MAX = 8192,  // a longer one is passed on before it has ended
};

typedef void command_count_fn(void *owner, const char *name, int64_t amount);
typedef void command_tell_fn(void *owner, weft_bytes status);

struct command_stderr {
    int fd;  // where lines are passed on; -1: nowhere
    command_count_fn *count;
    command_tell_fn *tell;  // may be set after init; NULL: status lines are dropped
    void *owner;
    struct buf open;   // the beginning of a line that has not ended
    struct buf shown;  // lines to be passed on with one write
    struct buf tail;
    bool is_inside;  // a line whose beginning was passed on already
    uint64_t begun_ns;
};

void command_stderr_init(struct command_stderr *err, int fd, command_count_fn *count, void *owner);
void command_stderr_fini(struct command_stderr *err);

// For a new attempt: forgets the former output.
void command_stderr_begin(struct command_stderr *err);

// Takes bytes that were read; at the end of the stream a last line without an end is a line, too.
void command_stderr_take(struct command_stderr *err, weft_bytes text);
void command_stderr_end(struct command_stderr *err);

// How the command has ended: what still waits is passed on, or dropped.
void command_stderr_settle(struct command_stderr *err, bool is_good);

// Appends the end of the output as whole lines, each after four blanks, in at most `bytes_max`
// bytes.
// False: nothing was said.
bool command_stderr_append_tail(const struct command_stderr *err, size_t bytes_max, struct buf *to);

#endif
