// fences: who is not let in by a hub: sessions that have ended, and names that are not for people.
//
// A session that was lost must not come back: its work was given to others. Thread: the hub's.
#ifndef TRANSPORT_FENCES_H
#define TRANSPORT_FENCES_H

#include "wire/hello.h"

enum {
    FENCED_MAX =
        4096,  // the last sessions that ended; older ones are refused because they are not known
};

struct fenced {
    uint8_t session[HELLO_SESSION_BYTES];
    bool was_lost;  // otherwise the owner has dropped it
};

// Zeroed: none.
struct fences {
    struct fenced list[FENCED_MAX];
    size_t count;  // also beyond FENCED_MAX
};

void fences_add(struct fences *fences, const uint8_t session[HELLO_SESSION_BYTES], bool was_lost);
// ABORTED, with the sentence for such a session.
weft_err fences_refuse(bool was_lost);
// Whether a process that joins may: ABORTED when its session has ended, or is not known in this epoch.
MUST_CHECK weft_err fences_check(const struct fences *fences, const struct hello *hello,
                                 uint64_t epoch);

// Names reach terminals and logs: INVALID_ARGUMENT when one has control characters, or is not UTF-8.
MUST_CHECK weft_err fences_check_name(const struct hello *hello);

#endif
