// Random jobs over random input in random memory: what the engine writes is what a plain sequential
// program writes, byte for byte.
//
//   prop_engine [--seed N] [--seeds COUNT]
//
// One seed draws everything: the kind of job, keys and values, cuts of the input, slots, which slot runs
// which task in which order, and a memory plan small enough that tables overflow, buckets are compacted
// and runs are spilled and merged. Slots take turns in one thread, so a failing seed fails again.

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/number.h"
#include "mapreduce/work/slot.h"
#include "sys/file.h"

enum { SLOTS = 4, LINES_MAX = 6000, TASKS_MAX = 64, RANGES_MAX = 24 };

static uint64_t random_state;

static uint32_t draw(uint32_t limit)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 33) % limit;
}

// ---- the jobs: each line is KEY SPACE VALUE, a key may hold any byte but space and newline

enum kind { SUM, MIN, MAX, COLLECT, FIRST, DISTINCT, IDENTITY, MEAN, OWN, COUNT, KINDS };

static bool split_line(weft_bytes line, weft_bytes *key, int64_t *value)
{
    const char *space = memchr(line.data, ' ', line.size);
    *key = (weft_bytes){line.data, (size_t)(space - line.data)};
    return number_read_int((weft_bytes){space + 1, line.size - key->size - 1}, value);
}

static void map_number(weft_task *task, weft_bytes line)
{
    weft_bytes key;
    int64_t value;
    if (!split_line(line, &key, &value))
        weft_fail(task, "bad line");
    weft_emit_int(task, key, value);
}

static void map_double(weft_task *task, weft_bytes line)
{
    weft_bytes key;
    int64_t value;
    if (!split_line(line, &key, &value))
        weft_fail(task, "bad line");
    weft_emit_double(task, key, (double)value / 8);
}

static void map_bytes(weft_task *task, weft_bytes line)
{
    const char *space = memchr(line.data, ' ', line.size);
    const size_t key_size = (size_t)(space - line.data);
    weft_emit(task, (weft_bytes){line.data, key_size},
              (weft_bytes){space + 1, line.size - key_size - 1});
}

static void map_line(weft_task *task, weft_bytes line)
{
    weft_emit(task, line, weft_none());
}

static void own_sum(weft_task *task, weft_bytes key, weft_values *values)
{
    int64_t total = 0;
    for (int64_t value; weft_next_int(values, &value);)
        total += value;
    weft_emit_int(task, key, total);
}

static int backwards(weft_bytes a, weft_bytes b)
{
    return -bytes_compare(a, b);
}

static uint32_t by_size(weft_bytes key, uint32_t part_count)
{
    return (uint32_t)(key.size % part_count);
}

static weft_job job_of_kind(enum kind kind)
{
    weft_job job = {.name = "prop", .map = map_bytes};
    weft_reduce_fn *const reducers[KINDS] = {weft_sum,   weft_min,      weft_max,      weft_collect,
                                             weft_first, weft_distinct, weft_identity, weft_mean,
                                             own_sum,    weft_count};
    job.reduce = reducers[kind];
    if (kind <= MAX || kind == OWN)
        job.map = map_number;
    if (kind == MEAN)
        job.map = map_double;
    if (kind == IDENTITY && draw(2))
        job.map = map_line;
    if (kind == OWN)
        job.combine = draw(2) ? own_sum : NULL;
    return job;
}

// ---- input

static char text[1 << 20];
static size_t text_size;

static void draw_key(char *key, uint32_t style)
{
    size_t size = 0;
    uint32_t number = draw(style == 0 ? 40 : style == 1 ? 4000 : 100000000);
    if (style == 3)
        size = (size_t)sprintf(key, "https://www.example.org/");
    const uint32_t longest = draw(12) == 0 ? 40 : draw(3) ? 8 : 17;
    do
        key[size++] = (char)(33 + number % 90);
    while ((number /= 90) || (size < longest && draw(3) == 0));
    if (draw(40) == 0)
        key[size++] = 0;  // keys that end in NUL take another way
    if (draw(300) == 0)
        size = 0;
    key[size] = ' ';
}

static void draw_text(enum kind kind, bool has_large_values)
{
    const uint32_t lines = draw(LINES_MAX), style = draw(4);
    text_size = 0;
    for (uint32_t i = 0; i < lines; i++) {
        char *key = text + text_size;
        memset(key, 1, 128);
        draw_key(key, style);
        text_size = (size_t)((char *)memchr(key, ' ', 128) - text) + 1;
        int64_t value = (int64_t)draw(1000) - (draw(4) ? 0 : 500);
        if (has_large_values && draw(10) == 0)
            value = draw(2) ? INT64_MAX / 3 * 2 : INT64_MIN / 3 * 2;
        if (kind == COUNT || (kind == SUM && draw(2)))
            value = 1;
        text_size = (size_t)(number_write_int(text + text_size, value) - text);
        text[text_size++] = '\n';
    }
    if (text_size && draw(4) == 0)
        text_size--;  // a last line without an end
}

