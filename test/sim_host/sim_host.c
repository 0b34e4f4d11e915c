// sim_host [--seed N] [--seeds COUNT] [-v]: a host, its journal and its clients through all that can happen.
//
// A seed draws what clients do, which faults there are and how often: connections that break with part
// of what was on its way, a host that is killed at any moment (before the disk has it, between that and
// the answers, while it rewrites its journal), clients that are killed, a disk that is full or fails, an
// older journal that is put back (older.c), a host that stands still for a while. At the end a verifier takes all that is left, and the history of all calls must be
// one that a host without faults could have had (check.c). Without --seed it runs the seeds that once
// failed (test/sim_host/seeds.txt, from the root of the source) and COUNT others.
#include "base/sanitized.h"
#include "seeds.h"
#include "sim_host/client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { SEEDS_DEFAULT = IS_SANITIZED ? 700 : 2000, STEPS_MAX = 400000 };

static uint64_t totals[WORLD_COUNTS], total_steps;

// Half of the faults are absent from a run, so that the others get their turn.
static uint32_t draw_rate(uint32_t most)
{
    return world_chance(500) ? 0 : 1 + world_below(most);
}

static void draw_plan(void)
{
    world.rates = (struct world_rates){
        .cut = draw_rate(40),
        .host_crash = draw_rate(10),
        .client_crash = draw_rate(10),
        .disk_full = draw_rate(8),
        .hasty_clock = draw_rate(100),
        .sync_crash = draw_rate(60),
        .flush_crash = draw_rate(60),
        .io_error = draw_rate(40),
    };
    client_plan = (struct client_plan){
        .has_leases = world_chance(500),
        .client_count = world_between(1, 4),
        .fiber_count = world_between(1, 2),
        .op_count = world_between(2, 10),
        .has_local = world_chance(400),
        .capacity = world_chance(500) ? 0 : world_between(1, 4),
        .lease_ms = world_chance(500) ? 0 : world_between(10, 5000),
        .session_ttl_ms = world_chance(500) ? 10000 : world_between(200, 3000),
        .patience_ms = world_chance(700) ? 60000 : world_between(10, 5000),
        .rewrite_bytes = world_chance(500) ? 0 : world_between(100, 3000),
        .key_count = world_between(1, 3),
        .barrier_count = world_between(1, 3),
    };
    world.has_older = world_chance(200);
}

static void run_seed(uint64_t seed)
{
    world_init(seed);
    draw_plan();
    client_init();
    older_init();
    world.has_faults = true;
    world.start_ns = world.now_ns;
    const uint64_t quiet_at = world_between(200, 6000);
    while (client_manage()) {
        if (world.steps > quiet_at)
            world.has_faults = false;
        if (!world_step() && !client_manage())
            world_wrong("nothing goes on any more");
        if (world.steps > STEPS_MAX)
            world_wrong("it does not end");
    }
    if (!world.was_put_back)
        check_history();
    world_fini();
    client_fini();
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++)
        totals[i] += world.counts[i];
    total_steps += world.steps;
}

int main(int argc, char **argv)
{
    struct seeds seeds = {.name = "sim_host",
                          .known = "test/sim_host/seeds.txt",
                          .count_default = SEEDS_DEFAULT,
                          .is_verbose = &world.is_verbose,
                          .run = run_seed};
    world.program = argv[0];
    seeds_run_all(&seeds, argc, argv);
    printf("%" PRIu64 " seeds, %" PRIu64 " steps: %" PRIu64 " calls, %" PRIu64
           " with an unknown end, %" PRIu64 " histories undecided\n",
           seeds.run_count, total_steps, totals[COUNT_OPS], totals[COUNT_UNKNOWN],
           totals[COUNT_UNDECIDED]);
    printf("%" PRIu64 " crashes of the host, %" PRIu64 " of clients, %" PRIu64
           " cut connections, %" PRIu64 " journals rewritten, %" PRIu64 " failed, %" PRIu64
           " put back\n",
           totals[COUNT_CRASHES], totals[COUNT_CLIENT_CRASHES], totals[COUNT_CUTS],
           totals[COUNT_REWRITES], totals[COUNT_IO_ERRORS], totals[COUNT_PUT_BACK]);
    return 0;
}
