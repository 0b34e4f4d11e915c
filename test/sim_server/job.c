// The job of a seed, and the answer that must come out whatever breaks.
//
// A map task's value is a checksum of what it reads; a piece is a text that follows from the values of all map tasks that it is made of, so a task
// that is missing, there twice or from elsewhere changes the answer. The last stage writes by which keys its ranges were cut, too.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "run/driver/driver.h"
#include "sim_server/disk.h"
#include "sim_server/lives.h"
#include "sim_server/sim_server.h"

enum { MAP_TASKS_MAX = 40 };

struct stage {
    bool is_known, is_map_only, is_last;
    uint32_t map_count, range_count;
    struct buf pieces[TASKS_MAX];
    bool has_piece[TASKS_MAX];
};

// What a map task of the first stage reads.
struct split {
    bool is_known;
    struct buf pieces;  // three numbers each
    uint32_t value;
};

static struct stage stages[STAGES_MAX];
static struct split splits[TASKS_MAX];
static struct node *inputs[INPUTS_MAX];
static char input_paths[INPUTS_MAX][32];

// ---- The job ------------------------------------------------------------------------------------------------

static void map(weft_task *task, weft_bytes record)
{
    (void)task, (void)record;
}

static const weft_job last_job = {.name = "last", .map = map, .reduce = weft_sum};
static const weft_job second_job = {
    .name = "second", .map = map, .reduce = weft_identity, .next = &last_job};
static const weft_job first_job = {
    .name = "first", .map = map, .reduce = weft_identity, .next = &second_job};
static const weft_job map_only_job = {.name = "map only", .map = map};
static const weft_job before_map_only_job = {
    .name = "before", .map = map, .reduce = weft_identity, .next = &map_only_job};

static const weft_job *find_job(void)
{
    if (sim.options.is_map_only)
        return sim.options.stage_count > 1 ? &before_map_only_job : &map_only_job;
    return sim.options.stage_count == 1   ? &last_job
           : sim.options.stage_count == 2 ? &second_job
                                          : &first_job;
}

void job_draw(void)
{
    struct sim_options *options = &sim.options;
    *options = (struct sim_options){
        .input_count = 1 + world_below(INPUTS_MAX),
        .lines = 1 + world_below(30),
        .lines_per_task = 1 + world_below(8),
        .reducers = 1 + world_below(3),
        .max_attempts = 2 + world_below(4),
        .stage_count = world_chance(600) ? 1 : 2 + world_below(2),
        .task_ms = world_chance(500) ? 50 : 1000,
        .task_timeout_ms = world_chance(700) ? 0 : 30000,
        .is_map_only = world_chance(150),
        .has_directory = world_chance(600),
        .has_bad_record = world_chance(150),
        .crashes_at_bad_record = world_chance(500),
        .skip_max = world_below(3),
        .client_count = 1 + world_below(CLIENTS_OF_SIM_MAX - 1),
        .fault_ms = world_chance(150) ? 0 : world_between(1000, 30000),
    };
    options->is_shared = options->has_directory && options->lines % 2;
    options->top = options->is_map_only || world_chance(800) ? 0 : 3;
    while (options->input_count * options->lines > options->lines_per_task * MAP_TASKS_MAX)
        options->lines_per_task++;
    if (options->is_map_only && options->stage_count > 2)
        options->stage_count = 2;
}

static void add_copies(uint32_t input)
{
    const struct buf *data = &inputs[input]->data;
    for (uint32_t i = 1; i <= sim.options.client_count; i++) {
        const uint32_t pick = world_below(4);
        if (pick > 1)
            continue;
        struct node *copy = disk_put((int)i, input_paths[input], data->data, data->size);
        copy->mtime_ns = inputs[input]->mtime_ns;
        if (pick == 1)  // another file of the same name and size
            copy->data.data[data->size / 2] ^= 1;
    }
}

