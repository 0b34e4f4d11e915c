// Processes: their stacks, loops, signals and errands, and their end.
#include "sim_server/lives.h"

#include <setjmp.h>
#include <stdlib.h>
#include <ucontext.h>

#include "sim_server/disk.h"
#include "sim_server/worker.h"
#include "sys/env.h"
#include "sys/loop/errands.h"

enum { STACK_BYTES = 1 << 20, SIGNALS_MAX = 8, FIRST_PID = 1000 };

struct loop_signal {
    int number;
    loop_signal_fn *caught;
    void *owner;
};

struct errand {
    loop_fn *work, *done;
    void *owner;
    bool is_worked;
};

struct errands {
    struct loop *loop;
    VEC(struct errand) list;
};

struct loop_watch {
    struct link in_life;
    pid_t pid;
    loop_fn *readable;
    void *owner;
};

struct life {
    bool is_alive, is_in_loop, must_stop, is_woken, is_over;
    pid_t pid;
    ucontext_t context;
    char *stack;
    life_fn *body;
    loop_fn *woken;
    void *owner;
    struct loop_signal *signals[SIGNALS_MAX];
    int pending_signal;
    struct errands *errands[4];
    struct link watches;
};

static struct life lives[PROCESSES_MAX];
static ucontext_t scheduler;
static jmp_buf outside;     // where calls of loops are made
static bool is_in_a_stack;  // of a life
static int last_pid = FIRST_PID;

static struct life *life_of(const struct loop *process)
{
    return &lives[process->number];
}

// ---- Stacks -------------------------------------------------------------------------------------------------

static void run_body(void)
{
    struct life *life = life_of(world.running);
    life->body();
    life->is_over = true;
    swapcontext(&life->context, &scheduler);
}

static void leave(struct life *life)
{
    struct loop *process = world.running;
    struct err_kept own;  // a sentence belongs to a thread
    err_keep(&own);
    swapcontext(&life->context, &scheduler);
    err_put_back(&own);
    world.running = process;
}

static void clear(int number)
{
    struct life *life = &lives[number];
    free(life->stack);
    *life = (struct life){0};
    world_init_process(&world.processes[number]);
}

static void check_end(int number)
{
    const struct loop *process = &world.processes[number];
    const uint32_t open_count = disk_count_open(process);
    net_check_closed(process);
    if (open_count)
        world_wrong("process %d has ended with %u files open", number, open_count);
    if (workers_count(process))
        world_wrong("process %d has ended before its worker", number);
    if (!list_is_empty(&process->timers))
        world_wrong("process %d has ended with a timer", number);
}

static void enter(int number)
{
    struct life *life = &lives[number];
    world.running = &world.processes[number];
    is_in_a_stack = true;
    swapcontext(&scheduler, &life->context);
    is_in_a_stack = false;
    world.running = NULL;
    if (!life->is_alive) {
        clear(number);
    } else if (life->is_over) {
        check_end(number);
        clear(number);
    }
}

void life_start(int number, life_fn *body)
{
    struct life *life = &lives[number];
    ASSERT(!life->is_alive);
    *life = (struct life){.is_alive = true, .pid = ++last_pid, .body = body};
    list_init(&life->watches);
    life->stack = malloc(STACK_BYTES);
    ASSERT(life->stack && getcontext(&life->context) == 0);
    life->context.uc_stack.ss_sp = life->stack;
    life->context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&life->context, run_body, 0);
    world_init_process(&world.processes[number]);
    enter(number);
}

bool life_is_alive(int number)
{
    return lives[number].is_alive;
}

pid_t life_pid(int number)
{
    return lives[number].pid;
}

const struct loop *life_find(pid_t pid)
{
    for (int i = 0; i < world.process_count; i++)
        if (lives[i].is_alive && lives[i].pid == pid)
            return &world.processes[i];
    return NULL;
}

// ---- The end ------------------------------------------------------------------------------------------------

static void take_away(int number)
{
    struct loop *process = &world.processes[number];
    world_note("process %d is killed", number);
    sim.counts[number == SERVER ? COUNT_SERVER_KILLS : COUNT_CLIENT_KILLS]++;
    workers_kill_all(process);
    net_kill(process);
    disk_kill(process);
    lives[number].is_alive = false;
}

void life_kill(int number)
{
    if (!lives[number].is_alive)
        return;
    take_away(number);
    clear(number);
}

_Noreturn void life_kill_running(void)
{
    struct loop *process = world.running;
    if (process < world.processes || process >= world.processes + PROCESSES_MAX) {
        worker_die_here(process);
        longjmp(outside, 1);
    }
    take_away(process->number);
    if (is_in_a_stack)
        setcontext(&scheduler);
    clear(process->number);
    longjmp(outside, 1);
}

bool lives_step(void)
{
    if (setjmp(outside) == 0)
        return world_step();
    world.running = NULL;
    return false;
}

// ---- Signals ------------------------------------------------------------------------------------------------

struct loop_signal *loop_signal_new(struct loop *loop, int number, loop_signal_fn *caught,
                                    void *owner)
{
    struct life *life = life_of(loop);
    struct loop_signal *signal = malloc(sizeof *signal);
    ASSERT(signal);
    *signal = (struct loop_signal){number, caught, owner};
    for (int i = 0; i < SIGNALS_MAX; i++)
        if (!life->signals[i]) {
            life->signals[i] = signal;
            return signal;
        }
    world_wrong("a process has more than %d signals", SIGNALS_MAX);
}

