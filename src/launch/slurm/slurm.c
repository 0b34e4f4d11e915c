// The launcher: jobs first, then agents in them.

#include "launch/slurm/slurm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/slurm/slurm_state.h"
#include "sys/secure/secret.h"

enum { CONNECTING_MAX = 32 };

static struct slurm *slurm_of(struct launch *launch)
{
    return (struct slurm *)launch;
}

static weft_err check(const char *url)
{
    return slurm_read_url(url, NULL);
}

// ---- The way to an agent -----------------------------------------------------------------------------------

// A host of launch/far is a job; its name there has the number.
static void name_job(const struct slurm_job *job, char name[SLURM_NAME_BYTES_MAX])
{
    snprintf(name, SLURM_NAME_BYTES_MAX, "job %" PRIu32 "_%" PRIu32 " on %s", job->array,
             job->index, job->node ? job->node : "a node");
}

static struct slurm_job *find_named(const struct slurm *slurm, const char *host)
{
    for (size_t i = 0; i < slurm->job_count; i++) {
        char name[SLURM_NAME_BYTES_MAX];
        name_job(&slurm->jobs[i], name);
        if (strcmp(name, host) == 0)
            return &slurm->jobs[i];
    }
    return NULL;
}

static weft_err make_command(void *owner, const char *host, const char *script,
                             const char *const *arguments, struct far_command *words)
{
    const struct slurm_job *job = find_named(owner, host);
    if (!job)
        return err_set(WEFT_INTERNAL, "%s is not a job of this run", host);
    return slurm_make_step(job->job, &job->need, script, arguments, words);
}

static weft_err explain(void *owner, const char *host, const struct far_end *end, bool *is_passing)
{
    (void)owner;
    *is_passing = false;
    return slurm_explain_end(host, end->errors);
}

// ---- Opening -----------------------------------------------------------------------------------------------

static weft_err add_need(struct slurm_need *need, const struct launch_want *want)
{
    if (want->amount_count)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "%s: jobs of Slurm cannot be asked for the resource %s by that name\n"
                       "  try: WEFT_SLURM='--gres=NAME:N', for all jobs",
                       want->name, want->amounts[0].name);
    need->cpus += want->cpus;
    need->gpus += want->gpus;
    need->memory_bytes += want->memory_bytes;
    if (want->constraint)
        need->constraint = want->constraint;
    return WEFT_OK;
}

// One job for each member, but for those that are to be beside another.
static weft_err make_jobs(struct slurm *slurm)
{
    const struct launch_options *options = &slurm->options;
    slurm->jobs = calloc(options->count, sizeof *slurm->jobs);
    slurm->job_of = calloc(options->count, sizeof *slurm->job_of);
    if (!slurm->jobs || !slurm->job_of)
        return err_no_memory("for the jobs");
    for (size_t i = 0; i < options->count; i++) {
        const struct launch_want *want = &options->wants[i];
        slurm->job_of[i] = want->beside ? slurm->job_of[want->beside - 1] : slurm->job_count++;
        struct slurm_need *need = &slurm->jobs[slurm->job_of[i]].need;
        if (!need->role && !(need->role = strndup(want->name, strcspn(want->name, "/"))))
            return err_no_memory("for the jobs");
        const weft_err err = add_need(need, want);
        if (err)
            return err;
    }
    return WEFT_OK;
}

static weft_err open_far(struct slurm *slurm)
{
    static const char *const keep[] = {"SLURM_*",
                                       "CUDA_VISIBLE_DEVICES",
                                       "ROCR_VISIBLE_DEVICES",
                                       "GPU_DEVICE_ORDINAL",
                                       "ZE_AFFINITY_MASK",
                                       NULL};
    const char **names = calloc(slurm->job_count, sizeof *names);
    if (!names)
        return err_no_memory("for the jobs");
    for (size_t i = 0; i < slurm->job_count; i++)
        names[i] = "a job of Slurm";
    slurm->route = (struct far_route){.make_command = make_command,
                                      .explain = explain,
                                      .keep = keep,
                                      .connecting_max = CONNECTING_MAX};
    const weft_err err = far_open(&slurm->far, &launch_slurm, &slurm->options, &slurm->route, slurm,
                                  names, slurm->job_count);
    if (err)
        slurm->far = NULL;
    free(names);
    return err;
}

static void free_slurm(struct slurm *slurm)
{
    slurm_tool_stop(&slurm->tool);
    slurm_tool_stop(&slurm->reminder);
    buf_fini(&slurm->tool.out);
    buf_fini(&slurm->tool.errors);
    buf_fini(&slurm->reminder.out);
    buf_fini(&slurm->reminder.errors);
    loop_timer_free(slurm->rest);
    for (size_t i = 0; slurm->jobs && i < slurm->job_count; i++) {
        free((char *)(uintptr_t)slurm->jobs[i].need.role);
        free(slurm->jobs[i].node);
        free(slurm->jobs[i].reason);
        VEC_FINI(&slurm->jobs[i].movers);
    }
    free(slurm->jobs);
    free(slurm->job_of);
    VEC_FINI(&slurm->arrays);
    buf_fini(&slurm->exclude);
    buf_fini(&slurm->refusal);
    free(slurm->said);
    free(slurm);
}

static void close_slurm(struct launch *launch)
{
    struct slurm *slurm = slurm_of(launch);
    slurm_tool_stop(&slurm->tool);
    slurm_tool_stop(&slurm->reminder);
    far_close(slurm->far);
    slurm_cancel_all(slurm);
    free_slurm(slurm);
}

