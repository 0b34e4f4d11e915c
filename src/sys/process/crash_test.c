// Tests of the note a crash leaves: children that crash in every way, in a watched thread or beside it.

#include "sys/process/crash.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/thread/thread.h"

// Shared with the children.
static _Atomic int32_t *notes;

static volatile int *volatile nothing = (volatile int *)(uintptr_t)64;
static volatile int depth_max = INT_MAX;  // what compilers need not know

static void touch_nothing(void)
{
    *nothing = 1;
}

// Every frame is used after the call: no compiler makes a loop of it.
__attribute__((noinline)) static int run_over(volatile char *above, int depth)
{
    volatile char frame[1000];
    if (depth == depth_max)
        return above[0];
    frame[0] = above[0];
    frame[999] = (char)depth;
    return run_over(frame, depth + 1) + frame[999];
}

static void overflow_stack(void)
{
    char first = 1;
    _exit(run_over(&first, 0) & 1);
}

static void call_abort(void)
{
    abort();
}

static void raise_fpe(void)
{
    raise(SIGFPE);
}

static void raise_ill(void)
{
    raise(SIGILL);
}

static void read_behind_a_file(void)
{
    char path[] = "/tmp/weft-crash-test-XXXXXX";
    const int file = mkstemp(path);
    unlink(path);
    const volatile char *memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
    _exit(memory[0]);
}

static void (*crash)(void);
static _Atomic int32_t *watched;

static void crash_in_thread(void *argument)
{
    (void)argument;
    if (watched)
        crash_watch_thread(watched);
    crash();
}

static void wait_in_thread(void *argument)
{
    crash_watch_thread(argument);
    for (;;)
        pause();
}

// Another thread is watched too and does nothing: it is not to blame.
static _Noreturn void run_child(void)
{
    signal(SIGSEGV, SIG_DFL);  // cmocka's own
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    close(STDERR_FILENO);
    crash_install();
    struct thread thread, other;
    if (thread_start(&other, wait_in_thread, (void *)&notes[1], 0) ||
        thread_start(&thread, crash_in_thread, NULL, 256 << 10))
        _exit(99);
    thread_join(&thread);
    _exit(98);
}

static void check_crash(void (*how)(void), int signal_number, _Atomic int32_t *note)
{
    notes[0] = notes[1] = 0;
    crash = how;
    watched = note;
    const pid_t child = fork();
    if (child == 0)
        run_child();
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), signal_number);
    assert_int_equal(notes[0], note ? signal_number : 0);
    assert_int_equal(notes[1], 0);
}

static void a_crash_is_noted_by_its_thread_and_ends_the_process(void **state)
{
    (void)state;
    check_crash(touch_nothing, SIGSEGV, notes);
    check_crash(call_abort, SIGABRT, notes);
    check_crash(raise_fpe, SIGFPE, notes);
    check_crash(raise_ill, SIGILL, notes);
    check_crash(read_behind_a_file, SIGBUS, notes);
}

static void a_stack_that_runs_over_is_noted_too(void **state)
{
    (void)state;
    check_crash(overflow_stack, SIGSEGV, notes);
}

static void a_thread_nobody_watches_leaves_no_note(void **state)
{
    (void)state;
    check_crash(touch_nothing, SIGSEGV, NULL);
    check_crash(call_abort, SIGABRT, NULL);
}

static void leave_quietly(void)
{
    _exit(7);
}

static void an_exit_leaves_no_note(void **state)
{
    (void)state;
    notes[0] = 0;
    crash = leave_quietly;
    watched = notes;
    const pid_t child = fork();
    if (child == 0)
        run_child();
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_int_equal(notes[0], 0);
}

int main(void)
{
    notes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (notes == MAP_FAILED)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_crash_is_noted_by_its_thread_and_ends_the_process),
        cmocka_unit_test(a_stack_that_runs_over_is_noted_too),
        cmocka_unit_test(a_thread_nobody_watches_leaves_no_note),
        cmocka_unit_test(an_exit_leaves_no_note),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
