// Chance, the clock, fibers, and who is next.
#include "sim_host/world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim_host/net.h"
#include "sys/env.h"

enum { NS_PER_MS = 1000000, NS_PER_S = 1000000000, WORLD_BEGAN_S = 1700000000 };

struct world world;

// ---- Chance ----------------------------------------------------------------------------------------

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

// ---- Showing ---------------------------------------------------------------------------------------

_Noreturn void world_wrong(const char *format, ...)
{
    fflush(stdout);
    fprintf(stderr, "sim_host: step %" PRIu64 ": ", world.steps);
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

// What the product says to its user.
void log_lines(int fd, const char *text, size_t size)
{
    (void)fd;
    world_note("log: %.*s", (int)size, text);
}

// ---- The clock and the locks -----------------------------------------------------------------------

uint64_t clock_now_ns(void)
{
    return world.now_ns;
}

void clock_sleep_ms(uint32_t milliseconds)
{
    fiber_wait(NULL, world.now_ns + (uint64_t)milliseconds * NS_PER_MS);
}

int64_t clock_calendar_s(void)
{
    return WORLD_BEGAN_S + (int64_t)(world.now_ns / NS_PER_S);
}

// Fibers give way only where the product waits. A lock that is held meanwhile is one for those who open a
// resource; with any other they wait for each other, and the simulation does not end.
void mutex_init(struct mutex *mutex)
{
    memset(mutex, 0, sizeof *mutex);
}

void mutex_fini(struct mutex *mutex)
{
    ASSERT(*(char *)mutex == 0);
}

void mutex_lock(struct mutex *mutex)
{
    while (*(char *)mutex) {
        ASSERT(world.running);
        clock_sleep_ms(1);
    }
    *(char *)mutex = 1;
}

void mutex_unlock(struct mutex *mutex)
{
    ASSERT(*(char *)mutex == 1);
    *(char *)mutex = 0;
}

void condition_init(struct condition *condition)
{
    memset(condition, 0, sizeof *condition);
}

void condition_fini(struct condition *condition)
{
    (void)condition;
}

void condition_wait_until(struct condition *condition, struct mutex *mutex, uint64_t deadline_ns)
{
    mutex_unlock(mutex);
    fiber_wait(condition, deadline_ns);
    mutex_lock(mutex);
}

static void wake(const void *what)
{
    for (size_t i = 0; i < WORLD_FIBERS_MAX; i++)
        if (world.fibers[i].is_used && world.fibers[i].waits_for == what)
            world.fibers[i].is_woken = true;
}

void condition_broadcast(struct condition *condition)
{
    wake(condition);
}

// Memory is that of the process; it need not be fast.
void mem_touch(void *memory, size_t size)
{
    (void)memory, (void)size;
}

// ---- Descriptors -----------------------------------------------------------------------------------

weft_err bell_init(struct bell *bell)
{
    bell->fd = 0;
    while (bell->fd < WORLD_BELLS_MAX && world.bells[bell->fd].is_used)
        bell->fd++;
    ASSERT(bell->fd < WORLD_BELLS_MAX);
    world.bells[bell->fd] = (struct world_bell){.is_used = true};
    return WEFT_OK;
}

void bell_fini(struct bell *bell)
{
    if (bell->fd >= 0)
        world.bells[bell->fd].is_used = false;
    bell->fd = -1;
}

void bell_ring(const struct bell *bell)
{
    world.bells[bell->fd].is_rung = true;
    wake(&world.bells[bell->fd]);
}

void bell_hush(const struct bell *bell)
{
    world.bells[bell->fd].is_rung = false;
}

void world_poll(int bell, uint64_t wake_ns)
{
    while (!world.bells[bell].is_rung && world.now_ns < wake_ns)
        fiber_wait(&world.bells[bell], wake_ns);
}

// ---- Fibers ----------------------------------------------------------------------------------------

static void run_fiber(void)
{
    struct fiber *self = world.running;
    self->body(self->owner);
    self->is_done = true;
    swapcontext(&self->context, &world.scheduler);
}

static void prepare(struct fiber *fiber)
{
    ASSERT(getcontext(&fiber->context) == 0);
    fiber->context.uc_stack.ss_sp = fiber->stack;
    fiber->context.uc_stack.ss_size = WORLD_STACK_BYTES;
    makecontext(&fiber->context, run_fiber, 0);
}

struct fiber *fiber_start(void (*body)(void *), void *owner)
{
    struct fiber *fiber = world.fibers;
    while (fiber < world.fibers + WORLD_FIBERS_MAX && fiber->is_used)
        fiber++;
    if (fiber == world.fibers + WORLD_FIBERS_MAX)
        world_wrong("too many fibers");
    *fiber = (struct fiber){.body = body, .owner = owner, .is_used = true, .is_woken = true};
    fiber->stack = malloc(WORLD_STACK_BYTES);
    ASSERT(fiber->stack);
    prepare(fiber);
    return fiber;
}

void fiber_wait(const void *what, uint64_t wake_ns)
{
    struct fiber *self = world.running;
    self->waits_for = what;
    self->wake_ns = wake_ns;
    self->is_woken = false;
    struct err_kept own;  // a sentence belongs to a thread, here to a fiber
    err_keep(&own);
    swapcontext(&self->context, &world.scheduler);
    err_put_back(&own);
    self->waits_for = NULL;
}

// A thread of the product's is a fiber of the client that starts it.
struct thread_life {
    void (*body)(void *);
    void *argument;
    bool is_over;
};

static void live(void *owner)
{
    struct thread_life *life = owner;
    life->body(life->argument);
    life->is_over = true;
}

weft_err thread_start(struct thread *thread, void (*body)(void *), void *argument,
                      size_t stack_bytes)
{
    (void)stack_bytes;
    struct thread_life *life = calloc(1, sizeof *life);
    ASSERT(life);
    *life = (struct thread_life){body, argument, false};
    memcpy(thread, &life, sizeof life);
    fiber_start(live, life)->client = world.running_client;
    return WEFT_OK;
}

void thread_join(struct thread *thread)
{
    struct thread_life *life;
    memcpy(&life, thread, sizeof life);
    while (!life->is_over)
        clock_sleep_ms(1);
    free(life);
}

static bool is_stopped(const struct fiber *fiber)
{
    return fiber->client == world.stopped_client && world.now_ns < world.stopped_until_ns;
}

static bool can_run(const struct fiber *fiber)
{
    if (!fiber->is_used || is_stopped(fiber))
        return false;
    return fiber->is_woken || world.now_ns >= fiber->wake_ns ||
           net_has_news(fiber->waits_for, fiber->wants_to_send);
}

static void run(struct fiber *fiber)
{
    world.running = fiber;
    world.running_client = fiber->client;
    swapcontext(&world.scheduler, &fiber->context);
    world.running = NULL;
    if (!fiber->is_done)
        return;
    free(fiber->stack);
    *fiber = (struct fiber){0};
}

// ---- Who is next -----------------------------------------------------------------------------------

static bool run_some_fiber(void)
{
    const uint32_t first = world_below(WORLD_FIBERS_MAX);
    for (uint32_t i = 0; i < WORLD_FIBERS_MAX; i++) {
        struct fiber *fiber = &world.fibers[(first + i) % WORLD_FIBERS_MAX];
        if (!can_run(fiber))
            continue;
        run(fiber);
        return true;
    }
    return false;
}

static bool end_turn(void)
{
    if (!world.host || !world.is_turn_due)
        return false;
    world.is_turn_due = false;
    if (world.turn.ended) {
        world.turn.began(world.turn_owner);
        world.turn.ended(world.turn_owner);
    }
    return true;
}

// To the next moment at which somebody wants to go on; the clock of the host counts as somebody.
static bool move_clock(void)
{
    uint64_t next = UINT64_MAX;
    bool is_wanted = false;
    for (size_t i = 0; i < WORLD_FIBERS_MAX; i++) {
        is_wanted |= world.fibers[i].is_used;
        if (!world.fibers[i].is_used)
            continue;
        const bool stands = is_stopped(&world.fibers[i]);
        const uint64_t wake_ns = stands ? world.stopped_until_ns : world.fibers[i].wake_ns;
        next = wake_ns < next ? wake_ns : next;
    }
    if (!is_wanted)
        return false;
    const uint64_t host_ns = world.host ? world.tick_ns : world.start_ns;
    next = host_ns < next ? host_ns : next;
    if (next > world.now_ns)
        world.now_ns = next;
    if (!world.host && world.now_ns >= world.start_ns) {
        host_life_start();
    } else if (world.host && world.now_ns >= world.tick_ns) {
        // It may be late: a host that was stopped for a while.
        const bool sleeps = world.has_faults && world_chance(world.rates.hasty_clock);
        const uint64_t sleep_ns = sleeps ? (uint64_t)world_between(1, 15000) * NS_PER_MS : 0;
        world.now_ns += sleep_ns;
        world.slept_ns += sleep_ns;
        world.tick_ns = world.now_ns + world.tick_every_ns;
        world.is_turn_due = true;
        world.tick(world.tick_owner);
    }
    return true;
}

static void strike(void)
{
    const struct world_rates *rates = &world.rates;
    if (world_chance(rates->cut))
        net_cut_some();
    if (world.has_older)
        older_copy_some();
    if (world.host && world_chance(rates->host_crash))
        world.is_dying = true;
    if (world_chance(rates->disk_full)) {
        world.disk.is_full = !world.disk.is_full;
        world_note("disk: %s", world.disk.is_full ? "full" : "has room again");
    }
}

bool world_step(void)
{
    world.steps++;
    if (world.has_faults)
        strike();
    else
        world.disk.is_full = false;
    if (world.is_dying)
        host_life_crash();
    const uint32_t what = world_below(10);
    bool has_moved = what < 4 && run_some_fiber();
    if (!has_moved && what < 8)
        has_moved = net_move_some();
    if (!has_moved && what < 9)
        has_moved = end_turn();
    if (!has_moved)
        has_moved = end_turn() || run_some_fiber() || net_move_some();
    if (world.is_dying)
        host_life_crash();
    return has_moved || move_clock();
}

void world_init(uint64_t seed)
{
    const char *program = world.program;
    const bool is_verbose = world.is_verbose;
    world = (struct world){.seed = seed,
                           .state = seed,
                           .program = program,
                           .is_verbose = is_verbose,
                           .stopped_client = -1,
                           .now_ns = (uint64_t)1000000 * NS_PER_MS};
    list_init(&world.wires);
}

void world_fini(void)
{
    world.has_faults = false;
    if (world.host)
        host_life_crash();
    net_fini();
    disk_fini();
}
