// Threads, locks and conditions over pthread.

#include "sys/thread/thread.h"

#include <errno.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

struct start {
    void (*body)(void *);
    void *argument;
};

static void *run_body(void *argument)
{
    const struct start start = *(struct start *)argument;
    free(argument);
    start.body(start.argument);
    return NULL;
}

// Signals meant for the process go to its main thread; a fault still reaches the thread that made it.
static void block_signals(sigset_t *before)
{
    sigset_t blocked;
    sigfillset(&blocked);
    const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, before);
}

static int add_local_bytes(struct dl_phdr_info *module, size_t size, void *sum)
{
    (void)size;
    for (int i = 0; i < module->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &module->dlpi_phdr[i];
        if (segment->p_type == PT_TLS)
            *(size_t *)sum += segment->p_memsz + segment->p_align;
    }
    return 0;
}

// The C library takes the thread-local variables of all modules out of a thread's stack.
static size_t round_stack(size_t stack_bytes)
{
    enum { STACK_UNIT = 64 << 10 };
    size_t local_bytes = 0;
    dl_iterate_phdr(add_local_bytes, &local_bytes);
    return (stack_bytes + local_bytes + STACK_UNIT - 1) / STACK_UNIT * STACK_UNIT;
}

weft_err thread_start(struct thread *thread, void (*body)(void *), void *argument,
                      size_t stack_bytes)
{
    struct start *start = malloc(sizeof *start);
    if (!start)
        return err_no_memory("to start a thread");
    *start = (struct start){body, argument};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack_bytes)
        pthread_attr_setstacksize(&attributes, round_stack(stack_bytes));
    sigset_t before;
    block_signals(&before);
    const int number = pthread_create(&thread->handle, &attributes, run_body, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (number == 0)
        return WEFT_OK;
    free(start);
    errno = number;
    return err_errno("cannot start a thread");
}

void thread_join(struct thread *thread)
{
    ASSERT(pthread_join(thread->handle, NULL) == 0);
}

void mutex_init(struct mutex *mutex)
{
    ASSERT(pthread_mutex_init(&mutex->handle, NULL) == 0);
}

void mutex_fini(struct mutex *mutex)
{
    ASSERT(pthread_mutex_destroy(&mutex->handle) == 0);
}

void mutex_lock(struct mutex *mutex)
{
    ASSERT(pthread_mutex_lock(&mutex->handle) == 0);
}

void mutex_unlock(struct mutex *mutex)
{
    ASSERT(pthread_mutex_unlock(&mutex->handle) == 0);
}

void condition_init(struct condition *condition)
{
    // The clock of clock_now_ns: one that is set cannot make a wait too long.
    pthread_condattr_t attributes;
    ASSERT(pthread_condattr_init(&attributes) == 0);
    ASSERT(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
    ASSERT(pthread_cond_init(&condition->handle, &attributes) == 0);
    pthread_condattr_destroy(&attributes);
}

void condition_fini(struct condition *condition)
{
    ASSERT(pthread_cond_destroy(&condition->handle) == 0);
}

void condition_wait(struct condition *condition, struct mutex *mutex)
{
    ASSERT(pthread_cond_wait(&condition->handle, &mutex->handle) == 0);
}

void condition_wait_until(struct condition *condition, struct mutex *mutex, uint64_t deadline_ns)
{
    if (deadline_ns == UINT64_MAX) {
        condition_wait(condition, mutex);
        return;
    }
    const struct timespec deadline = {(time_t)(deadline_ns / 1000000000),
                                      (long)(deadline_ns % 1000000000)};
    const int failed = pthread_cond_timedwait(&condition->handle, &mutex->handle, &deadline);
    ASSERT(failed == 0 || failed == ETIMEDOUT);
}

void condition_signal(struct condition *condition)
{
    ASSERT(pthread_cond_signal(&condition->handle) == 0);
}

void condition_broadcast(struct condition *condition)
{
    ASSERT(pthread_cond_broadcast(&condition->handle) == 0);
}

void thread_keep_directory(void)
{
    (void)unshare(CLONE_FS);
}

void thread_yield(void)
{
    sched_yield();
}
