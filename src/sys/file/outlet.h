// outlet: writing to a descriptor that was handed to us without ever waiting for who reads it.
//
// The descriptor is shared with others (a terminal with the shell), so it is not made non-blocking: it
// is asked before each write how it stands. Bytes that it does not take yet are kept here; the owner stops
// producing when those are many. Thread: one owner.
#ifndef SYS_FILE_OUTLET_H
#define SYS_FILE_OUTLET_H

#include "base/buf.h"
#include "base/err.h"

struct outlet {
    int fd;  // the caller's
    // Readable (for loop_watch) while more can be written; -1: never waits, such as a file. Watch it only
    // while something is unsent.
    int ready;
    struct buf unsent;
    size_t sent;  // bytes of unsent that are gone
};

MUST_CHECK weft_err outlet_open(struct outlet *outlet, int fd);
void outlet_close(struct outlet *outlet);  // unsent bytes are lost

// Writes as much of outlet->unsent as can be written now. Returns the first failure; the
// reader that has gone is WEFT_CANCELLED. The unsent rest is dropped then.
MUST_CHECK weft_err outlet_flush(struct outlet *outlet, const char *name);

size_t outlet_unsent(const struct outlet *outlet);

// Whether two descriptors lead to the same file, pipe or terminal.
bool outlet_is_same(int a, int b);

#endif
