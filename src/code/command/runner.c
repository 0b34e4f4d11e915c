// Running the commands of an attempt, and describing their failures.
//
// A failure is kept until the attempt ends and reported then, because its message has several lines
// and belongs to the command, not to the current record.

#include "code/command/runner.h"

#include <stdlib.h>
#include <unistd.h>

#include "code/command/command.h"
#include "sys/machine/mem.h"

enum {
    TAIL_BYTES_MAX = 600,          // of standard error in a sentence, which has ERR_TEXT_BYTES_MAX
    SHOWN_COMMAND_BYTES = 120,     // of a command in a sentence
    LAST_TASK_PATIENCE_MS = 5000,  // for a kept command to end by itself
};

static struct nursery *the_nursery;
static const char *job_id = "job_local_0001", *job_name = "weft";

void command_set_nursery(struct nursery *nursery)
{
    the_nursery = nursery;
}

struct nursery *command_nursery(void)
{
    return the_nursery;
}

void command_set_job(const char *id, const char *name)
{
    job_id = id;
    job_name = name;
}

// ---- Its life -----------------------------------------------------------------------------------------------

static void count(void *owner, const char *name, int64_t amount)
{
    struct command_runner *runner = owner;
    // Hadoop does not listen to a reducer without input.
    if (!runner->facts.is_sample && !runner->drops_output)
        weft_counter_add(runner->task, name, amount);
}

static void tell(void *owner, weft_bytes status)
{
    struct command_runner *runner = owner;
    if (!runner->facts.is_sample && !runner->facts.is_probe)
        task_tell_status(runner->task, status);
}

static bool watch(void *owner, pid_t pid)
{
    struct command_runner *runner = owner;
    return task_watch_outside(runner->task, mem_resident_bytes_of(pid));
}

weft_err command_runner_new(const weft_args *args, struct command_runner **runner)
{
    struct command_runner *made = calloc(1, sizeof *made);
    *runner = made;
    if (!made)
        return err_no_memory("for commands");
    command_stderr_init(&made->err, STDERR_FILENO, count, made);
    made->err.tell = tell;
    command_pump_init(&made->pump, command_take_output, made, &made->err);
    command_pump_init(&made->combiner, command_take_combined, made, &made->err);
    made->pump.watch = made->combiner.watch = watch;
    made->pump.room = command_find_room;
    made->pump.fill = command_fill_room;
    const weft_err code = command_config_init(&made->config, args);
    if (code) {
        command_runner_free(made);
        *runner = NULL;
    }
    return code;
}

// Output of a kept command after its last answer belongs to no task, and is dropped.
static void retire_kept(struct command_runner *runner)
{
    struct process_exit exit;
    if (runner->pump.is_running && runner->is_idle) {
        child_close_in(&runner->pump.child);
        child_wait(&runner->pump.child, LAST_TASK_PATIENCE_MS, &exit);
    }
    command_pump_abort(&runner->pump);
    runner->is_idle = false;
}

void command_runner_free(struct command_runner *runner)
{
    if (!runner)
        return;
    retire_kept(runner);
    command_pump_fini(&runner->pump);
    command_pump_fini(&runner->combiner);
    command_stderr_fini(&runner->err);
    command_combine_fini(&runner->combine);
    command_environment_fini(&runner->environment);
    command_config_fini(&runner->config);
    aggregate_fini(&runner->aggregate);
    struct buf *const bufs[] = {&runner->lines, &runner->input, &runner->output,
                                &runner->cut,   &runner->key,   &runner->failure_text};
    for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++)
        buf_fini(bufs[i]);
    free(runner);
}

// ---- Failures -----------------------------------------------------------------------------------------------

void command_runner_fail(struct command_runner *runner, weft_err code)
{
    if (!code || runner->failure)
        return;
    runner->failure = code;
    runner->failure_text.size = 0;
    buf_append_text(&runner->failure_text, err_text());
    command_pump_abort(&runner->pump);
    command_pump_abort(&runner->combiner);
}

static const char *const role_names[] = {"map", "combine", "reduce"};

