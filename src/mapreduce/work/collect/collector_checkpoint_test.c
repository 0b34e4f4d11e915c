// Tests of checkpoints: whatever is lost and adopted again, the answer has the same bytes as that of one
// worker that lost nothing.

#include <stdlib.h>

#include "mapreduce/work/run/run_index.h"
#include "mapreduce/work/slot_testing.h"
#include "mapreduce/work/sort/random_pairs.h"

enum { TASKS_MAX = 40, FILES_MAX = 400 };

static char directory[] = "/var/tmp/weft-checkpoint-test-XXXXXX";
static const weft_bytes identity = {"this job", 8};

static void map_nothing(weft_task *task, weft_bytes line)
{
    (void)task, (void)line;
}

static const weft_job jobs[] = {
    {.name = "sum", .map = map_nothing, .reduce = weft_sum},
    {.name = "max", .map = map_nothing, .reduce = weft_max},
    {.name = "mean", .map = map_nothing, .reduce = weft_mean},
    {.name = "collect", .map = map_nothing, .reduce = weft_collect},
    {.name = "first", .map = map_nothing, .reduce = weft_first},
    {.name = "sort", .map = map_nothing, .reduce = weft_identity},
    {.name = "distinct", .map = map_nothing, .reduce = weft_distinct},
};

enum { JOBS = sizeof jobs / sizeof *jobs, SUM = 0, COLLECT = 3 };

// ---- a job of random pairs, and workers that run it ------------------------------------------------

struct trial {
    const weft_job *job;
    uint64_t seed;  // of the pairs: a task emits the same in every attempt
    uint32_t task_count, range_count, slot_count;
    size_t pairs_max;  // of a task
    bool is_tight;     // memory for little: most goes through runs
    bool is_mixed;     // some values of every other task are not integers
};

// Key and value from few letters, keys of all sizes that take different ways.
static void emit_pair(weft_task *task, uint64_t *seed, bool is_mixed, uint32_t number)
{
    char key[40], value[32];
    const unsigned word = (unsigned)random_below(seed, 300);
    const size_t padding = word % 4 * 8;
    const size_t size = (size_t)snprintf(key, sizeof key, "%03u%.*s", word, (int)padding,
                                         "abcdefghijklmnopqrstuvwxyz");
    if (is_mixed && random_below(seed, 3) == 0) {
        const size_t value_size = (size_t)snprintf(value, sizeof value, "%u.5", number);
        weft_emit(task, (weft_bytes){key, size}, (weft_bytes){value, value_size});
    } else {
        weft_emit_int(task, (weft_bytes){key, size}, number);
    }
}

static void run_task(const struct trial *trial, struct slot *slot, uint32_t task)
{
    uint64_t seed = trial->seed * 1000 + task;
    slot_begin_attempt(slot, SLOT_COLLECT, task);
    const size_t count = random_below(&seed, trial->pairs_max + 1);
    for (size_t i = 0; i < count; i++)
        emit_pair(&slot->hot, &seed, trial->is_mixed && task % 2 == 0, task * 10000 + (uint32_t)i);
    emit_flush(slot);
    if (slot->has_failed)
        fail_msg("%s", slot->error);
}

static void open_worker(struct rig *rig, const struct trial *trial)
{
    static const char *const cuts[] = {"050", "100abcdefg", "150", "220", "225"};
    rig_init(rig, trial->job, weft_text(""));
    rig->stage.range_count = trial->range_count;
    rig->stage.slot_count = trial->slot_count;
    rig->stage.map_count = trial->task_count;
    for (uint32_t i = 0; i + 1 < trial->range_count; i++)
        rig->cuts[rig->cut_count++] = weft_text(cuts[i]);
    struct memory_plan *plan = &rig->stage.memory;
    if (trial->is_tight) {
        const bool folds = rig->stage.op != FOLD_NONE;
        plan->table_bytes = 16 << 10;
        plan->page_bytes = 8 << 10;
        plan->collect_bytes = (folds ? plan->table_bytes * 5 / 2 : 0) + (64 << 10);
        plan->area_bytes = 32 << 10;
        plan->block_bytes = 1 << 10;
        plan->runs_per_merge = 3;
        plan->chunk_entries = 31;
    }
    rig_open(rig);
}

static void keep_runs(struct rig *rig)
{
    for (uint32_t i = 0; i < rig->stage.slot_count; i++)
        collector_keep_runs(&rig->slots[i], directory, identity);
}

