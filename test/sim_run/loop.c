// A loop in a time of its own: a step is something that workers do, or the next timer. The clock stands still
// between timers.

#include <stdlib.h>
#include <string.h>

#include "sim_run/sim_run.h"
#include "sys/env.h"
#include "sys/loop/errands.h"

enum {
    ERRANDS_MAX = 64,
    TIMERS_MAX = 16,
    STEPS_MAX = 2000000,
    TIMER_RATE = 5,
    NOW_MS_FIRST = 1000000
};

struct loop_timer {
    bool is_set;
    uint64_t at_ms, repeat_ms;
    loop_fn *elapsed;
    void *owner;
};

struct errand {
    loop_fn *done;
    void *owner;
};

struct loop {
    struct errand errands[ERRANDS_MAX];  // whose end is to be reported
    size_t errand_count;
    loop_fn *woken;
    void *owner;
    bool is_stopped, is_woken;
    struct loop_timer timers[TIMERS_MAX];
};

static uint64_t now_ms = NOW_MS_FIRST;

uint64_t clock_now_ns(void)
{
    return now_ms * 1000000;
}

void clock_sleep_ms(uint32_t milliseconds)
{
    now_ms += milliseconds;
}

int64_t clock_calendar_s(void)
{
    return (int64_t)(now_ms / 1000);
}

struct loop *loop_new(loop_fn *woken, void *owner)
{
    struct loop *loop = calloc(1, sizeof *loop);
    loop->woken = woken;
    loop->owner = owner;
    return loop;
}

void loop_free(struct loop *loop)
{
    free(loop);
}

void loop_stop(struct loop *loop)
{
    loop->is_stopped = true;
}

// Also from the thread that copies to standard output; here there is none.
void loop_wake(struct loop *loop)
{
    loop->is_woken = true;
}

struct loop_timer *loop_timer_new(struct loop *loop, uint64_t first_ms, uint64_t repeat_ms,
                                  loop_fn *elapsed, void *owner)
{
    for (size_t i = 0; i < TIMERS_MAX; i++) {
        struct loop_timer *timer = &loop->timers[i];
        if (timer->is_set)
            continue;
        *timer = (struct loop_timer){true, now_ms + first_ms, repeat_ms, elapsed, owner};
        return timer;
    }
    sim_wrong("the driver has more than %d timers", TIMERS_MAX);
}

void loop_timer_free(struct loop_timer *timer)
{
    if (timer)
        timer->is_set = false;
}

struct loop_signal *loop_signal_new(struct loop *loop, int number, loop_signal_fn *caught,
                                    void *owner)
{
    (void)number;
    (void)caught;
    (void)owner;
    return (struct loop_signal *)(void *)loop;
}

void loop_signal_free(struct loop_signal *signal)
{
    (void)signal;
}

// ---- Errands: done at once, reported when it is their turn

struct errands *errands_new(struct loop *loop)
{
    return (struct errands *)(void *)loop;
}

void errands_free(struct errands *errands)
{
    struct loop *loop = (struct loop *)(void *)errands;
    if (loop)
        loop->errand_count = 0;
}

weft_err errands_do(struct errands *errands, loop_fn *work, loop_fn *done, void *owner)
{
    struct loop *loop = (struct loop *)(void *)errands;
    if (loop->errand_count == ERRANDS_MAX)
        sim_wrong("the driver has more than %d errands", ERRANDS_MAX);
    work(owner);
    loop->errands[loop->errand_count++] = (struct errand){done, owner};
    return WEFT_OK;
}

static bool report_errand(struct loop *loop)
{
    if (loop->errand_count == 0)
        return false;
    const struct errand first = loop->errands[0];
    memmove(loop->errands, loop->errands + 1, --loop->errand_count * sizeof first);
    first.done(first.owner);
    return true;
}

static bool fire_next(struct loop *loop)
{
    struct loop_timer *next = NULL;
    for (size_t i = 0; i < TIMERS_MAX; i++)
        if (loop->timers[i].is_set && (!next || loop->timers[i].at_ms < next->at_ms))
            next = &loop->timers[i];
    if (!next)
        return false;
    const struct loop_timer timer = *next;
    now_ms = timer.at_ms > now_ms ? timer.at_ms : now_ms;
    next->is_set = timer.repeat_ms > 0;
    next->at_ms = now_ms + timer.repeat_ms;
    timer.elapsed(timer.owner);
    return true;
}

static bool step(struct loop *loop)
{
    if (loop->is_woken) {
        loop->is_woken = false;
        loop->woken(loop->owner);
        return true;
    }
    if (sim_chance(200) && report_errand(loop))
        return true;
    // Work may take any time: timers come between any two things.
    if (sim_chance(TIMER_RATE) && fire_next(loop))
        return true;
    return workers_step() || report_errand(loop) || fire_next(loop);
}

void loop_run(struct loop *loop)
{
    loop->is_stopped = false;
    for (; !loop->is_stopped; sim.step++) {
        if (sim_has_faults() && sim_chance(sim.options.end_rate) &&
            sim.life < sim.options.lives_max)
            _Exit(77);  // killed
        if (sim.step > STEPS_MAX)
            sim_wrong("it does not end");
        if (!step(loop))
            sim_wrong("nothing goes on any more");
    }
}
