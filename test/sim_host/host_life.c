// The host's lives: started with what the disk holds, killed at any moment.
#include "host/server.h"

#include <stdlib.h>

#include "sim_host/client.h"
#include "sim_host/net.h"

enum { NS_PER_MS = 1000000 };

const struct secret sim_token = {.bytes = "0123456789abcdef", .size = 16};

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
