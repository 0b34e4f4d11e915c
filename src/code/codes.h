// The list of everything that can run a job, and which of them runs which job (mapreduce/code.h has
// the port).
#ifndef CODE_CODES_H
#define CODE_CODES_H

#include "mapreduce/code.h"

extern const struct code code_native;   // native/native.c
extern const struct code code_command;  // command/code.c
extern const struct code code_python;   // python/code.c

// NULL-terminated. A job is run by the first that claims it; the last claims all.
extern const struct code *const codes[];

// The code that runs the job, or a copy of it. NULL if none was chosen: native.
const struct code *code_of(const weft_job *job);

// The code with the number; NULL: there is none.
const struct code *code_numbered(uint32_t number);

// Whose job the words of a command line mean by their options; NULL: none's, they name it.
const struct code *code_claimed_by(char *const *words, size_t count);

#endif
