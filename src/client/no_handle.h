// no_handle: why a handle is NULL.
//
// A short program checks nothing until weft_leave: it hands the NULL of a weft_join that failed to every
// call, each of which fails for that reason alone. So the reason is kept for the whole process, by the call
// that made no handle, and every call that gets none repeats it. Thread: any.
#ifndef CLIENT_NO_HANDLE_H
#define CLIENT_NO_HANDLE_H

#include "base/err.h"

// Keeps the code and this thread's sentence as the reason; WEFT_OK, a cluster that was joined, forgets
// the kept one. Returns the code.
weft_err no_handle_keep(weft_err code);

// The failure of a call whose handle is NULL: FAILED_PRECONDITION, with the reason as its sentence.
weft_err member_no_handle(void);

// The same with the code of the reason, for weft_leave.
weft_err no_handle_reason(void);

#endif
