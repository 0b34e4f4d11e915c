// grep: the lines that match a pattern, in input order, as LC_ALL=C grep -ahE prints them.
//
// Lines go straight to the output. Facts about a whole file are reduced by the number of the file,
// so that files come out in input order, and one without a match still has its count:
//
//   -c -l -L    number of the file (and its name) -> how many lines
//   -m          number of the file -> the lines; the first N of them are printed
//   -q          nothing is printed: a counter says whether a line was there

#include "jobs/builtin.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/number.h"
#include "base/text.h"
#include "jobs/grep/search_pattern.h"
#include "jobs/lines.h"

enum { FILE_KEY_BYTES = 8 };

// One per slot.
struct grep {
    struct pattern *pattern;
    bool inverts, only_matches, has_names, has_numbers;
    bool is_limited;  // -m
    uint64_t max;     // lines of a file
    struct buf line;  // one with what stands before it
    struct buf key;
    // Of the attempt at hand:
    bool has_found;  // -q
    uint32_t file;   // the input, and how many of its lines were taken
    uint64_t taken;
};

static bool has(const weft_args *args, char letter)
{
    return weft_option(args, letter, 0) != NULL;
}

// All patterns, one per line: PATTERN, or those of -e.
static weft_err join_patterns(const weft_args *args, struct buf *text)
{
    const char *pattern = weft_argument(args, 0);
    for (int i = 0; !pattern || i == 0; i++) {
        const char *part = pattern ? pattern : weft_option(args, 'e', i);
        if (!part)
            break;
        buf_append_text(text, i ? "\n" : "");
        buf_append_text(text, part);
    }
    buf_text(text);
    return text->has_failed ? err_no_memory("for the pattern") : WEFT_OK;
}

static weft_err new_pattern(struct pattern **pattern, const weft_args *args)
{
    const struct pattern_options options = {
        .is_fixed = has(args, 'F'),
        .folds_case = has(args, 'i'),
        .is_word = has(args, 'w'),
        .is_line = has(args, 'x'),
    };
    struct buf text = {0};
    *pattern = NULL;
    weft_err err = join_patterns(args, &text);
    if (!err)
        err = pattern_new(pattern, buf_text(&text), options);
    buf_fini(&text);
    return err_wrap(err, "grep");
}

// -m; the last one counts.
static weft_err read_max(const weft_args *args, bool *is_limited, uint64_t *max)
{
    const char *text = NULL;
    for (int i = 0; weft_option(args, 'm', i); i++)
        text = weft_option(args, 'm', i);
    *is_limited = text != NULL;
    *max = 0;
    if (!text || strcmp(text, "0") == 0 || text_read_count(text, UINT64_MAX / 2, max))
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT, "grep -m %s: the most lines of a file are a number",
                   text);
}

static weft_err setup(weft_task *task)
{
    const weft_args *args = weft_task_args(task);
    struct grep *grep = calloc(1, sizeof *grep);
    if (!grep)
        return err_no_memory("for grep");
    weft_task_set_state(task, grep);
    grep->inverts = has(args, 'v');
    grep->only_matches = has(args, 'o');
    grep->has_names = has(args, 'H');
    grep->has_numbers = has(args, 'n');
    grep->file = UINT32_MAX;
    const weft_err err = read_max(args, &grep->is_limited, &grep->max);
    return err ? err : new_pattern(&grep->pattern, args);
}

static void teardown(weft_task *task)
{
    struct grep *grep = weft_task_state(task);
    if (!grep)
        return;
    pattern_free(grep->pattern);
    buf_fini(&grep->line);
    buf_fini(&grep->key);
    free(grep);
}

static weft_err begin(weft_task *task)
{
    struct grep *grep = weft_task_state(task);
    grep->has_found = false;
    grep->file = UINT32_MAX;
    return WEFT_OK;
}

static void check_failure(weft_task *task)
{
    const struct grep *grep = weft_task_state(task);
    if (pattern_failure(grep->pattern))
        weft_fail(task, "%s", weft_error());
    if (grep->line.has_failed || grep->key.has_failed)
        weft_fail(task, "no memory for a line");
}

static bool has_plain_lines(const weft_task *task)
{
    struct record_format format;
    return lines_choose_format(task, &format);
}

static const char *name_of_input(const weft_task *task)
{
    const char *name = weft_input_name(task);
    return strcmp(name, "-") == 0 ? "(standard input)" : name;
}

