// Jobs: from the wish to the node, and to the end.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/slurm/slurm_state.h"
#include "sys/time/clock.h"

enum {
    TOOL_LIMIT_MS = 30000,
    CLOSING_LIMIT_MS = 5000,
    REST_FIRST_MS = 40,
    EAGER_MS = 2000,  // for that long Slurm is asked that often: most jobs begin by then
    REST_MAX_MS = 2000,
    NEWS_AFTER_MS = 2000,  // a queue that is shorter is not worth a line
    TRIES_MAX = 3,         // of a job that ends before its agent was started
};

static void submit_next(struct slurm *slurm);
static void watch(struct slurm *slurm);

static void set_text(char **place, const char *text)
{
    if (*place && strcmp(*place, text) == 0)
        return;
    free(*place);
    *place = strdup(text);
}

static void append_arrays(const struct slurm *slurm, struct buf *text)
{
    for (size_t i = 0; i < slurm->arrays.count; i++)
        buf_format(text, "%s%" PRIu32, i ? "," : "", slurm->arrays.items[i]);
}

// ---- Submitting --------------------------------------------------------------------------------------------

static void partitions_came(void *owner, int exit_code)
{
    struct slurm *slurm = owner;
    const char *partitions = exit_code == 0 ? buf_text(&slurm->tool.out) : NULL;
    slurm_failed(slurm,
                 slurm_explain_refusal(slurm->partition, buf_text(&slurm->refusal), partitions));
}

// A partition that Slurm does not have may be a typo: sinfo knows those that there are.
static void refused(struct slurm *slurm)
{
    struct far_command words = {0};
    slurm->refusal.size = 0;
    buf_append(&slurm->refusal, slurm->tool.errors.data, slurm->tool.errors.size);
    far_command_add(&words, "sinfo");
    far_command_add(&words, "--noheader");
    far_command_add(&words, "--format=%R");
    if (far_command_end(&words) ||
        slurm_tool_start(&slurm->tool, &words, TOOL_LIMIT_MS, partitions_came, slurm))
        slurm_failed(slurm,
                     slurm_explain_refusal(slurm->partition, buf_text(&slurm->refusal), NULL));
}

static void submitted(void *owner, int exit_code)
{
    struct slurm *slurm = owner;
    uint32_t array;
    if (exit_code != 0) {
        refused(slurm);
        return;
    }
    if (!slurm_read_array(buf_text(&slurm->tool.out), &array) || !VEC_PUSH(&slurm->arrays, array)) {
        slurm_failed(slurm, err_set(WEFT_INTERNAL, "sbatch --parsable printed no number of a job"));
        return;
    }
    for (size_t i = 0; i < slurm->submit_count; i++) {
        struct slurm_job *job = &slurm->jobs[slurm->submitting + i];
        job->state = SLURM_WAITING;
        job->array = array;
        job->index = (uint32_t)i;
        job->job = 0;
        job->tries++;
        set_text(&job->reason, "None");
    }
    submit_next(slurm);
}

struct slurm_request slurm_make_request(struct slurm *slurm, const struct slurm_job *job,
                                        size_t count)
{
    return (struct slurm_request){
        .partition = slurm->partition,
        .run = slurm->options.name,
        .mark = slurm->mark,
        .more = getenv("WEFT_SLURM"),
        .exclude = buf_text(&slurm->exclude),
        .need = job->need,
        .count = (uint32_t)count,
    };
}

static void submit(struct slurm *slurm)
{
    struct far_command words = {0};
    const struct slurm_request request =
        slurm_make_request(slurm, &slurm->jobs[slurm->submitting], slurm->submit_count);
    weft_err err = slurm_make_submit(&request, &words);
    if (err)
        far_command_fini(&words);
    else
        err = slurm_tool_start(&slurm->tool, &words, TOOL_LIMIT_MS, submitted, slurm);
    if (err == WEFT_NOT_FOUND)
        err = err_set(
            WEFT_FAILED_PRECONDITION,
            "this machine has no sbatch\n  try: --on slurm: on a login node of the cluster");
    if (err)
        slurm_failed(slurm, err);
}

// Jobs that are alike are one array: one line in the queue, and one call of the controller.
static void submit_next(struct slurm *slurm)
{
    size_t at = 0, count = 1;
    while (at < slurm->job_count && slurm->jobs[at].state != SLURM_WANTED)
        at++;
    if (at == slurm->job_count) {
        watch(slurm);
        return;
    }
    while (count < SLURM_ARRAY_MAX && at + count < slurm->job_count &&
           slurm->jobs[at + count].state == SLURM_WANTED &&
           slurm_is_same_need(&slurm->jobs[at].need, &slurm->jobs[at + count].need))
        count++;
    slurm->submitting = at;
    slurm->submit_count = count;
    submit(slurm);
}

