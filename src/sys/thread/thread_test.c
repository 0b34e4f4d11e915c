// Tests of threads, locks and conditions, and of who gets which signals.

#include "sys/thread/thread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <signal.h>

enum { THREADS = 4, ROUNDS = 5000 };

static struct mutex lock;
static struct condition changed;
static long counter;

static void count_up(void *argument)
{
    for (int i = 0; i < ROUNDS; i++) {
        mutex_lock(&lock);
        counter += *(long *)argument;
        mutex_unlock(&lock);
    }
}

static void a_lock_lets_one_in_at_a_time(void **state)
{
    (void)state;
    struct thread threads[THREADS];
    long step = 3;
    counter = 0;
    mutex_init(&lock);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(thread_start(&threads[i], count_up, &step, 0), WEFT_OK);
    for (int i = 0; i < THREADS; i++)
        thread_join(&threads[i]);
    assert_int_equal(counter, 3L * THREADS * ROUNDS);
    mutex_fini(&lock);
}

// Hands a turn around: each waits for its own.
static void take_turns(void *argument)
{
    const long own = (long)(intptr_t)argument;
    mutex_lock(&lock);
    for (int i = 0; i < 200; i++) {
        while (counter % THREADS != own)
            condition_wait(&changed, &lock);
        counter++;
        condition_broadcast(&changed);
    }
    mutex_unlock(&lock);
}

static void whoever_waits_for_a_change_sees_it(void **state)
{
    (void)state;
    struct thread threads[THREADS];
    counter = 0;
    mutex_init(&lock);
    condition_init(&changed);
    for (intptr_t i = 0; i < THREADS; i++)
        assert_int_equal(thread_start(&threads[i], take_turns, (void *)i, 0), WEFT_OK);
    for (int i = 0; i < THREADS; i++)
        thread_join(&threads[i]);
    assert_int_equal(counter, 200 * THREADS);
    condition_fini(&changed);
    mutex_fini(&lock);
}

static void wait_for_one(void *argument)
{
    (void)argument;
    mutex_lock(&lock);
    while (counter == 0)
        condition_wait(&changed, &lock);
    counter--;
    mutex_unlock(&lock);
}

static void a_signal_wakes_one_that_waits(void **state)
{
    (void)state;
    struct thread threads[THREADS];
    counter = 0;
    mutex_init(&lock);
    condition_init(&changed);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(thread_start(&threads[i], wait_for_one, NULL, 0), WEFT_OK);
    for (int i = 0; i < THREADS; i++) {
        mutex_lock(&lock);
        counter++;
        condition_signal(&changed);
        mutex_unlock(&lock);
    }
    for (int i = 0; i < THREADS; i++)
        thread_join(&threads[i]);
    assert_int_equal(counter, 0);
    condition_fini(&changed);
    mutex_fini(&lock);
}

static void note_blocked(void *blocked)
{
    pthread_sigmask(SIG_SETMASK, NULL, blocked);
}

static void threads_leave_signals_to_the_main_thread_but_not_faults(void **state)
{
    (void)state;
    struct thread thread;
    sigset_t before, after, blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_int_equal(thread_start(&thread, note_blocked, &blocked, 0), WEFT_OK);
    thread_join(&thread);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    const int others[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGPIPE, SIGUSR1, SIGWINCH};
    const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_true(sigismember(&blocked, others[i]));
        assert_int_equal(sigismember(&after, others[i]), sigismember(&before, others[i]));
    }
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        assert_false(sigismember(&blocked, faults[i]));
}

static void use_stack(void *sum)
{
    volatile char large[3 << 20];
    for (size_t i = 0; i < sizeof large; i += 1000)
        large[i] = 1;
    for (size_t i = 0; i < sizeof large; i += 1000)
        *(long *)sum += large[i];
}

static void a_thread_has_the_stack_it_was_given(void **state)
{
    (void)state;
    struct thread thread;
    long sum = 0;
    assert_int_equal(thread_start(&thread, use_stack, &sum, 8 << 20), WEFT_OK);
    thread_join(&thread);
    assert_int_equal(sum, ((3 << 20) + 999) / 1000);
}

static void a_thread_that_cannot_start_is_told(void **state)
{
    (void)state;
    struct thread thread;
    // More address space than there is.
    assert_int_not_equal(thread_start(&thread, use_stack, NULL, (size_t)1 << 50), WEFT_OK);
    assert_non_null(strstr(err_text(), "start a thread"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_lets_one_in_at_a_time),
        cmocka_unit_test(whoever_waits_for_a_change_sees_it),
        cmocka_unit_test(a_signal_wakes_one_that_waits),
        cmocka_unit_test(threads_leave_signals_to_the_main_thread_but_not_faults),
        cmocka_unit_test(a_thread_has_the_stack_it_was_given),
        cmocka_unit_test(a_thread_that_cannot_start_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