// The number of the file, so that the order of keys is the order of files, and its name.
static weft_bytes file_key(weft_task *task, bool with_name)
{
    struct grep *grep = weft_task_state(task);
    const uint64_t index = __builtin_bswap64(weft_input_index(task));
    grep->key.size = 0;
    buf_append(&grep->key, (const char *)&index, FILE_KEY_BYTES);
    if (with_name)
        buf_append_text(&grep->key, name_of_input(task));
    return buf_bytes(&grep->key);
}

// ---- Printing the selected lines

// The text after its prefix; `is_first` of its line, for -m, which counts lines.
static void put(weft_task *task, weft_bytes text, uint64_t number, bool is_first)
{
    struct grep *grep = weft_task_state(task);
    if (!grep->has_names && !grep->has_numbers && !grep->is_limited) {
        weft_emit(task, text, weft_none());
        return;
    }
    char digits[NUMBER_TEXT_MAX];
    grep->line.size = 0;
    if (grep->is_limited)
        buf_append(&grep->line, is_first ? "+" : " ", 1);
    if (grep->has_names) {
        buf_append_text(&grep->line, name_of_input(task));
        buf_append(&grep->line, ":", 1);
    }
    if (grep->has_numbers) {
        const char *end = number_write_int(digits, (int64_t)number);
        buf_append(&grep->line, digits, (size_t)(end - digits));
        buf_append(&grep->line, ":", 1);
    }
    buf_append(&grep->line, text.data, text.size);
    if (grep->line.has_failed)
        return;
    if (grep->is_limited)
        weft_emit(task, file_key(task, false), buf_bytes(&grep->line));
    else
        weft_emit(task, buf_bytes(&grep->line), weft_none());
}

static void put_matches(weft_task *task, weft_bytes line, uint64_t number, bool *is_first)
{
    const struct grep *grep = weft_task_state(task);
    size_t start = 0, end;
    for (; pattern_next_match(grep->pattern, line, &start, &end); start = end) {
        put(task, (weft_bytes){line.data + start, end - start}, number, *is_first);
        *is_first = false;
    }
}

// A record may be many lines, each with its matches.
static void put_matches_of_record(weft_task *task, weft_bytes record, uint64_t number)
{
    const struct grep *grep = weft_task_state(task);
    bool is_first = true;
    pattern_begin(grep->pattern, record);
    for (weft_bytes line; pattern_next_line(grep->pattern, &line);)
        put_matches(task, line, number, &is_first);
}

// Whether more lines of the file are wanted. Of each file a task gives as many as are printed at most.
static bool is_wanted(weft_task *task)
{
    struct grep *grep = weft_task_state(task);
    if (!grep->is_limited)
        return true;
    if (grep->file != weft_input_index(task)) {
        grep->file = weft_input_index(task);
        grep->taken = 0;
    }
    return grep->taken < grep->max;
}

static void put_line(weft_task *task, weft_bytes line, uint64_t number)
{
    struct grep *grep = weft_task_state(task);
    bool is_first = true;
    grep->taken++;
    if (grep->only_matches)
        put_matches(task, line, number, &is_first);
    else
        put(task, line, number, true);
}

// ---- Selecting

static int64_t count_ends(weft_bytes text)
{
    int64_t count = 0;
    size_t at = 0;
    for (; at + LINES_STEP <= text.size; at += LINES_STEP)
        count += __builtin_popcountll(lines_find_ends(text.data + at));
    for (; at < text.size; at++)
        count += text.data[at] == '\n';
    return count;
}

static int64_t count_lines(weft_bytes block)
{
    return count_ends(block) + (block.size > 0 && block.data[block.size - 1] != '\n');
}

// One matches when a line of it does.
static bool next_record(weft_task *task, struct lines *lines, weft_bytes *record, uint64_t *number)
{
    const struct grep *grep = weft_task_state(task);
    while (lines_next(lines, record)) {
        weft_bytes line;
        ++*number;
        pattern_begin(grep->pattern, record->size ? *record : weft_text("\n"));
        if (pattern_next_line(grep->pattern, &line) != grep->inverts)
            return true;
    }
    return false;
}

static uint64_t number_before(weft_task *task)
{
    const struct grep *grep = weft_task_state(task);
    return grep->has_numbers ? weft_input_record(task) - 1 : 0;
}

static void put_records(weft_task *task, weft_bytes block)
{
    struct grep *grep = weft_task_state(task);
    struct lines lines;
    uint64_t number = number_before(task);
    lines_init(&lines, task, block);
    for (weft_bytes record; is_wanted(task) && next_record(task, &lines, &record, &number);) {
        grep->taken++;
        if (grep->only_matches)
            put_matches_of_record(task, record, number);
        else
            put(task, record, number, true);
    }
}

