// tether: one end of a session between two processes, which exchange whole frames in both directions.
//
// A session outlives its connections. Each side numbers its frames 1, 2, 3, ..., and keeps them until the other has
// acknowledged them. When a connection is cut and made again, each side reports how many frames it has, and both send the
// frames that the other lacks: every frame arrives once and in order, or the session is lost as a whole. This is
// the rule of wire/call.h, for both directions.
//
//     FRAME_NUMBERED      0          8          16     20
//                         +----------+----------+------+---------+
//                         | received | sequence | type | payload |    little-endian, not aligned
//                         +----------+----------+------+---------+
//
// `received` acknowledges: the sender has all frames up to that number. A heartbeat ends after `sequence`, which is 0 then.
// `type` and `payload` are the frame's.
//
// A tether is pure state: no clock, no I/O. hub.h and spoke.h bind it to a loop. Thread: one owner.
#ifndef TRANSPORT_TETHER_H
#define TRANSPORT_TETHER_H

#include "wire/frame.h"

enum {
    TETHER_HEAD_BYTES = 20,
    TETHER_HEARTBEAT_BYTES = 16,
    TETHER_HEARTBEAT_MS = 500,
    TETHER_SUSPECT_MS = 2000,  // of silence
    TETHER_LOST_MS = 10000,    // of silence
    TETHER_GONE_MS = 2500,  // after its process has closed the connection: it would have come back
    TETHER_ACKNOWLEDGE_BYTES = 1 << 20,  // received and not acknowledged: a heartbeat goes at once
    TETHER_KEPT_BYTES_MAX =
        64 << 20,  // of frames that are kept, unless the owner has another limit
    TETHER_PAYLOAD_BYTES_MAX = FRAME_PAYLOAD_BYTES_MAX - TETHER_HEAD_BYTES,
};

enum tether_state { TETHER_HERE, TETHER_SUSPECT, TETHER_LOST };

// Starts zeroed, but for `kept_bytes_max`.
struct tether {
    uint64_t last;                // the number of the last frame that was sent
    uint64_t acknowledged;        // of those, by the other side
    uint64_t received;            // the number of the last frame of the other side
    size_t unacknowledged_bytes;  // of frames that came since we last said so
    size_t kept_bytes_max;        // 0: TETHER_KEPT_BYTES_MAX
    struct buf kept;  // frames as they go over the wire, those from kept_from on are kept
    size_t kept_from;
    size_t kept_sent;   // frames before it are on their way in this connection
    uint64_t heard_ms;  // when the other side was last heard
    uint64_t spoke_ms;  // when something was last sent
    enum tether_state state;
};

void tether_fini(struct tether *tether);

// Numbers a frame and keeps it; *room is for its payload of `size` bytes. RESOURCE_EXHAUSTED: the other side has left too
// much unacknowledged, or no memory; the session stays as it was. A frame that is alone always has room.
MUST_CHECK weft_err tether_add(struct tether *tether, Weft__FrameType type, size_t size,
                               char **room);

// Bytes of frames that are kept, and of those that were not handed to this connection yet.
size_t tether_kept_bytes(const struct tether *tether);
size_t tether_unsent_bytes(const struct tether *tether);

// Appends frames that were not sent yet, whole ones, until `out` has more than `bytes_max`. A failed buf is the caller's to see.
void tether_put_unsent(struct tether *tether, struct buf *out, size_t bytes_max, uint64_t now_ms);

// Appends a heartbeat, which also acknowledges.
void tether_put_heartbeat(struct tether *tether, struct buf *out, uint64_t now_ms);

// Whether a heartbeat is due: nothing was sent for a while, or much is to be acknowledged.
bool tether_is_heartbeat_due(const struct tether *tether, uint64_t now_ms);

// Takes a FRAME_NUMBERED; *has_inner: `inner` is a frame for the owner, borrowed from it. DATA_LOSS: the other side breaks the
// rules, and the session cannot be continued.
MUST_CHECK weft_err tether_receive(struct tether *tether, const struct frame *frame,
                                   struct frame *inner, bool *has_inner);

// A connection was made (again): the other side has that many of our frames, the rest goes again. DATA_LOSS: it
// claims frames that were never sent, or lacks some that it had acknowledged.
MUST_CHECK weft_err tether_resume(struct tether *tether, uint64_t their_received);

// The other side was heard. True: it was suspect, and is back.
bool tether_hear(struct tether *tether, uint64_t now_ms);

// Looks at the clock. True: the state has changed to suspect or lost. A lost tether stays lost.
bool tether_tick(struct tether *tether, uint64_t now_ms);

#endif
