// Crashes of user code: the note in the shared page.

#include "sys/process/crash.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { ALTERNATE_STACK_BYTES = 64 << 10 };

static _Thread_local _Atomic int32_t *thread_note;

static void note_and_die(int number)
{
    if (thread_note)
        atomic_store(thread_note, number);
    signal(number, SIG_DFL);
    raise(number);
}

void crash_install(void)
{
    const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction action = {.sa_flags = SA_ONSTACK | SA_NODEFER};
        action.sa_handler = note_and_die;
        sigemptyset(&action.sa_mask);
        sigaction(numbers[i], &action, NULL);
    }
}

void crash_watch_thread(_Atomic int32_t *note)
{
    thread_note = note;
    // Lives as long as the thread, which is as long as the process.
    static _Thread_local char stack[ALTERNATE_STACK_BYTES];
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&alternate, NULL);
}
