// The host's lives: started with what the disk holds, killed at any moment.
#include "host/server.h"

#include <stdlib.h>

#include "sim_host/client.h"
#include "sim_host/net.h"
#include "sim_host/replace.h"

enum { NS_PER_MS = 1000000 };

const struct secret sim_token = {.bytes = "0123456789abcdef", .size = 16};

struct loop_listener *world_listener_new(struct loop *loop, int fd, loop_accept_fn *accepted,
                                         void *owner)
{
    (void)loop, (void)fd;
    world.accept = accepted;
    world.accept_owner = owner;
    return (struct loop_listener *)&world;
}

struct loop_timer *world_timer_new(struct loop *loop, uint64_t first_ms, uint64_t repeat_ms,
                                   loop_fn *elapsed, void *owner)
{
    (void)loop;
    world.tick_ns = world.now_ns + first_ms * NS_PER_MS;
    world.tick_every_ns = repeat_ms * NS_PER_MS;
    world.tick = elapsed;
    world.tick_owner = owner;
    return (struct loop_timer *)&world;
}

void world_set_turn(struct loop *loop, struct loop_turn turn, void *owner)
{
    (void)loop;
    world.turn = turn;
    world.turn_owner = owner;
}

void world_wake(void)
{
    world.is_turn_due = true;
}

// Nobody is known to be dead before his time is over.
bool world_process_is_gone(pid_t pid)
{
    (void)pid;
    return false;
}

static void say(void *owner, const char *sentence)
{
    (void)owner;
    world_note("host: %s", sentence);
}

// Its process ends, as that of `weft host` does, and is started again.
static void end_broken(void *owner, weft_err code)
{
    (void)owner, (void)code;
    world_note("host: %s", err_text());
    world.counts[COUNT_IO_ERRORS]++;
    world.is_dying = true;
}

void host_life_start(void)
{
    static const struct net_listener listener = {.fds = {0}, .count = 1};
    const struct host_server_options options = {
        .member = "/files/0",
        .listener = &listener,
        .token = &sim_token,
        .journal = "journal",
        .rewrite_bytes = client_plan.rewrite_bytes,
        .session_ttl_ms = client_plan.session_ttl_ms,
        .say = say,
        .broken = end_broken,
    };
    world.is_turn_due = true;
    if (host_server_new(&world.host, NULL, &options)) {
        if (!world.disk.is_full && !world.disk.has_failed)
            world_wrong("the host does not start: %s", err_text());
        world.start_ns = world.now_ns + (uint64_t)1000 * NS_PER_MS;
        return;
    }
    world_note("host: started, with %zu records", world.disk.records.count);
}

void host_life_crash(void)
{
    world.is_dying = true;
    world.counts[COUNT_CRASHES]++;
    net_end_all();
    client_end_local();
    host_server_free(world.host);
    world.host = NULL;
    disk_lose_tail();
    if (world.has_older)
        older_put_back_some();
    world.is_dying = false;
    const uint32_t pause_ms = world_chance(800) ? world_below(2000) : world_below(20000);
    world.start_ns = world.now_ns + (uint64_t)pause_ms * NS_PER_MS;
    world_note("host: killed; started again in %u ms", pause_ms);
}
