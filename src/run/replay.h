// replay: one record again. A run that fails on a record leaves a note of how it was started and where the
// record is; `weft replay ID` starts the same program with that note in its environment, and the program
// gives just that record to its map function, in this very process, where a debugger can see it.
#ifndef RUN_REPLAY_H
#define RUN_REPLAY_H

#include "run/options.h"

#define REPLAY_VARIABLE "WEFT_REPLAY"              // the path of a note
#define REPLAY_DEBUG_VARIABLE "WEFT_REPLAY_DEBUG"  // it is to run in a debugger

enum { REPLAY_ID_BYTES = 17 };

// Writes a note to ${XDG_CACHE_HOME:-~/.cache}/weft/replay; `id` becomes its ID. UNIMPLEMENTED for an input
// that is gone with this process (a pipe).
MUST_CHECK weft_err replay_save(const char *input_name, const char *input_path, uint64_t offset,
                                char *id);

// Becomes the program of a note; if has_debugger in gdb, or in the debugger of its code (mapreduce/code.h); returns only
// on failure. NOT_FOUND: no such ID.
MUST_CHECK weft_err replay_become(const char *id, bool has_debugger);

// In that program: gives the record to the job, prints the emitted pairs, and returns the exit code.
int replay_record(const struct run_options *options, const char *note_path, const char *program);

#endif