static char *finish(struct rig *rig)
{
    size_t size;
    rig_seal(rig);
    rig_reduce_all(rig);
    char *text = rig_output(rig, &size);
    rig_fini(rig);
    return text;
}

// One worker, nothing kept, nothing lost.
static char *run_plainly(const struct trial *trial)
{
    static struct rig rig;
    open_worker(&rig, trial);
    for (uint32_t task = 0; task < trial->task_count; task++)
        run_task(trial, &rig.slots[task % trial->slot_count], task);
    return finish(&rig);
}

static void checkpoint(struct rig *rig, uint32_t slot, const uint32_t *tasks, size_t count,
                       struct checkpoint *made)
{
    rig_expect(collector_checkpoint(&rig->slots[slot], tasks, count, false, made));
}

static void adopt(struct rig *rig, uint32_t slot, const char *path, uint64_t offset)
{
    struct run_index *index;
    rig_expect(run_index_open(&index, path, offset, identity, true));
    rig_expect(collector_adopt_take(&rig->slots[slot], index));
}

// ---- one thing at a time ----------------------------------------------------------------------------

static void what_a_checkpoint_covers_outlives_its_worker(void **state)
{
    (void)state;
    static struct rig rig;
    for (size_t i = 0; i < JOBS; i++) {
        struct trial trial = {&jobs[i], 5, 6, 3, 2, 500, i % 2, true};
        char *expected = run_plainly(&trial);
        char path[256];
        struct checkpoint made;
        open_worker(&rig, &trial);
        keep_runs(&rig);
        for (uint32_t task = 0; task < 4; task++)
            run_task(&trial, &rig.slots[0], task);
        checkpoint(&rig, 0, (const uint32_t[]){0, 1, 2, 3}, 4, &made);
        assert_true(rig.slots[0].page->saved_bytes > 0);
        snprintf(path, sizeof path, "%s", made.path);
        run_task(&trial, &rig.slots[0], 4);  // lost
        run_task(&trial, &rig.slots[1], 5);  // lost
        rig_fini(&rig);
        open_worker(&rig, &trial);
        adopt(&rig, 1, path, made.offset);
        run_task(&trial, &rig.slots[0], 4);
        run_task(&trial, &rig.slots[1], 5);
        char *text = finish(&rig);
        assert_string_equal(text, expected);
        free(text);
        free(expected);
    }
}

static void a_worker_that_only_adopts_gives_the_answer(void **state)
{
    (void)state;
    static struct rig rig;
    for (size_t i = 0; i < 2 * JOBS; i++) {
        struct trial trial = {&jobs[i / 2], 5, 4, 3, 2, 800, i % 2, true};
        char *expected = run_plainly(&trial);
        char paths[2][256];
        struct checkpoint made[2];
        open_worker(&rig, &trial);
        keep_runs(&rig);
        for (uint32_t slot = 0; slot < 2; slot++) {
            const uint32_t tasks[] = {slot, slot + 2};  // those of one slot are mixed
            run_task(&trial, &rig.slots[slot], tasks[1]);
            run_task(&trial, &rig.slots[slot], tasks[0]);
            checkpoint(&rig, slot, tasks, 2, &made[slot]);
            snprintf(paths[slot], sizeof paths[slot], "%s", made[slot].path);
        }
        rig_fini(&rig);
        open_worker(&rig, &trial);
        adopt(&rig, 0, paths[1], made[1].offset);
        adopt(&rig, 0, paths[0], made[0].offset);
        char *text = finish(&rig);
        assert_string_equal(text, expected);
        free(text);
        free(expected);
    }
}

static void a_failure_throws_away_only_what_came_after_the_checkpoint(void **state)
{
    (void)state;
    static struct rig rig;
    for (size_t i = 0; i < 2 * JOBS; i++) {
        struct trial trial = {&jobs[i / 2], 6, 4, 2, 1, 3000, i % 2, true};
        char *expected = run_plainly(&trial);
        struct checkpoint made;
        open_worker(&rig, &trial);
        keep_runs(&rig);
        struct slot *slot = &rig.slots[0];
        run_task(&trial, slot, 3);
        collector_reset(&slot->collector, slot);  // before there is any checkpoint
        run_task(&trial, slot, 2);
        run_task(&trial, slot, 0);
        checkpoint(&rig, 0, (const uint32_t[]){0, 2}, 2, &made);
        run_task(&trial, slot, 1);
        collector_reset(&slot->collector, slot);
        run_task(&trial, slot, 3);
        run_task(&trial, slot, 1);
        char *text = finish(&rig);
        assert_string_equal(text, expected);
        free(text);
        free(expected);
    }
}

