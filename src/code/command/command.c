// The job of commands: where records, pairs and lines go. How a command is run is in runner.c.
//
//   map_block    records -> [rewritten] -> mapper -> lines -> split -> [combiner ->] emit
//                map-only: lines are the output
//   reduce       pairs -> lines -> reducer -> lines are the output
//                aggregate, identity: done here

#include "code/command/command.h"

#include <stdlib.h>

#include "code/command/lines.h"
#include "code/command/runner.h"
#include "mapreduce/work/map/words.h"

enum { LINES_BYTES = 256 << 10 };  // collected before they are written

// ---- Lines that commands print ------------------------------------------------------------------------------

static void check_memory(struct command_runner *runner, const struct buf *buf)
{
    if (buf->has_failed)
        command_runner_fail(runner, err_no_memory("for a line"));
}

static void print_lines(struct command_runner *runner, weft_bytes lines)
{
    if (lines.size > 0 && !runner->drops_output && !runner->facts.is_sample)
        weft_write(runner->task, lines, words_count_lines(lines.data, lines.size));
}

static void emit_line(struct command_runner *runner, weft_bytes line,
                      const struct command_separator *separator, uint32_t fields, bool combines)
{
    weft_bytes key, value;
    command_split_line(separator, fields, line, &key, &value);
    // There a line without a separator is a key with an empty value; here it stays the line it is.
    if (!value.data && runner->config.is_hadoop)
        value = (weft_bytes){"", 0};
    const weft_bytes encoded = command_keys_encode(&runner->config.keys, key, &runner->key);
    if (runner->key.has_failed)
        check_memory(runner, &runner->key);
    else if (combines)
        command_runner_combine(runner, encoded, value);
    else
        weft_emit(runner->task, encoded, value);
}

static void emit_lines(struct command_runner *runner, weft_bytes lines)
{
    const struct command_config *config = &runner->config;
    const bool combines = config->steps[COMMAND_ROLE_COMBINE].how == COMMAND_PROCESS;
    for (weft_bytes line; weft_next_line(&lines, &line) && !runner->failure;)
        emit_line(runner, line, &config->separator, config->key_fields, combines);
}

static weft_bytes cut_for_hadoop(struct command_runner *runner, weft_bytes lines)
{
    const struct command_config *config = &runner->config;
    const bool is_map = !runner->facts.is_reducing;
    return command_lines_cut(lines, is_map ? &config->separator : &config->reduce_out_separator,
                             is_map ? config->key_fields : config->reduce_key_fields,
                             &config->output_separator, &runner->cut);
}

void command_take_output(void *owner, weft_bytes lines)
{
    struct command_runner *runner = owner;
    const bool is_hadoop = runner->config.is_hadoop;
    if (is_hadoop)
        lines = command_lines_end(lines, true, &runner->output);
    if (!runner->facts.is_reducing && !runner->facts.is_map_only) {
        emit_lines(runner, lines);
    } else {
        print_lines(runner, is_hadoop ? cut_for_hadoop(runner, lines) : lines);
        check_memory(runner, &runner->cut);
    }
    check_memory(runner, &runner->output);
}

// Output that goes out as it is need not be looked at, and is read to where it is written from.
char *command_find_room(void *owner, size_t *size)
{
    struct command_runner *runner = owner;
    const bool is_output = runner->facts.is_reducing || runner->facts.is_map_only;
    if (!is_output || runner->config.is_hadoop || runner->drops_output || runner->facts.is_sample ||
        runner->facts.is_probe)
        return NULL;
    return task_output_room(runner->task, size);
}

void command_fill_room(void *owner, weft_bytes filled)
{
    struct command_runner *runner = owner;
    task_output_add(runner->task, filled, words_count_lines(filled.data, filled.size));
}

// The bytes of a combiner's lines are in its pump's buffer, so that those of the mapper stay.
void command_take_combined(void *owner, weft_bytes lines)
{
    struct command_runner *runner = owner;
    const struct command_config *config = &runner->config;
    const bool is_hadoop = config->is_hadoop;
    for (weft_bytes line; command_lines_next(&lines, is_hadoop, &line) && !runner->failure;)
        emit_line(runner, line, is_hadoop ? &config->reduce_out_separator : &config->separator,
                  is_hadoop ? config->reduce_key_fields : config->key_fields, false);
}

// ---- Map ------------------------------------------------------------------------------------------------------

// Hadoop does not take a byte order mark at the front of a file for text.
static weft_bytes skip_mark(const struct command_runner *runner, weft_bytes block)
{
    const bool has_mark = runner->config.is_hadoop && block.size >= 3 &&
                          memcmp(block.data, "\xef\xbb\xbf", 3) == 0 &&
                          weft_input_offset(runner->task) == 0;
    return has_mark ? (weft_bytes){block.data + 3, block.size - 3} : block;
}

