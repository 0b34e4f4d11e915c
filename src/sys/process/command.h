// command: other people's programs, run to their end or in place of ours.
#ifndef SYS_PROCESS_COMMAND_H
#define SYS_PROCESS_COMMAND_H

#include "base/err.h"

// The path of a program: the name itself when it has a slash, else where PATH has it. NOT_FOUND. The
// caller frees *path.
MUST_CHECK weft_err command_find(const char *name, char **path);

// Runs a program and waits for its end. It reads nothing; its output goes to `output`, or to our
// standard error for -1. It ends when we do. *exit_code is 128 + N for signal N.
MUST_CHECK weft_err command_run(const char *path, char *const *arguments, int output,
                                int *exit_code);

// Becomes the program; returns only on failure.
MUST_CHECK weft_err command_become(const char *path, char *const *arguments);

// Our own executable, links followed; the caller frees *path.
MUST_CHECK weft_err command_own_path(char **path);

#endif
