// meeting: a small web server at which the processes of Horovod meet: each one puts its address there, and gets those of the others.
//
//   PUT    /SCOPE/KEY  keeps the body
//   GET    /SCOPE/KEY  200 with it, or 404 as long as there is none
//   DELETE /SCOPE/KEY  forgets it: a rank has seen all others
//
// One request for each connection. Its clients are HTTPStore of Horovod's gloo and whatever else speaks this; anyone who reaches the
// port is one, as with Horovod's own server.
#ifndef CREW_MEETING_H
#define CREW_MEETING_H

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"

enum {
    MEETING_HEAD_BYTES_MAX = 16 << 10,
    MEETING_VALUE_BYTES_MAX = 1 << 20,
    MEETING_BYTES_MAX = 256 << 20,  // of all values and keys
};

// The values that were put, by "SCOPE/KEY". Pure. Thread: one owner.
struct meeting {
    struct map values;
    size_t bytes;
};

void meeting_init(struct meeting *meeting, uint64_t seed);
void meeting_fini(struct meeting *meeting);

// What a connection has sent so far, from its first byte. True: the request is whole, or cannot become one, and `answer` has
// the answer, after which the connection is closed.
bool meeting_answer(struct meeting *meeting, weft_bytes request, struct buf *answer);

// Listens at all addresses of this machine until SIGTERM or SIGINT. UNAVAILABLE: the port is taken.
MUST_CHECK weft_err meeting_serve(uint16_t port);

#endif
