// grep: the lines that match a pattern, in input order, as LC_ALL=C grep -ahE prints them.
//
// Only -c reduces: each block emits the number of its file, so that files come out in input order, and a
// file without a match still counts 0.

#include "lang/builtin.h"

#include "base/number.h"
#include "lang/builtin_lines.h"
#include "lang/search_pattern.h"

static weft_err new_pattern(struct pattern **pattern, const weft_args *args)
{
    const struct pattern_options options = {
        .is_fixed = weft_option(args, 'F', 0) != NULL,
        .folds_case = weft_option(args, 'i', 0) != NULL,
    };
    return err_wrap(pattern_new(pattern, weft_argument(args, 0), options), "grep");
}

static weft_err setup(weft_task *task)
{
    struct pattern *pattern;
    const weft_err err = new_pattern(&pattern, weft_task_args(task));
    weft_set_state(task, pattern);
    return err;
}

static void teardown(weft_task *task)
{
    pattern_free(weft_state(task));
}

static void check_failure(weft_task *task)
{
    if (pattern_failure(weft_state(task)))
        weft_fail(task, "%s", weft_error());
}

// ---- records that are no lines: one matches when a line of it does

static bool has_plain_lines(const weft_task *task)
{
    struct record_format format;
    return lines_choose_format(task, &format);
}

static bool next_record(weft_task *task, struct lines *lines, bool matches, weft_bytes *record)
{
    struct pattern *pattern = weft_state(task);
    while (lines_next(lines, record)) {
        weft_bytes line;
        pattern_begin(pattern, record->size ? *record : weft_text("\n"));
        if (pattern_next_line(pattern, &line) == matches)
            return true;
    }
    return false;
}

static void emit_records(weft_task *task, weft_bytes block, bool that_match)
{
    struct lines lines;
    lines_init(&lines, task, block);
    for (weft_bytes record; next_record(task, &lines, that_match, &record);)
        weft_emit(task, record, weft_none());
    check_failure(task);
}

static int64_t count_records(weft_task *task, weft_bytes block, bool that_match)
{
    struct lines lines;
    int64_t count = 0;
    lines_init(&lines, task, block);
    for (weft_bytes record; next_record(task, &lines, that_match, &record);)
        count++;
    return count;
}

// ---- lines

static void emit_matching(weft_task *task, weft_bytes block)
{
    struct pattern *pattern = weft_state(task);
    if (!has_plain_lines(task)) {
        emit_records(task, block, true);
        return;
    }
    pattern_begin(pattern, block);
    for (weft_bytes line; pattern_next_line(pattern, &line);)
        weft_emit(task, line, weft_none());
    check_failure(task);
}

static void emit_lines(weft_task *task, const char *from, const char *until)
{
    struct lines lines;
    lines_init(&lines, task, (weft_bytes){from, (size_t)(until - from)});
    for (weft_bytes line; lines_next(&lines, &line);)
        weft_emit(task, line, weft_none());
}

// -v: what lies between the lines that match.
static void emit_others(weft_task *task, weft_bytes block)
{
    struct pattern *pattern = weft_state(task);
    const char *at = block.data, *const end = block.data + block.size;
    if (!has_plain_lines(task)) {
        emit_records(task, block, false);
        return;
    }
    pattern_begin(pattern, block);
    for (weft_bytes line; pattern_next_line(pattern, &line);) {
        emit_lines(task, at, line.data);
        at = line.data + line.size + 1;
    }
    if (at < end)
        emit_lines(task, at, end);
    check_failure(task);
}

// -o: every match of a line on a line of its own.
static void emit_matches_of_lines(weft_task *task, weft_bytes block)
{
    struct pattern *pattern = weft_state(task);
    pattern_begin(pattern, block);
    for (weft_bytes line; pattern_next_line(pattern, &line);) {
        size_t start = 0, end;
        for (; pattern_next_match(pattern, line, &start, &end); start = end)
            weft_emit(task, (weft_bytes){line.data + start, end - start}, weft_none());
    }
    check_failure(task);
}