// The records as the mapper is to see them.
static weft_bytes make_input(struct command_runner *runner, weft_bytes block)
{
    const struct command_config *config = &runner->config;
    const struct command_separator tab = {"\t", 1};
    const char end = (char)command_record_end(runner);
    block = skip_mark(runner, block);
    // Records with ends of their own have them, but for the last of a file.
    if (end != '\n' && !config->is_hadoop && config->input == COMMAND_INPUT_PLAIN) {
        if (block.size == 0 || block.data[block.size - 1] == end)
            return block;
        runner->input.size = 0;
        buf_append(&runner->input, block.data, block.size);
        buf_append(&runner->input, &end, 1);
        return buf_bytes(&runner->input);
    }
    if (config->input == COMMAND_INPUT_OFFSET)
        return command_lines_number(block, config->is_hadoop, weft_input_offset(runner->task),
                                    &runner->input);
    block = command_lines_end(block, config->is_hadoop, &runner->input);
    if (config->input == COMMAND_INPUT_PAIRS && !runner->input.has_failed)
        block = command_lines_cut(block, &tab, 1, &tab, &runner->cut);
    return block;
}

// The last record of a file may have no end; it gets that of its kind. Nothing is copied for it.
static void write_plain(struct command_runner *runner, weft_bytes block)
{
    const char end = (char)command_record_end(runner);
    command_runner_write(runner, block);
    if (block.size > 0 && block.data[block.size - 1] != end)
        command_runner_write(runner, (weft_bytes){&end, 1});
}

static bool is_end(char byte, char end)
{
    return byte == '\n' || byte == '\r' || byte == 0 || byte == end;
}

// A kept command would read a record that equals the marker as the end of its task, and the records
// after it as another task's. Many commands read \r as an end, too.
static weft_err refuse_marker(const struct command_runner *runner, weft_bytes block)
{
    const char *at = block.data, *const end = block.data + block.size;
    const char own = (char)command_record_end(runner);
    while (at < end && (at = memchr(at, COMMAND_MARKER[0], (size_t)(end - at)))) {
        if ((at == block.data || is_end(at[-1], own)) && (at + 1 == end || is_end(at[1], own)))
            return err_set(
                WEFT_INVALID_ARGUMENT,
                "the record at byte %llu of %.200s is the line \\x1e, which ends the task "
                "of a kept command\n  try: without --keep",
                (unsigned long long)(weft_input_offset(runner->task) + (uint64_t)(at - block.data)),
                weft_input_name(runner->task));
        at++;
    }
    return WEFT_OK;
}

static void map_by_command(weft_task *task, weft_bytes block)
{
    struct command_runner *runner = weft_task_state(task);
    if (!command_runner_start(runner, COMMAND_ROLE_MAP))
        return;
    const bool is_plain = !runner->config.is_hadoop && runner->config.input == COMMAND_INPUT_PLAIN;
    if (runner->config.is_kept)
        command_runner_fail(runner, refuse_marker(runner, block));
    if (is_plain) {
        write_plain(runner, block);
        return;
    }
    const weft_bytes input = make_input(runner, block);
    check_memory(runner, &runner->input);
    check_memory(runner, &runner->cut);
    command_runner_write(runner, input);
}

static void map_identity(weft_task *task, weft_bytes block)
{
    struct command_runner *runner = weft_task_state(task);
    const weft_bytes input = make_input(runner, block);
    check_memory(runner, &runner->input);
    check_memory(runner, &runner->cut);
    if (!runner->failure)
        command_take_output(runner, input);
}

// ---- Reduce -----------------------------------------------------------------------------------------------------

static void reduce_by_command(weft_task *task, weft_bytes key, weft_values *values)
{
    struct command_runner *runner = weft_task_state(task);
    const struct command_config *config = &runner->config;
    if (!command_runner_start(runner, COMMAND_ROLE_REDUCE))
        return;
    key = command_keys_decode(&config->keys, key);
    for (weft_bytes value; weft_next(values, &value) && !runner->failure;) {
        command_append_line(&runner->lines, key, &config->reduce_separator, value);
        if (runner->lines.size < LINES_BYTES)
            continue;
        check_memory(runner, &runner->lines);
        command_runner_write(runner, buf_bytes(&runner->lines));
        runner->lines.size = 0;
    }
}

static void print_pair(struct command_runner *runner, weft_bytes key, weft_bytes value)
{
    command_append_line(&runner->lines, key, &runner->config.output_separator, value);
    if (runner->lines.size < LINES_BYTES)
        return;
    print_lines(runner, buf_bytes(&runner->lines));
    runner->lines.size = 0;
}

static void reduce_identity(weft_task *task, weft_bytes key, weft_values *values)
{
    struct command_runner *runner = weft_task_state(task);
    key = command_keys_decode(&runner->config.keys, key);
    for (weft_bytes value; weft_next(values, &value);)
        print_pair(runner, key, value);
}

