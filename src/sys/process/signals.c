// Signals by name, from the C library's own table.

#include "sys/process/signals.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

const int signals_to_end[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, 0};

void signal_describe(int number, char *text, unsigned long text_size)
{
    const char *words = sigdescr_np(number);
    if (!words) {
        snprintf(text, text_size, "signal %d", number);
        return;
    }
    // "Segmentation fault" starts a sentence there, here it stands inside one.
    const char first = words[0] >= 'A' && words[0] <= 'Z' ? (char)(words[0] + 32) : words[0];
    snprintf(text, text_size, "%c%s", first, words[0] ? words + 1 : "");
}

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