static void emit_matches(weft_task *task, weft_bytes block)
{
    struct lines lines;
    if (has_plain_lines(task)) {
        emit_matches_of_lines(task, block);
        return;
    }
    lines_init(&lines, task, block);
    for (weft_bytes record; lines_next(&lines, &record);)
        emit_matches_of_lines(task, record);
}

// -v and -o: lines without a match have no matches to print.
static void emit_nothing(weft_task *task, weft_bytes block)
{
    (void)task;
    (void)block;
}

static int64_t count_lines(weft_bytes block)
{
    int64_t count = 0;
    size_t at = 0;
    for (; at + LINES_STEP <= block.size; at += LINES_STEP)
        count += __builtin_popcountll(lines_find_ends(block.data + at));
    for (; at < block.size; at++)
        count += block.data[at] == '\n';
    return count + (block.size > 0 && block.data[block.size - 1] != '\n');
}

// The number of the file, so that the order of keys is the order of files.
static void emit_count(weft_task *task, int64_t count)
{
    const uint64_t index = __builtin_bswap64(weft_input_index(task));
    weft_emit_int(task, (weft_bytes){(const char *)&index, sizeof index}, count);
    check_failure(task);
}

static int64_t count_in(weft_task *task, weft_bytes block)
{
    struct pattern *pattern = weft_state(task);
    int64_t count = 0;
    pattern_begin(pattern, block);
    for (weft_bytes line; pattern_next_line(pattern, &line);)
        count++;
    return count;
}

static void count_matching(weft_task *task, weft_bytes block)
{
    emit_count(task,
               has_plain_lines(task) ? count_in(task, block) : count_records(task, block, true));
}

static void count_others(weft_task *task, weft_bytes block)
{
    emit_count(task, has_plain_lines(task) ? count_lines(block) - count_in(task, block)
                                           : count_records(task, block, false));
}

static void print_count(weft_task *task, weft_bytes key, weft_values *values)
{
    (void)key;
    int64_t total = 0;
    for (int64_t count; weft_next_int(values, &count);)
        total += count;
    char text[NUMBER_TEXT_MAX];
    const size_t size = (size_t)(number_write_int(text, total) - text);
    weft_emit(task, (weft_bytes){text, size}, weft_none());
}

static weft_err configure(weft_job *job, const weft_args *args)
{
    struct pattern *pattern;
    const weft_err err = new_pattern(&pattern, args);
    if (err)
        return err;
    pattern_free(pattern);
    const bool inverts = weft_option(args, 'v', 0) != NULL;
    if (inverts && strspn(weft_argument(args, 0), "\n") == strlen(weft_argument(args, 0))) {
        // The empty pattern matches every line; grep does not even count those that are left.
        job->map_block = emit_nothing;
    } else if (weft_option(args, 'c', 0)) {
        job->map_block = inverts ? count_others : count_matching;
        job->combine = weft_sum;
        job->reduce = print_count;
    } else if (weft_option(args, 'o', 0)) {
        job->map_block = inverts ? emit_nothing : emit_matches;
    } else if (inverts) {
        job->map_block = emit_others;
    }
    return WEFT_OK;
}

const weft_job builtin_grep = {
    .name = "grep",
    .map_block = emit_matching,
    .setup = setup,
    .teardown = teardown,
    .options = "civoF",
    .arguments = 1,
    .argument_names = "PATTERN",
    .usage = "Prints the lines that match PATTERN, in input order, as LC_ALL=C grep -ahE does.\n"
             "No match is no error.\n"
             "  -c    only how many, a line per file    -v  the lines that do not match\n"
             "  -i    upper and lower case ASCII letters are the same\n"
             "  -o    only what matches, each match on a line of its own\n"
             "  -F    the pattern is a text, not an expression\n",
    .configure = configure,
};
