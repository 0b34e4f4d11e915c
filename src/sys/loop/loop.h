// The loop: one thread that waits for everything at once and owns all control state. Over libuv.
//
// Callbacks run in the thread of loop_run, one at a time, and may make and free anything, the handle
// that called included: freeing means that no further call comes. Makers return NULL with a sentence
// when the system refuses. Only loop_wake may be called from other threads, and
// loop_stream_push.
#ifndef SYS_LOOP_LOOP_H
#define SYS_LOOP_LOOP_H

#include "base/buf.h"
#include "base/err.h"

struct loop;
struct tls;
typedef void loop_fn(void *owner);

// `woken` is called after loop_wake.
struct loop *loop_new(loop_fn *woken, void *owner);
void loop_free(struct loop *loop);  // and all handles that are left; NULL is fine

// Runs callbacks until one of them calls loop_stop.
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

// Makes the loop call woken() soon; several calls may become one. Any thread.
void loop_wake(struct loop *loop);

// Calls `ended` once after every round of events, before the loop waits again, and once before the
// first: the place to do for all connections together what each of them made necessary (commit a
// journal, flush answers). It may do everything that other callbacks may. `began` is called before the first
// callback of a round: between the two the loop never waits, so that a lock can keep others out
// between them. NULL: nothing.
struct loop_turn {
    loop_fn *began, *ended;
};
void loop_set_turn(struct loop *loop, struct loop_turn turn, void *owner);

// How long the loop looks for events before it sleeps, where that pays (sys/thread/spin.h); 0, as at the
// beginning: it sleeps at once.
void loop_set_spin(struct loop *loop, uint32_t microseconds);

// A timer calls after `first_ms`, then every `repeat_ms` when that is not 0.
struct loop_timer;
struct loop_timer *loop_timer_new(struct loop *loop, uint64_t first_ms, uint64_t repeat_ms,
                                  loop_fn *elapsed, void *owner);
void loop_timer_free(struct loop_timer *timer);

// A signal is taken over for the whole process; when the handler is freed, the signal does again its default.
struct loop_signal;
typedef void loop_signal_fn(void *owner, int number);
struct loop_signal *loop_signal_new(struct loop *loop, int number, loop_signal_fn *caught,
                                    void *owner);
void loop_signal_free(struct loop_signal *signal);

// A watch calls whenever its descriptor, which stays the caller's, can be read without waiting.
struct loop_watch;
struct loop_watch *loop_watch_new(struct loop *loop, int fd, loop_fn *readable, void *owner);
void loop_watch_free(struct loop_watch *watch);

// A listener hands every connection that arrives to `accepted`, which owns the descriptor. The
// listening descriptor (sys/net/net.h) stays the caller's. When descriptors run out it rests for 100 ms.
struct loop_listener;
typedef void loop_accept_fn(void *owner, int fd);
struct loop_listener *loop_listener_new(struct loop *loop, int fd, loop_accept_fn *accepted,
                                        void *owner);
void loop_listener_free(struct loop_listener *listener);

// A stream is a connected socket. It takes the descriptor over, also when NULL is returned.
struct loop_stream;
struct loop_stream_calls {
    void (*data)(void *owner, weft_bytes bytes);  // borrowed
    void (*ended)(void *owner, weft_err code);    // once; WEFT_OK: the other side closed it
    loop_fn *drained;  // all bytes that had to wait for the other side have gone; NULL: not called
};
struct loop_stream *loop_stream_new(struct loop *loop, int fd,
                                    const struct loop_stream_calls *calls, void *owner);

// Where to append bytes to be sent before loop_stream_flush. Bytes that the other side does not take at
// once go when it reads. A connection that breaks shows up as its end.
struct buf *loop_stream_out(struct loop_stream *stream);
void loop_stream_flush(struct loop_stream *stream);

// The same from a thread that keeps the loop out of its turns (struct loop_turn) and shall do nothing but
// that: what the other side does not take stays. False: then the loop must be woken, to flush.
MUST_CHECK bool loop_stream_push(struct loop_stream *stream);

// Bytes that were not sent yet; more than the other side takes is for the owner to prevent.
size_t loop_stream_unsent(const struct loop_stream *stream);

// Stops or resumes reading, so that the other side has to wait. When it goes away during a stop,
// reading resumes by itself: the arrived bytes are handed on, then comes the end.
void loop_stream_pause(struct loop_stream *stream, bool is_paused);

// From now on, bytes pass through TLS, which belongs to the stream then: data() gets plain ones,
// loop_stream_out() takes plain ones, which are sealed together by a flush. To be called before
// anything has arrived. ended() gets the errors of tls_feed; the reason is sent to the other side.
void loop_stream_secure(struct loop_stream *stream, struct tls *tls);

// Whether the other side has proven by TLS that it has the token. False while the handshake lasts.
bool loop_stream_is_secure(const struct loop_stream *stream);

// Takes what has arrived and not been handed on yet, to the end: for a peer that is known to be dead.
void loop_stream_drain(struct loop_stream *stream);
void loop_stream_free(struct loop_stream *stream);  // closes it; unsent bytes are lost

#endif