static void put_matching(weft_task *task, weft_bytes block)
{
    const struct grep *grep = weft_task_state(task);
    uint64_t number = number_before(task);
    const char *at = block.data;
    pattern_begin(grep->pattern, block);
    for (weft_bytes line; is_wanted(task) && pattern_next_line(grep->pattern, &line);) {
        if (grep->has_numbers) {
            number += (uint64_t)count_ends((weft_bytes){at, (size_t)(line.data - at)}) + 1;
            at = line.data + line.size + 1;
        }
        put_line(task, line, number);
    }
}

static void put_between(weft_task *task, const char *from, const char *until, uint64_t *number)
{
    struct lines lines;
    lines_init_plain(&lines, (weft_bytes){from, (size_t)(until - from)});
    for (weft_bytes line; is_wanted(task) && lines_next(&lines, &line);)
        put_line(task, line, ++*number);
}

// -v: what lies between the lines that match.
static void put_others(weft_task *task, weft_bytes block)
{
    const struct grep *grep = weft_task_state(task);
    uint64_t number = number_before(task);
    const char *at = block.data, *const end = block.data + block.size;
    pattern_begin(grep->pattern, block);
    for (weft_bytes line; is_wanted(task) && pattern_next_line(grep->pattern, &line); number++) {
        put_between(task, at, line.data, &number);
        at = line.data + line.size + 1;
    }
    if (at < end)
        put_between(task, at, end, &number);
}

static void print_selected(weft_task *task, weft_bytes block)
{
    const struct grep *grep = weft_task_state(task);
    if (block.size == 0)
        return;
    if (!has_plain_lines(task))
        put_records(task, block);
    else if (grep->inverts)
        put_others(task, block);
    else
        put_matching(task, block);
    check_failure(task);
}

// -v -o, and where grep does not even begin: nothing can be printed.
static void print_nothing(weft_task *task, weft_bytes block)
{
    (void)task;
    (void)block;
}

// -m: the first lines of a file, each with everything that is printed of it.
static void print_first_lines(weft_task *task, weft_bytes key, weft_values *values)
{
    const struct grep *grep = weft_task_state(task);
    uint64_t count = 0;
    (void)key;
    for (weft_bytes text; weft_next(values, &text);) {
        count += text.data[0] == '+';
        if (count > grep->max)
            break;
        weft_emit(task, (weft_bytes){text.data + 1, text.size - 1}, weft_none());
    }
}

// ---- Files

static int64_t count_matching(weft_task *task, weft_bytes block, bool only_first)
{
    const struct grep *grep = weft_task_state(task);
    int64_t count = 0;
    pattern_begin(grep->pattern, block);
    for (weft_bytes line; pattern_next_line(grep->pattern, &line) && !(only_first && count);)
        count++;
    return count;
}

// How many lines of the block are selected; with only_first, whether there is one.
static int64_t count_selected(weft_task *task, weft_bytes block, bool only_first)
{
    const struct grep *grep = weft_task_state(task);
    int64_t count = 0;
    if (has_plain_lines(task))
        return grep->inverts ? count_lines(block) - count_matching(task, block, false)
                             : count_matching(task, block, only_first);
    struct lines lines;
    uint64_t number = 0;
    lines_init(&lines, task, block);
    for (weft_bytes record; !(only_first && count) && next_record(task, &lines, &record, &number);)
        count++;
    return count;
}

static void count_in_file(weft_task *task, weft_bytes block)
{
    const struct grep *grep = weft_task_state(task);
    const int64_t count = count_selected(task, block, false);
    weft_emit_int(task, file_key(task, grep->has_names), count);
    check_failure(task);
}

static void look_into_file(weft_task *task, weft_bytes block)
{
    const int64_t count = count_selected(task, block, true);
    weft_emit_int(task, file_key(task, true), count > 0);
    check_failure(task);
}

static int64_t total_of(const struct grep *grep, weft_values *values)
{
    int64_t total = 0;
    for (int64_t count; weft_next_int(values, &count);)
        total += count;
    return grep->is_limited && (uint64_t)total > grep->max ? (int64_t)grep->max : total;
}

static weft_bytes name_in_key(weft_bytes key)
{
    return (weft_bytes){key.data + FILE_KEY_BYTES, key.size - FILE_KEY_BYTES};
}

