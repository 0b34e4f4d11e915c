// Processes: a worker is this same program, or that of a job from another machine, started with a socket and a shared
// page.
//
// A child dies with the thread that started it, however that one ends, and is not disturbed by what a
// terminal sends to all its processes: its parent decides. Works in a program with threads and leaves
// the program's own signal handlers alone (no SIGCHLD). Thread: the one that spawned.
#ifndef SYS_PROCESS_PROCESS_H
#define SYS_PROCESS_PROCESS_H

#include "base/err.h"

#include <stddef.h>
#include <sys/types.h>

enum { PROCESS_INHERIT_MAX = 4 };

struct process_spec {
    const char *program;           // path; PROCESS_SELF: this program, even if replaced on disk
    const char *const *arguments;  // NULL-terminated, the name first
    // How its environment differs from ours: "NAME=value" sets, "NAME" removes. NULL-terminated; NULL: it does not.
    const char *const *environment;
    const char *directory;  // where it runs; NULL: where we are. `program` is absolute then
    int inherit[PROCESS_INHERIT_MAX];  // descriptors that the child keeps under the same numbers
    size_t inherit_count;
};

#define PROCESS_SELF "/proc/self/exe"

struct process {
    pid_t pid;  // 0: none, or waited for
    int pidfd;  // readable when it has ended; -1 where the kernel has no such thing
};

// Standard input of the child is /dev/null; its standard output is our standard error, because
// standard output is for the answer and user code may print. SIGINT, SIGTERM, SIGHUP and SIGPIPE are
// ignored in the child.
MUST_CHECK weft_err process_spawn(const struct process_spec *spec, struct process *process);

// A copy of this process, in which body runs and whose exit code it gives (0..255); what body was given
// is as it was at this moment. It has our memory but no other thread, and no descriptor of ours but the
// standard ones. Dies with the thread that forked it.
MUST_CHECK weft_err process_fork(int (*body)(void *), void *owner, struct process *process);

// Sends a signal to the process that has started or forked this one, if it still lives.
void process_signal_parent(int number);

// Kills it at once; does not wait. Does nothing when there is none.
void process_kill(struct process *process);

// Asks it to end (SIGTERM), if it listens.
void process_terminate(struct process *process);

// Opens for reading a regular file that the process has open under that number; it stays open when the process
// ends. UNAVAILABLE: it has ended, or is about to.
MUST_CHECK weft_err process_open_file(const struct process *process, uint32_t number, int *fd);

struct process_exit {
    bool is_known;  // false: another part of the program waited for it
    bool was_signalled;
    int number;  // the signal, or the exit code
};

// Whether it has ended; waits for that for at most timeout_ms. It is still to be waited for.
bool process_has_ended(const struct process *process, uint32_t timeout_ms);

// Waits for its end. Afterwards `process` holds none.
void process_wait(struct process *process, struct process_exit *exit);

// "killed by signal 11 (segmentation fault)", "exited with code 3"
void process_describe_exit(const struct process_exit *exit, char *text, size_t text_size);

// A connected pair of stream sockets above the standard descriptors, both closed on exec.
MUST_CHECK weft_err process_make_socket_pair(int fds[2]);

// Zeroed memory that outlives the other processes that map it: maps it and gives its descriptor,
// closed on exec. process_map_shared maps it in the child.
MUST_CHECK weft_err process_make_shared(size_t size, int *fd, void **memory);
MUST_CHECK weft_err process_map_shared(int fd, size_t size, void **memory);
void process_unmap_shared(void *memory, size_t size);

// Opens /dev/null as each of descriptors 0, 1, 2 that is closed, so that no file of ours becomes one;
// reading 0 and writing 1 or 2 still fail as if it were closed.
void process_open_standard_descriptors(void);

// What ps and top call this process; at most 15 bytes are kept.
void process_set_name(const char *name);

// Lets this process open as many files as the system allows it to, instead of as many as it begins with.
// Only processes that it starts itself from now on get the same.
void process_allow_descriptors(void);

// A file that would become larger than it may be (ulimit -f) is an error of the write, not the end of this process. Programs that it
// starts are not affected.
void process_survive_large_files(void);

// Marks a descriptor to be closed on exec, so that programs started by user code do not hold it.
void process_close_on_exec(int fd);

// The opposite: the program that we become has it, too.
void process_keep_on_exec(int fd);

#endif
