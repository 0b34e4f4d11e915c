// The loop of the host: it has one listener, one timer, and turns that end when chance says so. Its streams are in net.c.
#include "sim_host/world.h"
#include "sys/env.h"

enum { NS_PER_MS = 1000000 };

struct loop_listener *loop_listener_new(struct loop *loop, int fd, loop_accept_fn *accepted,
                                        void *owner)
{
    (void)loop, (void)fd;
    world.accept = accepted;
    world.accept_owner = owner;
    return (struct loop_listener *)&world;
}

void loop_listener_free(struct loop_listener *listener)
{
    (void)listener;
}

struct loop_timer *loop_timer_new(struct loop *loop, uint64_t first_ms, uint64_t repeat_ms,
                                  loop_fn *elapsed, void *owner)
{
    (void)loop;
    world.tick_ns = world.now_ns + first_ms * NS_PER_MS;
    world.tick_every_ns = repeat_ms * NS_PER_MS;
    world.tick = elapsed;
    world.tick_owner = owner;
    return (struct loop_timer *)&world;
}

void loop_timer_free(struct loop_timer *timer)
{
    (void)timer;
}

void loop_set_turn(struct loop *loop, struct loop_turn turn, void *owner)
{
    (void)loop;
    world.turn = turn;
    world.turn_owner = owner;
}

void loop_wake(struct loop *loop)
{
    (void)loop;
    world.is_turn_due = true;
}

// The end of the copy that writes a snapshot: it is over before anybody could watch it (disk.c).
struct loop_watch *loop_watch_new(struct loop *loop, int fd, loop_fn *readable, void *owner)
{
    (void)loop, (void)fd, (void)readable, (void)owner;
    return NULL;
}

void loop_watch_free(struct loop_watch *watch)
{
    (void)watch;
}

// Nobody looks twice in a world whose clock stands still while it is looked at.
void loop_set_spin(struct loop *loop, uint32_t microseconds)
{
    (void)loop, (void)microseconds;
}

uint32_t spin_default_us(void)
{
    return 0;
}
