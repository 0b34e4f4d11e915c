// verdict: what follows for a run from records that are bad: whether one that was found is left out or ends the
// job, and whether too many are left out.

#include "run/driver/coordinator/coordinator_state.h"

#include "base/text.h"
#include "code/codes.h"
#include "run/replay.h"

#include <inttypes.h>
#include <stdio.h>

enum { SHOWN_BYTES = 100 };  // of a record, in a sentence

// ---- All of them --------------------------------------------------------------------------------

static weft_err write_bad(struct coordinator *coordinator)
{
    coordinator->bad_count = bad_records_count(&coordinator->bad);
    if (coordinator->bad_count > 0)
        output_set_left_out(coordinator->output);
    return bad_records_write(&coordinator->bad);
}

// The run has failed, and its last words say why; a warning before them says that the list is missing.
static void list_bad(struct coordinator *coordinator)
{
    char text[ERR_TEXT_BYTES_MAX];
    if (bad_records_count(&coordinator->bad) == 0 || write_bad(coordinator) == WEFT_OK)
        return;
    snprintf(text, sizeof text, "%s", err_text());
    report_warn(coordinator->report, text);
    err_clear();
}

weft_err coordinator_judge_bad(struct coordinator *coordinator)
{
    coordinator->bad.is_judged = true;
    if (!coordinator->plan->options->skip_bad.is_set)
        return WEFT_OK;
    // Those that tries have found were given to no attempt that counts.
    uint64_t records = resume_record_count(coordinator->resume) + coordinator->bad.found.count;
    for (uint32_t task = 0; task < coordinator->plan->stages[0].map_count; task++)
        records += coordinator->tally.tasks[run_plan_number(coordinator->plan, 0, SCHED_MAP, task)]
                       .records_in;
    const weft_err code = write_bad(coordinator);
    return code != WEFT_OK ? code : bad_records_check(&coordinator->bad, records, true);
}

// ---- One that was found -------------------------------------------------------------------------

// A sentence of several lines below a line of ours.
static void append_indented(struct buf *buf, const char *text)
{
    buf_append_text(buf, "\n  ");
    for (; *text; text++) {
        buf_append(buf, text, 1);
        if (*text == '\n')
            buf_append_text(buf, "  ");
    }
}

static void describe_found(const struct coordinator *coordinator, const struct bad_record *bad,
                           const char *how, struct buf *why)
{
    buf_format(why, "map fails on one record of %s\n  at offset %" PRIu64 ": \"",
               coordinator->plan->inputs.items[bad->place.input].name, bad->place.offset);
    const size_t shown = bad->text_size < SHOWN_BYTES ? bad->text_size : SHOWN_BYTES;
    text_append_escaped(why, (weft_bytes){bad->text, shown});
    buf_format(why, "%s\" (%" PRIu64 " byte%s)", shown < bad->size ? "..." : "", bad->size,
               bad->size == 1 ? "" : "s");
    append_indented(why, how);
    if (coordinator->plan->options->skip_bad.is_set)
        buf_format(why, "\n  it is one more than --skip-bad allows");
}

static void condemn(struct coordinator *coordinator, const struct probe_task *task)
{
    const struct sched_event event = {
        .type = EVENT_TASK_CONDEMNED, .at = task->at, .code = task->code};
    coordinator_step(coordinator, &event);
}

static void condemn_found(struct coordinator *coordinator, const struct probe_task *task,
                          const struct bad_record *bad, const char *how)
{
    struct buf why = {0};
    char id[REPLAY_ID_BYTES];
    describe_found(coordinator, bad, how, &why);
    snprintf(coordinator->blame.why, sizeof coordinator->blame.why, "%s", buf_text(&why));
    buf_fini(&why);
    coordinator->blame.next[0] = 0;
    const bool is_over = coordinator->plan->options->skip_bad.is_set;
    if (is_over)
        list_bad(coordinator);
    const struct input *input = &coordinator->plan->inputs.items[bad->place.input];
    const struct run_options *options = coordinator->plan->options;
    const struct code *user = code_of(options->job);
    const bool is_lasting = !user->has_lasting_inputs || user->has_lasting_inputs(&options->args);
    if (coordinator->keeps_replays && is_lasting &&
        replay_save(input->name, input->path, bad->place.offset, id) == WEFT_OK)
        snprintf(coordinator->blame.next, sizeof coordinator->blame.next,
                 "weft replay %s runs just that record (--debug: in %s); %s leaves such records "
                 "out",
                 id, user->debugger ? user->debugger : "gdb",
                 is_over ? "a larger --skip-bad" : "--skip-bad N");
    condemn(coordinator, task);
}

static void take_found(void *owner, const struct probe_task *task, const struct bad_record *bad,
                       const char *how)
{
    struct coordinator *coordinator = owner;
    if (!bad_records_may_skip(&coordinator->bad)) {
        condemn_found(coordinator, task, bad, how);
        return;
    }
    weft_err code = bad_records_add(&coordinator->bad, bad);
    if (code == WEFT_OK)
        code = resume_note_bad(coordinator->resume, bad);
    const struct sched_event event = {.type = EVENT_TASK_EXCUSED, .at = task->at};
    if (code == WEFT_OK)
        coordinator_step(coordinator, &event);
    else
        coordinator_fail(coordinator, code);
}

static void take_not_found(void *owner, const struct probe_task *task, enum bisect_state state)
{
    struct coordinator *coordinator = owner;
    if (state == BISECT_NOT_ONE && coordinator_blame_client(coordinator, task))
        return;
    snprintf(coordinator->blame.why, sizeof coordinator->blame.why, "%.900s%s", task->why,
             state == BISECT_NOT_ONE
                 ? "\n  no single record fails alone: some fail together, or only sometimes"
             : state == BISECT_NO_RECORD ? "\n  it fails without any record, too"
                                         : "");
    snprintf(coordinator->blame.next, sizeof coordinator->blame.next, "%s", task->next);
    condemn(coordinator, task);
}

static void take_begun(void *owner)
{
    struct coordinator *coordinator = owner;
    if (!coordinator->plan->options->quiet)
        report_warn(coordinator->report,
                    "a task keeps failing: searching for the record that fails");
}

static void take_failed(void *owner, weft_err code)
{
    coordinator_fail(owner, code);
}

const struct probe_calls coordinator_probe_calls = {
    .begun = take_begun,
    .found = take_found,
    .not_found = take_not_found,
    .failed = take_failed,
};

void coordinator_look_into(struct coordinator *coordinator, const struct sched_action *action)
{
    struct probe_task task = {.at = action->at, .code = action->code};
    snprintf(task.why, sizeof task.why, "%s", coordinator->blame.why);
    snprintf(task.next, sizeof task.next, "%s", coordinator->blame.next);
    probe_look_into(&coordinator->probe, &task);
}
