// Tests of run/driver/resume: runs in turn over the same directory, with journals and files that are real.

#include "run/driver/resume/resume.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/crc32c.h"
#include "mapreduce/work/run/run_index.h"

enum { MIB = 1 << 20, MAPS = 3, RANGES = 2 };

static char folder[] = "/tmp/weft-resume-XXXXXX";

static const char *path_of(const char *name)
{
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void map(weft_task *task, weft_bytes record)
{
    (void)task;
    (void)record;
}

// A partitioner that is never called: every part is one range.
static uint32_t partition(weft_bytes key, uint32_t partition_count)
{
    (void)key;
    return partition_count - 1;
}

static const weft_job job = {
    .name = "plain", .map = map, .reduce = weft_identity, .partition = partition};
static const weft_job other_job = {
    .name = "other", .map = map, .reduce = weft_identity, .partition = partition};

// ---- One run ------------------------------------------------------------------------------------

struct scene {
    struct run_options options;
    struct run_plan plan;
    struct report report;
    struct tally tally;
    struct bad_records bad;
    struct output *output;
    struct output_piece pieces[RANGES];
    struct resume *resume;
    uint32_t restored[SCHED_KIND_COUNT];  // the tasks of the only stage, as bits
    weft_err code;                        // of the opening
};

static void take_restored(void *owner, uint32_t stage, enum sched_kind kind, uint32_t task)
{
    struct scene *scene = owner;
    assert_int_equal(stage, 0);
    assert_false(scene->restored[kind] & 1U << task);
    scene->restored[kind] |= 1U << task;
}

static void take_due(void *owner)
{
    (void)owner;
}

static void make_plan(struct scene *scene, const weft_job *which)
{
    static char input[128], output[128];
    static char *inputs[2] = {input};
    snprintf(input, sizeof input, "%s", path_of("input"));
    snprintf(output, sizeof output, "%s", path_of("out/"));
    scene->options.inputs = inputs;
    scene->options.input_count = 1;
    scene->options.output = output;
    scene->options.reducers = RANGES;
    scene->options.memory_bytes = 64 << 20;
    scene->options.slots = 1;
    scene->options.tmp = folder;
    scene->options.bad_records = (char *)path_of("bad");
    const struct inputs_request request = {
        .words = (const char *const *)inputs, .word_count = 1, .tmp = folder};
    report_init(&scene->report, &scene->options, true, 2, 0);
    assert_int_equal(run_plan_init(&scene->plan, which, &scene->options), WEFT_OK);
    assert_int_equal(inputs_expand(&scene->plan.inputs, &request), WEFT_OK);
    assert_int_equal(run_plan_make(&scene->plan, &scene->report), WEFT_OK);
    assert_int_equal(scene->plan.stages[0].map_count, MAPS);
    assert_int_equal(scene->plan.stages[0].range_count, RANGES);
}

// A run opens the journal, or is refused.
static void open_run(struct scene *scene, const weft_job *which, struct run_options options)
{
    static const struct resume_calls calls = {.restored = take_restored, .due = take_due};
    *scene = (struct scene){.options = options};
    make_plan(scene, which);
    const struct output_options output = {.target = scene->options.output,
                                          .force = options.force,
                                          .tmp = folder,
                                          .job_name = which->name,
                                          .may_resume = true};
    assert_int_equal(tally_init(&scene->tally, scene->plan.task_count), WEFT_OK);
    bad_records_init(&scene->bad, &scene->plan, &scene->tally);
    const struct resume_options resume = {.plan = &scene->plan,
                                          .tally = &scene->tally,
                                          .bad = &scene->bad,
                                          .calls = &calls,
                                          .owner = scene};
    scene->resume = resume_new(&resume);
    assert_int_equal(output_open(&scene->output, &output), WEFT_OK);
    assert_int_equal(resume_check(scene->resume, scene->output), WEFT_OK);
    assert_false(resume_is_done(scene->resume));
    scene->code = resume_open(scene->resume, scene->pieces);
}

// The same, and comes to the point where its work would begin.
static void begin_run(struct scene *scene, const weft_job *which, struct run_options options)
{
    open_run(scene, which, options);
    if (scene->code != WEFT_OK)
        return;
    assert_int_equal(run_plan_divide_output(&scene->plan, scene->output), WEFT_OK);
    assert_int_equal(resume_restore(scene->resume), WEFT_OK);
}

// The run fails, or its driver is killed: then nothing is said at the end.
static void end_run(struct scene *scene, bool may_keep, bool is_kept)
{
    assert_int_equal(resume_end(scene->resume, may_keep), is_kept);
    output_abort(scene->output);
    resume_free(scene->resume);
    output_free(scene->output);
    bad_records_fini(&scene->bad);
    tally_fini(&scene->tally);
    run_plan_fini(&scene->plan);
    report_fini(&scene->report);
}

// ---- What a run does ----------------------------------------------------------------------------

// A map task was handed out and has ended, with its counters and the records it left out.
static void run_task(struct scene *scene, enum sched_kind kind, uint32_t task, bool leaves_out)
{
    const size_t number = run_plan_number(&scene->plan, 0, kind, task);
    Weft__TaskEnd end = WEFT__TASK_END__INIT;
    Weft__Counter counter = WEFT__COUNTER__INIT, *counters[] = {&counter};
    Weft__BadRecord bad = WEFT__BAD_RECORD__INIT, *bads[] = {&bad};
    counter.name = "things";
    counter.value = 10 + task;
    end.kind = (Weft__TaskKind)kind;
    end.task = task;
    end.attempt = 1;
    end.records_in = 100;
    end.n_counters = 1;
    end.counters = counters;
    bad.offset = task * (uint64_t)MIB + 5;
    bad.reason = "the moon is full";
    end.n_bad = leaves_out;
    end.bad = bads;
    tally_begin(&scene->tally, number, 1);
    assert_int_equal(tally_hold(&scene->tally, number, &end), WEFT_OK);
    assert_int_equal(bad_records_take(&scene->bad, number, &end), WEFT_OK);
}

static void write_piece(struct scene *scene, uint32_t piece)
{
    char path[256];
    snprintf(path, sizeof path, "%s/part-%05u", output_place(scene->output)->path, piece);
    const int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, "text\n", 5), 5);
    close(fd);
    run_task(scene, SCHED_REDUCE, piece, false);
    scene->pieces[piece] = (struct output_piece){
        .bytes = 5, .records = 1, .crc32c = crc32c(0, "text\n", 5), .is_done = true};
    assert_int_equal(resume_note_piece(scene->resume, piece), WEFT_OK);
}

