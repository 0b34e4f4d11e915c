// The nursery: a small process that starts other people's commands for us and sees to it that none
// outlives us, nor any process that they started in turn.
//
// It is forked once, before there are threads, and waits at a socket. A command is its child, in a
// session of its own; it is the subreaper of all its descendants. When our end of the socket
// closes, however we ended (kill -9 too), it kills every descendant it has, however they were forked,
// until none is left, and ends. Starting from a small process is also cheaper than from one with
// gigabytes mapped. Thread: requests may come from any thread (a lock inside); a child belongs to one
// thread.
#ifndef SYS_PROCESS_NURSERY_H
#define SYS_PROCESS_NURSERY_H

#include "base/err.h"
#include "sys/process/process.h"

struct nursery;

// Forks the nursery. Call it while the process has one thread. From now on the process ignores SIGPIPE,
// if it did not handle it: a command may stop reading at any time. NULL on failure.
struct nursery *nursery_new(void);
void nursery_free(struct nursery *nursery);  // ends it and everything in it, and waits for that

// The same, while other threads still use it: their commands end, and no others start (UNAVAILABLE).
void nursery_stop(struct nursery *nursery);

// Ends this process, too, as if it had been killed, if the nursery has ended by itself: no command can be started from here any more,
// but a process in the place of this one has a nursery of its own.
void nursery_follow(const struct nursery *nursery);

// From the first call on, all commands end when the next one does not come within that time: an owner that is stopped (SIGSTOP, a debugger)
// is not there for them, though it has not ended. Does not wait.
void nursery_extend_leash(const struct nursery *nursery, uint32_t leash_ms);

// What a command has as its standard input.
enum nursery_input {
    NURSERY_INPUT_PIPE,  // child.in is our end of it
    NURSERY_INPUT_NONE,  // /dev/null
    NURSERY_INPUT_OURS,  // what ours is
};

struct nursery_spec {
    // NULL-terminated; the first is a path, or a name looked for in the PATH of the environment below.
    const char *const *arguments;
    const char *const *environment;  // NULL-terminated "NAME=value", all of it; NULL: ours
    const char *directory;           // where it runs; NULL: where the nursery was made
    enum nursery_input input;
};

// A started command: our ends of its three pipes, non-blocking and closed on exec. -1: closed.
struct child {
    struct nursery *nursery;
    uint64_t number;
    int in, out, err;
    int status;  // the nursery's reports on it
    pid_t pid;
    bool has_ended;            // `exit` is known
    struct process_exit exit;  // how
};

// Starts a command. NOT_FOUND (no such program), PERMISSION_DENIED (not executable) and the like with a
// sentence that names it, also when it is the interpreter of a script that is missing.
MUST_CHECK weft_err nursery_start(struct nursery *nursery, const struct nursery_spec *spec,
                                  struct child *child);

// Whether there is such a program, before anything is started: the same sentences. What only its start can
// show, such as an interpreter that is missing, is not looked for.
MUST_CHECK weft_err nursery_find(const char *name);

void child_close_in(struct child *child);  // its standard input ends

// Which of the given things can be done now without waiting; waits for at most timeout_ms (-1: forever).
// CHILD_END: the command itself has ended, though its own children may hold its pipes. 0 at once when
// none of the given things can ever happen, since those pipes are closed.
enum { CHILD_IN = 1, CHILD_OUT = 2, CHILD_ERR = 4, CHILD_END = 8 };
unsigned child_wait_ready(const struct child *child, unsigned wanted, int timeout_ms);

// Without waiting. *got / *put is 0 when nothing can be done; *has_ended: the other side closed the pipe
// (then the descriptor is closed here, too). A command that closed its standard input is not a failure.
MUST_CHECK weft_err child_read(struct child *child, unsigned which, void *data, size_t size,
                               size_t *got, bool *has_ended);
MUST_CHECK weft_err child_write(struct child *child, const void *data, size_t size, size_t *put,
                                bool *has_ended);

// The same without copying: the pipe refers to the pages, which must not change until the command has
// read them. Only for mapped files.
MUST_CHECK weft_err child_lend(struct child *child, const void *data, size_t size, size_t *put,
                               bool *has_ended);

// Waits for the end of the command itself, up to timeout_ms (-1: forever; false: it still runs). The
// processes that it left in its session have been killed by then.
bool child_wait(struct child *child, int timeout_ms, struct process_exit *exit);

// Sends a signal and does not wait: SIGKILL to it and all it started, others to its process group, as a
// terminal would. Does nothing when it has ended.
void child_signal(struct child *child, int number);

// Kills it and all it started, waits, closes the pipes. Harmless when it has ended, or was never started
// (a zeroed struct with nursery NULL).
void child_end(struct child *child);

#endif
