// The life of a cluster on this machine. Exits, signals and timers become events of the crew (crew/crew.h),
// and its actions become processes, signals and timers; nothing is decided here but how.

#include "crew/cluster_run_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "sys/file/file.h"
#include "sys/file/own.h"
#include "sys/process/signals.h"
#include "sys/time/clock.h"

enum {
    SIGNAL_TERMINATE = 15,
    SIGNAL_KILL = 9,
    // Some who stop us signal both us and our process group: that is asking once.
    SAME_SIGNAL_NS = 200 * 1000 * 1000,
};

static void tell_crew(struct run *run, struct crew_event event);

// ---- From the world to the crew ------------------------------------------------------------------------

static void member_ended(void *owner)
{
    struct run_member *member = owner;
    struct process_exit exit;
    if (!child_wait(&member->child, 0, &exit))
        return;
    loop_watch_free(member->ended);
    member->ended = NULL;
    run_end_streams(member);
    child_end(&member->child);
    member->since_s = clock_calendar_s();
    talk_ended(member, &exit);
    // How it ended is unknown only when the nursery was killed, and it with that.
    const int code = !exit.is_known       ? signal_exit_code(SIGNAL_KILL)
                     : exit.was_signalled ? signal_exit_code(exit.number)
                                          : exit.number;
    tell_crew(member->run, (struct crew_event){CREW_MEMBER_ENDED, member->number, code, false});
}

static void rest_over(void *owner)
{
    struct run_member *member = owner;
    loop_timer_free(member->rest);
    member->rest = NULL;
    tell_crew(member->run, (struct crew_event){.kind = CREW_START_DUE, .member = member->number});
}

static void grace_over(void *owner)
{
    tell_crew(owner, (struct crew_event){.kind = CREW_GRACE_ENDED});
}

static void limit_over(void *owner)
{
    struct run *run = owner;
    struct buf why = {0};
    buf_append_text(&why, "the time limit of ");
    text_append_duration(&why, (uint64_t)run->options->timeout_ms * 1000000);
    buf_append_text(&why, " is reached: the members are stopped");
    talk_stopping(run, buf_text(&why));
    buf_fini(&why);
    run_ask_to_stop(run, err_exit_code(WEFT_DEADLINE_EXCEEDED));
}

static void signal_caught(void *owner, int number)
{
    struct run *run = owner;
    const uint64_t now_ns = clock_now_ns();
    const bool is_first = run->first_signal_ns == 0;
    // Only output that is not read is left: leave it.
    if (run->is_over) {
        loop_stop(run->loop);
        return;
    }
    if (is_first) {
        run->first_signal_ns = now_ns;
        char words[64], why[128];
        signal_describe(number, words, sizeof words);
        snprintf(why, sizeof why, "%s: the members are asked to end; once more kills them", words);
        talk_stopping(run, why);
    }
    const bool is_person = is_first || now_ns - run->first_signal_ns > SAME_SIGNAL_NS;
    tell_crew(run, (struct crew_event){CREW_STOP_ASKED, 0, signal_exit_code(number), is_person});
}

void run_ask_to_stop(struct run *run, int exit_code)
{
    tell_crew(run, (struct crew_event){CREW_STOP_ASKED, 0, exit_code, false});
}

// ---- From the crew to the world ------------------------------------------------------------------------

static weft_err start_process(struct run_member *member)
{
    const struct cluster_run_options *options = member->run->options;
    const char **environment = run_make_environment(member);
    if (!environment)
        return err_no_memory("to start %s", member->name);
    const char *reader = options->input_member;
    const bool reads = reader && strcmp(reader + (*reader == '/'), member->name) == 0;
    const struct nursery_spec spec = {
        .arguments = options->arguments,
        .environment = environment,
        .directory = options->directory,
        .input = reads ? NURSERY_INPUT_OURS : NURSERY_INPUT_NONE,
    };
    port_release(&member->hold);
    const weft_err err = nursery_start(member->run->nursery, &spec, &member->child);
    free(environment);
    return err;
}

static void watch_member(struct run_member *member)
{
    struct run *run = member->run;
    run->start_count++;
    member->started_ns = clock_now_ns();
    member->since_s = clock_calendar_s();
    member->ended = loop_watch_new(run->loop, member->child.status, member_ended, member);
    run_begin_streams(member);
    talk_started(member);
}

// A program that cannot be executed is not the failure of a member as long as no member has started. When one of
// the others cannot be started, those after it are not even tried, unless the run continues without it.
static void start_member(struct run_member *member)
{
    struct run *run = member->run;
    if (run->refusal)
        return;
    const bool is_tried = !run->start_failure || run->options->keep_going;
    const weft_err err = is_tried ? start_process(member) : run->start_failure;
    if (!err) {
        watch_member(member);
    } else if (run->start_count == 0) {
        run->refusal = err;
    } else {
        if (is_tried)
            talk_not_started(member);
        run->start_failure = err;
        tell_crew(
            run, (struct crew_event){CREW_START_FAILED, member->number, err_exit_code(err), false});
    }
}

static void finish(struct run *run, int exit_code)
{
    run->is_over = true;
    run->exit_code = exit_code;
    talk_end(run);
    run_leave_when_sent(run);
}

void run_leave_when_sent(struct run *run)
{
    if (run->is_over && !run_has_unsent(run))
        loop_stop(run->loop);
}

