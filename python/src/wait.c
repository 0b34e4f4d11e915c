// Waiting so that Ctrl-C works. Python's signal handlers run only when the interpreter is asked to run them, so a call that
// waits asks it every few milliseconds, with the GIL, and ends when a handler raises.
//
// A fork copies one thread of a process, and locks in the state in which the others left them. So a child must not
// touch the clusters of its parent, not even to free them.

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cluster.h"
#include "sys/thread/interrupt.h"
#include "sys/time/clock.h"

static const uint64_t look_ns = 20000000;  // between two looks

static _Thread_local struct {
    bool is_waiting, is_interrupted;
    uint64_t next_ns;
} mine;
static unsigned fork_count;

// Only the main thread runs signal handlers.
static bool is_main_thread(void)
{
    return syscall(SYS_gettid) == getpid();
}

static bool is_wanted_back(void)
{
    if (!mine.is_waiting || mine.is_interrupted)
        return mine.is_waiting;
    const uint64_t now_ns = clock_now_ns();
    if (now_ns < mine.next_ns)
        return false;
    mine.next_ns = now_ns + look_ns;
    if (!is_main_thread())
        return false;
    const PyGILState_STATE state = PyGILState_Ensure();
    mine.is_interrupted = PyErr_CheckSignals() != 0;
    PyGILState_Release(state);
    return mine.is_interrupted;
}

void wait_begin(void)
{
    mine.is_waiting = true;
    mine.is_interrupted = false;
    mine.next_ns = clock_now_ns() + look_ns;
}

void wait_end(void)
{
    mine.is_waiting = false;
}

static void count_fork(void)
{
    fork_count++;
    mine.is_waiting = false;
}

unsigned wait_fork_count(void)
{
    return fork_count;
}

int wait_install(void)
{
    interrupt_set(is_wanted_back);
    if (pthread_atfork(NULL, NULL, count_fork) == 0)
        return 0;
    PyErr_NoMemory();
    return -1;
}
