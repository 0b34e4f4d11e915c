// sim_transport [--seed N] [--seeds COUNT] [-v]: the real door, hub, spokes and fetching through all that can happen between processes.
//
// A seed draws the processes and the faults: connections that break with part of what was on its way, a direction in which nothing
// arrives for a while, processes that stand still (SIGSTOP) or are killed on either side, bytes of fetched blocks that change, a full disk. Then
// the faults end, and after a while all frames have arrived once and in order, or both sides know that their session is over
// (sessions.c); fetched bytes are right, or the request has failed (fetches.c), and so are mirrors (mirrors.c). Without --seed it runs the seeds that once failed
// (test/sim_transport/seeds.txt, from the root of the source) and COUNT others.
#include <inttypes.h>
#include <stdio.h>

#include "base/sanitized.h"
#include "seeds.h"
#include "sim_transport/parties.h"

enum {
    SEEDS_DEFAULT = IS_SANITIZED ? 300 : 1000,
    STEPS_MAX = 2000000,
    CALM_MS = 22000,            // without faults
    HEALTHY_MS = 16000,         // of them, what faults may still have an effect
    QUIET_MS = 12000,           // then nothing new is begun
    FIRST_DESCRIPTOR = 1 << 20  // of connections; files have others
};

static uint64_t total_steps, total_cuts, total_silences, total_stops, total_flips;

static uint32_t draw_rate(uint32_t most)
{
    return world_chance(400) ? 0 : 1 + world_below(most);
}

// ---- What the world asks ------------------------------------------------------------------------------------

bool sim_move_some(void)
{
    return false;
}

uint64_t sim_next_ns(void)
{
    return UINT64_MAX;
}

bool sim_may_flip(const struct loop *dialer, uint16_t port)
{
    (void)port;
    return dialer->number >= FIRST_FETCHER;
}

static void stop_some(void)
{
    struct loop *process = &world.processes[world_below(PROCESS_COUNT)];
    const uint32_t pause_ms = world_chance(700) ? world_below(3000) : world_below(20000);
    const uint64_t until_ns = world.now_ns + (uint64_t)pause_ms * NS_PER_MS;
    const uint64_t before_ns = world_is_stopped(process) ? process->stopped_until_ns : world.now_ns;
    if (until_ns <= before_ns)
        return;
    process->stopped_until_ns = until_ns;
    if (process->number == HUB_PROCESS)
        sessions_stop_hub(until_ns - before_ns);
    total_stops++;
    world_note("process %d stands still for %u ms", process->number, pause_ms);
}

void sim_strike(void)
{
    if (world_chance(plan.stop_rate))
        stop_some();
}

// ---- Seeds --------------------------------------------------------------------------------------------------

static void draw_plan(void)
{
    world.rates = (struct world_rates){
        .cut = draw_rate(300),
        .silence = draw_rate(120),
        .flip = draw_rate(60),
    };
    plan = (struct plan){
        .spoke_count = world_between(1, FIRST_FETCHER - 1),
        .fetcher_count = world_chance(500) ? world_between(1, PROCESS_COUNT - FIRST_FETCHER) : 0,
        .kept_bytes_max = world_chance(300) ? world_between(500, 8000) : 1 << 20,
        .packs_always = world_chance(500),
        .relay_bytes_max = world_between(1, 20000),
        .patience_ms = world_chance(500) ? 60000 : world_between(3000, 20000),
        .frame_bytes = world_chance(900) ? 200 : 20000,
        .stop_rate = draw_rate(60),
        .crash_rate = draw_rate(40),
        .healthy_ns = UINT64_MAX,
    };
    const bool is_narrow = !plan.fetcher_count && plan.frame_bytes < 1000 && world_chance(300);
    world.room = is_narrow ? world_between(50, 2000) : 100000;
}

static void run_for(uint64_t ms, bool has_faults, bool acts)
{
    const uint64_t until_ns = world.now_ns + ms * NS_PER_MS;
    world.has_faults = has_faults;
    while (world.now_ns < until_ns) {
        // Those who act whenever something happens would never come to an end.
        if ((world_step() || world_chance(20)) && acts) {
            sessions_act();
            fetches_act();
        }
        sessions_check_memory();
        if (world.steps > STEPS_MAX)
            world_wrong("it does not end");
    }
}

static void run_seed(uint64_t seed)
{
    world_init(seed, PROCESS_COUNT);
    world.last_descriptor = FIRST_DESCRIPTOR;
    draw_plan();
    sessions_init();
    fetches_init();
    run_for(world_between(1000, 30000), true, true);
    for (int i = 0; i < PROCESS_COUNT; i++)
        world.processes[i].stopped_until_ns = 0;
    net_calm();
    sessions_calm();
    plan.healthy_ns = world.now_ns + (uint64_t)HEALTHY_MS * NS_PER_MS;
    run_for(CALM_MS, false, true);
    run_for(QUIET_MS, false, false);
    sessions_check();
    fetches_check();
    sessions_fini();
    fetches_fini();
    world_fini();
    total_steps += world.steps;
    total_cuts += world.cuts;
    total_silences += world.silences;
    total_flips += world.flips;
}

int main(int argc, char **argv)
{
    struct seeds seeds = {.name = "sim_transport",
                          .known = "test/sim_transport/seeds.txt",
                          .count_default = SEEDS_DEFAULT,
                          .is_verbose = &world.is_verbose,
                          .run = run_seed};
    world.name = "sim_transport";
    world.program = argv[0];
    seeds_run_all(&seeds, argc, argv);
    printf("%" PRIu64 " seeds, %" PRIu64 " steps: %" PRIu64 " frames of %" PRIu64
           " sessions; %" PRIu64 " suspect, %" PRIu64 " back, %" PRIu64 " lost, %" PRIu64
           " spokes refused, %" PRIu64 " frames without room\n",
           seeds.run_count, total_steps, counts[COUNT_FRAMES], counts[COUNT_SESSIONS],
           counts[COUNT_SUSPECTS], counts[COUNT_BACK], counts[COUNT_LOST], counts[COUNT_REFUSED],
           counts[COUNT_FULL]);
    printf("%" PRIu64 " stretches passed on by the hub, %" PRIu64 " fetched by it; ",
           counts[COUNT_RELAYED], counts[COUNT_LINED]);
    printf("%" PRIu64 " stretches fetched, %" PRIu64 " failed; %" PRIu64 " of mirrors, %" PRIu64
           " failed; %" PRIu64 " cuts, %" PRIu64 " silences, %" PRIu64 " stops, %" PRIu64
           " crashes, %" PRIu64 " changed bytes\n",
           counts[COUNT_FETCHED], counts[COUNT_FETCH_FAILED], counts[COUNT_WANTED],
           counts[COUNT_WANT_FAILED], total_cuts, total_silences, total_stops,
           counts[COUNT_CRASHES], total_flips);
    return 0;
}
