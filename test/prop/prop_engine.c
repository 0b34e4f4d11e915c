// Random jobs over random input in random memory: what the engine writes is what a plain sequential
// program writes, byte for byte.
//
//   prop_engine [--seed N] [--seeds COUNT] [--turns] [--limits] [--threads]
//
// One seed draws everything: the kind of job, keys and values, cuts of the input, slots, which slot runs
// which task in which order, attempts that fail, one stage or two, and a memory plan small enough that
// tables overflow, buckets are compacted and runs are spilled and merged. Three modes, all by default
// (under ThreadSanitizer the last):
//   --turns    slots take turns in one thread, so a failing seed fails again
//   --limits   the same with less and less memory: the right bytes, or RESOURCE_EXHAUSTED and a sentence
//              that says what to do
//   --threads  slots in threads

#include <stdio.h>
#include <stdlib.h>

#include "mapreduce/work/slot.h"
#include "prop/job.h"
#include "sys/file/file.h"
#include "sys/thread/thread.h"

enum { SLOTS = 4, TASKS_MAX = 96, RANGES_MAX = 24, SAMPLE_MAX = 2000 };

#define TMP "/var/tmp"

static struct prop prop;
static struct stage stages[2], *stage;
static struct slot slots[SLOTS];
static struct worker_page page;
static struct mem_budget budget;
static struct input input;
static struct input_stretch pieces[TASKS_MAX];
static bool has_second, is_threaded;
static uint64_t spilled_runs;

// For what must not fail whatever the memory.
static void check(weft_err code, const char *what)
{
    if (!code)
        return;
    fprintf(stderr, "%s: %s\n", what, err_text());
    abort();
}

// ---- what is drawn beside the job

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
    plan->dataset_bytes = draw(3) ? draw(65536) : 1 << 20;
    plan->block_bytes = 256 + draw(8192);
    plan->runs_per_merge = 2 + draw(8);
    plan->chunk_entries = 1 + draw(64);
}

static void fill_stage(struct stage *now, const weft_job *job, uint32_t part_count)
{
    *now = (struct stage){.job = *job,
                          .format = {.kind = RECORD_LINES, .delimiter = '\n'},
                          .part_count = part_count,
                          .range_count = part_count * (1 + draw(RANGES_MAX / 4)),
                          .sample_count = 1 + draw(4),
                          .inputs = &input,
                          .input_count = 1,
                          .budget = &budget,
                          .tmp = TMP,
                          .slots = slots};
    stage_set_order(now);
    draw_memory(&now->memory);
}

static void draw_pieces(uint32_t count)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t end = prop.text.size * (i + 1) / count;
        pieces[i] = (struct input_stretch){0, at, end};
        at = end;
    }
}

static void draw_stages(void)
{
    fill_stage(&stages[0], &prop.job, prop.part_count);
    fill_stage(&stages[1], &prop_second_job, 1 + draw(3));
    has_second = draw(4) == 0;
    stages[0].slot_count = stages[1].slot_count = 1 + draw(SLOTS);
    stages[0].map_count = 1 + draw(64);
    stages[0].sample_count = 1;
    stages[1].map_count = stages[0].range_count;
    stages[1].number = 1;
    draw_pieces(stages[0].map_count);
}

// ---- tasks: which are to be done, and who holds what

static struct {
    struct mutex lock;
    struct condition changed;
    uint32_t order[TASKS_MAX];  // tasks waiting, the last one is next
    uint32_t waiting, held_count;
    int slot_of_task[TASKS_MAX];
    bool fails_once[TASKS_MAX];
    uint32_t next_range;
    weft_err code;
    char error[ERR_TEXT_BYTES_MAX];
} work;

static void draw_work(void)
{
    work.waiting = stage->map_count;
    work.held_count = work.next_range = 0;
    work.code = WEFT_OK;
    for (uint32_t i = 0; i < stage->map_count; i++) {
        const uint32_t at = draw(i + 1);
        work.order[i] = work.order[at];
        work.order[at] = i;
        work.slot_of_task[i] = -1;
        work.fails_once[i] = draw(30) == 0;
    }
}

static void note_failure(weft_err code)
{
    mutex_lock(&work.lock);
    if (!work.code) {
        work.code = code;
        snprintf(work.error, sizeof work.error, "%s", err_text());
    }
    condition_broadcast(&work.changed);
    mutex_unlock(&work.lock);
}

// Waits while others may still fail and give their tasks back; false: there is nothing to do any more.
static bool take_task(uint32_t *task)
{
    mutex_lock(&work.lock);
    while (is_threaded && !work.code && !work.waiting && work.held_count < stage->map_count)
        condition_wait(&work.changed, &work.lock);
    const bool has_task = !work.code && work.waiting;
    if (has_task)
        *task = work.order[--work.waiting];
    mutex_unlock(&work.lock);
    return has_task;
}

