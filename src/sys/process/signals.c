// Which signals end a program, and with which exit code.

#include "sys/process/signals.h"

#include <signal.h>

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
