// Chance, the clock and timers, and what is next.
#include "world/world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "sys/env.h"

struct world world;

struct loop_timer {
    struct link in_process;
    struct loop *process;
    uint64_t due_ns, repeat_ns;
    loop_fn *elapsed;
    void *owner;
};

// ---- Chance -------------------------------------------------------------------------------------------------

uint64_t world_draw(void)
{
    world.state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t value = world.state;
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

uint32_t world_below(uint32_t limit)
{
    return limit ? (uint32_t)(world_draw() % limit) : 0;
}

uint32_t world_between(uint32_t low, uint32_t high)
{
    return low + world_below(high - low + 1);
}

bool world_chance(uint32_t per_mille)
{
    return world_below(1000) < per_mille;
}

void secret_random(void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)bytes)[i] = (uint8_t)world_draw();
}

// ---- Showing ------------------------------------------------------------------------------------------------

_Noreturn void world_wrong(const char *format, ...)
{
    fflush(stdout);
    fprintf(stderr, "%s: step %" PRIu64 ", %.3f s: ", world.name, world.steps,
            (double)world.now_ns / 1e9);
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\nSEED=%" PRIu64 "\nrepeat: %s --seed %" PRIu64 " -v\n", world.seed,
            world.program, world.seed);
    exit(1);
}

void world_note(const char *format, ...)
{
    if (!world.is_verbose)
        return;
    printf("%6" PRIu64 " %9.3f ", world.steps, (double)world.now_ns / 1e9);
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

// ---- The clock ----------------------------------------------------------------------------------------------

uint64_t clock_now_ns(void)
{
    return world.now_ns;
}

bool world_is_stopped(const struct loop *process)
{
    return world.now_ns < process->stopped_until_ns;
}

static struct loop_timer *timer_of(struct link *link)
{
    return LIST_ITEM(link, struct loop_timer, in_process);
}

struct loop_timer *loop_timer_new(struct loop *loop, uint64_t first_ms, uint64_t repeat_ms,
                                  loop_fn *elapsed, void *owner)
{
    struct loop_timer *timer = calloc(1, sizeof *timer);
    ASSERT(timer);
    *timer = (struct loop_timer){
        .process = loop,
        .due_ns = world.now_ns + first_ms * NS_PER_MS,
        .repeat_ns = repeat_ms * NS_PER_MS,
        .elapsed = elapsed,
        .owner = owner,
    };
    list_append(&loop->timers, &timer->in_process);
    return timer;
}

void loop_timer_free(struct loop_timer *timer)
{
    if (!timer)
        return;
    list_take_out(&timer->in_process);
    free(timer);
}

static bool run_some_timer(void)
{
    const uint32_t first = world_below((uint32_t)world.process_count);
    for (uint32_t i = 0; i < (uint32_t)world.process_count; i++) {
        struct loop *process = &world.processes[(first + i) % (uint32_t)world.process_count];
        if (world_is_stopped(process))
            continue;
        for (struct link *at = process->timers.next; at != &process->timers; at = at->next) {
            struct loop_timer *timer = timer_of(at);
            if (timer->due_ns > world.now_ns)
                continue;
            timer->due_ns = timer->repeat_ns ? world.now_ns + timer->repeat_ns : UINT64_MAX;
            world.running = process;
            timer->elapsed(timer->owner);
            world.running = NULL;
            return true;
        }
    }
    return false;
}

// To the next moment at which something can happen.
static void move_clock(void)
{
    const uint64_t net_ns = net_next_ns(), own_ns = sim_next_ns();
    uint64_t next = net_ns < own_ns ? net_ns : own_ns;
    for (int i = 0; i < world.process_count; i++) {
        const struct loop *process = &world.processes[i];
        for (struct link *at = process->timers.next; at != &process->timers; at = at->next) {
            uint64_t due = timer_of(at)->due_ns;
            due = due < process->stopped_until_ns ? process->stopped_until_ns : due;
            next = due < next ? due : next;
        }
        if (world_is_stopped(process) && process->stopped_until_ns < next)
            next = process->stopped_until_ns;
    }
    if (next == UINT64_MAX)
        next = world.now_ns + 100 * (uint64_t)NS_PER_MS;
    world.now_ns = next > world.now_ns ? next : world.now_ns + NS_PER_MS;
}

// ---- What is next -------------------------------------------------------------------------------------------

static void strike(void)
{
    if (world_chance(world.rates.cut))
        net_break_some();
    if (world_chance(world.rates.silence))
        net_silence_some();
    sim_strike();
}

static bool move_some(uint32_t which)
{
    switch (which % 3) {
    case 0:
        return net_move_some();
    case 1:
        return run_some_timer();
    default:
        return sim_move_some();
    }
}

bool world_step(void)
{
    world.steps++;
    if (world.has_faults && world_chance(100))
        strike();
    const uint32_t first = world_chance(500) ? 0 : world_below(3), turn = 1 + world_below(2);
    for (uint32_t i = 0; i < 3; i++)
        if (move_some(first + i * turn))
            return false;
    move_clock();
    return true;
}

void world_init_process(struct loop *process)
{
    *process = (struct loop){.number = (int)(process - world.processes)};
    list_init(&process->timers);
}

void world_init(uint64_t seed, int process_count)
{
    const struct world before = world;
    world = (struct world){.seed = seed,
                           .state = seed,
                           .name = before.name,
                           .program = before.program,
                           .is_verbose = before.is_verbose,
                           .process_count = process_count,
                           .room = 100000,
                           .last_descriptor = 9,
                           .now_ns = (uint64_t)1000000 * NS_PER_MS};
    list_init(&world.wires);
    list_init(&world.listeners);
    for (int i = 0; i < process_count; i++)
        world_init_process(&world.processes[i]);
}

void world_fini(void)
{
    net_fini();
    for (int i = 0; i < world.process_count; i++)
        if (!list_is_empty(&world.processes[i].timers))
            world_wrong("a timer of process %d is left", i);
}

// ---- The machine --------------------------------------------------------------------------------------------

pid_t net_peer_pid(int fd)
{
    return (pid_t)fd;
}

uint32_t net_connections_max(void)
{
    return 1000;
}