static void hold_task(const struct slot *slot, uint32_t task)
{
    mutex_lock(&work.lock);
    work.slot_of_task[task] = (int)slot->index;
    work.held_count++;
    condition_broadcast(&work.changed);
    mutex_unlock(&work.lock);
}

// A failed attempt loses what its slot holds.
static void lose_tasks(struct slot *slot, uint32_t task)
{
    collector_reset(&slot->collector, slot);
    mutex_lock(&work.lock);
    work.fails_once[task] = false;
    work.order[work.waiting++] = task;
    for (uint32_t i = 0; i < stage->map_count; i++) {
        if (work.slot_of_task[i] != (int)slot->index)
            continue;
        work.slot_of_task[i] = -1;
        work.order[work.waiting++] = i;
        work.held_count--;
    }
    condition_broadcast(&work.changed);
    mutex_unlock(&work.lock);
}

static bool map_one(struct slot *slot)
{
    uint32_t task;
    if (!take_task(&task))
        return false;
    slot_begin_attempt(slot, SLOT_COLLECT, task);
    const weft_err code = map_run(slot, &pieces[task], stage->source ? 0 : 1);
    if (code)
        note_failure(code);
    else if (work.fails_once[task])
        lose_tasks(slot, task);
    else
        hold_task(slot, task);
    return !code;
}

// Now and then the text of a good attempt is lost on its way.
static bool reduce_one(struct slot *slot, bool is_lost)
{
    mutex_lock(&work.lock);
    const uint32_t range = work.code ? UINT32_MAX : work.next_range++;
    mutex_unlock(&work.lock);
    if (range >= stage->range_count)
        return false;
    weft_err code = WEFT_OK;
    for (int attempt = 0; attempt <= is_lost && !code; attempt++) {
        slot_begin_attempt(slot, SLOT_OUTPUT, range);
        code = reduce_run(slot, range);
        if (code || attempt < is_lost)
            text_discard(slot);
        else
            code = text_submit(slot);
    }
    if (code)
        note_failure(code);
    return !code;
}

// ---- phases: by turns in one thread, or a thread per slot

static void map_in_thread(void *slot)
{
    while (map_one(slot))
        continue;
}

static void seal_in_thread(void *slot)
{
    const weft_err code = collector_seal(slot);
    if (code)
        note_failure(code);
}

static void reduce_in_thread(void *slot)
{
    while (reduce_one(slot, false))
        continue;
}

static weft_err run_phase(void (*phase)(void *slot))
{
    struct thread threads[SLOTS];
    for (uint32_t i = 0; is_threaded && i < stage->slot_count; i++)
        check(thread_start(&threads[i], phase, &slots[i], 0), "thread");
    for (uint32_t i = 0; is_threaded && i < stage->slot_count; i++)
        thread_join(&threads[i]);
    if (!is_threaded && phase == seal_in_thread)
        for (uint32_t i = 0; i < stage->slot_count && !work.code; i++)
            phase(&slots[i]);
    if (!is_threaded && phase == map_in_thread)
        while (map_one(&slots[draw(stage->slot_count)]))
            continue;
    if (!is_threaded && phase == reduce_in_thread)
        while (reduce_one(&slots[draw(stage->slot_count)], draw(20) == 0))
            continue;
    return work.code ? err_set(work.code, "%s", work.error) : WEFT_OK;
}

// ---- a stage

static size_t list_keys(const struct buf *keys, weft_bytes *list)
{
    size_t count = 0;
    for (size_t at = 0; at < keys->size; count++) {
        uint32_t size;
        memcpy(&size, keys->data + at, sizeof size);
        list[count] = (weft_bytes){keys->data + at + sizeof size, size};
        at += sizeof size + size;
    }
    return count;
}

static weft_err sample(void)
{
    static weft_bytes list[SAMPLE_MAX];
    struct buf keys = {0};
    weft_err code = WEFT_OK;
    const struct input_stretch whole = {0, 0, prop.text.size};
    for (uint32_t i = 0; i < stage->sample_count && !code; i++) {
        slot_begin_attempt(&slots[0], SLOT_SAMPLE, i);
        code = map_run(&slots[0], &whole, stage->source ? 0 : 1);
        if (!code)
            code = sample_finish(&slots[0], 1 + draw(SAMPLE_MAX / 4), &keys);
    }
    if (!code)
        ASSERT(ranges_init(&stage->ranges, stage->range_count, stage->part_count, &stage->order,
                           stage->job.partition, list, list_keys(&keys, list)));
    buf_fini(&keys);
    return code;
}

static void ignore_written(void *owner, const struct sink_piece *piece)
{
    (void)owner, (void)piece;
}