// ---- Watching ----------------------------------------------------------------------------------------------

static struct slurm_job *find_job(struct slurm *slurm, const struct slurm_report *report)
{
    for (size_t i = 0; i < slurm->job_count; i++)
        if (slurm->jobs[i].array == report->array && slurm->jobs[i].index == report->index)
            return &slurm->jobs[i];
    return NULL;
}

// False: the job has ended before it was of use.
static bool take_report(struct slurm_job *job, const struct slurm_report *report)
{
    job->job = report->job;
    if (strcmp(report->state, "PENDING") == 0 || strcmp(report->state, "CONFIGURING") == 0) {
        set_text(&job->reason, report->reason);
        return true;
    }
    if (strcmp(report->state, "RUNNING") != 0)
        return false;
    job->state = SLURM_GRANTED;
    set_text(&job->node, report->node);
    return true;
}

static void note_end(struct slurm *slurm, struct slurm_job *job, const char *state)
{
    if (job->tries >= TRIES_MAX)
        slurm_failed(slurm, err_set(WEFT_UNAVAILABLE,
                                    "job %" PRIu32 "_%" PRIu32
                                    " has ended before its members could start: %s",
                                    job->array, job->index, state));
    else
        job->state = SLURM_WANTED;
}

static void rest_over(void *owner)
{
    struct slurm *slurm = owner;
    loop_timer_free(slurm->rest);
    slurm->rest = NULL;
    watch(slurm);
}

// What a person wants to know of a queue: how many wait, why, and where to look. Each state of it once.
static void say_news(struct slurm *slurm)
{
    const struct slurm_job *first = NULL;
    struct buf text = {0};
    size_t count = 0;
    for (size_t i = 0; i < slurm->job_count; i++) {
        if (slurm->jobs[i].state != SLURM_WAITING)
            continue;
        first = first ? first : &slurm->jobs[i];
        count++;
    }
    if (!first || clock_now_ns() - slurm->begun_ns < (uint64_t)NEWS_AFTER_MS * 1000000)
        return;
    buf_format(&text,
               "%zu of %zu jobs wait in the queue of Slurm: %s; squeue --jobs=%" PRIu32
               " lists them",
               count, slurm->job_count, slurm_describe_reason(first->reason), first->array);
    if (!slurm->said || strcmp(slurm->said, buf_text(&text)) != 0) {
        set_text(&slurm->said, buf_text(&text));
        slurm->options.calls->news(slurm->options.owner, buf_text(&text));
    }
    buf_fini(&text);
}

static void reminded(void *owner, int exit_code)
{
    (void)owner, (void)exit_code;
}

// Jobs that run wait for those that do not, and end by themselves when this process has gone.
static void remind(struct slurm *slurm)
{
    struct far_command words = {0};
    struct buf arrays = {0};
    if (clock_now_ns() - slurm->reminded_ns < (uint64_t)SLURM_REMINDER_S * 1000000000 ||
        slurm->reminder.child.nursery)
        return;
    slurm->reminded_ns = clock_now_ns();
    far_command_add(&words, "scancel");
    far_command_add(&words, "--signal=USR1");
    far_command_add(&words, "--batch");
    for (size_t i = 0; i < slurm->job_count; i++) {
        if (slurm->jobs[i].state != SLURM_GRANTED)
            continue;
        arrays.size = 0;
        buf_format(&arrays, "%" PRIu32 "_%" PRIu32, slurm->jobs[i].array, slurm->jobs[i].index);
        far_command_add(&words, buf_text(&arrays));
    }
    buf_fini(&arrays);
    if (far_command_end(&words))
        far_command_fini(&words);
    else if (slurm_tool_start(&slurm->reminder, &words, TOOL_LIMIT_MS, reminded, slurm))
        err_clear();
}

static bool is_seeking(const struct slurm *slurm)
{
    for (size_t i = 0; i < slurm->job_count; i++)
        if (slurm->jobs[i].state == SLURM_WANTED || slurm->jobs[i].state == SLURM_WAITING)
            return true;
    return false;
}

static void reports_came(void *owner, int exit_code)
{
    struct slurm *slurm = owner;
    (void)exit_code;  // a controller that is away for a while is asked again
    char *at = (char *)(uintptr_t)buf_text(&slurm->tool.out);
    for (char *line; !slurm->has_failed && (line = strsep(&at, "\n"));) {
        struct slurm_report report;
        if (!*line || !slurm_read_report(line, &report))
            continue;
        struct slurm_job *job = find_job(slurm, &report);
        if (job && job->state == SLURM_WAITING && !take_report(job, &report))
            note_end(slurm, job, report.state);
        else if (job && job->state == SLURM_WAITING && slurm_is_hopeless(job->reason))
            slurm_failed(slurm, slurm_explain_hopeless(job->reason));
    }
    if (slurm->has_failed)
        return;
    slurm_found(slurm);
    if (!is_seeking(slurm))
        return;
    say_news(slurm);
    if (!slurm->has_places)
        remind(slurm);
    slurm->rest = loop_timer_new(slurm->options.loop, slurm->rest_ms, 0, rest_over, slurm);
    if (clock_now_ns() - slurm->begun_ns > (uint64_t)EAGER_MS * 1000000)
        slurm->rest_ms = slurm->rest_ms * 2 < REST_MAX_MS ? slurm->rest_ms * 2 : REST_MAX_MS;
}

