// What net.c and listen.c know of connections.
#ifndef WORLD_NET_STATE_H
#define WORLD_NET_STATE_H

#include "world/world.h"

// One side of a connection, and the bytes on their way to it.
struct end {
    struct loop *process;
    int fd;
    struct loop_stream *stream;
    struct buf coming;
    uint64_t silent_until_ns;
    bool is_lost;  // no more bytes come; then the end
    bool has_ended;
    bool is_child;  // of a process without a loop
};

struct listener {
    struct link in_world;
    struct loop *process;
    int fd;
    uint16_t port;
    loop_accept_fn *accept;  // NULL: nobody accepts yet
    void *owner;
};

struct wire {
    struct link in_world;
    int number;
    uint16_t port;        // that was dialed; 0: a pair
    struct listener *to;  // that has not accepted it yet; NULL: it has, or is gone
    uint32_t attempt;
    uint64_t carried;  // bytes to the dialer
    struct end ends[2];
};

static inline struct wire *wire_of(struct link *at)
{
    return LIST_ITEM(at, struct wire, in_world);
}

static inline struct listener *listener_of(struct link *at)
{
    return LIST_ITEM(at, struct listener, in_world);
}

struct wire *net_add_wire(struct loop *from, struct loop *to, uint16_t port);
// One side is closed; the other gets what is on its way.
void net_close_end(struct wire *wire, int side);
void net_close_listeners(const struct loop *process);

#endif