// A slot makes the pairs of these map tasks that it holds safe, in a file of that name.
static void checkpoint(struct scene *scene, const char *name, uint32_t *tasks, size_t count)
{
    Weft__StageOpen open = WEFT__STAGE_OPEN__INIT;
    Weft__Checkpointed done = WEFT__CHECKPOINTED__INIT;
    struct buf directory = {0};
    struct spill spill;
    char path[256];
    resume_fill_open(scene->resume, &open, &directory);
    snprintf(path, sizeof path, "%s/%s", open.runs_directory, name);
    struct run_index index = {.tasks = tasks, .task_count = (uint32_t)count, .range_count = RANGES};
    assert_int_equal(spill_create_named(&spill, path), WEFT_OK);
    done.offset = spill.size;
    assert_int_equal(
        run_index_write(&spill, &index,
                        (weft_bytes){(char *)open.runs_identity.data, open.runs_identity.len}),
        WEFT_OK);
    spill_close(&spill);
    done.path = path;
    done.tasks = tasks;
    done.n_tasks = count;
    assert_int_equal(resume_note_checkpoint(scene->resume, &done, 1), WEFT_OK);
    buf_fini(&directory);
}

static uint64_t things(struct scene *scene, enum sched_kind kind, uint32_t task)
{
    const struct tally_task *held =
        &scene->tally.tasks[run_plan_number(&scene->plan, 0, kind, task)];
    return held->value_count ? (uint64_t)held->values[0].value : 0;
}