void loop_signal_free(struct loop_signal *signal)
{
    struct life *life = life_of(world.running);
    for (int i = 0; i < SIGNALS_MAX; i++)
        if (life->signals[i] == signal)
            life->signals[i] = NULL;
    free(signal);
}

static struct loop_signal *find_signal(const struct life *life, int number)
{
    for (int i = 0; i < SIGNALS_MAX; i++)
        if (life->signals[i] && life->signals[i]->number == number)
            return life->signals[i];
    return NULL;
}

void life_signal(int number, int signal)
{
    if (find_signal(&lives[number], signal))
        lives[number].pending_signal = signal;
    else
        life_kill(number);
}

// ---- The loop -----------------------------------------------------------------------------------------------

struct loop *loop_new(loop_fn *woken, void *owner)
{
    struct life *life = life_of(world.running);
    life->woken = woken;
    life->owner = owner;
    return world.running;
}

// And all handles that are left.
void loop_free(struct loop *loop)
{
    while (loop && !list_is_empty(&loop->timers))
        loop_timer_free((struct loop_timer *)(void *)loop->timers.next);
}

void loop_run(struct loop *loop)
{
    struct life *life = life_of(loop);
    while (!life->must_stop) {
        life->is_in_loop = true;
        leave(life);
        life->is_in_loop = false;
    }
    life->must_stop = false;
}

void loop_stop(struct loop *loop)
{
    life_of(loop)->must_stop = true;
}

void loop_wake(struct loop *loop)
{
    life_of(loop)->is_woken = true;
}

struct loop_watch *loop_watch_new(struct loop *loop, int fd, loop_fn *readable, void *owner)
{
    struct loop_watch *watch = calloc(1, sizeof *watch);
    ASSERT(watch);
    *watch = (struct loop_watch){.pid = (pid_t)fd, .readable = readable, .owner = owner};
    list_append(&life_of(loop)->watches, &watch->in_life);
    return watch;
}

void loop_watch_free(struct loop_watch *watch)
{
    if (watch)
        list_take_out(&watch->in_life);
    free(watch);
}

// ---- Errands ------------------------------------------------------------------------------------------------

struct errands *errands_new(struct loop *loop)
{
    struct life *life = life_of(loop);
    struct errands *errands = calloc(1, sizeof *errands);
    ASSERT(errands);
    errands->loop = loop;
    for (int i = 0; i < 4; i++)
        if (!life->errands[i]) {
            life->errands[i] = errands;
            return errands;
        }
    world_wrong("a process has too many threads");
}

void errands_free(struct errands *errands)
{
    if (!errands)
        return;
    for (int i = 0; i < 4; i++)
        if (life_of(errands->loop)->errands[i] == errands)
            life_of(errands->loop)->errands[i] = NULL;
    VEC_FINI(&errands->list);
    free(errands);
}

weft_err errands_do(struct errands *errands, loop_fn *work, loop_fn *done, void *owner)
{
    const struct errand errand = {work, done, owner, false};
    ASSERT(VEC_PUSH(&errands->list, errand));
    return WEFT_OK;
}

// Several may be done before the first is reported.
static bool do_errand(struct errands *errands)
{
    size_t next = 0;
    while (next < errands->list.count && errands->list.items[next].is_worked)
        next++;
    if (next < errands->list.count && (next == 0 || world_chance(500))) {
        errands->list.items[next].is_worked = true;
        errands->list.items[next].work(errands->list.items[next].owner);
        return true;
    }
    if (errands->list.count == 0)
        return false;
    const struct errand first = errands->list.items[0];
    memmove(errands->list.items, errands->list.items + 1,
            --errands->list.count * sizeof *errands->list.items);
    first.done(first.owner);
    return true;
}

// ---- What is next -------------------------------------------------------------------------------------------

static bool call_signal(struct life *life)
{
    const struct loop_signal *signal =
        life->pending_signal ? find_signal(life, life->pending_signal) : NULL;
    life->pending_signal = 0;
    if (!signal)
        return false;
    signal->caught(signal->owner, signal->number);
    return true;
}

static bool call_watch(struct life *life)
{
    for (struct link *at = life->watches.next; at != &life->watches; at = at->next) {
        const struct loop_watch *watch = LIST_ITEM(at, struct loop_watch, in_life);
        if (worker_is_alive(watch->pid))
            continue;
        watch->readable(watch->owner);
        return true;
    }
    return false;
}

static bool call_some(struct life *life)
{
    if (life->is_woken) {
        life->is_woken = false;
        life->woken(life->owner);
        return true;
    }
    if (call_signal(life) || call_watch(life))
        return true;
    for (int i = 0; i < 4; i++)
        if (life->errands[i] && do_errand(life->errands[i]))
            return true;
    return false;
}

static bool move_life(int number)
{
    struct life *life = &lives[number];
    if (!life->is_alive || world_is_stopped(&world.processes[number]))
        return false;
    if (life->must_stop) {
        enter(number);
        return true;
    }
    world.running = &world.processes[number];
    const bool has_moved = call_some(life);
    world.running = NULL;
    return has_moved;
}

bool lives_move_some(void)
{
    const uint32_t count = (uint32_t)world.process_count, first = world_below(count);
    for (uint32_t i = 0; i < count; i++)
        if (move_life((int)((first + i) % count)))
            return true;
    return false;
}
