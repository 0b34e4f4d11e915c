// own_program: the program of a role, where it is a file of this directory and has to travel with the run. Thread: any.
#ifndef CREW_OWN_PROGRAM_H
#define CREW_OWN_PROGRAM_H

#include "base/err.h"

// A program that is named by a path relative to this directory is not on another machine, so it is sent. *target: its path there;
// NULL: it is not ours. With a directory (--cd) all paths are those of the hosts. INVALID_ARGUMENT: it is not below this directory.
MUST_CHECK weft_err own_program_find(const char *program, const char *directory,
                                     const char **target);

#endif
