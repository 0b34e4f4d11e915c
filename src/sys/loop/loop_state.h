// What loop.c and stream.c share.
#ifndef SYS_LOOP_LOOP_STATE_H
#define SYS_LOOP_LOOP_STATE_H

#include <uv.h>

#include "sys/loop/loop.h"
#include "sys/thread/spin.h"

// What one read takes at most: a batch of small calls in one wake-up.
enum { LOOP_READ_BYTES = 256 << 10 };

struct loop {
    uv_loop_t uv;  // first: a handle of libuv knows only that
    uv_async_t waker;
    uv_prepare_t before_wait;
    loop_fn *woken;
    void *owner;
    struct loop_turn turn;
    void *turn_owner;
    uint64_t events;         // callbacks so far
    uint64_t events_before;  // at the end of the last turn
    bool is_in_turn;
    struct spin spin;
    bool is_stopped;
    struct buf spare;             // a large buffer of a stream that has sent all; no data: none
    struct buf plain;             // what a secure stream read last
    char bytes[LOOP_READ_BYTES];  // what a stream read last
};

// The sentence for an error of libuv.
weft_err loop_refuse(int uv_code, const char *what);

// A callback begins.
void loop_begin_event(struct loop *loop);

// Zeroed memory; NULL with a sentence.
void *loop_allocate(size_t size);

// Frees a stream when libuv has let go of it.
void loop_stream_release(uv_handle_t *handle);

#endif