static void a_checkpoint_of_nothing_covers_its_tasks(void **state)
{
    (void)state;
    static struct rig rig;
    struct trial trial = {&jobs[SUM], 7, 2, 1, 1, 0, false, false};
    struct checkpoint first, second;
    open_worker(&rig, &trial);
    keep_runs(&rig);
    checkpoint(&rig, 0, NULL, 0, &first);
    run_task(&trial, &rig.slots[0], 1);
    checkpoint(&rig, 0, (const uint32_t[]){1}, 1, &second);
    assert_string_equal(first.path, second.path);
    assert_true(second.offset > first.offset && second.bytes > 0);
    struct run_index *index;
    rig_expect(run_index_open(&index, second.path, second.offset, identity, true));
    assert_int_equal(index->run_count, 0);
    assert_int_equal(index->task_count, 1);
    assert_int_equal(index->tasks[0], 1);
    run_index_close(index);
    rig_expect(run_index_open(&index, first.path, first.offset, identity, true));
    assert_int_equal(index->task_count, 0);
    index->range_count++;
    assert_int_equal(collector_adopt_take(&rig.slots[0], index), WEFT_INVALID_ARGUMENT);
    rig_fini(&rig);
}

static void files_of_earlier_workers_are_not_written_over(void **state)
{
    (void)state;
    static struct rig rig;
    struct trial trial = {&jobs[SUM], 8, 1, 1, 1, 10, false, false};
    char earlier[256] = "";
    for (int i = 0; i < 3; i++) {
        struct checkpoint made;
        open_worker(&rig, &trial);
        keep_runs(&rig);
        run_task(&trial, &rig.slots[0], 0);
        rig_expect(collector_checkpoint(&rig.slots[0], (const uint32_t[]){0}, 1, true, &made));
        assert_string_not_equal(made.path, earlier);
        snprintf(earlier, sizeof earlier, "%s", made.path);
        rig_fini(&rig);
        struct file_stat status;
        rig_expect(file_stat(earlier, &status));
        assert_int_equal(status.kind, FILE_REGULAR);
    }
}

static void many_checkpoints_leave_few_runs(void **state)
{
    (void)state;
    static struct rig rig;
    struct trial trial = {&jobs[COLLECT], 9, TASKS_MAX, 2, 1, 6000, true, false};
    char *expected = run_plainly(&trial);
    struct checkpoint made = {0}, before = {0};
    char path[256];
    open_worker(&rig, &trial);
    keep_runs(&rig);
    const struct collector *c = &rig.slots[0].collector;
    for (uint32_t task = 0; task < TASKS_MAX; task++) {
        run_task(&trial, &rig.slots[0], task);
        before = made;
        checkpoint(&rig, 0, &task, 1, &made);
        // Two of each of the levels 0, 1, 2, ... are left: 3 to the power of 5 is more than there are.
        assert_true(c->runs.count <= 2 * 5);
        assert_true(c->durable.retired.count <= 3 * 5);
        // The checkpoint before it is still valid: a reader that has not received this one loses
        // one task.
        if (task) {
            struct run_index *index;
            rig_expect(run_index_open(&index, before.path, before.offset, identity, true));
            assert_int_equal(index->task_count, task);
            run_index_close(index);
        }
    }
    snprintf(path, sizeof path, "%s", before.path);
    rig_fini(&rig);
    open_worker(&rig, &trial);
    adopt(&rig, 0, path, before.offset);
    run_task(&trial, &rig.slots[0], TASKS_MAX - 1);
    char *text = finish(&rig);
    assert_string_equal(text, expected);
    free(text);
    free(expected);
}

// Each file has its few runs, and there may be many files: sealing makes few of them again.
static void many_adopted_files_are_merged(void **state)
{
    (void)state;
    static struct rig rig;
    struct trial trial = {&jobs[COLLECT], 11, 20, 2, 1, 300, true, false};
    char *expected = run_plainly(&trial);
    struct checkpoint made[20];
    char paths[20][256];
    for (uint32_t task = 0; task < 20; task++) {
        open_worker(&rig, &trial);
        keep_runs(&rig);
        run_task(&trial, &rig.slots[0], task);
        checkpoint(&rig, 0, &task, 1, &made[task]);
        snprintf(paths[task], sizeof paths[task], "%s", made[task].path);
        rig_fini(&rig);
    }
    open_worker(&rig, &trial);
    for (uint32_t task = 20; task-- > 0;)
        adopt(&rig, 0, paths[task], made[task].offset);
    rig_seal(&rig);
    assert_true(rig.slots[0].collector.runs.count <= 2 * 3);
    rig_reduce_all(&rig);
    rig_check_output(&rig, expected);
    rig_fini(&rig);
    free(expected);
}