static void carry_out(struct run *run, const struct crew_action *action)
{
    struct run_member *member = &run->members[action->member];
    switch (action->kind) {
    case CREW_START:
        start_member(member);
        break;
    case CREW_START_LATER:
        talk_restart(member, action->delay_ms);
        member->rest = loop_timer_new(run->loop, action->delay_ms, 0, rest_over, member);
        break;
    case CREW_GIVEN_UP:
        talk_given_up(member, action->exit_code);
        break;
    case CREW_TERMINATE:
        child_signal(&member->child, SIGNAL_TERMINATE);
        break;
    case CREW_KILL:
        talk_killing(member);
        child_signal(&member->child, SIGNAL_KILL);
        break;
    case CREW_SET_GRACE:
        run->grace = loop_timer_new(run->loop, action->delay_ms, 0, grace_over, run);
        break;
    case CREW_FINISHED:
        finish(run, action->exit_code);
        break;
    }
}

// An event that comes while actions are carried out (a start that fails, an output that breaks) waits for its turn.
static void tell_crew(struct run *run, struct crew_event event)
{
    ASSERT(run->event_count < sizeof run->events / sizeof *run->events);
    run->events[run->event_count++] = event;
    if (run->is_telling)
        return;
    run->is_telling = true;
    for (size_t i = 0; i < run->event_count; i++) {
        crew_step(&run->crew, &run->events[i], &run->actions);
        for (size_t k = 0; k < run->actions.count; k++)
            carry_out(run, &run->actions.items[k]);
    }
    run->event_count = 0;
    run->is_telling = false;
    run_save(run);
}

// Starts all. Events during that time go to the crew afterwards.
static void begin(struct run *run)
{
    run->is_telling = true;
    crew_begin(&run->crew, &run->actions);
    for (size_t k = 0; k < run->actions.count; k++)
        carry_out(run, &run->actions.items[k]);
    run->is_telling = false;
    if (run->refusal)
        return;
    run_save(run);
    if (run->options->started)
        run->options->started(run->options->started_owner);
    if (run->event_count == 0)
        return;
    const struct crew_event last = run->events[--run->event_count];
    tell_crew(run, last);
}

// ---- Setting up ------------------------------------------------------------------------------------------

static bool has_restarts(const struct cluster_run_options *options)
{
    for (size_t i = 0; i < options->restarts.count; i++)
        if (options->restarts.items[i].count > 0)
            return true;
    return false;
}

// A directory that the user named stays; another one goes with us.
static weft_err open_journal(struct run *run)
{
    const struct cluster_run_options *options = run->options;
    run->journal.alive = -1;
    if (options->journal) {
        const weft_err err = own_make_named_directory(options->journal);
        if (err)
            return err_wrap(err, "--journal");
        run->kept_journal = workdir_absolute(options->journal);
        return run->kept_journal ? WEFT_OK : err_no_memory("for the name of the journal");
    }
    if (!has_restarts(options))
        return WEFT_OK;
    const char *tmp = options->tmp ? options->tmp : getenv("TMPDIR");
    return err_wrap(workdir_open(&run->journal, tmp && *tmp ? tmp : "/tmp"), "the journal");
}

static weft_err catch_signals(struct run *run)
{
    for (const int *number = signals_to_end; *number; number++)
        if (!signal_is_ignored(*number) && !loop_signal_new(run->loop, *number, signal_caught, run))
            return WEFT_INTERNAL;
    return WEFT_OK;
}

// In this order: processes are forked before there is anything that they should not hold.
static weft_err set_up(struct run *run, struct cluster_spec *spec)
{
    weft_err err = open_journal(run);
    if (err)
        return err;
    run->nursery = nursery_new();
    run->loop = run->nursery ? loop_new(NULL, NULL) : NULL;
    if (!run->loop)
        return WEFT_RESOURCE_EXHAUSTED;  // with the sentence of who failed
    process_allow_descriptors();
    err = catch_signals(run);
    if (!err)
        err = run_open_sinks(run);
    if (!err)
        err = run_make_members(run, spec);
    if (!err)
        err = run_open_logs(run);
    if (err)
        return err;
    run->crew.keeps_going = run->options->keep_going;
    if (run->options->grace_ms)
        run->crew.grace_ms = run->options->grace_ms;
    if (run->options->timeout_ms)
        run->limit = loop_timer_new(run->loop, run->options->timeout_ms, 0, limit_over, run);
    return WEFT_OK;
}

static void tear_down(struct run *run)
{
    for (size_t i = 0; run->members && i < run->crew.count; i++)
        child_end(&run->members[i].child);
    loop_free(run->loop);
    nursery_free(run->nursery);
    run_close_logs(run);
    run_free_members(run);
    run_close_sinks(run);
    workdir_close(&run->journal);
    free(run->kept_journal);
}

weft_err cluster_run(struct cluster_spec *spec, const struct cluster_run_options *options,
                     int *exit_code)
{
    struct run *run = calloc(1, sizeof *run);
    if (!run)
        return err_no_memory("for a cluster");
    run->options = options;
    run->begun_ns = clock_now_ns();
    run->begun_s = clock_calendar_s();
    weft_err err = set_up(run, spec);
    if (!err) {
        begin(run);
        err = run->refusal;
    }
    if (!err)
        loop_run(run->loop);
    *exit_code = run->exit_code;
    tear_down(run);
    free(run);
    return err;
}
