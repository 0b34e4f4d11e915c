// The life of a cluster. Reports of the launcher, signals and timers become events of the crew (crew/crew.h), and its
// actions become calls of the launcher and timers; nothing is decided here but how.

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

static void refuse(struct run *run, weft_err err)
{
    if (run->refusal)
        return;
    run->refusal = err;
    err_keep(&run->refusal_text);
}

// ---- From the world to the crew ------------------------------------------------------------------------

static void member_ended(void *owner, size_t number, const struct launch_exit *end)
{
    struct run *run = owner;
    struct run_member *member = &run->members[number];
    const struct process_exit *exit = &end->process;
    member->is_running = false;
    member->is_lost = end->lost != NULL;
    run_end_streams(member);
    run_end_tensorboard(member, end);
    member->since_s = clock_calendar_s();
    talk_ended(member, end);
    // How it ended is unknown only when the process that looks after it was killed, and it with that.
    const int code = !exit->is_known       ? signal_exit_code(SIGNAL_KILL)
                     : exit->was_signalled ? signal_exit_code(exit->number)
                                           : exit->number;
    const enum crew_event_kind kind =
        end->lost && !end->is_charged ? CREW_MEMBER_LOST : CREW_MEMBER_ENDED;
    tell_crew(run, (struct crew_event){kind, number, code, false});
}

static void take_output(void *owner, size_t number, unsigned which, weft_bytes bytes)
{
    struct run *run = owner;
    run_take_output(&run->members[number], which, bytes);
    run_watch_tensorboard(&run->members[number], bytes);
}

static void host_lost(void *owner, const char *host, const char *why)
{
    talk_lost(owner, host, why);
}

static void news_came(void *owner, const char *text)
{
    talk_news(owner, text);
}

static void start_again(struct run_member *member)
{
    tell_crew(member->run, (struct crew_event){.kind = CREW_START_DUE, .member = member->number});
}

static void fail_start(struct run_member *member, weft_err err)
{
    tell_crew(member->run,
              (struct crew_event){CREW_START_FAILED, member->number, err_exit_code(err), false});
}

static void member_moved(void *owner, size_t number)
{
    struct run *run = owner;
    struct run_member *member = &run->members[number];
    member->is_lost = false;
    const weft_err err = run_settle_member(member);
    if (err) {
        talk_not_started(member);
        fail_start(member, err);
    } else {
        start_again(member);
    }
}

static void member_not_moved(void *owner, size_t number, weft_err err)
{
    struct run *run = owner;
    talk_not_started(&run->members[number]);
    fail_start(&run->members[number], err);
}

static void rest_over(void *owner)
{
    struct run_member *member = owner;
    loop_timer_free(member->rest);
    member->rest = NULL;
    if (member->is_lost)
        launch_move(member->run->launch, member->number);
    else
        start_again(member);
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

// Names some of the members that have not started, and why.
static weft_err describe_missing(const struct run *run)
{
    enum { NAMED_MAX = 5 };
    struct buf text = {0};
    size_t missing = 0;
    for (size_t i = 0; i < run->crew.count; i++) {
        if (run->members[i].was_answered || ++missing > NAMED_MAX)
            continue;
        buf_format(&text, "\n  %s: ", run->members[i].name);
        launch_describe(run->launch, i, &text);
    }
    if (missing > NAMED_MAX)
        buf_format(&text, "\n  and %zu more", missing - NAMED_MAX);
    struct buf after = {0};
    text_append_duration(&after, (uint64_t)run->options->start_deadline_ms * 1000000);
    const weft_err err =
        err_set(WEFT_DEADLINE_EXCEEDED, "%zu of %zu members have not started after %s%s", missing,
                run->crew.count, buf_text(&after), buf_text(&text));
    buf_fini(&text);
    buf_fini(&after);
    return err;
}

// All have to start, so those that have are stopped.
static void deadline_over(void *owner)
{
    struct run *run = owner;
    if (run->is_over || run->answer_count == run->crew.count)
        return;
    const weft_err err = describe_missing(run);
    if (run->start_count == 0) {
        refuse(run, err);
        loop_stop(run->loop);
        return;
    }
    talk_stopping(run, err_text());
    err_clear();
    run_ask_to_stop(run, err_exit_code(err));
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
        snprintf(why, sizeof why, "%s: %s", words,
                 run->has_begun ? "the members are asked to end; once more kills them"
                                : "nothing has been started yet");
        talk_stopping(run, why);
    }
    const bool is_person = is_first || now_ns - run->first_signal_ns > SAME_SIGNAL_NS;
    tell_crew(run, (struct crew_event){CREW_STOP_ASKED, 0, signal_exit_code(number), is_person});
}

// People hear of it from the parent.
static void end_told(void *owner, int number)
{
    struct run *run = owner;
    run->first_signal_ns = clock_now_ns();
    run_ask_to_stop(run, signal_exit_code(number));
}

void run_ask_to_stop(struct run *run, int exit_code)
{
    tell_crew(run, (struct crew_event){CREW_STOP_ASKED, 0, exit_code, false});
}