static const struct run_options plain = {.quiet = true};
static const struct run_options forced = {.quiet = true, .force = true};
static const struct run_options skipping = {.quiet = true,
                                            .skip_bad = {.is_set = true, .count = 9}};

// ---- The tests ----------------------------------------------------------------------------------

static void a_run_that_has_done_nothing_leaves_nothing(void **state)
{
    (void)state;
    struct scene scene;
    begin_run(&scene, &job, plain);
    assert_int_equal(scene.code, WEFT_OK);
    assert_int_equal(resume_restored_count(scene.resume), 0);
    end_run(&scene, true, false);
    assert_int_not_equal(access(path_of(".out.weft-unfinished"), F_OK), 0);
}

static void what_is_safe_is_taken_over_with_its_counters(void **state)
{
    (void)state;
    struct scene scene;
    begin_run(&scene, &job, plain);
    run_task(&scene, SCHED_MAP, 0, false);
    run_task(&scene, SCHED_MAP, 2, false);
    checkpoint(&scene, "first", (uint32_t[]){0, 2}, 2);
    assert_true(resume_has_checkpoints(scene.resume));
    write_piece(&scene, 1);
    end_run(&scene, true, true);
    begin_run(&scene, &job, plain);
    assert_int_equal(scene.restored[SCHED_MAP], 1U << 0 | 1U << 2);
    assert_int_equal(scene.restored[SCHED_REDUCE], 1U << 1);
    assert_int_equal(resume_restored_count(scene.resume), 3);
    assert_int_equal(things(&scene, SCHED_MAP, 0), 10);
    assert_int_equal(things(&scene, SCHED_MAP, 2), 12);
    assert_int_equal(things(&scene, SCHED_MAP, 1), 0);
    assert_int_equal(things(&scene, SCHED_REDUCE, 1), 11);
    assert_int_equal(resume_record_count(scene.resume), 200);
    Weft__StagePlan plan = WEFT__STAGE_PLAN__INIT;
    assert_int_equal(resume_fill_adopted(scene.resume, &plan.adopted, &plan.n_adopted), WEFT_OK);
    assert_int_equal(plan.n_adopted, 1);
    assert_non_null(strstr(plan.adopted[0]->path, "/first"));
    resume_free_adopted(plan.adopted, plan.n_adopted);
    // A signal: the user wants nothing kept.
    end_run(&scene, false, false);
    assert_int_not_equal(access(path_of(".out.weft-unfinished"), F_OK), 0);
}

// The keys are one letter each.
static void check_cuts(struct scene *scene, uint32_t stage, const char *sample,
                       const char *expected)
{
    ProtobufCBinaryData keys[8];
    Weft__StagePlan plan = WEFT__STAGE_PLAN__INIT;
    plan.stage = stage;
    plan.sample_keys = keys;
    for (plan.n_sample_keys = 0; sample[plan.n_sample_keys]; plan.n_sample_keys++)
        keys[plan.n_sample_keys] = (ProtobufCBinaryData){1, (uint8_t *)&sample[plan.n_sample_keys]};
    assert_int_equal(resume_keep_cuts(scene->resume, &plan), WEFT_OK);
    assert_int_equal(plan.n_sample_keys, strlen(expected));
    for (size_t i = 0; i < plan.n_sample_keys; i++)
        assert_true(plan.sample_keys[i].len == 1 && *plan.sample_keys[i].data == expected[i]);
}

static void ranges_stay_as_the_first_run_has_cut_them(void **state)
{
    (void)state;
    struct scene scene;
    begin_run(&scene, &job, plain);
    check_cuts(&scene, 0, "bdf", "bdf");
    check_cuts(&scene, 0, "bd", "bdf");  // for one more worker
    write_piece(&scene, 0);
    end_run(&scene, true, true);
    begin_run(&scene, &job, plain);
    check_cuts(&scene, 0, "ace", "bdf");
    check_cuts(&scene, 1, "x", "x");  // of a stage that it had not come to
    end_run(&scene, true, true);
    begin_run(&scene, &job, plain);
    check_cuts(&scene, 0, "", "bdf");
    check_cuts(&scene, 1, "y", "x");
    end_run(&scene, false, false);
    begin_run(&scene, &job, plain);  // nothing was kept
    check_cuts(&scene, 0, "ace", "ace");
    end_run(&scene, false, false);
}