void job_make_inputs(void)
{
    static const char *const folders[] = {"/work", "/tmp", "/cache", "/home"};
    for (uint32_t i = 0; i <= sim.options.client_count; i++)
        for (size_t k = 0; k < sizeof folders / sizeof *folders; k++)
            disk_put((int)i, folders[k], NULL, 0);
    for (uint32_t i = 0; i < sim.options.input_count; i++) {
        struct buf text = {0};
        const uint32_t bad_line = world_below(sim.options.lines);
        for (uint32_t line = 0; line < sim.options.lines; line++) {
            if (line == bad_line) {
                sim.options.bad_input = i;
                sim.options.bad_offset = text.size;
            }
            buf_format(&text, "line %u of input %u, %0*u\n", line, i, 1 + (int)world_below(40),
                       world_below(1000));
        }
        snprintf(input_paths[i], sizeof input_paths[i], "/work/input%u", i);
        inputs[i] = disk_put(SERVER, input_paths[i], text.data, text.size);
        buf_fini(&text);
        add_copies(i);
    }
    disk_put(SERVER, "/proc/self/exe", "a program", 9)->mode = 0755;
    disk_put(SERVER, "/libsim.so.1", "a library", 9);
}

const char *sim_input(uint32_t input, size_t *size)
{
    if (input >= sim.options.input_count)
        world_wrong("a task reads input %u of %u", input, sim.options.input_count);
    *size = inputs[input]->data.size;
    return inputs[input]->data.data;
}

// ---- What tasks see -----------------------------------------------------------------------------------------

void sim_note_stage(const Weft__StageOpen *open)
{
    if (open->stage >= STAGES_MAX || open->map_count > TASKS_MAX || open->range_count > TASKS_MAX)
        world_wrong("stage %u has %u map tasks and %u ranges", open->stage, open->map_count,
                    open->range_count);
    struct stage *stage = &stages[open->stage];
    if (stage->is_known &&
        (stage->is_map_only != open->is_map_only || stage->map_count != open->map_count ||
         stage->range_count != open->range_count))
        world_wrong("stage %u is planned anew", open->stage);
    stage->is_known = true;
    stage->is_map_only = open->is_map_only;
    stage->is_last = open->output->kind == WEFT__OUTPUT_KIND__OUTPUT_SHELF;
    stage->map_count = open->map_count;
    stage->range_count = open->range_count;
}

static bool is_bad_inside(const Weft__TaskRun *run)
{
    for (size_t i = 0; i < run->n_pieces; i++)
        if (run->pieces[i]->input == sim.options.bad_input &&
            sim.options.bad_offset >= run->pieces[i]->begin &&
            sim.options.bad_offset < run->pieces[i]->end)
            return sim.options.has_bad_record;
    return false;
}

bool sim_meets_bad_record(const Weft__TaskRun *run)
{
    for (size_t i = 0; i < run->n_skips; i++)
        if (run->skips[i]->input == sim.options.bad_input &&
            run->skips[i]->offset == sim.options.bad_offset)
            return false;
    return run->kind != WEFT__TASK_KIND__TASK_REDUCE && is_bad_inside(run);
}

// A task reads the same in every attempt, of every life of the server.
void sim_note_task(const Weft__TaskRun *run)
{
    if (run->stage > 0 || run->kind != WEFT__TASK_KIND__TASK_MAP ||
        run->purpose != WEFT__PURPOSE__PURPOSE_RUN)
        return;
    struct split *split = &splits[run->task];
    struct buf pieces = {0};
    for (size_t i = 0; i < run->n_pieces; i++)
        buf_format(&pieces, "%u:%" PRIu64 "-%" PRIu64 " ", run->pieces[i]->input,
                   run->pieces[i]->begin, run->pieces[i]->end);
    if (split->is_known && strcmp(buf_text(&pieces), buf_text(&split->pieces)) != 0)
        world_wrong("map task %u reads %s and %s", run->task, buf_text(&pieces),
                    buf_text(&split->pieces));
    buf_fini(&split->pieces);
    *split = (struct split){true, pieces, sim_value(run)};
}

void sim_note_sealed(uint32_t stage, uint32_t task)
{
    static uint32_t counts[STAGES_MAX][TASKS_MAX];
    if (counts[stage][task]++ && sim.is_peaceful)
        world_wrong("map task %u of stage %u is sealed again, and nothing was lost", task, stage);
}