static void watch(struct slurm *slurm)
{
    struct far_command words = {0};
    struct buf arrays = {0};
    for (size_t i = 0; i < slurm->job_count; i++)
        if (slurm->jobs[i].state == SLURM_WANTED) {
            submit_next(slurm);
            return;
        }
    append_arrays(slurm, &arrays);
    weft_err err = slurm_make_watch(buf_text(&arrays), &words);
    buf_fini(&arrays);
    if (err)
        far_command_fini(&words);
    else
        err = slurm_tool_start(&slurm->tool, &words, TOOL_LIMIT_MS, reports_came, slurm);
    if (err)
        slurm_failed(slurm, err);
}

void slurm_seek(struct slurm *slurm)
{
    slurm->rest_ms = REST_FIRST_MS;
    slurm->begun_ns = slurm->reminded_ns = clock_now_ns();
    if (slurm->tool.child.nursery)
        return;  // its report leads to the next step
    loop_timer_free(slurm->rest);
    slurm->rest = NULL;
    submit_next(slurm);
}

// ---- The end -----------------------------------------------------------------------------------------------

static void cancelled(void *owner, int exit_code)
{
    (void)owner, (void)exit_code;
}

// The controller may not know yet that the node is lost: the next job is not to go there.
void slurm_replace(struct slurm *slurm, struct slurm_job *job)
{
    struct far_command words = {0};
    struct buf id = {0};
    if (job->node)
        buf_format(&slurm->exclude, "%s%s", slurm->exclude.size ? "," : "", job->node);
    buf_format(&id, "%" PRIu32 "_%" PRIu32, job->array, job->index);
    far_command_add(&words, "scancel");
    far_command_add(&words, buf_text(&id));
    buf_fini(&id);
    slurm_tool_stop(&slurm->reminder);
    if (far_command_end(&words))
        far_command_fini(&words);
    else if (slurm_tool_start(&slurm->reminder, &words, TOOL_LIMIT_MS, cancelled, slurm))
        err_clear();
    job->state = SLURM_WANTED;
    job->tries = 0;
    slurm_seek(slurm);
}

// Appends the jobs of the run that are in the queue to the words. An error of squeue: none is known.
static size_t list_jobs(struct slurm *slurm, struct far_command *cancel, struct buf *text)
{
    struct far_command words = {0};
    struct buf out = {0};
    size_t count = 0;
    if (slurm_make_list(&words))
        far_command_fini(&words);
    else if (!slurm_tool_run(slurm->options.nursery, &words, CLOSING_LIMIT_MS, &out))
        out.size = 0;
    char *at = (char *)(uintptr_t)buf_text(&out);
    for (char *line; (line = strsep(&at, "\n"));) {
        const char *name = slurm_read_marked(line, slurm->mark);
        if (!name)
            continue;
        if (cancel)
            far_command_add(cancel, name);
        buf_format(text, "%s%s", count++ ? "," : "", name);
    }
    buf_fini(&out);
    return count;
}

void slurm_cancel_all(struct slurm *slurm)
{
    const uint64_t until_ns = clock_now_ns() + (uint64_t)CLOSING_LIMIT_MS * 1000000;
    struct far_command cancel = {0};
    struct buf left = {0}, out = {0};
    far_command_add(&cancel, "scancel");
    far_command_add(&cancel, "--quiet");
    size_t count = list_jobs(slurm, &cancel, &left);
    if (far_command_end(&cancel) || count == 0)
        far_command_fini(&cancel);
    else if (!slurm_tool_run(slurm->options.nursery, &cancel, CLOSING_LIMIT_MS, &out))
        err_clear();  // jobs that are left are listed below
    while (count > 0 && clock_now_ns() < until_ns) {
        clock_sleep_ms(20);
        left.size = 0;
        count = list_jobs(slurm, NULL, &left);
    }
    if (count > 0) {
        out.size = 0;
        buf_format(
            &out,
            "%zu jobs are still in the queue of Slurm, since their nodes do not answer: squeue --jobs=%s lists them",
            count, buf_text(&left));
        slurm->options.calls->news(slurm->options.owner, buf_text(&out));
    }
    buf_fini(&left);
    buf_fini(&out);
}