// The file can no longer be written: it says so, and the checkpoint before still holds.
static void a_checkpoint_that_fails_leaves_the_one_before(void **state)
{
    (void)state;
    static struct rig rig;
    struct trial trial = {&jobs[COLLECT], 10, 2, 2, 1, 2000, false, false};
    struct checkpoint made, failed;
    open_worker(&rig, &trial);
    keep_runs(&rig);
    run_task(&trial, &rig.slots[0], 0);
    checkpoint(&rig, 0, (const uint32_t[]){0}, 1, &made);
    run_task(&trial, &rig.slots[0], 1);
    struct spill *spill = &rig.slots[0].collector.spill;
    const int fd = spill->fd, nobodys = 1000;  // every write fails
    spill->fd = nobodys;
    assert_int_not_equal(
        collector_checkpoint(&rig.slots[0], (const uint32_t[]){1}, 1, false, &failed), WEFT_OK);
    assert_non_null(strstr(err_text(), made.path));
    spill->fd = fd;
    struct run_index *index;
    rig_expect(run_index_open(&index, made.path, made.offset, identity, true));
    assert_int_equal(index->task_count, 1);
    run_index_close(index);
    rig_fini(&rig);
}

// ---- everything at once -----------------------------------------------------------------------------

// What a driver would know: where each file's last index is, and which tasks that covers.
struct ledger {
    struct {
        char path[256];
        uint64_t offset;
        bool is_live;
        bool covers[TASKS_MAX];
    } files[FILES_MAX];
    size_t file_count;
};

enum task_state { PENDING, HELD, DURABLE };

struct world {
    const struct trial *trial;
    struct rig rig;
    struct ledger ledger;
    enum task_state states[TASKS_MAX];
    uint32_t holders[TASKS_MAX];  // the slot of a task that is held
    uint64_t seed;
    bool is_keeping;
};

static bool has_pending(const struct world *world)
{
    for (uint32_t task = 0; task < world->trial->task_count; task++)
        if (world->states[task] == PENDING)
            return true;
    return false;
}

static uint32_t choose_slot(struct world *world)
{
    return (uint32_t)random_below(&world->seed, world->trial->slot_count);
}

static void do_task(struct world *world)
{
    const uint32_t slot = choose_slot(world);
    uint32_t task = (uint32_t)random_below(&world->seed, world->trial->task_count);
    while (world->states[task] != PENDING)
        task = (task + 1) % world->trial->task_count;
    run_task(world->trial, &world->rig.slots[slot], task);
    world->states[task] = HELD;
    world->holders[task] = slot;
}

// An attempt fails: its slot's held tasks are to be done again.
static void do_failure(struct world *world)
{
    const uint32_t slot = choose_slot(world);
    collector_reset(&world->rig.slots[slot].collector, &world->rig.slots[slot]);
    for (uint32_t task = 0; task < world->trial->task_count; task++)
        if (world->states[task] == HELD && world->holders[task] == slot)
            world->states[task] = PENDING;
}

static void do_checkpoint(struct world *world)
{
    if (!world->is_keeping)
        return;
    const uint32_t slot = choose_slot(world);
    uint32_t tasks[TASKS_MAX];
    size_t count = 0;
    for (uint32_t task = 0; task < world->trial->task_count; task++)
        if (world->states[task] == HELD && world->holders[task] == slot) {
            tasks[count++] = task;
            world->states[task] = DURABLE;
        }
    struct checkpoint made;
    checkpoint(&world->rig, slot, tasks, count, &made);
    struct ledger *ledger = &world->ledger;
    size_t at = 0;
    while (at < ledger->file_count && strcmp(ledger->files[at].path, made.path) != 0)
        at++;
    assert_true(at < FILES_MAX);
    if (at == ledger->file_count) {
        memset(&ledger->files[at], 0, sizeof ledger->files[at]);
        snprintf(ledger->files[at].path, sizeof ledger->files[at].path, "%s", made.path);
        ledger->file_count++;
    }
    ledger->files[at].offset = made.offset;
    ledger->files[at].is_live = true;
    for (size_t i = 0; i < count; i++)
        ledger->files[at].covers[tasks[i]] = true;
}