uint32_t sim_value(const Weft__TaskRun *run)
{
    uint32_t value = is_bad_inside(run) ? 7 : 0;  // it is left out
    for (size_t i = 0; i < run->n_pieces; i++) {
        const Weft__Piece *piece = run->pieces[i];
        value = crc32c(value, inputs[piece->input]->data.data + piece->begin,
                       (size_t)(piece->end - piece->begin));
    }
    const weft_bytes source = run->stage ? sim_find_piece(run->stage - 1, run->task) : weft_none();
    return crc32c(value, source.data, source.size);
}

void sim_write_piece(struct buf *text, const struct sim_piece *piece, const uint32_t *values,
                     size_t count)
{
    const uint32_t all = crc32c(piece->stage * 1000 + piece->piece, values, count * sizeof *values);
    if (all % 7 == 0)
        return;  // no text at all
    if (stages[piece->stage].is_last && !stages[piece->stage].is_map_only)
        buf_format(text, "%08x ", piece->cuts);
    buf_format(text, "%u.%u %08x%*s\n", piece->stage, piece->piece, all, (int)(all % 60), "");
}

// Those of the last stage are in the answer.
void sim_note_piece(uint32_t stage, uint32_t piece, weft_bytes text)
{
    struct stage *at = &stages[stage];
    if (at->is_last)
        return;
    if (at->has_piece[piece] && !bytes_equal(buf_bytes(&at->pieces[piece]), text))
        world_wrong("piece %u of stage %u comes out differently", piece, stage);
    if (!at->has_piece[piece])
        buf_append(&at->pieces[piece], text.data, text.size);
    at->has_piece[piece] = true;
}

weft_bytes sim_find_piece(uint32_t stage, uint32_t piece)
{
    if (piece >= TASKS_MAX || !stages[stage].has_piece[piece])
        world_wrong("piece %u of stage %u is read, and was never made", piece, stage);
    return buf_bytes(&stages[stage].pieces[piece]);
}

// ---- The answer ---------------------------------------------------------------------------------------------

// Every byte of the inputs is in one split.
static void check_splits(void)
{
    uint64_t bytes = 0, all = 0;
    for (uint32_t i = 0; i < stages[0].map_count; i++) {
        uint64_t begin, end;
        uint32_t input;
        int length;
        if (!splits[i].is_known)
            world_wrong("map task %u was never run", i);
        for (const char *at = buf_text(&splits[i].pieces);
             sscanf(at, "%u:%" SCNu64 "-%" SCNu64 " %n", &input, &begin, &end, &length) == 3;
             at += length)
            bytes += end - begin;
    }
    for (uint32_t i = 0; i < sim.options.input_count; i++)
        all += inputs[i]->data.size;
    if (bytes != all)
        world_wrong("map tasks read %" PRIu64 " of %" PRIu64 " bytes", bytes, all);
}

// The value of a map task, from the beginning.
static uint32_t expect_value(uint32_t stage, uint32_t task);

static void expect_piece(struct buf *text, uint32_t stage, uint32_t piece, uint32_t cuts)
{
    const struct sim_piece at = {stage, piece, cuts};
    uint32_t values[TASKS_MAX];
    const uint32_t count = stages[stage].is_map_only ? 1 : stages[stage].map_count;
    for (uint32_t i = 0; i < count; i++)
        values[i] = expect_value(stage, stages[stage].is_map_only ? piece : i);
    sim_write_piece(text, &at, values, count);
}

static uint32_t expect_value(uint32_t stage, uint32_t task)
{
    if (stage == 0)
        return splits[task].value;
    struct buf source = {0};
    expect_piece(&source, stage - 1, task, 0);
    const uint32_t value = crc32c(0, source.data, source.size);
    buf_fini(&source);
    return value;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(struct node *const *)a)->path, (*(struct node *const *)b)->path);
}

static void read_answer(struct buf *text)
{
    VEC(struct node *) parts = {0};
    for (size_t i = 0; i < disk.nodes.count; i++) {
        struct node *node = disk.nodes.items[i];
        const char *begin = sim.options.has_directory ? "/work/out/part-" : "/work/out";
        if (node->path && node->machine == SERVER && !strncmp(node->path, begin, strlen(begin)))
            ASSERT(VEC_PUSH(&parts, node));
    }
    if (parts.count)
        qsort(parts.items, parts.count, sizeof *parts.items, compare_names);
    for (size_t i = 0; i < parts.count; i++)
        buf_append(text, parts.items[i]->data.data, parts.items[i]->data.size);
    VEC_FINI(&parts);
}