// ---- the sequential twin

struct line {
    weft_bytes whole, key;
    int64_t value;
    size_t number;
};

static struct line lines[LINES_MAX];
static int (*twin_compare)(weft_bytes a, weft_bytes b);
static uint32_t (*twin_partition)(weft_bytes key, uint32_t part_count);
static uint32_t twin_parts;

static int compare_lines(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    if (twin_partition) {
        const uint32_t part_a = twin_partition(a->key, twin_parts);
        const uint32_t part_b = twin_partition(b->key, twin_parts);
        if (part_a != part_b)
            return part_a < part_b ? -1 : 1;
    }
    const int order = twin_compare ? twin_compare(a->key, b->key) : bytes_compare(a->key, b->key);
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

static int compare_values(const void *left, const void *right)
{
    return bytes_compare(*(const weft_bytes *)left, *(const weft_bytes *)right);
}

static weft_bytes value_text(const struct line *line)
{
    return (weft_bytes){line->whole.data + line->key.size + 1,
                        line->whole.size - line->key.size - 1};
}

static void write_joined(struct buf *out, const struct line *group, size_t count, bool is_distinct)
{
    static weft_bytes values[LINES_MAX];
    for (size_t i = 0; i < count; i++)
        values[i] = value_text(&group[i]);
    if (is_distinct)
        qsort(values, count, sizeof *values, compare_values);
    for (size_t i = 0; i < count; i++) {
        if (is_distinct && i && bytes_equal(values[i], values[i - 1]))
            continue;
        buf_append(out, "\t", 1);
        buf_append(out, values[i].data, values[i].size);
    }
}

// False: the sum does not fit 64 bits, so the job has to fail.
static bool write_number(struct buf *out, enum kind kind, const struct line *group, size_t count)
{
    __int128 total = group[0].value;
    for (size_t i = 1; i < count; i++) {
        const int64_t value = group[i].value;
        if (kind == SUM || kind == OWN || kind == MEAN)
            total += value;
        else if (kind == MIN ? value < total : value > total)
            total = value;
    }
    char number[NUMBER_TEXT_MAX], *end = number;
    if (kind == MEAN)  // small whole numbers: the division by 8 is exact
        end = number_write_double(number, (double)total / 8 / (double)count);
    else if (total > INT64_MAX || total < INT64_MIN)
        return false;
    else
        end = number_write_int(number, kind == COUNT ? (int64_t)count : (int64_t)total);
    buf_append(out, "\t", 1);
    buf_append(out, number, (size_t)(end - number));
    return true;
}

static bool write_group(struct buf *out, enum kind kind, bool is_line, const struct line *group,
                        size_t count)
{
    if (kind == IDENTITY) {
        for (size_t i = 0; i < count; i++) {
            buf_append(out, group[i].key.data, group[i].key.size);
            if (!is_line) {
                buf_append(out, "\t", 1);
                buf_append(out, value_text(&group[i]).data, value_text(&group[i]).size);
            }
            buf_append(out, "\n", 1);
        }
        return true;
    }
    bool fits = true;
    buf_append(out, group[0].key.data, group[0].key.size);
    if (kind == COLLECT || kind == DISTINCT)
        write_joined(out, group, count, kind == DISTINCT);
    else if (kind == FIRST)
        write_joined(out, group, 1, false);
    else
        fits = write_number(out, kind, group, count);
    buf_append(out, "\n", 1);
    return fits;
}

static bool run_twin(enum kind kind, bool is_line, struct buf *out)
{
    size_t count = 0;
    for (weft_bytes rest = {text, text_size}, line; weft_next_line(&rest, &line); count++) {
        lines[count] = (struct line){.whole = line, .number = count};
        split_line(line, &lines[count].key, &lines[count].value);
        if (is_line)
            lines[count].key = line;
    }
    qsort(lines, count, sizeof *lines, compare_lines);
    bool fits = true;
    for (size_t begin = 0; begin < count;) {
        size_t end = begin + 1;
        while (end < count && bytes_equal(lines[end].key, lines[begin].key))
            end++;
        fits = write_group(out, kind, is_line, lines + begin, end - begin) && fits;
        begin = end;
    }
    return fits;
}

// ---- the engine, one thread

static struct stage stage;
static struct slot slots[SLOTS];
static struct worker_page page;
static struct mem_budget budget;
static struct input input;
static uint64_t spilled_runs;

static void check(weft_err code, const char *what)
{
    if (!code)
        return;
    fprintf(stderr, "%s: %s\n", what, err_text());
    abort();
}

static void ignore_written(void *owner, uint32_t piece, uint64_t bytes, uint32_t crc, uint64_t n)
{
    (void)owner, (void)piece, (void)bytes, (void)crc, (void)n;
}

static void draw_memory(struct memory_plan *plan)
{
    const bool is_tight = draw(3) != 0;
    plan->page_bytes = is_tight ? 4096 : 65536;
    plan->table_bytes = is_tight ? 1 << 18 : 1 << 22;
    plan->collect_bytes = plan->table_bytes * 5 / 2 + (is_tight ? 16384 + draw(65536) : 1 << 24);
    plan->combine_bytes = 4096 + draw(65536);
    plan->area_bytes = is_tight ? 4096 + draw(16384) : 1 << 22;
    plan->read_bytes = 256 + draw(8192);
    plan->text_bytes = 128 + draw(65536);
    plan->held_bytes = draw(65536);
    plan->dataset_bytes = 1 << 16;
    plan->block_bytes = 256 + draw(8192);
    plan->runs_per_merge = 2 + draw(8);
    plan->chunk_entries = 1 + draw(64);
}

static void draw_stage(enum kind kind)
{
    stage = (struct stage){.job = job_of_kind(kind),
                           .part_count = 1 + draw(4),
                           .sample_count = 1,
                           .inputs = &input,
                           .input_count = 1,
                           .budget = &budget,
                           .tmp = "/var/tmp",
                           .slots = slots,
                           .slot_count = 1 + draw(SLOTS)};
    stage.range_count = stage.part_count * (1 + draw(RANGES_MAX / 4));
    if (draw(5) == 0)
        stage.job.compare = backwards;
    if (draw(5) == 0)
        stage.job.partition = by_size;
    stage.order.compare = stage.job.compare;
    stage.combine = stage_combiner(&stage.job);
    stage.op = stage_fold_op(stage.combine);
    draw_memory(&stage.memory);
}

static void sample_all(struct slot *slot, const struct piece *whole)
{
    struct buf keys = {0};
    slot_begin_attempt(slot, SLOT_SAMPLE, 0);
    check(map_run(slot, whole, 1), "sample");
    check(sample_finish(slot, 1 + draw(500), &keys), "sample");
    static weft_bytes list[1000];
    size_t count = 0;
    for (size_t at = 0; at < keys.size; count++) {
        uint32_t size;
        memcpy(&size, keys.data + at, sizeof size);
        list[count] = (weft_bytes){keys.data + at + sizeof size, size};
        at += sizeof size + size;
    }
    ASSERT(ranges_init(&stage.ranges, stage.range_count, stage.part_count, &stage.order,
                       stage.job.partition, list, count));
    buf_fini(&keys);
}

// Cuts anywhere, tasks in any order in any slot, now and then a failed attempt that loses what its slot
// holds.
static void map_all(void)
{
    struct piece pieces[TASKS_MAX];
    int slot_of_task[TASKS_MAX];
    const uint32_t tasks = 1 + draw(TASKS_MAX - 1);
    uint64_t at = 0;
    for (uint32_t i = 0; i < tasks; i++) {
        const uint64_t end = i + 1 == tasks ? text_size : text_size * (i + 1) / tasks;
        pieces[i] = (struct piece){0, at, end};
        at = end;
        slot_of_task[i] = -1;
    }
    for (uint32_t left = tasks; left;) {
        uint32_t task = draw(tasks);
        while (slot_of_task[task] >= 0)
            task = (task + 1) % tasks;
        const uint32_t index = draw(stage.slot_count);
        struct slot *slot = &slots[index];
        slot_begin_attempt(slot, SLOT_COLLECT, task);
        check(map_run(slot, &pieces[task], 1), "map");
        slot_of_task[task] = (int)index;
        left--;
        if (draw(30) == 0) {
            collector_reset(&slot->collector, slot);
            for (uint32_t i = 0; i < tasks; i++)
                if (slot_of_task[i] == (int)index) {
                    slot_of_task[i] = -1;
                    left++;
                }
        }
    }
}

static weft_err reduce_all(void)
{
    for (uint32_t range = 0; range < stage.range_count; range++) {
        struct slot *slot = &slots[draw(stage.slot_count)];
        slot_begin_attempt(slot, SLOT_OUTPUT, range);
        const weft_err code = reduce_run(slot, range);
        if (code) {
            text_discard(slot);
            return code;
        }
        check(text_submit(slot), "write");
    }
    return WEFT_OK;
}

static weft_err run_engine(int text_fd, int output_fd, char *path)
{
    snprintf(path, 64, "/proc/self/fd/%d", text_fd);
    input = (struct input){.name = "text", .path = path, .size = text_size, .map.registered = -1};
    if (stage.job.map == map_line && draw(2))
        check(mem_map_open(&input.map, path), "map");
    for (uint32_t i = 0; i < stage.slot_count; i++) {
        check(slot_init(&slots[i], &stage, i, &page.slots[i]), "slot");
        check(slot_begin_stage(&slots[i], &stage), "slot");
    }
    sample_all(&slots[0], &(struct piece){0, 0, text_size});
    const uint32_t parts[RANGES_MAX * 4] = {0};
    stage.sink = sink_new(&(struct sink_options){.kind = SINK_FD,
                                                 .path = "output",
                                                 .fd = output_fd,
                                                 .piece_count = stage.range_count,
                                                 .part_count = 1,
                                                 .part_of_piece = parts,
                                                 .tmp = "/var/tmp",
                                                 .held_bytes_max = stage.memory.held_bytes,
                                                 .written = ignore_written});
    check(stage.sink ? WEFT_OK : WEFT_UNKNOWN, "sink");
    map_all();
    for (uint32_t i = 0; i < stage.slot_count; i++)
        check(collector_seal(&slots[i]), "seal");
    for (uint32_t i = 0; i < stage.slot_count; i++)
        spilled_runs += slots[i].collector.runs.count;
    const weft_err code = reduce_all();
    sink_free(stage.sink);
    for (uint32_t i = 0; i < stage.slot_count; i++)
        slot_fini(&slots[i]);
    ranges_fini(&stage.ranges);
    mem_map_close(&input.map);
    return code;
}

static bool is_same(const struct buf *expected, int output_fd)
{
    struct file_stat stat;
    check(file_stat_fd(output_fd, "output", &stat), "output");
    char *got = malloc(stat.size + 1);
    size_t size = 0;
    check(file_read_at(output_fd, "output", got, stat.size, 0, &size), "output");
    const bool same =
        size == expected->size && (size == 0 || memcmp(got, expected->data, size) == 0);
    if (!same) {
        size_t at = 0;
        while (at < size && at < expected->size && got[at] == expected->data[at])
            at++;
        fprintf(stderr, "differs at byte %zu of %zu, expected %zu\n", at, size, expected->size);
    }
    free(got);
    return same;
}

static bool run_seed(uint64_t seed)
{
    random_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    const enum kind kind = (enum kind)draw(KINDS);
    const bool has_large_values = draw(6) == 0 && (kind == SUM || kind == MIN || kind == MAX);
    char path[64];
    int text_fd, output_fd;
    draw_text(kind, has_large_values);
    draw_stage(kind);
    check(file_create_nameless("/var/tmp", &text_fd), "text");
    check(file_create_nameless("/var/tmp", &output_fd), "output");
    check(file_write_at(text_fd, "text", text, text_size, 0), "text");
    const weft_err code = run_engine(text_fd, output_fd, path);

    struct buf expected = {0};
    twin_compare = stage.job.compare;
    twin_partition = stage.job.partition;
    twin_parts = stage.part_count;
    const bool fits = run_twin(kind, stage.job.map == map_line, &expected);
    bool is_good =
        fits ? code == WEFT_OK && is_same(&expected, output_fd) : code == WEFT_OUT_OF_RANGE;
    if (is_good && budget.used) {
        fprintf(stderr, "%llu bytes of memory not given back\n", (unsigned long long)budget.used);
        is_good = false;
    }
    if (!is_good)
        fprintf(stderr,
                "SEED=%llu kind %d%s%s slots %u code %s %s\n  repeat: prop_engine --seed %llu\n",
                (unsigned long long)seed, (int)kind, stage.job.compare ? " compare" : "",
                stage.job.partition ? " partition" : "", stage.slot_count, weft_err_name(code),
                err_text(), (unsigned long long)seed);
    buf_fini(&expected);
    file_close(text_fd);
    file_close(output_fd);
    return is_good;
}

int main(int argc, char **argv)
{
    uint64_t first = 1, count = 2000;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seed") == 0)
            first = strtoull(argv[i + 1], NULL, 10), count = 1;
        else if (strcmp(argv[i], "--seeds") == 0)
            count = strtoull(argv[i + 1], NULL, 10);
    }
    uint64_t failed = 0;
    for (uint64_t seed = first; seed < first + count; seed++)
        failed += !run_seed(seed);
    printf("%llu seeds, %llu failed, %llu runs spilled\n", (unsigned long long)count,
           (unsigned long long)failed, (unsigned long long)spilled_runs);
    return failed != 0 || (count > 100 && spilled_runs == 0);
}
