// For the tests of the scheduler: one job, its events in few words, its actions as text.
//
// "open0 plan0 m0.1@2" opens and plans stage 0 and runs attempt 1 of map task 0 in slot 2. Of several
// workers it is said who: "open0#1".
#ifndef MAPREDUCE_COORD_SCHED_TESTING_H
#define MAPREDUCE_COORD_SCHED_TESTING_H

#include "mapreduce/coord/sched.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct sched *sched;
static struct sched_actions actions;
static uint32_t worker;  // whose events are sent
static bool has_other_workers;
static int stage_said = -1;  // in events; -1: the one at work

static inline const char *actions_text(void)
{
    static char text[4096];
    char *at = text;
    *at = 0;
    for (uint32_t i = 0; i < actions.count && at < text + sizeof text - 64; i++) {
        const struct sched_action *action = &actions.items[i];
        const struct sched_attempt *run = &action->at;
        const char kind = "smr"[run->kind];
        at += sprintf(at, "%s", i ? " " : "");
        if (action->type == ACTION_START_WORKER)
            at += sprintf(at, "worker%u", action->worker);
        else if (action->type == ACTION_STAGE_OPEN)
            at += sprintf(at, "open%u", action->stage);
        else if (action->type == ACTION_STAGE_PLAN)
            at += sprintf(at, "plan%u", action->stage);
        else if (action->type == ACTION_RUN)
            at += sprintf(at, "%c%u.%u@%u", kind, run->task, run->attempt, run->slot);
        else if (action->type == ACTION_SEAL)
            at += sprintf(at, "seal@%u", run->slot);
        else if (action->type == ACTION_DROP)
            at += sprintf(at, "drop@%u", run->slot);
        else if (action->type == ACTION_CHECKPOINT)
            at += sprintf(at, "checkpoint@%u", run->slot);
        else if (action->type == ACTION_TASK_STUCK)
            at += sprintf(at, "stuck(%s %c%u.%u)", weft_err_name(action->code), kind, run->task,
                          run->attempt);
        else if (action->type == ACTION_KILL_WORKER)
            at += sprintf(at, "kill");
        else if (action->type == ACTION_JOB_DONE)
            at += sprintf(at, "done");
        else if (run->task == SCHED_NO_TASK)
            at += sprintf(at, "failed(%s)", weft_err_name(action->code));
        else
            at += sprintf(at, "failed(%s %c%u)", weft_err_name(action->code), kind, run->task);
        if (has_other_workers && action->worker > 0 && action->type != ACTION_START_WORKER)
            at += sprintf(at, "#%u", action->worker);
    }
    return text;
}

static inline const char *step(struct sched_event event)
{
    event.worker = worker;
    if (event.type != EVENT_TASK_RESTORED)
        event.at.stage = stage_said < 0 ? sched_stage(sched) : (uint32_t)stage_said;
    sched_step(sched, &event, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        if (actions.items[i].type == ACTION_START_WORKER)
            worker = actions.items[i].worker;
    return actions_text();
}

// ---- Events in few words ----------------------------------------------------------------------

static inline struct sched_attempt attempt(const char *text)
{
    struct sched_attempt at = {0};
    char kind;
    assert_int_equal(sscanf(text, "%c%u.%u@%u", &kind, &at.task, &at.attempt, &at.slot), 4);
    at.kind = kind == 's' ? SCHED_SAMPLE : kind == 'm' ? SCHED_MAP : SCHED_REDUCE;
    return at;
}

static inline const char *ready(uint32_t slot_count)
{
    return step((struct sched_event){.type = EVENT_WORKER_READY, .slot_count = slot_count});
}

static inline const char *held(const char *at)
{
    return step((struct sched_event){.type = EVENT_TASK_HELD, .at = attempt(at)});
}

static inline const char *failed(const char *at, weft_err code)
{
    return step((struct sched_event){.type = EVENT_TASK_FAILED, .at = attempt(at), .code = code});
}

static inline const char *committed(enum sched_kind kind, uint32_t task)
{
    return step(
        (struct sched_event){.type = EVENT_TASK_COMMITTED, .at = {.kind = kind, .task = task}});
}

static inline const char *written(enum sched_kind kind, uint32_t task)
{
    return step((struct sched_event){
        .type = EVENT_TASK_COMMITTED, .at = {.kind = kind, .task = task}, .is_durable = true});
}

static inline const char *sealed(uint32_t slot)
{
    return step((struct sched_event){.type = EVENT_SEALED, .at.slot = slot});
}

static inline const char *checkpoint(void)
{
    return step((struct sched_event){.type = EVENT_CHECKPOINT});
}

static inline const char *checkpointed(uint32_t slot)
{
    return step((struct sched_event){.type = EVENT_CHECKPOINTED, .at.slot = slot});
}

static inline const char *excused(enum sched_kind kind, uint32_t task)
{
    return step(
        (struct sched_event){.type = EVENT_TASK_EXCUSED, .at = {.kind = kind, .task = task}});
}

static inline const char *condemned(enum sched_kind kind, uint32_t task, weft_err code)
{
    return step((struct sched_event){
        .type = EVENT_TASK_CONDEMNED, .at = {.kind = kind, .task = task}, .code = code});
}

static inline const char *restored(uint32_t stage, enum sched_kind kind, uint32_t task)
{
    return step((struct sched_event){.type = EVENT_TASK_RESTORED,
                                     .at = {.kind = kind, .task = task, .stage = stage}});
}

static inline const char *spoiled(enum sched_kind kind, uint32_t task)
{
    return step(
        (struct sched_event){.type = EVENT_TASK_SPOILED, .at = {.kind = kind, .task = task}});
}

static inline const char *timed_out(const char *at)
{
    return step((struct sched_event){.type = EVENT_TASK_TIMED_OUT, .at = attempt(at)});
}

// The attempts inside, separated by blanks.
static inline const char *lost(const char *inside_text, uint32_t crash_slot)
{
    struct sched_attempt inside[8];
    uint32_t count = 0;
    for (const char *at = inside_text; at && *at; at = strchr(at, ' ')) {
        inside[count] = attempt(at += *at == ' ');
        inside[count++].stage = sched_stage(sched);
    }
    return step((struct sched_event){.type = EVENT_WORKER_LOST,
                                     .inside = inside,
                                     .inside_count = count,
                                     .crash_slot = crash_slot,
                                     .code = WEFT_ABORTED});
}

// A job before its START.
static inline void plan_of(struct sched_plan plan)
{
    sched_free(sched);
    worker = 0;
    sched = sched_new(&plan);
    assert_non_null(sched);
}

static inline const char *start(void)
{
    return step((struct sched_event){.type = EVENT_START});
}

static inline void job_of_stages(const struct sched_stage *stages, uint32_t count,
                                 uint32_t max_attempts)
{
    plan_of(
        (struct sched_plan){.stages = stages, .stage_count = count, .max_attempts = max_attempts});
    assert_string_equal(start(), "worker1");
}

static inline void job(uint32_t sample_count, uint32_t map_count, uint32_t reduce_count)
{
    job_of_stages(&(struct sched_stage){sample_count, map_count, reduce_count}, 1, 0);
}

static inline uint32_t charges(enum sched_kind kind, uint32_t task)
{
    return sched_charges(sched, sched_stage(sched), kind, task);
}

static inline int teardown(void **unused)
{
    (void)unused;
    sched_free(sched);
    sched = NULL;
    return 0;
}

#endif
