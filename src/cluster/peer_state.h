// The insides of a peer, shared by peer.c (calls) and peer_link.c (the connection under them).
#ifndef CLUSTER_PEER_STATE_H
#define CLUSTER_PEER_STATE_H

#include "base/vec.h"
#include "cluster/peer.h"
#include "sys/net/channel.h"
#include "sys/thread/thread.h"
#include "wire/hello.h"

// A changing call that has no answer yet, at its sequence in a ring.
struct peer_slot {
    struct peer_call *call;  // NULL: no thread waits any more
    uint64_t sequence;       // 0: free
    uint16_t handle;
    uint8_t op;
    bool holds_handle;  // which is released when the answer is here
};

struct peer {
    struct peer_options options;
    char host[HELLO_MEMBER_BYTES], member[HELLO_MEMBER_BYTES];
    struct secret token;

    struct mutex lock;  // guards all below
    struct condition changed;
    uint32_t waiter_count;  // threads that wait for `changed`
    bool has_reader;        // one thread is at the connection, perhaps asleep and without the lock

    struct channel *channel;    // NULL: not connected
    bool is_at_port;            // connected, to a host in this process
    uint64_t exchanged_ns;      // when a thread was last there
    _Atomic(uint64_t) fetched;  // how often a thread came back from there with answers for others
    struct frame_parser parser;
    struct buf in;
    struct buf out;  // frames on their way
    size_t out_sent;
    uint64_t sent_ns;      // when something was last sent
    bool is_to_be_tended;  // that was asked for, and has not been done

    uint8_t session[HELLO_SESSION_BYTES];
    bool has_session;                    // the host knows it
    uint64_t epoch;                      // of the host
    uint64_t host_life, host_life_mark;  // when we last met, of one that has a journal
    uint32_t session_number;             // by which it knows the session
    uint64_t changes;                    // the last changing call that the host is known to have
    uint32_t life;
    weft_err last_code;
    char last_words[ERR_TEXT_BYTES_MAX];  // why the life before this one ended
    uint16_t last_handle;                 // all above it are free
    VEC(uint16_t) free_handles;           // and these
    bool was_given_up;  // it was out of reach for as long as our patience lasts, the last time

    uint64_t last_sequence, last_ask;
    uint64_t answers_received;
    size_t unconfirmed_bytes;  // of answers that came since we last said how many we have
    struct buf kept;           // changing calls that the host may not have
    size_t kept_from;          // the first of them
    size_t kept_sent;          // what follows is not in `out` yet
    bool is_held;              // some of it was due, and waits for the calls that follow
    uint64_t answered;         // the largest sequence that has an answer: all up to it have arrived
    struct peer_slot *ring;
    size_t ring_size;  // a power of two
    size_t unanswered;
    struct link asks;  // calls that only ask
    struct buf new_asks;
};

// ---- peer_link.c ---------------------------------------------------------------------------------------

// Connects, if we are not; the lock is free during that time. Failures as in peer.h; the caller fails all calls.
MUST_CHECK weft_err peer_connect(struct peer *peer, uint64_t deadline_ns);

// Sends what goes, takes what has arrived. A connection that broke is closed: peer->channel is NULL then.
// *has_moved: something arrived.
void peer_pump(struct peer *peer, bool *has_moved);

// The same for a thread that is about to sleep.
void peer_look(struct peer *peer, bool *has_moved);

// Only sends, for a thread that is not the reader.
void peer_send(struct peer *peer);

// Makes a frame of all calls that are to go.
void peer_gather(struct peer *peer);
void peer_disconnect(struct peer *peer);

// Connected anew: calls that the host lacks are to be sent, and all questions asked again.
void peer_resume(struct peer *peer, const struct hello_welcome *welcome);

// Answers, one after the other.
MUST_CHECK weft_err peer_receive_answers(struct peer *peer, weft_bytes answers);

static inline bool peer_is_connected(const struct peer *peer)
{
    return peer->channel || peer->is_at_port;
}

// Changing calls that are not on their way.
static inline weft_bytes peer_unsent_calls(const struct peer *peer)
{
    if (peer->kept.size <= peer->kept_sent)
        return weft_none();
    return (weft_bytes){peer->kept.data + peer->kept_sent, peer->kept.size - peer->kept_sent};
}

// Sleeps without the lock until something may have arrived, or for a nap.
void peer_sleep(struct peer *peer, uint64_t deadline_ns);

// ---- peer_port.c: the same three for a host in this process -------------------------------------------------

MUST_CHECK weft_err peer_port_connect(struct peer *peer, const struct hello *hello);
void peer_port_pump(struct peer *peer, bool *has_moved);
void peer_port_sleep(struct peer *peer, uint64_t deadline_ns);

// ---- peer.c -----------------------------------------------------------------------------------------------

// An answer has arrived.
void peer_receive_answer(struct peer *peer, const struct answer *answer);

// The session is over: all calls fail with this thread's sentence, a new one begins.
void peer_fail_all(struct peer *peer, weft_err code);

// The host has all changing calls up to this one.
void peer_forget_kept(struct peer *peer, uint64_t sequence);

// Numbers a changing call of `size` bytes and keeps it for the host; `call` is NULL where no thread waits for
// the answer. False: no memory.
bool peer_start_change(struct peer *peer, const struct peer_ask *ask, struct peer_call *call,
                       size_t size);

// Whether a call of `size` bytes may be started.
MUST_CHECK weft_err peer_check_ask(const struct peer *peer, const struct peer_ask *ask,
                                   size_t size);
size_t peer_size_of_ask(const struct peer_ask *ask);

// A call is started that asks the host to take another one back. False: no memory.
bool peer_start_cancel(struct peer *peer, uint64_t sequence, struct peer_call *cancel);

// No thread will see to it that the rest goes or arrives: the owner is asked to, or it goes now.
void peer_leave_to_tending(struct peer *peer);

weft_err peer_late(const struct peer *peer);  // sets the sentence: DEADLINE_EXCEEDED

// The slot of a call forgets it: the answer is dropped.
void peer_forget_call(struct peer *peer, struct peer_call *call);

// Sends calls that were started, if enough has gathered, or nothing was under way before.
void peer_flush_if_due(struct peer *peer, const struct peer_ask *ask, bool was_idle);

// ---- peer_handle.c ----------------------------------------------------------------------------------------

// A call that held its handle was answered: releases it, if it was the last.
void peer_let_go_of_handle(struct peer *peer, uint16_t handle);

#endif
