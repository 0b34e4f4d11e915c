// What the built-in jobs say to the options of their namesakes that they do not have.
#ifndef JOBS_HINTS_H
#define JOBS_HINTS_H

#include "base/args.h"

extern const struct args_hint builtin_grep_hints[], builtin_sort_hints[];

#endif
