// What the built-in jobs say to the options of their namesakes that they do not have.
#ifndef LANG_BUILTIN_HINTS_H
#define LANG_BUILTIN_HINTS_H

#include "base/args.h"

extern const struct args_hint builtin_grep_hints[], builtin_sort_hints[];

#endif