static weft_err aggregate_all(struct command_runner *runner, weft_bytes key, weft_values *values)
{
    weft_err code =
        aggregate_begin(&runner->aggregate, command_keys_decode(&runner->config.keys, key));
    for (weft_bytes value; !code && weft_next(values, &value);)
        code = aggregate_add(&runner->aggregate, value);
    return code;
}

static void reduce_aggregate(weft_task *task, weft_bytes key, weft_values *values)
{
    struct command_runner *runner = weft_task_state(task);
    weft_bytes result;
    weft_err code = aggregate_all(runner, key, values);
    if (!code)
        code = aggregate_report(&runner->aggregate, &result);
    if (code)
        command_runner_fail(runner, code);
    else
        print_pair(runner, runner->aggregate.name, result);
}

// Called by the engine, around which there is no attempt of ours.
static void combine_aggregate(weft_task *task, weft_bytes key, weft_values *values)
{
    struct command_runner *runner = weft_task_state(task);
    struct aggregate *aggregate = &runner->aggregate;
    weft_bytes value;
    weft_err code = aggregate_begin(aggregate, command_keys_decode(&runner->config.keys, key));
    if (!code && !aggregate_can_combine(aggregate)) {
        while (weft_next(values, &value))
            weft_emit(task, key, value);
        return;
    }
    while (!code && weft_next(values, &value))
        code = aggregate_add(aggregate, value);
    if (!code)
        code = aggregate_report(aggregate, &value);  // so that what cannot be counted fails here
    if (code)
        weft_fail(task, "%s", err_text());
    for (size_t at = 0; !code && aggregate_next_combined(aggregate, &at, &value);)
        weft_emit(task, key, value);
}

// ---- The job ------------------------------------------------------------------------------------------------------

// A mapper runs even when no record begins in its piece, and as Hadoop's a reducer, too.
static void start_without_input(struct command_runner *runner)
{
    const struct command_config *config = &runner->config;
    const bool is_reducing = runner->facts.is_reducing;
    const enum command_role role = is_reducing ? COMMAND_ROLE_REDUCE : COMMAND_ROLE_MAP;
    if (runner->has_started || runner->facts.is_sample ||
        config->steps[role].how != COMMAND_PROCESS || (is_reducing && !config->is_hadoop))
        return;
    runner->drops_output = is_reducing;
    command_runner_start(runner, role);
}

weft_err command_end(weft_task *task)
{
    struct command_runner *runner = weft_task_state(task);
    start_without_input(runner);
    check_memory(runner, &runner->lines);
    if (runner->facts.is_reducing &&
        runner->config.steps[COMMAND_ROLE_REDUCE].how == COMMAND_PROCESS)
        command_runner_write(runner, buf_bytes(&runner->lines));
    else if (!runner->failure)
        print_lines(runner, buf_bytes(&runner->lines));
    runner->lines.size = 0;
    return command_runner_end(runner);
}

// The engine asks for the part of a key without saying of which job: there is one per process.
static struct command_keys partition_keys;

static uint32_t partition(weft_bytes key, uint32_t part_count)
{
    return command_keys_partition(&partition_keys, key, part_count);
}

static void configure_reduce(weft_job *job, const struct command_config *config)
{
    const enum command_how combine = config->steps[COMMAND_ROLE_COMBINE].how;
    switch (config->steps[COMMAND_ROLE_REDUCE].how) {
    case COMMAND_NONE:
        job->reduce = NULL;
        break;
    case COMMAND_IDENTITY:
        job->reduce = reduce_identity;
        break;
    case COMMAND_AGGREGATE:
        job->reduce = reduce_aggregate;
        job->combine = combine == COMMAND_NONE ? combine_aggregate : NULL;
        break;
    case COMMAND_PROCESS:
        job->reduce = reduce_by_command;
        job->whole_parts = true;
        break;
    }
    if (combine == COMMAND_AGGREGATE && job->reduce)
        job->combine = combine_aggregate;
}

static weft_err configure(weft_job *job, const weft_args *args)
{
    struct command_config config;
    weft_err code = command_config_init(&config, args);
    if (!code) {
        const bool is_identity = config.steps[COMMAND_ROLE_MAP].how == COMMAND_IDENTITY;
        job->map_block = is_identity ? map_identity : map_by_command;
        configure_reduce(job, &config);
        if (config.keys.partition != COMMAND_BY_RANGE) {
            command_keys_fini(&partition_keys);
            partition_keys = config.keys;
            config.keys = (struct command_keys){0};
            job->partition = partition;
        }
    }
    command_config_fini(&config);
    return code;
}

// Its address is the job's: copies are known by it, and a user's job that is called the same is another.
static const char job_name[] = "command";

const weft_job command_job = {
    .name = job_name,
    .map_block = map_by_command,
    .options = "m:c:r:SKFk:s:p:o:e:d:f:i:t:I:xHn:R:O:",
    .usage = "Runs commands as mapper, combiner and reducer; see --map.\n",
    .configure = configure,
};