static void append_command(const struct command_runner *runner, enum command_role role,
                           struct buf *to)
{
    const char *line = runner->config.steps[role].line;
    const bool is_long = strlen(line) > SHOWN_COMMAND_BYTES;
    buf_format(to, "%s command '%.*s%s'", role_names[role], SHOWN_COMMAND_BYTES, line,
               is_long ? "..." : "");
}

// What else may help: the words of the command itself, and what in its line a shell would have changed.
static void append_hints(const struct command_runner *runner, enum command_role role,
                         struct buf *to)
{
    char expansion[32];
    if (!runner->config.is_shell) {
        command_words_find_expansion(runner->config.steps[role].line, expansion, sizeof expansion);
        if (expansion[0])
            buf_format(to, " (%s in it means something only to a shell: %s)", expansion,
                       runner->config.is_hadoop ? "sh -c 'COMMAND'" : "--shell");
    }
    struct buf tail = {0};
    if (command_stderr_append_tail(&runner->err, TAIL_BYTES_MAX, &tail)) {
        if (tail.size && tail.data[tail.size - 1] == '\n')
            tail.size--;
        buf_format(to, "; the end of its standard error:\n%s", buf_text(&tail));
    } else {
        buf_append_text(to, "; it printed nothing on standard error");
        if (strstr(runner->config.steps[role].line, "grep"))
            buf_format(to, " (a grep that finds nothing exits like this: %s)",
                       runner->config.is_hadoop ? "sh -c 'grep ... || true'"
                                                : "--shell and 'grep ... || true'");
    }
    buf_fini(&tail);
}

static weft_err refuse_exit(const struct command_runner *runner, enum command_role role,
                            const struct process_exit *exit, const char *more)
{
    struct buf text = {0};
    char how[128];
    process_describe_exit(exit, how, sizeof how);
    append_command(runner, role, &text);
    buf_format(&text, " %s%s%s", exit->was_signalled ? "was " : "", how, more);
    if (role != COMMAND_ROLE_REDUCE && runner->input_name)
        buf_format(&text, " on %.200s", runner->input_name);
    if (role != COMMAND_ROLE_REDUCE && runner->more_inputs > 0)
        buf_format(&text, " and %u more input%s", runner->more_inputs,
                   runner->more_inputs == 1 ? "" : "s");
    append_hints(runner, role, &text);
    const weft_err code = err_set(WEFT_ABORTED, "%s", buf_text(&text));
    buf_fini(&text);
    return code;
}

static bool is_good(const struct command_runner *runner, const struct process_exit *exit)
{
    return exit->is_known &&
           ((!exit->was_signalled && exit->number == 0) || runner->config.allows_any_exit);
}

// ---- Processes ------------------------------------------------------------------------------------------------

// Hadoop's cuts are a byte before ours (plan_hadoop.h); the ends of a file are the same.
static void move_place(const struct task_facts *facts, struct command_place *place)
{
    if (facts->begin > 0) {
        place->input_start--;
        place->input_bytes++;
    }
    place->input_bytes -= facts->end < facts->input_size;
}

// A whole file is a record: there a mapper is for one, too.
static bool is_per_file(const struct command_runner *runner)
{
    return runner->config.is_per_file || task_record_format(runner->task)->kind == RECORD_FILES;
}

unsigned char command_record_end(const struct command_runner *runner)
{
    const struct record_format *format = task_record_format(runner->task);
    const bool has_own = format->kind == RECORD_LINES || format->kind == RECORD_CHUNKS;
    return has_own ? format->delimiter : '\n';
}

