// Threads, locks and conditions: pthread under names of ours, so that only sys/ knows it.
// Failures of these calls are our own mistakes or a machine at its end: they assert, except starting.
#ifndef SYS_THREAD_THREAD_H
#define SYS_THREAD_THREAD_H

#include <pthread.h>

#include "base/err.h"

struct mutex {
    pthread_mutex_t handle;
};

#define MUTEX_INITIALIZER                                                                          \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER                                                                  \
    }  // for one that lives as long as the process

struct condition {
    pthread_cond_t handle;
};

struct thread {
    pthread_t handle;
};

void mutex_init(struct mutex *mutex);
void mutex_fini(struct mutex *mutex);
void mutex_lock(struct mutex *mutex);
void mutex_unlock(struct mutex *mutex);

void condition_init(struct condition *condition);
void condition_fini(struct condition *condition);
void condition_wait(struct condition *condition, struct mutex *mutex);
// The same until clock_now_ns() is deadline_ns at the latest; wakes up early too.
void condition_wait_until(struct condition *condition, struct mutex *mutex, uint64_t deadline_ns);
void condition_signal(struct condition *condition);
void condition_broadcast(struct condition *condition);

// Starts `body(argument)` in a thread with `stack_bytes` of stack (0: the default), thread-local variables
// not counted, and all signals blocked but the ones a fault raises.
MUST_CHECK weft_err thread_start(struct thread *thread, void (*body)(void *), void *argument,
                                 size_t stack_bytes);
void thread_join(struct thread *thread);

// From now on the calling thread has a working directory of its own: what other threads change does not concern it, nor
// the processes that it starts. Some containers do not allow that; then the directory stays that of the process.
void thread_keep_directory(void);

// Lets others run who wait for a core.
void thread_yield(void);

#endif
