// What breaks: processes that are killed, stopped or asked to leave, links that carry nothing, disks without room.
#include <signal.h>

#include "sim_server/disk.h"
#include "sim_server/lives.h"
#include "sim_server/worker.h"

// A process that is killed soon: one of those around a client that was asked to leave.
static struct {
    int number;  // -1: none
    uint64_t at_ns;
} victim = {-1, 0};

// Half of the faults are absent from a seed, so that the others get their turn.
static uint32_t draw_rate(uint32_t most)
{
    return world_chance(500) ? 0 : 1 + world_below(most);
}

static void draw_peace(void)
{
    world.rates = (struct world_rates){0};
    sim.rates = (struct sim_rates){.term = 5 + world_below(40)};
    sim.options.has_bad_record = false;
    disk.kill_rate = 0;
}

static void draw_machines(void)
{
    for (uint32_t i = 1; i <= sim.options.client_count; i++) {
        sim.machines[i] = (struct machine){
            .slots = 1 + world_below(SLOTS_OF_WORKER_MAX),
            .slowness = world_chance(850) ? 1 : 10,
            .has_wrong_token = i > 1 && world_chance(40),
            .grace_ms = world_chance(100)   ? 0
                        : world_chance(300) ? 1 + world_below(3000)
                                            : 30000,
            .sees_output = sim.options.is_shared && (i + sim.options.lines_per_task) % 4 != 0,
            .start_ns =
                world.now_ns + (world_chance(600) ? (uint64_t)world_below(200) * NS_PER_MS
                                                  : (uint64_t)world_below(20000) * NS_PER_MS),
        };
        for (uint32_t k = 0; k <= sim.options.client_count; k++)
            if (world_chance(60))
                world.slow_ms[i][k] = world.slow_ms[k][i] = 1 + world_below(40);
        if (sim.is_peaceful)
            sim.machines[i].grace_ms = 60000;
    }
}

void faults_draw(void)
{
    world.rates = (struct world_rates){
        .cut = draw_rate(40), .silence = draw_rate(30), .flip = draw_rate(200)};
    sim.rates = (struct sim_rates){
        .fail = draw_rate(100),
        .crash = draw_rate(60),
        .hang = sim.options.task_timeout_ms ? draw_rate(50) : 0,
        .spawn = draw_rate(50),
        .kill_client = draw_rate(15),
        .kill_worker = draw_rate(15),
        .kill_server = world_chance(300) ? 1 + world_below(8) : 0,
        .stop = draw_rate(20),
        .block = draw_rate(20),
        .full = world_chance(250) ? 1 + world_below(10) : 0,
        .term = world_chance(300) ? 10 + world_below(30) : draw_rate(6),
        .stale = draw_rate(100),
        .damage = world_chance(200) ? 1 + world_below(20) : 0,
    };
    disk.kill_rate = world_chance(200) ? 1 + world_below(3) : 0;
    if (world_chance(400)) {  // only machines and links break: no task is charged for that
        sim.rates.fail = sim.rates.crash = sim.rates.hang = sim.rates.spawn =
            sim.rates.kill_worker = sim.rates.full = 0;
        sim.options.max_attempts = 1;
    }
    sim.is_peaceful = world_chance(150) && sim.options.fault_ms;
    if (sim.is_peaceful)
        draw_peace();
    draw_machines();
}

static uint64_t draw_pause_ns(void)
{
    const uint32_t pause_ms = world_chance(600)   ? world_below(3000)
                              : world_chance(500) ? world_below(9000)
                                                  : world_below(30000);
    return (uint64_t)pause_ms * NS_PER_MS;
}

static int some_client(void)
{
    return 1 + (int)world_below(sim.options.client_count);
}

static void block_some(void)
{
    const int a = some_client();
    const int b = world_chance(600) ? SERVER : some_client();
    const uint64_t until_ns = world.now_ns + draw_pause_ns();
    const uint32_t ways = world_below(3);
    if (a == b)
        return;
    if (ways != 1)
        world.blocked_until_ns[a][b] = until_ns;
    if (ways != 2)
        world.blocked_until_ns[b][a] = until_ns;
    sim.counts[COUNT_BLOCKS]++;
    world_note("nothing passes between machines %d and %d (%u) until %.3f", a, b, ways,
               (double)until_ns / 1e9);
}

static void stop_some(void)
{
    const uint64_t until_ns = world.now_ns + draw_pause_ns();
    struct worker *worker = world_chance(500) ? workers_some() : NULL;
    const int number = world_chance(100) ? SERVER : some_client();
    sim.counts[COUNT_STOPS]++;
    if (worker)
        worker->stopped_until_ns = until_ns;
    else if (life_is_alive(number))
        world.processes[number].stopped_until_ns = until_ns;
    world_note("%s %d stands still until %.3f", worker ? "worker" : "process",
               worker ? worker->pid : number, (double)until_ns / 1e9);
}

static void fill_some(void)
{
    const int machine = (int)world_below(sim.options.client_count + 1);
    disk.is_full[machine] = !disk.is_full[machine];
    sim.may_fail |= machine == SERVER;
    sim.counts[COUNT_FULL]++;
    world_note("the disk of machine %d %s", machine,
               disk.is_full[machine] ? "is full" : "has room again");
}

static void kill_some_worker(void)
{
    struct worker *worker = workers_some();
    if (!worker)
        return;
    sim.may_fail = true;
    worker_die(worker, SIGKILL);
}

static void choose_victim(int leaving)
{
    if (victim.number >= 0 || sim.is_peaceful || !world_chance(400))
        return;
    victim.number = world_chance(400) ? leaving : world_chance(500) ? some_client() : SERVER;
    victim.at_ns = world.now_ns + (uint64_t)world_below(world_chance(500) ? 100 : 2000) * NS_PER_MS;
}

static void kill_victim(void)
{
    if (victim.number < 0 || world.now_ns < victim.at_ns)
        return;
    life_kill(victim.number);
    victim.number = -1;
}

static void end_some(void)
{
    kill_victim();
    const int number = some_client();
    if (world_chance(sim.rates.kill_client))
        life_kill(number);
    if (world_chance(sim.rates.term) && life_is_alive(number) &&
        !(sim.is_peaceful && sim.machines[number].is_asked_to_end)) {
        sim.counts[COUNT_TERMS]++;
        world_note("process %d is asked to end", number);
        sim.machines[number].is_asked_to_end = true;
        life_signal(number, SIGTERM);
        choose_victim(number);
    }
    if (world_chance(sim.rates.kill_server))
        life_kill(SERVER);
}

void sim_strike(void)
{
    end_some();
    if (world_chance(sim.rates.kill_worker))
        kill_some_worker();
    if (world_chance(sim.rates.stop))
        stop_some();
    if (world_chance(sim.rates.block))
        block_some();
    if (world_chance(sim.rates.full))
        fill_some();
    if (world_chance(sim.rates.damage))
        damage_some();
}

void faults_calm(void)
{
    world.has_faults = false;
    for (int i = 0; i < world.process_count; i++) {
        world.processes[i].stopped_until_ns = 0;
        disk.is_full[i] = false;
        sim.machines[i].has_wrong_token = false;
    }
    workers_calm();
    net_calm();
    world_note("nothing breaks any more");
}