static void damaged_map_output_is_made_again(void **state)
{
    (void)state;
    struct scene scene;
    begin_run(&scene, &job, plain);
    run_task(&scene, SCHED_MAP, 0, false);
    run_task(&scene, SCHED_MAP, 1, false);
    checkpoint(&scene, "good", (uint32_t[]){0}, 1);
    checkpoint(&scene, "cut", (uint32_t[]){1}, 1);
    end_run(&scene, true, true);
    assert_int_equal(truncate(path_of(".out.weft-unfinished/.weft-runs/cut"), 10), 0);
    begin_run(&scene, &job, plain);
    assert_int_equal(scene.restored[SCHED_MAP], 1U << 0);
    end_run(&scene, false, false);
}

static void a_task_is_taken_over_once(void **state)
{
    (void)state;
    struct scene scene;
    begin_run(&scene, &job, plain);
    run_task(&scene, SCHED_MAP, 0, false);
    run_task(&scene, SCHED_MAP, 1, false);
    checkpoint(&scene, "first", (uint32_t[]){0}, 1);
    checkpoint(&scene, "both", (uint32_t[]){0, 1}, 2);
    end_run(&scene, true, true);
    begin_run(&scene, &job, plain);  // take_restored refuses a second time
    assert_int_equal(scene.restored[SCHED_MAP], 1U << 0);
    end_run(&scene, false, false);
}

static void another_job_is_refused_and_force_throws_its_work_away(void **state)
{
    (void)state;
    struct scene scene;
    begin_run(&scene, &job, plain);
    write_piece(&scene, 0);
    end_run(&scene, true, true);
    begin_run(&scene, &other_job, plain);
    assert_int_equal(scene.code, WEFT_ALREADY_EXISTS);
    assert_non_null(strstr(err_text(), "an unfinished output is in the way"));
    end_run(&scene, true, false);
    begin_run(&scene, &other_job, forced);
    assert_int_equal(scene.code, WEFT_OK);
    assert_int_equal(resume_restored_count(scene.resume), 0);
    assert_false(scene.pieces[0].is_done);
    end_run(&scene, true, false);
}

static void a_look_touches_nothing(void **state)
{
    (void)state;
    struct scene scene;
    begin_run(&scene, &job, plain);
    run_task(&scene, SCHED_MAP, 0, false);
    checkpoint(&scene, "first", (uint32_t[]){0}, 1);
    write_piece(&scene, 1);
    end_run(&scene, true, true);
    for (int i = 0; i < 2; i++) {
        scene = (struct scene){.options = plain};
        make_plan(&scene, i == 0 ? &job : &other_job);
        const struct output_options output = {
            .target = scene.options.output, .tmp = folder, .job_name = "plain", .may_resume = true};
        assert_int_equal(tally_init(&scene.tally, scene.plan.task_count), WEFT_OK);
        bad_records_init(&scene.bad, &scene.plan, &scene.tally);
        const struct resume_options options = {
            .plan = &scene.plan, .tally = &scene.tally, .bad = &scene.bad};
        scene.resume = resume_new(&options);
        assert_int_equal(output_open(&scene.output, &output), WEFT_OK);
        assert_int_equal(resume_check(scene.resume, scene.output), WEFT_OK);
        resume_look(scene.resume, scene.pieces);
        assert_int_equal(resume_task_count(scene.resume), i == 0);
        assert_int_equal(scene.pieces[1].is_done, i == 0);
        end_run(&scene, true, false);
    }
    begin_run(&scene, &job, plain);
    assert_int_equal(scene.restored[SCHED_MAP], 1U << 0);
    assert_int_equal(scene.restored[SCHED_REDUCE], 1U << 1);
    end_run(&scene, false, false);
}

