// sized: structs that a program and the library exchange by pointer and size. The program may have been built with
// an older or a newer header, so either side may know fewer members than the other. Members are only added at the end,
// and zero means the default.
#ifndef BASE_SIZED_H
#define BASE_SIZED_H

#include "base/err.h"

// Copies what the program passed; members that it does not know are zero. UNIMPLEMENTED: it has set a member that this
// library does not know; `name` is that of the struct. `theirs` may be NULL: all is zero.
MUST_CHECK weft_err sized_take(void *ours, size_t our_size, const void *theirs, size_t their_size,
                               const char *name);

// Copies a result to the program, as far as it knows the members; those that we do not know are zero.
void sized_give(void *theirs, size_t their_size, const void *ours, size_t our_size);

#endif
