// daemon: a process of ours that continues in the background when we have ended, known to others by a lock
// file (sys/file/file.h) that it holds as long as it lives. Thread: the only one of the process.
#ifndef SYS_PROCESS_DAEMON_H
#define SYS_PROCESS_DAEMON_H

#include "base/err.h"

#include <sys/types.h>

struct daemon {
    bool is_inside;  // we are the new process
    int report;      // from the new one to us
};

// Forks; both processes continue from here. The new one has a session of its own and reads nothing.
MUST_CHECK weft_err daemon_fork(struct daemon *daemon);

// Inside: standard output and error are that file from now on, made anew.
MUST_CHECK weft_err daemon_write_to(const char *path);

// Inside, once: reports how the beginning went; a failure with this thread's sentence.
void daemon_report(struct daemon *daemon, weft_err code);

// Outside: waits for the report and returns it, as this thread's error. UNAVAILABLE: it ended without one.
MUST_CHECK weft_err daemon_await(struct daemon *daemon);

// Whether a process holds the lock file, and which: *pid.
bool daemon_is_alive(const char *lock, pid_t *pid);

// Asks the holder of the lock to end (SIGTERM) and waits until it has. WEFT_OK also when there is none.
MUST_CHECK weft_err daemon_stop(const char *lock);

#endif