static void what_was_left_out_is_taken_over_only_where_that_is_allowed(void **state)
{
    (void)state;
    struct scene scene;
    const struct bad_record found = {.place = {0, 77}, .size = 3, .reason = "a crash"};
    begin_run(&scene, &job, skipping);
    run_task(&scene, SCHED_MAP, 1, true);
    checkpoint(&scene, "first", (uint32_t[]){1}, 1);
    assert_int_equal(bad_records_add(&scene.bad, &found), WEFT_OK);
    assert_int_equal(resume_note_bad(scene.resume, &found), WEFT_OK);
    end_run(&scene, true, true);
    begin_run(&scene, &job, plain);
    assert_int_equal(scene.code, WEFT_ALREADY_EXISTS);
    assert_non_null(strstr(err_text(), "--skip-bad"));
    end_run(&scene, true, false);
    begin_run(&scene, &job, skipping);
    assert_int_equal(scene.code, WEFT_OK);
    assert_int_equal(bad_records_count(&scene.bad), 2);
    size_t next = 0;
    const size_t number = run_plan_number(&scene.plan, 0, SCHED_MAP, 1);
    const struct bad_record *left = bad_records_next(&scene.bad, number, &next);
    assert_non_null(left);
    assert_int_equal(left->place.offset, MIB + 5);
    assert_string_equal(left->reason, "the moon is full");
    assert_int_equal(resume_record_count(scene.resume), 100);
    tally_begin(&scene.tally, number, 1);  // it runs again after all
    assert_int_equal(resume_record_count(scene.resume), 0);
    assert_int_equal(bad_records_count(&scene.bad), 1);
    end_run(&scene, false, false);
}

// It finds no name node, no free port, no room: before it has checked the files of the run before.
static void work_outlives_a_run_that_fails_before_its_own(void **state)
{
    (void)state;
    struct scene scene;
    begin_run(&scene, &job, plain);
    write_piece(&scene, 0);
    end_run(&scene, true, true);
    open_run(&scene, &job, plain);
    assert_int_equal(scene.code, WEFT_OK);
    assert_int_equal(run_plan_divide_output(&scene.plan, scene.output), WEFT_OK);
    end_run(&scene, true, true);
    begin_run(&scene, &job, plain);
    assert_int_equal(scene.restored[SCHED_REDUCE], 1);
    end_run(&scene, false, false);
}

static void the_journal_of_work_that_clients_have_outlives_a_run_that_fails(void **state)
{
    (void)state;
    struct scene scene;
    begin_run(&scene, &job, plain);
    assert_int_equal(resume_note_holder(scene.resume, "vm/1", false), WEFT_OK);
    end_run(&scene, true, true);
    begin_run(&scene, &job, plain);
    assert_int_equal(resume_holder_count(scene.resume), 1);
    end_run(&scene, true, true);
    begin_run(&scene, &job, plain);
    assert_int_equal(resume_holder_count(scene.resume), 1);
    end_run(&scene, false, false);
}

static int make_input(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    const int fd = open(path_of("input"), O_WRONLY | O_CREAT, 0600);
    const int result = ftruncate(fd, MAPS * MIB);
    close(fd);
    return result;
}

static int remove_folder(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_that_has_done_nothing_leaves_nothing),
        cmocka_unit_test(what_is_safe_is_taken_over_with_its_counters),
        cmocka_unit_test(ranges_stay_as_the_first_run_has_cut_them),
        cmocka_unit_test(damaged_map_output_is_made_again),
        cmocka_unit_test(a_task_is_taken_over_once),
        cmocka_unit_test(another_job_is_refused_and_force_throws_its_work_away),
        cmocka_unit_test(a_look_touches_nothing),
        cmocka_unit_test(what_was_left_out_is_taken_over_only_where_that_is_allowed),
        cmocka_unit_test(work_outlives_a_run_that_fails_before_its_own),
        cmocka_unit_test(the_journal_of_work_that_clients_have_outlives_a_run_that_fails),
    };
    return cmocka_run_group_tests(tests, make_input, remove_folder);
}
