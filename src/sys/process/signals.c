// Which signals end a program, and with which exit code.

#include "sys/process/signals.h"

#include <signal.h>

#include "sys/thread/interrupt.h"

const int signal_no_clients = SIGUSR2;
const int signals_to_end[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, 0};

bool signal_is_ignored(int number)
{
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

int signal_exit_code(int number)
{
    return 128 + number;
}

int signal_exit_code_unread(void)
{
    return signal_exit_code(SIGPIPE);
}

// ---- Noting them ----------------------------------------------------------------------------------------

static volatile sig_atomic_t noted;

static void note(int number)
{
    noted = number;
}

static bool is_asked_to_end(void)
{
    return noted != 0;
}

void signals_note(void)
{
    struct sigaction action = {.sa_handler = note, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    for (const int *number = signals_to_end; *number; number++)
        if (!signal_is_ignored(*number))
            sigaction(*number, &action, NULL);
    interrupt_set(is_asked_to_end);
}

int signals_noted(void)
{
    return noted;
}
