// Signals and ends of processes in words. A file of its own because it asks the kernel nothing: simulators, which
// replace process.c, use this one as it is.

#include <stdio.h>
#include <string.h>

#include "sys/process/process.h"
#include "sys/process/signals.h"

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

void process_describe_exit(const struct process_exit *exit, char *text, size_t text_size)
{
    if (!exit->is_known) {
        snprintf(text, text_size, "ended, exit status unknown");
    } else if (exit->was_signalled) {
        char words[64];
        signal_describe(exit->number, words, sizeof words);
        snprintf(text, text_size, "killed by signal %d (%s)", exit->number, words);
    } else {
        snprintf(text, text_size, "exited with code %d", exit->number);
    }
}
