// What the scheduler costs: sched [WORKERS SLOTS TASKS]. A job of map tasks and reduce tasks, without doing any:
// each that it hands out is said to have ended, in turn; and, with a hundred workers or more, the same with one
// in a hundred lost.
//
//   cc -O3 -D_GNU_SOURCE -std=gnu17 -Isrc -Iinclude bench/sched.c build/internal/libweft_internal.a
//      -lpthread -lm -o /tmp/sched && /tmp/sched 1 8 1000000 && /tmp/sched 10000 8 1000000
#include <stdio.h>
#include <stdlib.h>

#include "mapreduce/coord/sched.h"
#include "sys/time/clock.h"

struct work {
    enum sched_action_type type;  // START_WORKER, RUN or SEAL
    uint32_t worker;
    struct sched_attempt at;
};

// What is handed out and not ended, in the order it came; and the map tasks that each slot holds.
static struct work *line;
static uint64_t line_first, line_end, line_max;
static uint32_t *held, *held_next, worker_count, slot_count;
static struct sched *sched;
static struct sched_actions actions;
static uint64_t completions, losses;

static uint32_t *held_by(const struct work *work)
{
    return &held[(size_t)((work->worker - 1) % worker_count) * slot_count + work->at.slot];
}

static void carry_out(const struct sched_action *action)
{
    const bool is_work = action->type == ACTION_START_WORKER || action->type == ACTION_RUN ||
                         action->type == ACTION_SEAL;
    if (is_work)
        line[line_end++ % line_max] =
            (struct work){.type = action->type, .worker = action->worker, .at = action->at};
}

static void hand_in(const struct sched_event *event)
{
    sched_step(sched, event, &actions);
    for (;; sched_more(sched, &actions)) {
        for (uint32_t i = 0; i < actions.count; i++)
            carry_out(&actions.items[i]);
        if (!actions.has_more)
            return;
    }
}

// A slot is sealed: all that it holds is committed.
static void end_seal(const struct work *work)
{
    uint32_t *first = held_by(work);
    struct sched_event event = {
        .type = EVENT_TASK_COMMITTED, .worker = work->worker, .at = {.kind = SCHED_MAP}};
    for (; *first != SCHED_NO_TASK; *first = held_next[*first]) {
        event.at.task = *first;
        hand_in(&event);
    }
    event.type = EVENT_SEALED;
    event.at = work->at;
    hand_in(&event);
}

static void end_attempt(const struct work *work)
{
    struct sched_event event = {.type = EVENT_TASK_HELD, .worker = work->worker, .at = work->at};
    completions++;
    hand_in(&event);
    if (work->at.kind == SCHED_MAP) {
        uint32_t *first = held_by(work);
        held_next[work->at.task] = *first;
        *first = work->at.task;
        return;
    }
    event.type = EVENT_TASK_COMMITTED;
    event.is_durable = true;
    hand_in(&event);
}

static void end_one(const struct work *work)
{
    if (work->type == ACTION_START_WORKER) {
        for (uint32_t slot = 0; slot < slot_count; slot++)
            *held_by(&(struct work){.worker = work->worker, .at.slot = slot}) = SCHED_NO_TASK;
        hand_in(&(struct sched_event){
            .type = EVENT_WORKER_READY, .worker = work->worker, .slot_count = slot_count});
    } else if (work->type == ACTION_SEAL) {
        end_seal(work);
    } else {
        end_attempt(work);
    }
}

// Every lose_every-th attempt ends with its worker; what comes of that one later is stale. 0: none is lost.
static int measure(uint32_t task_count, uint64_t lose_every)
{
    const struct sched_stage stage = {0, task_count, task_count / 100};
    const struct sched_plan plan = {
        .stages = &stage, .stage_count = 1, .worker_count = worker_count, .slots_max = slot_count};
    sched = sched_new(&plan);
    if (!sched)
        return 1;
    line_first = line_end = completions = losses = 0;
    const uint64_t start = clock_now_ns();
    hand_in(&(struct sched_event){.type = EVENT_START});
    while (line_first < line_end) {
        const struct work work = line[line_first++ % line_max];
        if (lose_every && work.type == ACTION_RUN && completions > losses * lose_every) {
            losses++;
            hand_in(&(struct sched_event){
                .type = EVENT_WORKER_LOST, .worker = work.worker, .crash_slot = SCHED_NO_SLOT});
        } else {
            end_one(&work);
        }
    }
    const double seconds = (double)(clock_now_ns() - start) / 1e9;
    const bool is_done = sched_is_over(sched) && !sched_failure(sched);
    printf("%u workers of %u slots, %u tasks, %llu lost: %.0f completions/s%s\n", worker_count,
           slot_count, task_count, (unsigned long long)losses, (double)completions / seconds,
           is_done ? "" : " NOT DONE");
    sched_free(sched);
    return is_done ? 0 : 1;
}

int main(int count, char **words)
{
    worker_count = count > 1 ? (uint32_t)atoi(words[1]) : 10000;
    slot_count = count > 2 ? (uint32_t)atoi(words[2]) : 8;
    const uint32_t task_count = count > 3 ? (uint32_t)atoi(words[3]) : 1000000;
    line_max = (uint64_t)worker_count * (slot_count * 3 + 2) + 1024;
    line = calloc(line_max, sizeof *line);
    held = calloc((size_t)worker_count * slot_count, sizeof *held);
    held_next = calloc(task_count, sizeof *held_next);
    if (!line || !held || !held_next)
        return 1;
    const int code = measure(task_count, 0);
    return code || worker_count < 100 ? code
                                      : measure(task_count, task_count / (worker_count / 100));
}