// ---- From the crew to the world ------------------------------------------------------------------------

static weft_err start_process(struct run_member *member)
{
    const struct cluster_run_options *options = member->run->options;
    const char *reader = options->input_member;
    const bool reads = reader && strcmp(reader + (*reader == '/'), member->name) == 0;
    const struct crew_role *role = member->seat.role;
    struct crew_environment variables = {0};
    struct launch_file *files = NULL;
    size_t file_count = 0;
    weft_err err = run_make_variables(member, &variables);
    if (!err)
        err = run_list_files(member, &files, &file_count);
    const struct launch_start start = {
        .arguments = (const char *const *)role->command.items,
        .environment = (const char *const *)variables.variables.items,
        .directory = member->run->files.path && role->files.count ? member->run->files.path
                                                                  : options->directory,
        .files = files,
        .file_count = file_count,
        .input = reads ? NURSERY_INPUT_OURS : NURSERY_INPUT_NONE,
        .script = role->pre_script,
    };
    if (!err)
        err = launch_start_member(member->run->launch, member->number, &start);
    crew_environment_fini(&variables);
    free(files);
    return err;
}

// Others wait for the moment when all first starts have succeeded or failed.
static void note_answer(struct run_member *member)
{
    struct run *run = member->run;
    if (member->was_answered)
        return;
    member->was_answered = true;
    if (++run->answer_count < run->crew.count || run->refusal || !run->options->started)
        return;
    run_save(run);
    run->options->started(run->options->started_owner);
}

static void member_started(void *owner, size_t number, pid_t pid)
{
    struct run *run = owner;
    struct run_member *member = &run->members[number];
    run->start_count++;
    member->is_running = true;
    member->pid = pid;
    member->since_s = clock_calendar_s();
    run_begin_streams(member);
    run_begin_tensorboard(member);
    talk_started(member);
    note_answer(member);
}

// A program that cannot be executed is not the failure of a member as long as no member has started.
static void note_failed_start(struct run_member *member, weft_err err, bool is_tried)
{
    struct run *run = member->run;
    if (run->start_count == 0) {
        refuse(run, err);
    } else {
        if (is_tried)
            talk_not_started(member);
        run->start_failure = err;
    }
    fail_start(member, err);
    note_answer(member);
}

static void member_not_started(void *owner, size_t number, weft_err err)
{
    struct run *run = owner;
    note_failed_start(&run->members[number], err, !run->start_failure || run->options->keep_going);
}