// A task may have several input files; facts are about the first. A process for all of them gets no
// variables about a file: a name that is right only for the first file would be worse.
static void describe_place(struct command_runner *runner, struct command_place *place)
{
    const struct task_facts *facts = &runner->facts;
    *place = (struct command_place){.job_id = job_id,
                                    .job_name = job_name,
                                    .task = facts->task,
                                    .attempt = facts->attempt,
                                    .task_count = facts->task_count,
                                    .map_count = facts->map_count,
                                    .is_map = !facts->is_reducing,
                                    .is_map_only = facts->is_map_only,
                                    .names_input_as_hadoop = runner->config.is_hadoop};
    if (facts->is_reducing || (facts->piece_count > 1 && !is_per_file(runner)))
        return;
    const char *at_hand = runner->has_started ? weft_input_name(runner->task) : NULL;
    place->input_file = runner->config.is_hadoop ? facts->input_path : facts->input_name;
    place->input_start = facts->begin;
    place->input_bytes = facts->end - facts->begin;
    if (runner->config.is_hadoop)
        move_place(facts, place);
    if (at_hand && facts->input_name && strcmp(at_hand, facts->input_name) != 0) {
        place->input_file = at_hand;
        place->input_start = weft_input_offset(runner->task);
    }
}

static weft_err start_process(struct command_runner *runner, enum command_role role,
                              struct command_pump *pump)
{
    struct command_place place;
    struct nursery *nursery = command_nursery();
    if (!nursery)
        return err_set(WEFT_UNAVAILABLE, "commands cannot be started in this process");
    describe_place(runner, &place);
    const weft_err made = command_environment_make(
        &runner->environment, &place, (const char *const *)environ, runner->config.variables.items);
    if (made)
        return made;
    const struct nursery_spec spec = {.arguments = runner->config.steps[role].arguments,
                                      .environment = runner->environment.list.items,
                                      .directory = runner->config.directory};
    const weft_err code = command_pump_start(pump, nursery, &spec);
    // Every attempt in this process would fail. A system that is out of memory may have killed the nursery.
    if (code == WEFT_UNAVAILABLE)
        nursery_follow(nursery);
    return err_wrap(code, "%s command", role_names[role]);
}

// Waits for the end of the process; whatever is wrong with it is the attempt's failure.
static void finish_process(struct command_runner *runner, enum command_role role,
                           struct command_pump *pump)
{
    struct process_exit exit;
    if (!pump->is_running || runner->failure)
        return;
    weft_err code = command_pump_finish(pump, &exit);
    if (!code && !is_good(runner, &exit))
        code = refuse_exit(runner, role, &exit, "");
    command_stderr_settle(&runner->err, !code);
    command_runner_fail(runner, code);
}

// A reducer has a part, and no other task to be kept for.
static bool is_kept_role(const struct command_runner *runner, enum command_role role)
{
    return runner->config.is_kept && role == COMMAND_ROLE_MAP;
}

static void start_for(struct command_runner *runner, enum command_role role, uint32_t input)
{
    runner->role = role;
    runner->input_index = input;
    runner->pump.is_kept = is_kept_role(runner, role);
    runner->pump.record_end =
        runner->facts.is_map_only && role == COMMAND_ROLE_MAP ? command_record_end(runner) : '\n';
    command_runner_fail(runner, start_process(runner, role, &runner->pump));
}

// Every map task has its command: it gets ready while the engine looks at the first records.
static bool is_started_early(const struct command_runner *runner, enum command_role role)
{
    const struct task_facts *facts = &runner->facts;
    return role == COMMAND_ROLE_MAP && facts->input_name && !facts->is_sample && !facts->is_probe &&
           runner->config.steps[role].how == COMMAND_PROCESS && !runner->pump.is_running;
}

void command_runner_begin(struct command_runner *runner, weft_task *task)
{
    runner->task = task;
    task_describe(task, &runner->facts);
    const enum command_role role =
        runner->facts.is_reducing ? COMMAND_ROLE_REDUCE : COMMAND_ROLE_MAP;
    if (!runner->is_idle || runner->role != role)
        retire_kept(runner);
    command_pump_abort(&runner->combiner);
    command_combine_clear(&runner->combine);
    command_stderr_begin(&runner->err);
    // A sample is read again as part of a task: one message about it is enough.
    const bool is_silent = runner->facts.is_sample || runner->facts.is_probe;
    runner->err.fd = is_silent ? -1 : STDERR_FILENO;
    runner->lines.size = 0;
    runner->has_started = runner->drops_output = false;
    runner->more_inputs = 0;
    runner->failure = WEFT_OK;
    if (is_started_early(runner, role))
        start_for(runner, role, runner->facts.input);
}