void job_check_answer(void)
{
    struct buf expected = {0}, found = {0};
    uint32_t last = 0;
    while (last + 1 < STAGES_MAX && stages[last + 1].is_known)
        last++;
    if (!stages[last].is_last)
        world_wrong("stage %u is not the last", last);
    check_splits();
    const uint32_t count =
        stages[last].is_map_only ? stages[last].map_count : stages[last].range_count;
    read_answer(&found);
    const uint32_t cuts = (uint32_t)strtoul(buf_text(&found), NULL, 16);  // the same for all
    for (uint32_t i = 0; i < count; i++)
        expect_piece(&expected, last, i, cuts);
    if (found.size != expected.size ||
        (found.size && memcmp(found.data, expected.data, found.size) != 0))
        world_wrong("the answer is\n%sand not\n%s", buf_text(&found), buf_text(&expected));
    buf_fini(&expected);
    buf_fini(&found);
}

// ---- A life of the server -----------------------------------------------------------------------------------

// Killed behind its last step, it has written its file: only a directory knows whose answer it is.
static bool was_done_before(weft_err code)
{
    return code == WEFT_ALREADY_EXISTS && !sim.options.has_directory &&
           sim.counts[COUNT_SERVER_KILLS];
}

static void check_counts(const struct summary *summary)
{
    if (summary->is_already_done)
        return;
    if (summary_find_counter(summary, "maps") != summary->map_count)
        world_wrong("%u map tasks were counted %" PRIi64 " times", summary->map_count,
                    summary_find_counter(summary, "maps"));
    if (summary_find_counter(summary, "reduces") != summary->reduce_count)
        world_wrong("%u reduce tasks were counted %" PRIi64 " times", summary->reduce_count,
                    summary_find_counter(summary, "reduces"));
    if (summary->bad_count > 1)
        world_wrong("one record is bad, and %" PRIu64 " were left out", summary->bad_count);
}

static void check_failure(weft_err code)
{
    sim.counts[COUNT_SERVER_FAILURES]++;
    if (!sim.may_fail)
        world_wrong("the job fails for no reason: %s: %s", weft_err_name(code), err_text());
    if (!*err_text())
        world_wrong("the job fails without a word");
    if (disk_find(SERVER, "/work/out"))
        world_wrong("the job has failed, and there is an output: %s", err_text());
}

void job_run_server(void)
{
    char *words[INPUTS_MAX + 1] = {0};
    char output[32], bad[] = "/work/bad", tmp[] = "/tmp", listen[32];
    for (uint32_t i = 0; i < sim.options.input_count; i++)
        words[i] = input_paths[i];
    snprintf(output, sizeof output, sim.options.has_directory ? "/work/out/" : "/work/out");
    snprintf(listen, sizeof listen, "localhost:%d", SERVER_PORT);
    const weft_job *job = find_job();
    const struct run_options options = {
        .job = job,
        .inputs = words,
        .input_count = sim.options.input_count,
        .output = output,
        .listen = listen,
        .shared = sim.options.is_shared,
        .slots = 4,
        .memory_bytes = 512 << 20,
        .lines_per_task = sim.options.lines_per_task,
        .max_attempts = sim.options.max_attempts,
        .reducers = sim.options.reducers,
        .top = sim.options.top,
        .task_timeout_ms = sim.options.task_timeout_ms,
        .tmp = tmp,
        .skip_bad = {.is_set = sim.options.skip_max > 0, .count = sim.options.skip_max},
        .bad_records = bad,
        .quiet = true,
    };
    const struct driver_spec spec = {.job = job, .options = &options, .owns_process = true};
    struct driver *driver = NULL;
    sim.counts[COUNT_LIVES]++;
    if (driver_new(&driver, &spec) != WEFT_OK)
        world_wrong("%s", err_text());
    const weft_err code = driver_run(driver);
    sim.server_ends++;
    world_note("the server ends: %s %s", weft_err_name(code), code ? err_text() : "");
    sim.has_ended = code == WEFT_OK || was_done_before(code);
    if (code == WEFT_OK)
        check_counts(driver_summary(driver));
    else if (!sim.has_ended)
        check_failure(code);
    driver_free(driver);
}
