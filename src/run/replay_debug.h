// replay --debug of a job of commands: the mapper itself in gdb, with the record on its standard input.
//
// One place (code/command/command) decides the input of a mapper and its environment. So the record is first
// replayed with another mapper, which keeps both in files without a name; gdb then starts the real one with them.
#ifndef RUN_REPLAY_DEBUG_H
#define RUN_REPLAY_DEBUG_H

#include "run/options.h"

struct replay_capture {
    struct run_options options;     // to replay with; borrows from the real ones
    int record_fd, environment_fd;  // the files that this replay leaves
};

// capture_fini in every case. FAILED_PRECONDITION: there is no mapper to debug.
MUST_CHECK weft_err replay_capture_init(struct replay_capture *capture,
                                        const struct run_options *options);
void replay_capture_fini(struct replay_capture *capture);

// Becomes gdb with the mapper of `options`; returns only on failure. A line for a shell is not a program: the record
// is then left at record_path, and the sentence says what to do with it.
MUST_CHECK weft_err replay_debug_command(const struct replay_capture *capture,
                                         const struct run_options *options,
                                         const char *record_path);

// NOT_FOUND: there is none. The caller frees *path.
MUST_CHECK weft_err replay_find_debugger(char **path);

// Becomes gdb with these words, NULL-terminated, after its own; returns only on failure.
MUST_CHECK weft_err replay_become_debugger(const char *const *words);

#endif