static void open_output(int fd)
{
    static const uint32_t parts[RANGES_MAX * 4];
    if (stage == stages && has_second) {
        stage->kept = dataset_new(&budget, stage->range_count, stage->memory.dataset_bytes, TMP);
        check(stage->kept ? WEFT_OK : WEFT_UNKNOWN, "dataset");
        return;
    }
    stage->sink = sink_new(&(struct sink_options){.kind = SINK_FD,
                                                  .path = "output",
                                                  .fd = fd,
                                                  .piece_count = stage->range_count,
                                                  .part_count = 1,
                                                  .part_of_piece = parts,
                                                  .tmp = TMP,
                                                  .held_bytes_max = stage->memory.held_bytes,
                                                  .written = ignore_written});
    check(stage->sink ? WEFT_OK : WEFT_UNKNOWN, "sink");
}

static weft_err run_stage(int output_fd)
{
    weft_err code = WEFT_OK;
    for (uint32_t i = 0; i < stage->slot_count && !code; i++)
        code = slot_begin_stage(&slots[i], stage);
    if (code || (code = sample()))
        return code;
    open_output(output_fd);
    draw_work();
    if ((code = run_phase(map_in_thread)) || (code = run_phase(seal_in_thread)))
        return code;
    for (uint32_t i = 0; i < stage->slot_count; i++)
        spilled_runs += slots[i].collector.runs.count;
    return run_phase(reduce_in_thread);
}

static void close_stage(struct stage *now)
{
    if (now->sink)
        sink_free(now->sink);
    dataset_free(now->kept);
    dataset_free(now->source);
    ranges_fini(&now->ranges);
}

// ---- a run

static weft_err run_engine(int text_fd, int output_fd)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", text_fd);
    input =
        (struct input){.name = "text", .path = path, .size = prop.text.size, .map.registered = -1};
    if (prop.is_line && draw(2) && mem_map_open(&input.map, path))
        err_clear();
    weft_err code = WEFT_OK;
    uint32_t begun = 0;
    stage = &stages[0];
    for (; begun < stage->slot_count && !code; begun++)
        code = slot_init(&slots[begun], stage, begun, &page.slots[begun]);
    if (!code)
        code = run_stage(output_fd);
    if (!code && has_second) {
        stage = &stages[1];
        stage->source = stages[0].kept;
        stages[0].kept = NULL;
        code = run_stage(output_fd);
    }
    char text[ERR_TEXT_BYTES_MAX];
    snprintf(text, sizeof text, "%s", err_text());
    for (uint32_t i = 0; i < begun; i++)
        slot_fini(&slots[i]);
    close_stage(&stages[0]);
    close_stage(&stages[1]);
    mem_map_close(&input.map);
    return code ? err_set(code, "%s", text) : WEFT_OK;
}

static bool is_same(const struct buf *expected, int output_fd)
{
    struct file_stat stat;
    check(file_stat_fd(output_fd, "output", &stat), "output");
    char *got = malloc(stat.size + 1);
    size_t size = 0, at = 0;
    check(file_read_at(output_fd, "output", got, stat.size, 0, &size), "output");
    while (at < size && at < expected->size && got[at] == expected->data[at])
        at++;
    free(got);
    if (at == size && at == expected->size)
        return true;
    fprintf(stderr, "differs at byte %zu of %zu, expected %zu\n", at, size, expected->size);
    return false;
}

// What the run should come to.
struct expected {
    struct buf output;
    bool fits;
};

static struct expected run_twins(void)
{
    struct expected expected = {0};
    expected.fits = prop_twin(&prop, &expected.output);
    if (has_second) {
        struct buf second = {0};
        prop_second_twin(&expected.output, &second);
        buf_fini(&expected.output);
        expected.output = second;
    }
    return expected;
}

static bool complain(uint64_t limit, weft_err code)
{
    fprintf(stderr,
            "SEED=%llu kind %d%s%s%s slots %u limit %llu code %s: %s\n"
            "  repeat: prop_engine --seed %llu %s\n",
            (unsigned long long)prop.seed, (int)prop.kind, prop.job.compare ? " compare" : "",
            prop.job.partition ? " partition" : "", has_second ? " two stages" : "",
            stages[0].slot_count, (unsigned long long)limit, weft_err_name(code), err_text(),
            (unsigned long long)prop.seed,
            is_threaded ? "--threads"
            : limit     ? "--limits"
                        : "--turns");
    return false;
}