// When one of the others cannot be started, those after it are not even tried, unless the run continues without it.
static void start_member(struct run_member *member)
{
    struct run *run = member->run;
    const bool is_tried = !run->refusal && (!run->start_failure || run->options->keep_going);
    const weft_err err = is_tried ? start_process(member) : WEFT_CANCELLED;
    if (err)
        note_failed_start(member, is_tried ? err : run->start_failure, is_tried);
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

// The processes of a lost host may live for a while after its loss was noticed: no member runs twice.
static void rest(struct run_member *member, uint32_t delay_ms)
{
    struct run *run = member->run;
    const uint32_t lost_ms = member->is_lost ? run->launcher->lost_rest_ms : 0;
    member->rest =
        loop_timer_new(run->loop, delay_ms > lost_ms ? delay_ms : lost_ms, 0, rest_over, member);
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
        rest(member, action->delay_ms);
        break;
    case CREW_GIVEN_UP:
        if (!run->first_failure)
            run->first_failure = member;
        talk_given_up(member, action->exit_code);
        break;
    case CREW_TERMINATE:
        launch_signal(run->launch, member->number, SIGNAL_TERMINATE);
        break;
    case CREW_KILL:
        talk_killing(member);
        launch_signal(run->launch, member->number, SIGNAL_KILL);
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
    if (run->refusal) {  // of a launcher that refuses at once
        loop_stop(run->loop);
        return;
    }
    run_save(run);
    if (run->event_count == 0)
        return;
    const struct crew_event last = run->events[--run->event_count];
    tell_crew(run, last);
}

static void places_found(void *owner)
{
    struct run *run = owner;
    if (run->is_over)
        return;
    const weft_err err = run_settle_members(run);
    if (err) {
        refuse(run, err);
        loop_stop(run->loop);
        return;
    }
    run->has_begun = true;
    begin(run);
}

static void places_missing(void *owner, weft_err err)
{
    struct run *run = owner;
    if (!run->is_over)
        refuse(run, err);
    loop_stop(run->loop);
}

static const struct launch_calls launch_calls_of_run = {
    .placed = places_found,
    .failed = places_missing,
    .moved = member_moved,
    .not_moved = member_not_moved,
    .started = member_started,
    .not_started = member_not_started,
    .output = take_output,
    .ended = member_ended,
    .lost = host_lost,
    .news = news_came,
};

// ---- Setting up ------------------------------------------------------------------------------------------

static bool has_restarts(const struct crew_spec *spec)
{
    for (size_t i = 0; i < spec->roles.count; i++)
        if (spec->roles.items[i].restarts > 0)
            return true;
    return false;
}

// The journals of members are on their hosts: in the directory of the run there, or in one that all hosts share.
static weft_err keep_far_journal(struct run *run)
{
    const char *journal = run->options->journal;
    if (journal && *journal != '/')
        return err_set(WEFT_INVALID_ARGUMENT,
                       "--journal %s: on other machines it has to be an absolute path\n"
                       "  try: a directory that all of them share",
                       journal);
    run->kept_journal = journal ? strdup(journal) : NULL;
    return run->kept_journal || !journal ? WEFT_OK : err_no_memory("for the name of the journal");
}

// A directory that the user named stays; another one goes with us.
static weft_err open_journal(struct run *run)
{
    const struct cluster_run_options *options = run->options;
    run->journal.alive = -1;
    run->has_restarts = has_restarts(run->spec);
    if (run->launcher->is_far)
        return keep_far_journal(run);
    if (options->journal) {
        const weft_err err = own_make_named_directory(options->journal);
        if (err)
            return err_wrap(err, "--journal");
        run->kept_journal = workdir_absolute(options->journal);
        return run->kept_journal ? WEFT_OK : err_no_memory("for the name of the journal");
    }
    if (!run->has_restarts)
        return WEFT_OK;
    const char *tmp = options->tmp ? options->tmp : getenv("TMPDIR");
    return err_wrap(workdir_open(&run->journal, tmp && *tmp ? tmp : "/tmp"), "the journal");
}

static weft_err catch_signals(struct run *run)
{
    if (run->options->is_told)
        return loop_signal_new(run->loop, SIGNAL_TERMINATE, end_told, run) ? WEFT_OK
                                                                           : WEFT_INTERNAL;
    for (const int *number = signals_to_end; *number; number++)
        if (!signal_is_ignored(*number) && !loop_signal_new(run->loop, *number, signal_caught, run))
            return WEFT_INTERNAL;
    return WEFT_OK;
}

static weft_err open_launch(struct run *run)
{
    const struct cluster_run_options *options = run->options;
    const struct launch_options wanted = {
        .url = options->on,
        .loop = run->loop,
        .nursery = run->nursery,
        .wants = run->wants,
        .count = run->crew.count,
        .name = options->name ? options->name : run->spec->name,
        .ssh = options->ssh,
        .settings = (const char *const *)run->settings.items,
        .is_kept = options->shelf != NULL,
        .calls = &launch_calls_of_run,
        .owner = run,
    };
    return launch_open(run->launcher, &run->launch, &wanted);
}

// In this order: processes are forked before there is anything that they should not hold.
static weft_err set_up(struct run *run)
{
    weft_err err = launcher_find(run->options->on, &run->launcher);
    if (!err)
        err = run_open_settings(run);
    if (!err)
        err = open_journal(run);
    if (!err)
        err = run_open_files(run);
    if (!err)
        err = run_open_archives(run);
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
        err = run_make_members(run);
    if (!err)
        err = open_launch(run);
    if (!err)
        err = run_open_logs(run);
    if (!err)
        err = run_open_shelf(run);
    if (err)
        return err;
    run->crew.keeps_going = run->options->keep_going;
    if (run->options->grace_ms)
        run->crew.grace_ms = run->options->grace_ms;
    if (run->options->timeout_ms)
        run->limit = loop_timer_new(run->loop, run->options->timeout_ms, 0, limit_over, run);
    if (run->options->start_deadline_ms)
        run->deadline =
            loop_timer_new(run->loop, run->options->start_deadline_ms, 0, deadline_over, run);
    return WEFT_OK;
}

static void tear_down(struct run *run)
{
    run_close_shelf(run);
    if (run->launch)
        talk_conclude(run);
    launch_close(run->launch);
    loop_free(run->loop);
    nursery_free(run->nursery);
    run_close_logs(run);
    run_free_members(run);
    run_close_sinks(run);
    workdir_close(&run->journal);
    run_close_files(run);
    run_close_archives(run);
    run_free_tensorboard(run);
    free(run->kept_journal);
    run_close_settings(run);
}

weft_err cluster_run(const struct crew_spec *spec, const struct cluster_run_options *options,
                     int *exit_code)
{
    struct run *run = calloc(1, sizeof *run);
    if (!run)
        return err_no_memory("for a cluster");
    run->options = options;
    run->spec = spec;
    run->begun_ns = clock_now_ns();
    run->begun_s = clock_calendar_s();
    weft_err err = set_up(run);
    if (!err)
        err = launch_place_all(run->launch);
    if (!err && !run->refusal)
        loop_run(run->loop);
    if (run->refusal)
        err = run->refusal;
    else
        err_keep(&run->refusal_text);
    *exit_code = run->exit_code;
    for (size_t i = 0; options->ended_well && run->members && i < run->crew.count; i++)
        *options->ended_well += run->crew.members[i].state == CREW_DONE;
    tear_down(run);
    if (err)
        err_put_back(&run->refusal_text);
    free(run);
    return err;
}
