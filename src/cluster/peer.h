// peer: our session with one host, used by the threads that call.
//
// A thread that waits for an answer reads the connection itself and hands the others theirs. A connection that
// breaks is made anew, and what the host lacks is sent again: a call is done once, however often the
// line broke. Only when the host has forgotten the session, or cannot be reached for as long as our
// patience lasts, calls fail: ABORTED, UNAVAILABLE.
//
// Calls may be many in flight. They are gathered: sent at once when nothing is unanswered, otherwise
// with the next that cannot wait. A host in this process needs no connection: see struct peer_port.
// Thread: any.
#ifndef CLUSTER_PEER_H
#define CLUSTER_PEER_H

#include "base/list.h"
#include "sys/net/net.h"
#include "sys/secure/secret.h"
#include "wire/ops/ops.h"

struct peer;
struct hello;
struct hello_welcome;

// Calls that go together.
struct peer_batch {
    uint64_t answered;  // as a frame of calls has it (wire/call.h)
    weft_bytes calls, asks;
};

// A host in this process: calls are done by the thread that makes them. Any thread.
struct peer_port {
    // Begins the session that the hello names. A port has one at a time: the one before is over.
    weft_err (*open)(void *owner, const struct hello *hello, struct hello_welcome *welcome);
    void (*close)(void *owner);

    // Does the calls and appends the answers there are. ABORTED: the session is over; UNAVAILABLE: so is all
    // that was hosted here. Other failures: not all was done, and all may be given again.
    weft_err (*exchange)(void *owner, const struct peer_batch *batch, struct buf *answers);

    // Sleeps until answers may be there, the deadline has come, or, poke said, *fetched has changed.
    void (*wait)(void *owner, const _Atomic(uint64_t) *fetched, uint64_t before,
                 uint64_t deadline_ns);
    void (*poke)(void *owner);
};

struct peer_options {
    struct net_address address;
    const struct peer_port *port;  // instead of the address; NULL: none
    void *port_owner;
    const char *host;      // the member that is to be there, "/files/0"; "": any
    const char *member;    // our own name; "": a tool
    uint64_t incarnation;  // which life of the member: drawn once for the process
    const struct secret *token;
    uint32_t patience_ms;                              // how long it may be out of reach
    uint32_t patience_again_ms;                        // the same once it was met; 0: no other
    void (*waits)(void *owner, const char *sentence);  // it is out of reach; called now and then

    // Something is left that no calling thread may come back for soon: peer_tend is to be called within a
    // moment. False: no thread will do that, and it is sent at once. Must not call the peer. NULL: the rest
    // goes with the next call.
    bool (*asks_to_be_tended)(void *owner);
    void *owner;
};

enum { PEER_PARTS_MAX = 4 };

// A call to be made: the payload is the parts, one after the other.
struct peer_ask {
    uint8_t op, flags;
    uint16_t handle;
    bool is_followed;  // others come at once: it goes with them or with a wait
    bool is_awaited;   // the thread that starts it waits for it at once
    uint32_t life;     // in which the handle was opened: ABORTED when that is over; 0: any
    weft_bytes parts[PEER_PARTS_MAX];
};

// Asks for a call of wire/ops, which must stay where it is until it was started. In place and member by member: a
// struct that is copied right after it was written stalls, for longer than the call takes to write.
static inline void peer_ask_init(struct peer_ask *ask, const struct ops_call *op, uint16_t handle,
                                 uint32_t life)
{
    ask->op = op->op;
    ask->flags = op->flags;
    ask->handle = handle;
    ask->is_followed = ask->is_awaited = false;
    ask->life = life;
    ops_call_parts(op, ask->parts);
    for (size_t i = OPS_PARTS; i < PEER_PARTS_MAX; i++)
        ask->parts[i] = weft_none();
}