static void print_count(weft_task *task, weft_bytes key, weft_values *values)
{
    struct grep *grep = weft_task_state(task);
    char digits[NUMBER_TEXT_MAX];
    const char *end = number_write_int(digits, total_of(grep, values));
    grep->line.size = 0;
    if (grep->has_names) {
        buf_append(&grep->line, name_in_key(key).data, name_in_key(key).size);
        buf_append(&grep->line, ":", 1);
    }
    buf_append(&grep->line, digits, (size_t)(end - digits));
    check_failure(task);
    weft_emit(task, buf_bytes(&grep->line), weft_none());
}

static void print_if_selected(weft_task *task, weft_bytes key, weft_values *values)
{
    if (total_of(weft_task_state(task), values) > 0)
        weft_emit(task, name_in_key(key), weft_none());
}

static void print_unless_selected(weft_task *task, weft_bytes key, weft_values *values)
{
    if (total_of(weft_task_state(task), values) == 0)
        weft_emit(task, name_in_key(key), weft_none());
}

static void count_quietly(weft_task *task, weft_bytes block)
{
    struct grep *grep = weft_task_state(task);
    if (grep->has_found)
        return;
    if (count_selected(task, block, true) > 0) {
        grep->has_found = true;
        weft_counter_add(task, BUILTIN_GREP_FOUND, 1);
    }
    check_failure(task);
}

// ---- The job

static weft_err check_options(const weft_args *args)
{
    static const char *const pairs[] = {"EF", "Hh", "lL"};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (has(args, pairs[i][0]) && has(args, pairs[i][1]))
            return err_set(WEFT_INVALID_ARGUMENT, "grep: -%c and -%c exclude each other",
                           pairs[i][0], pairs[i][1]);
    struct pattern *pattern;
    const weft_err err = new_pattern(&pattern, args);
    if (!err)
        pattern_free(pattern);
    return err;
}

// With nothing to select grep does not even begin, and prints no count either: -m 0, and -v with the
// empty pattern, which matches every line. -L lists all files then.
static bool can_select(const weft_args *args, bool is_limited, uint64_t max)
{
    bool is_empty = has(args, 'v') && !has(args, 'w') && !has(args, 'x');
    const char *pattern = weft_argument(args, 0);
    for (int i = 0; is_empty && !pattern && weft_option(args, 'e', i); i++)
        is_empty = strspn(weft_option(args, 'e', i), "\n") == strlen(weft_option(args, 'e', i));
    if (pattern && is_empty)
        is_empty = strspn(pattern, "\n") == strlen(pattern);
    return !is_empty && (!is_limited || max > 0);
}

static weft_err configure(weft_job *job, const weft_args *args)
{
    bool is_limited;
    uint64_t max;
    weft_err err = check_options(args);
    if (!err)
        err = read_max(args, &is_limited, &max);
    if (err)
        return err;
    const bool lists = has(args, 'l') || has(args, 'L');
    if (!can_select(args, is_limited, max) && (!has(args, 'L') || has(args, 'q'))) {
        job->map_block = print_nothing;
    } else if (has(args, 'q')) {
        job->map_block = count_quietly;
        job->begin = begin;
    } else if (lists) {
        job->map_block = look_into_file;
        job->combine = weft_max;
        job->reduce = has(args, 'l') ? print_if_selected : print_unless_selected;
    } else if (has(args, 'c')) {
        job->map_block = count_in_file;
        job->combine = weft_sum;
        job->reduce = print_count;
    } else if (has(args, 'o') && has(args, 'v')) {
        job->map_block = print_nothing;
    } else if (is_limited) {
        job->begin = begin;
        job->reduce = print_first_lines;
    }
    return WEFT_OK;
}

const weft_job builtin_grep = {
    .name = "grep",
    .map_block = print_selected,
    .setup = setup,
    .teardown = teardown,
    .options = "ce:him:noqvwxEFHLal",
    .arguments = 1,
    .argument_names = "PATTERN",
    .argument_options = "e",
    .usage =
        "Prints the lines that match PATTERN, in input order, as LC_ALL=C grep -ahE does.\n"
        "No match is not an error.\n"
        "  -e PATTERN  instead of the first word; again for more: lines that match any\n"
        "  -F    patterns are texts, not expressions    -i  upper and lower case are the same\n"
        "  -w    only matches that are whole words      -x  only matches of the whole line\n"
        "  -v    the lines that do not match            -m N  at most N lines of each file\n"
        "  -o    only what matches, each match on a line of its own\n"
        "  -n    with the number of the line            -H  with the name of the file\n"
        "  -c    only how many, a line per file\n"
        "  -l    only the names of files with such a line    -L  only those without\n"
        "  -q    print nothing: exit 0 when there is such a line, else 1\n"
        "  -E -a -h    as of grep, and the default here\n",
    .configure = configure,
};