// One that was started for a file of which nothing came is of no use for another.
bool command_runner_start(struct command_runner *runner, enum command_role role)
{
    const bool is_map = role == COMMAND_ROLE_MAP && runner->facts.input_name;
    const uint32_t input = is_map ? weft_input_index(runner->task) : 0;
    const bool is_other_input = is_map && input != runner->input_index;
    if (runner->failure)
        return false;
    if (runner->has_started && is_other_input && !is_per_file(runner)) {
        runner->input_index = input;
        runner->more_inputs++;
        return true;
    }
    if (runner->has_started && (!is_other_input || is_kept_role(runner, role)))
        return true;
    if (is_other_input && runner->has_started) {
        finish_process(runner, role, &runner->pump);
        task_describe(runner->task, &runner->facts);
    } else if (is_other_input && !runner->is_idle && is_per_file(runner)) {
        command_pump_abort(&runner->pump);
    }
    runner->has_started = true;
    runner->input_name = is_map ? weft_input_name(runner->task) : NULL;
    if (!runner->pump.is_running && !runner->failure)
        start_for(runner, role, input);
    runner->input_index = input;
    runner->is_idle = false;
    return !runner->failure;
}

// A command that has stopped reading may have died: then the rest of the task need not be read for it.
static void look_after(struct command_runner *runner)
{
    struct process_exit exit;
    if (child_wait(&runner->pump.child, 0, &exit) && !is_good(runner, &exit))
        finish_process(runner, runner->role, &runner->pump);
}

void command_runner_write(struct command_runner *runner, weft_bytes data)
{
    bool is_closed;
    if (runner->failure || data.size == 0 || !runner->pump.is_running)
        return;
    const bool is_lent = task_is_mapped(runner->task, data);
    command_runner_fail(runner, command_pump_write(&runner->pump, data, is_lent, &is_closed));
    if (!runner->failure && is_closed)
        look_after(runner);
}

// ---- Combining --------------------------------------------------------------------------------------------------

static void run_combiner(struct command_runner *runner)
{
    if (runner->failure || runner->combine.pairs.count == 0)
        return;
    weft_err code = start_process(runner, COMMAND_ROLE_COMBINE, &runner->combiner);
    if (!code)
        code = command_combine_write(&runner->combine, &runner->config.keys,
                                     &runner->config.reduce_separator, &runner->combiner);
    command_runner_fail(runner, code);
    finish_process(runner, COMMAND_ROLE_COMBINE, &runner->combiner);
}

void command_runner_combine(struct command_runner *runner, weft_bytes key, weft_bytes value)
{
    bool is_full;
    if (runner->failure)
        return;
    command_runner_fail(runner, command_combine_add(&runner->combine, key, value, &is_full));
    if (!runner->failure && is_full)
        run_combiner(runner);
}

// ---- The end of an attempt ----------------------------------------------------------------------------------------

static void end_kept(struct command_runner *runner)
{
    bool is_kept;
    struct process_exit exit;
    weft_err code = command_pump_mark(&runner->pump, &is_kept);
    runner->is_idle = !code && is_kept;
    if (!code && !is_kept) {
        code = command_pump_finish(&runner->pump, &exit);
        if (!code)
            code =
                refuse_exit(runner, runner->role, &exit,
                            " instead of answering the end of a task; without --keep it need not");
    }
    command_stderr_settle(&runner->err, !code);
    command_runner_fail(runner, code);
}

void command_runner_cancel(struct command_runner *runner)
{
    command_pump_abort(&runner->pump);
    command_pump_abort(&runner->combiner);
    runner->is_idle = false;
}

weft_err command_runner_end(struct command_runner *runner)
{
    if (!runner->failure && runner->pump.is_running && is_kept_role(runner, runner->role))
        end_kept(runner);
    else
        finish_process(runner, runner->role, &runner->pump);
    run_combiner(runner);
    if (!runner->failure)
        return WEFT_OK;
    return err_set(runner->failure, "%s", buf_text(&runner->failure_text));
}