// A call under way, in the caller's memory; starts zeroed. Its answer is valid until peer_call_fini.
struct peer_call {
    uint64_t sequence;
    uint64_t since_ns;  // the caller's: when it asked. The answer was given after that
    bool is_under_way;
    _Atomic bool is_done;  // set last: then the answer is there and no other thread touches this
    weft_err code;
    uint8_t flags;
    struct buf answer;    // the payload, or the sentence of a failure
    struct buf record;    // of a call that only asks: to ask again
    struct link in_asks;  // of such a call
};

// NULL with a sentence: no memory. Nothing is connected yet.
struct peer *peer_new(const struct peer_options *options);

// Notifies the host that we are gone, if it can be reached: it does not wait for us. DATA_LOSS: it has lost changes that
// it had acknowledged to us. Other failures are not reported.
MUST_CHECK weft_err peer_leave(struct peer *peer);

// Calls under way fail. With `says_goodbye` the host is notified, if it can be reached: it does not wait for us.
void peer_free(struct peer *peer, bool says_goodbye);

// Starts a call. It may stay with us until something else goes or is waited for.
MUST_CHECK weft_err peer_start(struct peer *peer, const struct peer_ask *ask,
                               struct peer_call *call);

// Starts a changing call whose answer no thread waits for.
MUST_CHECK weft_err peer_tell(struct peer *peer, const struct peer_ask *ask);

// Waits for the answer and returns its code, with its sentence. At the deadline (clock_now_ns;
// UINT64_MAX: none) the call is taken back and DEADLINE_EXCEEDED returned, unless it was done in time.
MUST_CHECK weft_err peer_finish(struct peer *peer, struct peer_call *call, uint64_t deadline_ns);

// The same, but at the deadline the call stays under way.
MUST_CHECK weft_err peer_wait(struct peer *peer, struct peer_call *call, uint64_t deadline_ns);

// Asks the host to take back a call that waits there; does not wait. The call ends all the same: CANCELLED, or
// with the answer that it got before.
void peer_cancel(struct peer *peer, struct peer_call *call);

// The caller does not want the answer any more; the host is asked to take the call back. An element that
// comes with the answer is given back. The call may be freed.
void peer_abandon(struct peer *peer, struct peer_call *call);

// Changing calls whose answers are not needed, but which must outlive this process: when this returns they were
// written to the connection, which is made again if need be. Not OK: none of them was, or will be.
MUST_CHECK weft_err peer_say(struct peer *peer, const struct peer_ask *asks, size_t count,
                             uint64_t deadline_ns);

// Sends what waits for company and takes what has arrived, without waiting; *has_moved is set if there was
// any. True: do it again in a moment.
bool peer_tend(struct peer *peer, bool *has_moved);

// Notices a connection that broke while no thread was calling, and tries to make it again: the host would
// take us for lost, and give others what we work on. May take a few seconds.
void peer_keep_connected(struct peer *peer);

// Connected, as far as we know, in that life of the session.
bool peer_is_here(struct peer *peer, uint32_t life);

// Whether the answer is there; looks at what has arrived, does not wait.
bool peer_is_done(struct peer *peer, struct peer_call *call);
bool peer_has_answer(struct peer *peer, struct peer_call *call);  // without a look
void peer_call_fini(struct peer_call *call);

// Both at once.
MUST_CHECK weft_err peer_ask(struct peer *peer, const struct peer_ask *ask, struct peer_call *call,
                             uint64_t deadline_ns);

// Whether the host knows us: it was asked something, and answered.
bool peer_has_spoken(struct peer *peer);

// Which life of the session this is: handles that were opened in an earlier one are void.
uint32_t peer_life(struct peer *peer);

// A number for a new handle, and the life of the session that it is for. RESOURCE_EXHAUSTED: all are in use.
MUST_CHECK weft_err peer_new_handle(struct peer *peer, uint16_t *handle, uint32_t *life);

// Nothing more will be asked by it. The host hears of that with the next call, or, where an element may
// still come for it, when that was given back; then the number is another's. Does not wait.
void peer_release_handle(struct peer *peer, uint16_t handle, uint32_t life);

#endif