static void flip_a_bit(struct world *world, const char *path)
{
    struct file_stat status;
    int fd;
    size_t got;
    char byte;
    rig_expect(file_open_kept(path, &fd));
    rig_expect(file_stat_fd(fd, path, &status));
    const uint64_t at = random_below(&world->seed, status.size);
    rig_expect(file_read_at(fd, path, &byte, 1, at, &got));
    byte = (char)(byte ^ 1 << random_below(&world->seed, 8));
    rig_expect(file_write_at(fd, path, &byte, 1, at));
    if (random_below(&world->seed, 2))
        rig_expect(file_truncate(fd, path, at));
    file_close(fd);
}

// Adopts what a file holds, or learns that its tasks are to be done again.
static void adopt_file(struct world *world, size_t at)
{
    const uint32_t slot = choose_slot(world);
    if (random_below(&world->seed, 8) == 0)
        flip_a_bit(world, world->ledger.files[at].path);
    struct run_index *index;
    const weft_err err = run_index_open(&index, world->ledger.files[at].path,
                                        world->ledger.files[at].offset, identity, true);
    world->ledger.files[at].is_live = !err;
    if (err) {
        assert_int_equal(err, WEFT_DATA_LOSS);
        return;
    }
    for (uint32_t i = 0; i < index->task_count; i++) {
        assert_true(world->ledger.files[at].covers[index->tasks[i]]);
        world->states[index->tasks[i]] = DURABLE;
    }
    rig_expect(collector_adopt_take(&world->rig.slots[slot], index));
}

static void begin_worker(struct world *world)
{
    open_worker(&world->rig, world->trial);
    world->is_keeping = random_below(&world->seed, 8) > 0;
    if (world->is_keeping)
        keep_runs(&world->rig);
    memset(world->states, 0, sizeof world->states);
    for (size_t at = 0; at < world->ledger.file_count; at++)
        if (world->ledger.files[at].is_live)
            adopt_file(world, at);
}

static void lose_worker(struct world *world)
{
    rig_fini(&world->rig);
    begin_worker(world);
}

static char *run_with_losses(const struct trial *trial, uint64_t seed)
{
    static struct world world;
    memset(&world, 0, sizeof world);
    world.trial = trial;
    world.seed = seed;
    const size_t losses = random_below(&world.seed, 4) ? 12 : 1000;
    begin_worker(&world);
    for (size_t steps = 0; has_pending(&world) || random_below(&world.seed, 3); steps++) {
        const size_t what = random_below(&world.seed, 20);
        if (what == 0 && steps < losses)
            lose_worker(&world);
        else if (what == 1 && steps < losses)
            do_failure(&world);
        else if (what < 6)
            do_checkpoint(&world);
        else if (has_pending(&world))
            do_task(&world);
        else if (random_below(&world.seed, 2) == 0)
            break;
    }
    return finish(&world.rig);
}

static void whatever_is_lost_the_answer_has_the_same_bytes(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        uint64_t random = seed;
        struct trial trial = {.job = &jobs[random_below(&random, JOBS)], .seed = seed};
        trial.task_count = 1 + (uint32_t)random_below(&random, TASKS_MAX);
        trial.range_count = 1 + (uint32_t)random_below(&random, 6);
        trial.slot_count = 1 + (uint32_t)random_below(&random, RIG_SLOTS);
        trial.is_tight = random_below(&random, 2);
        trial.is_mixed = random_below(&random, 3) == 0;
        trial.pairs_max = random_below(&random, 4) ? 300 : 3000;
        char *expected = run_plainly(&trial), *text = run_with_losses(&trial, random);
        if (strcmp(text, expected) != 0)
            fail_msg("seed %llu, job %s: another answer", (unsigned long long)seed,
                     trial.job->name);
        free(text);
        free(expected);
        rig_expect(file_remove_tree(directory));
        rig_expect(file_make_directory(directory));
    }
}

static int make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    return file_remove_tree(directory) == WEFT_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_checkpoint_covers_outlives_its_worker),
        cmocka_unit_test(a_worker_that_only_adopts_gives_the_answer),
        cmocka_unit_test(a_failure_throws_away_only_what_came_after_the_checkpoint),
        cmocka_unit_test(a_checkpoint_of_nothing_covers_its_tasks),
        cmocka_unit_test(files_of_earlier_workers_are_not_written_over),
        cmocka_unit_test(many_checkpoints_leave_few_runs),
        cmocka_unit_test(many_adopted_files_are_merged),
        cmocka_unit_test(a_checkpoint_that_fails_leaves_the_one_before),
        cmocka_unit_test(whatever_is_lost_the_answer_has_the_same_bytes),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