// Runs a seed with `limit` bytes (0: any); *code tells how it ended. False: not as it should have.
static bool run_seed(uint64_t seed, uint64_t limit, weft_err *code)
{
    int text_fd, output_fd;
    prop_draw(&prop, seed);
    draw_stages();
    budget = (struct mem_budget){.limit = limit};
    err_clear();
    check(file_create_nameless(TMP, &text_fd), "text");
    check(file_create_nameless(TMP, &output_fd), "output");
    check(file_write_at(text_fd, "text", prop.text.data, prop.text.size, 0), "text");
    *code = run_engine(text_fd, output_fd);
    struct expected expected = run_twins();
    bool is_good = *code == WEFT_OK ? expected.fits && is_same(&expected.output, output_fd)
                   : *code == WEFT_OUT_OF_RANGE ? !expected.fits
                                                : *code == WEFT_RESOURCE_EXHAUSTED && limit &&
                                                      strstr(err_text(), "--memory");
    if (budget.used || (limit && budget.peak > limit)) {
        fprintf(stderr, "%llu bytes of memory not given back, at most %llu were used\n",
                (unsigned long long)budget.used, (unsigned long long)budget.peak);
        is_good = false;
    }
    if (!is_good)
        complain(limit, *code);
    buf_fini(&expected.output);
    file_close(text_fd);
    file_close(output_fd);
    return is_good;
}

// ---- modes

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define IS_FOR_THREADS 1
#endif
#endif
#if !defined(IS_FOR_THREADS)
#define IS_FOR_THREADS 0
#endif

struct outcome {
    uint64_t runs, failed, refused;
};

static void run_turns(uint64_t first, uint64_t count, struct outcome *outcome)
{
    weft_err code;
    for (uint64_t seed = first; seed < first + count; seed++, outcome->runs++)
        outcome->failed += !run_seed(seed, 0, &code);
}

static void run_threads(uint64_t first, uint64_t count, struct outcome *outcome)
{
    is_threaded = true;
    run_turns(first, count, outcome);
    is_threaded = false;
}

// From nothing to twice what it took, which must be enough: each limit refuses another request first.
// (With just as much as it took without a limit it may choose other ways, and fail.)
static void run_limits(uint64_t first, uint64_t count, struct outcome *outcome)
{
    enum { STEPS = 48 };
    weft_err code;
    for (uint64_t seed = first; seed < first + count; seed++) {
        run_turns(seed, 1, outcome);
        const uint64_t peak = budget.peak;
        for (uint64_t step = 1; step <= STEPS; step++, outcome->runs++) {
            const bool is_enough = step == STEPS;
            const uint64_t limit = is_enough ? 2 * peak : peak * step / STEPS + seed * 977 % 8192;
            bool is_good = run_seed(seed, limit, &code);
            if (is_good && is_enough && code == WEFT_RESOURCE_EXHAUSTED)
                is_good = complain(limit, code);
            outcome->failed += !is_good;
            outcome->refused += code == WEFT_RESOURCE_EXHAUSTED;
        }
    }
}

static bool run_mode(const char *name, uint64_t first, uint64_t count,
                     void (*mode)(uint64_t, uint64_t, struct outcome *))
{
    struct outcome outcome = {0};
    spilled_runs = 0;
    mode(first, count, &outcome);
    printf("%s: %llu seeds, %llu runs, %llu failed, %llu refused, %llu runs spilled\n", name,
           (unsigned long long)count, (unsigned long long)outcome.runs,
           (unsigned long long)outcome.failed, (unsigned long long)outcome.refused,
           (unsigned long long)spilled_runs);
    // A mode in which nothing is spilled or refused tests nothing.
    return outcome.failed == 0 && (count < 20 || spilled_runs) &&
           (count < 5 || mode != run_limits || outcome.refused);
}

int main(int argc, char **argv)
{
    const uint64_t deeper = getenv("WEFT_LONG") ? 4 : 1;
    uint64_t first = 1, count = 0;
    bool turns = false, limits = false, threads = false;
    for (int i = 1; i < argc; i++) {
        turns = turns || strcmp(argv[i], "--turns") == 0;
        limits = limits || strcmp(argv[i], "--limits") == 0;
        threads = threads || strcmp(argv[i], "--threads") == 0;
        if (i + 1 < argc && strcmp(argv[i], "--seed") == 0)
            first = strtoull(argv[i + 1], NULL, 10), count = 1;
        else if (i + 1 < argc && strcmp(argv[i], "--seeds") == 0)
            count = strtoull(argv[i + 1], NULL, 10);
    }
    const bool all = !turns && !limits && !threads && !IS_FOR_THREADS;
    mutex_init(&work.lock);
    condition_init(&work.changed);
    bool is_good = true;
    if (all || turns)
        is_good &= run_mode("turns", first, count ? count : 1500 * deeper, run_turns);
    if (all || limits)
        is_good &= run_mode("limits", first, count ? count : 20 * deeper, run_limits);
    if (all || threads || (IS_FOR_THREADS && !turns && !limits))
        is_good &= run_mode("threads", first, count ? count : 150 * deeper, run_threads);
    return !is_good;
}
