// Signals by name, and the few of them a driver answers.
#ifndef SYS_PROCESS_SIGNALS_H
#define SYS_PROCESS_SIGNALS_H

#include <stdbool.h>

// What a person calls the signal: "segmentation fault", "killed"; "signal 63" for one without words.
// Copied into text, always terminated. Safe in any thread.
void signal_describe(int number, char *text, unsigned long text_size);

// The exit code that a shell shows for a process ended by that signal: 130 for SIGINT.
int signal_exit_code(int number);
int signal_exit_code_unread(void);  // the one for SIGPIPE: the reader of the output has gone

// Whether the process that started us wants it ignored (nohup; a background job of a script): then it stays so.
bool signal_is_ignored(int number);

// The signals by which people and systems ask a program to end, ended by 0: SIGINT, SIGTERM,
// SIGHUP, SIGQUIT (Ctrl-\\, which would leave a core file and unfinished files).
extern const int signals_to_end[];

// What a launcher sends to the server whose clients it could not start: SIGUSR2.
extern const int signal_no_clients;

// From now on those are noted instead of ending the process, for commands that clean up and then end: the waits of such a
// command end soon (sys/thread/interrupt.h), and signals_noted says which one came, 0: none. A second one ends the process at once.
void signals_note(void);
int signals_noted(void);

#endif