static weft_err open_slurm(struct launch **launch, const struct launch_options *options)
{
    uint8_t chance[12];
    struct slurm *slurm = calloc(1, sizeof *slurm);
    if (!slurm)
        return err_no_memory("for the jobs");
    *slurm = (struct slurm){.base = {&launch_slurm}, .options = *options};
    secret_random(chance, sizeof chance);
    snprintf(slurm->mark, sizeof slurm->mark, "weft-");
    for (size_t i = 0; i < sizeof chance; i++)
        snprintf(slurm->mark + 5 + 2 * i, 3, "%02x", chance[i]);
    slurm->tool.loop = slurm->reminder.loop = options->loop;
    slurm->tool.nursery = slurm->reminder.nursery = options->nursery;
    weft_err err = slurm_read_url(options->url, slurm->partition);
    if (!err)
        err = make_jobs(slurm);
    if (!err)
        err = open_far(slurm);
    if (err)
        free_slurm(slurm);
    else
        *launch = &slurm->base;
    return err;
}

// ---- Places ------------------------------------------------------------------------------------------------

static weft_err place(struct launch *launch)
{
    slurm_seek(slurm_of(launch));
    return WEFT_OK;
}

void slurm_failed(struct slurm *slurm, weft_err err)
{
    const struct launch_calls *calls = slurm->options.calls;
    struct err_kept kept;
    slurm->has_failed = true;
    if (!slurm->has_places) {
        calls->failed(slurm->options.owner, err);
        return;
    }
    err_keep(&kept);
    for (size_t i = 0; i < slurm->job_count; i++) {
        struct slurm_job *job = &slurm->jobs[i];
        for (size_t k = 0; k < job->movers.count; k++) {
            err_put_back(&kept);
            calls->not_moved(slurm->options.owner, job->movers.items[k], err);
        }
        job->movers.count = 0;
    }
    slurm->has_failed = false;
}

static bool have_all(const struct slurm *slurm)
{
    for (size_t i = 0; i < slurm->job_count; i++)
        if (slurm->jobs[i].state != SLURM_GRANTED)
            return false;
    return true;
}

static void move_there(struct slurm *slurm, size_t number)
{
    struct slurm_job *job = &slurm->jobs[number];
    char name[SLURM_NAME_BYTES_MAX];
    name_job(job, name);
    for (size_t i = 0; i < job->movers.count; i++)
        far_move_to(slurm->far, job->movers.items[i], number, name);
    job->movers.count = 0;
}

void slurm_found(struct slurm *slurm)
{
    if (slurm->has_places) {
        for (size_t i = 0; i < slurm->job_count; i++)
            if (slurm->jobs[i].state == SLURM_GRANTED)
                move_there(slurm, i);
        return;
    }
    if (!have_all(slurm))
        return;
    slurm->has_places = true;
    for (size_t i = 0; i < slurm->job_count; i++) {
        char name[SLURM_NAME_BYTES_MAX];
        name_job(&slurm->jobs[i], name);
        far_name_host(slurm->far, i, name);
    }
    const weft_err err = far_place(slurm->far);
    if (err)
        slurm->options.calls->failed(slurm->options.owner, err);
}

static void get(struct launch *launch, size_t member, struct launch_place *place)
{
    const struct slurm *slurm = slurm_of(launch);
    far_get(slurm->far, member, place);
    const char *node = slurm->jobs[slurm->job_of[member]].node;
    if (node && *place->host)
        place->host = node;
}

static void describe(struct launch *launch, size_t member, struct buf *text)
{
    const struct slurm *slurm = slurm_of(launch);
    const struct slurm_job *job = &slurm->jobs[slurm->job_of[member]];
    if (job->state == SLURM_WANTED)
        buf_append_text(text, "its job has not been submitted");
    else if (job->state == SLURM_WAITING)
        buf_format(text, "job %" PRIu32 "_%" PRIu32 " waits in the queue: %s", job->array,
                   job->index, slurm_describe_reason(job->reason));
    else if (!slurm->has_places)
        buf_format(text, "job %" PRIu32 "_%" PRIu32 " runs on %s, and others wait in the queue",
                   job->array, job->index, job->node);
    else
        far_describe(slurm->far, member, text);
}

static void move(struct launch *launch, size_t member)
{
    struct slurm *slurm = slurm_of(launch);
    struct slurm_job *job = &slurm->jobs[slurm->job_of[member]];
    if (!VEC_PUSH(&job->movers, member)) {
        slurm->options.calls->not_moved(slurm->options.owner, member,
                                        err_no_memory("to move a member"));
        return;
    }
    // Members beside it may have asked before.
    if (job->state != SLURM_GRANTED)
        return;
    if (far_has_host(slurm->far, slurm->job_of[member]))
        move_there(slurm, slurm->job_of[member]);
    else
        slurm_replace(slurm, job);
}

static weft_err start(struct launch *launch, size_t member, const struct launch_start *start)
{
    return far_start(slurm_of(launch)->far, member, start);
}

static void signal_member(struct launch *launch, size_t member, int number)
{
    far_signal(slurm_of(launch)->far, member, number);
}

static void pause_stream(struct launch *launch, size_t member, unsigned which, bool is_paused)
{
    far_pause(slurm_of(launch)->far, member, which, is_paused);
}

const struct launcher launch_slurm = {
    .scheme = "slurm",
    .form = "slurm:PARTITION",
    .is_far = true,
    .check = check,
    .open = open_slurm,
    .close = close_slurm,
    .place = place,
    .get = get,
    .describe = describe,
    .move = move,
    .start = start,
    .signal = signal_member,
    .pause = pause_stream,
    .lost_rest_ms = FAR_LOST_REST_MS,
};
