// Tests of the orders a driver may send: every rule is broken once, where all else is right.
#include "run/worker/frames_testing.h"

// ---- a whole job

static void a_job_of_two_stages_is_taken(void **state)
{
    struct talk *talk = *state;
    open_stage(talk);
    assert_taken(tell_task(talk, SAMPLE, 0, 0));
    assert_taken(tell_task(talk, SAMPLE, 1, 0));
    frames_note_end(&talk->told, 0, SAMPLE, 0, false);
    frames_note_end(&talk->told, 0, SAMPLE, 1, false);
    assert_taken(tell_plan(talk));
    for (uint32_t i = 0; i < MAPS; i++)
        assert_taken(tell_task(talk, MAP, i, i % 2));
    assert_taken(tell_checkpoint(talk, 0));
    for (uint32_t i = 0; i < MAPS; i++)
        frames_note_end(&talk->told, i % 2, MAP, i, true);
    frames_note_checkpointed(&talk->told, 0);
    assert_taken(tell_seal(talk, 1));
    frames_note_sealed(&talk->told, 1);
    assert_taken(tell_task(talk, REDUCE, 5, 2));
    frames_note_end(&talk->told, 2, REDUCE, 5, false);
    fill_stage(talk);
    talk->open.stage = talk->open.job_index = 1;
    talk->open.is_map_only = true;
    talk->open.map_count = RANGES;
    talk->open.runs_directory = (char *)"";
    assert_taken(tell_stage(talk));
    talk->plan.stage = 1;
    assert_taken(tell_plan(talk));
    assert_taken(tell_task(talk, MAP, 5, 1));
    assert_taken(tell(talk, WEFT__FRAME_TYPE__FRAME_BYE, NULL));
}

static void a_stage_that_looks_for_a_record_is_taken(void **state)
{
    struct talk *talk = *state;
    start_job(talk);
    talk->open.is_map_only = true;
    assert_taken(tell_stage(talk));
    talk->run.purpose = WEFT__PURPOSE__PURPOSE_PROBE;
    talk->piece.end = 5000;  // of what a compressed file holds
    assert_taken(tell_run(talk));
    frames_note_end(&talk->told, 0, MAP, 0, false);
    talk->run.purpose = WEFT__PURPOSE__PURPOSE_LOOK;
    assert_taken(tell_run(talk));
    talk->run.purpose = WEFT__PURPOSE__PURPOSE_RUN;
    talk->piece.end = 1000;
    talk->run.task = 1;
    assert_refused(tell_run(talk), "only looks at records");
}

static void a_failed_map_task_is_told_again_with_all_that_went_with_it(void **state)
{
    struct talk *talk = *state;
    const uint32_t dropped[] = {0};
    plan_stage(talk);
    assert_taken(tell_task(talk, MAP, 0, 1));
    frames_note_end(&talk->told, 1, MAP, 0, true);
    assert_refused(tell_task(talk, MAP, 0, 2), "map task 0, which is done");
    assert_taken(tell_task(talk, MAP, 1, 1));
    frames_note_end(&talk->told, 1, MAP, 1, false);
    frames_note_dropped(&talk->told, 1, dropped, 1);
    assert_taken(tell_task(talk, MAP, 0, 2));
    assert_taken(tell_task(talk, MAP, 1, 2));
}

// ---- order

static void frames_out_of_order_are_refused(void **state)
{
    struct talk *talk = *state;
    assert_refused(tell_stage(talk), "a stage before the job");
    assert_refused(tell_plan(talk), "stage 0, which is not open");
    assert_refused(tell_run(talk), "a task before any stage");
    assert_refused(tell_seal(talk, 0), "a seal before any stage");
    assert_refused(tell_checkpoint(talk, 0), "a checkpoint before any stage");
    start_job(talk);
    assert_refused(tell_job(talk), "a second job");
    assert_taken(tell_stage(talk));
    assert_refused(tell_task(talk, MAP, 0, 0), "a map task before the plan");
    assert_refused(tell_task(talk, REDUCE, 0, 0), "a reduce task before the plan");
    assert_refused(tell_seal(talk, 0), "nothing to collect");
    assert_refused(tell_checkpoint(talk, 0), "nothing to collect");
    assert_taken(tell_plan(talk));
    assert_refused(tell_plan(talk), "a second plan");
    assert_refused(tell_task(talk, SAMPLE, 0, 0), "a sample task after the plan");
    assert_refused(tell_stage(talk), "stage 0 after stage 0");
}

static void a_plan_waits_for_the_samples(void **state)
{
    struct talk *talk = *state;
    open_stage(talk);
    assert_taken(tell_task(talk, SAMPLE, 0, 2));
    assert_refused(tell_plan(talk), "a plan while slot 2 is at work");
}

static void reduce_tasks_wait_for_the_seals(void **state)
{
    struct talk *talk = *state;
    plan_stage(talk);
    assert_taken(tell_task(talk, MAP, 0, 1));
    assert_refused(tell_task(talk, REDUCE, 0, 0), "while slot 1 is at work");
    assert_refused(tell_seal(talk, 1), "slot 1, which is at a task");
    frames_note_end(&talk->told, 1, MAP, 0, true);
    assert_refused(tell_task(talk, REDUCE, 0, 0), "while slot 1 is not sealed");
    assert_taken(tell_seal(talk, 1));
    assert_refused(tell_seal(talk, 1), "which has one");
    assert_refused(tell_task(talk, MAP, 1, 1), "slot 1, which is sealed");
    frames_note_sealed(&talk->told, 1);
    assert_refused(tell_checkpoint(talk, 1), "which has one");
    assert_taken(tell_task(talk, REDUCE, 0, 0));
    assert_refused(tell_task(talk, MAP, 1, 0), "after the first reduce task");
    assert_refused(tell_seal(talk, 0), "nothing to collect");
    assert_taken(tell_task(talk, REDUCE, 1, 0));
}

static void stages_follow_each_other(void **state)
{
    struct talk *talk = *state;
    plan_stage(talk);
    talk->open.stage = 2;
    talk->open.job_index = 1;
    talk->open.is_map_only = true;
    talk->open.runs_directory = (char *)"";
    assert_refused(tell_stage(talk), "stage 2 after stage 0");
    talk->open.stage = 1;
    assert_refused(tell_stage(talk), "4 map tasks for 6 pieces");
    talk->open.map_count = RANGES;
    Weft__StageOpen next = talk->open;
    talk->open.stage = 0;
    assert_taken(tell_task(talk, REDUCE, 0, 2));
    talk->open = next;
    assert_refused(tell_stage(talk), "another stage while slot 2 is at work");
}

static void tasks_of_a_later_stage_need_the_one_before(void **state)
{
    struct talk *talk = *state;
    start_job(talk);
    talk->open.stage = 2;
    talk->open.job_index = 1;
    talk->open.is_map_only = true;
    talk->open.runs_directory = (char *)"";
    assert_taken(tell_stage(talk));
    talk->plan.stage = 2;
    assert_taken(tell_plan(talk));
    assert_refused(tell_task(talk, MAP, 0, 0), "without the stage before");
    talk->run.stage = 1;
    assert_refused(tell_run(talk), "a task of stage 1 in stage 2");
}

// ---- values of JOB_START

static void wrong_values_of_a_job_are_refused(void **state)
{
    struct talk *talk = *state;
#define refuse_when(change, why) (fill_start(talk), change, assert_refused(tell_job(talk), why))
    refuse_when(talk->start.slots = 0, "0 slots");
    refuse_when(talk->start.slots = SLOTS_MAX + 1, "257 slots");
    refuse_when(talk->start.tmp = (char *)"", "temporary files");
    refuse_when(talk->start.text_form = 4, "output format 4");
    refuse_when(talk->start.compress = 6, "compression 6");
    refuse_when(talk->start.format = NULL, "without a record format");
    refuse_when(talk->format.kind = 7, "record format 7 of 7");
    refuse_when(talk->format.delimiter = 256, "not a byte");
    refuse_when(talk->format.kind = 6, "records of no bytes");
    refuse_when((talk->format.kind = 3, talk->format.separator = '"'), "a quote");
    refuse_when(talk->inputs[1].name = (char *)"", "input 1 without a name");
    refuse_when(talk->inputs[1].size = UINT64_MAX, "input 1 of");
    refuse_when(talk->inputs[0].codec = 8, "codec 8 of input 0");
    fill_start(talk);
    talk->start.n_next_configs = 0;
    assert_taken(tell_job(talk));
    assert_refused(frames_know_chain(&talk->told, &talk->chain), "the configs of 1 jobs");
#undef refuse_when
}

// ---- values of STAGE_OPEN

static void a_stage_of_nothing_has_no_parts(void **state)
{
    struct talk *talk = *state;
    start_job(talk);
    talk->open.map_count = talk->open.part_count = talk->open.range_count = 0;
    assert_refused(tell_stage(talk), "0 parts");
    talk->open.is_map_only = true;
    assert_taken(tell_stage(talk));
    assert_taken(tell_plan(talk));
}

static void wrong_values_of_a_stage_are_refused(void **state)
{
    struct talk *talk = *state;
    start_job(talk);
#define refuse_when(change, why) (fill_stage(talk), change, assert_refused(tell_stage(talk), why))
    refuse_when(talk->open.stage = 3, "stage 3 of 3");
    refuse_when(talk->open.job_index = 1, "job 1 for stage 0");
    refuse_when((talk->open.stage = talk->open.job_index = 1), "a reduce of stage 1");
    refuse_when(talk->open.part_count = 0, "0 parts");
    refuse_when(talk->open.part_count = 4097, "4097 parts");
    refuse_when(talk->open.range_count = 0, "0 ranges");
    refuse_when(talk->open.range_count = 7, "7 ranges of keys for 2 parts");
    refuse_when(talk->open.range_count = 4098, "4098 ranges");
    refuse_when(talk->open.map_count = UINT32_MAX, "map tasks, at most");
    refuse_when(talk->open.sample_count = 33, "33 sample tasks");
    refuse_when(talk->output.kind = 5, "an output of kind 5");
    refuse_when(talk->output.kind = WEFT__OUTPUT_KIND__OUTPUT_SHELF, "workers that share nothing");
    refuse_when(talk->output.kind = WEFT__OUTPUT_KIND__OUTPUT_FILE, "without a path");
    refuse_when((talk->output.kind = WEFT__OUTPUT_KIND__OUTPUT_FD, talk->output.fd = 5),
                "not the last");
    refuse_when((talk->open.stage = talk->open.job_index = 1, talk->open.is_map_only = true),
                "is to be kept");
    uint8_t identity[257] = {0};
    refuse_when(talk->open.runs_identity = ((ProtobufCBinaryData){sizeof identity, identity}),
                "an identity of 257 bytes");
    uint32_t pieces[] = {0};
    refuse_when((talk->open.done_pieces = pieces, talk->open.n_done_pieces = 1),
                "an output that there is not");
#undef refuse_when
}

// The last stage, which has no reduce, with an output; two of its pieces are done.
struct last_stage {
    uint32_t parts[MAPS], pieces[2], sums[2];
    uint64_t bytes[2];
};

static void fill_last(struct talk *talk, struct last_stage *last)
{
    *last = (struct last_stage){{0, 0, 1, 1}, {1, 3}, {0, 0}, {10, 20}};
    fill_stage(talk);
    talk->output.kind = WEFT__OUTPUT_KIND__OUTPUT_FD;
    talk->output.fd = 5;
    talk->open.stage = 2;
    talk->open.job_index = 1;
    talk->open.is_map_only = true;
    talk->open.runs_directory = (char *)"";
    talk->open.part_of_task = last->parts;
    talk->open.n_part_of_task = MAPS;
    talk->open.done_pieces = last->pieces;
    talk->open.done_bytes = last->bytes;
    talk->open.done_crc = last->sums;
    talk->open.n_done_pieces = talk->open.n_done_bytes = talk->open.n_done_crc = 2;
}

static void wrong_values_of_an_output_are_refused(void **state)
{
    struct talk *talk = *state;
    struct last_stage last;
    start_job(talk);
#define refuse_when(change, why)                                                                   \
    (fill_last(talk, &last), change, assert_refused(tell_stage(talk), why))
    refuse_when(talk->output.fd = -1, "descriptor -1");
    refuse_when(talk->output.fd = CONNECTION, "descriptor 9");
    refuse_when(talk->open.n_part_of_task = 3, "the parts of 3 tasks, not 4");
    refuse_when(last.parts[3] = 2, "part 2 of 2 for task 3");
    refuse_when(last.parts[3] = 0, "part 0 of 2 for task 3, after part 1");
    refuse_when(talk->open.n_done_bytes = 1, "2 finished pieces with 1 sizes");
    refuse_when(talk->open.n_done_crc = 0, "and 0 checksums");
    refuse_when(last.pieces[1] = 4, "finished piece 4 of 4");
    refuse_when(last.pieces[1] = 1, "finished piece 1 of 4");
    refuse_when(last.bytes[1] = INT64_MAX, "finished pieces of more than");
#undef refuse_when
    fill_last(talk, &last);
    assert_taken(tell_stage(talk));
}

// ---- values of STAGE_PLAN

static void wrong_values_of_a_plan_are_refused(void **state)
{
    enum { TOO_MANY = 32 * 256 + 1 };
    struct talk *talk = *state;
    Weft__AdoptedRuns runs = WEFT__ADOPTED_RUNS__INIT, *list[] = {&runs};
    open_stage(talk);
    talk->plan.stage = 1;
    assert_refused(tell_plan(talk), "stage 1, which is not open");
    talk->plan.stage = 0;
    talk->plan.adopted = list;
    talk->plan.n_adopted = 1;
    assert_refused(tell_plan(talk), "adopted from nowhere");
    runs.path = (char *)"/tmp/runs/map-0-0-0";
    talk->told.stage.keeps_runs = false;
    assert_refused(tell_plan(talk), "a stage that keeps none");
    talk->plan.n_adopted = 0;
    talk->plan.sample_keys = calloc(TOO_MANY, sizeof *talk->plan.sample_keys);
    talk->plan.n_sample_keys = TOO_MANY;
    assert_refused(tell_plan(talk), "a sample of 8193 keys");
    free(talk->plan.sample_keys);
}

// ---- values of TASK_RUN, SEAL and CHECKPOINT

static void wrong_values_of_a_task_are_refused(void **state)
{
    struct talk *talk = *state;
    plan_stage(talk);
#define refuse_when(change, why) (fill_run(talk), change, assert_refused(tell_run(talk), why))
    refuse_when(talk->run.slot = SLOTS, "a task for slot 3 of 3");
    refuse_when(talk->run.kind = 3, "a task of kind 3");
    refuse_when(talk->run.purpose = 3, "for purpose 3");
    refuse_when(talk->run.task = MAPS, "map task 4 of 4");
    refuse_when((talk->run.kind = REDUCE, talk->run.task = RANGES), "reduce task 6 of 6");
    refuse_when((talk->run.kind = SAMPLE, talk->run.task = 2), "sample task 2 of 2");
    refuse_when((talk->run.kind = REDUCE, talk->run.purpose = 1), "by a reduce task");
    refuse_when(talk->run.purpose = 1, "a stage with an output");
    refuse_when(talk->run.kind = REDUCE, "a task that reads none");
    refuse_when(talk->piece.input = 2, "a piece of input 2 of 2");
    refuse_when(talk->piece.end = 1001, "bytes 0 to 1001 of input 0");
    refuse_when(talk->piece.begin = 1001, "bytes 1001 to 1000");
    refuse_when(talk->skips[1].input = 2, "a record of input 2 of 2");
    refuse_when(talk->skips[0].offset = 2, "not in order");
    refuse_when(talk->skips[0].input = 1, "not in order");
#undef refuse_when
}

static void a_look_beyond_an_indexed_input_is_refused(void **state)
{
    struct talk *talk = *state;
    talk->inputs[0].is_indexed = true;
    start_job(talk);
    talk->open.is_map_only = true;
    assert_taken(tell_stage(talk));
    talk->run.purpose = WEFT__PURPOSE__PURPOSE_PROBE;
    talk->piece.end = 1001;
    assert_refused(tell_run(talk), "bytes 0 to 1001");
}

static void a_task_is_at_one_slot_and_a_slot_has_two(void **state)
{
    struct talk *talk = *state;
    plan_stage(talk);
    assert_taken(tell_task(talk, MAP, 0, 1));
    assert_refused(tell_task(talk, MAP, 0, 2), "map task 0, which slot 1 is at");
    assert_taken(tell_task(talk, MAP, 1, 1));
    assert_refused(tell_task(talk, MAP, 2, 1), "a third task for slot 1");
}

static void seals_and_checkpoints_of_wrong_slots_are_refused(void **state)
{
    struct talk *talk = *state;
    plan_stage(talk);
    assert_refused(tell_seal(talk, SLOTS), "a seal for slot 3 of 3");
    assert_refused(tell_checkpoint(talk, SLOTS), "a checkpoint for slot 3 of 3");
    assert_taken(tell_checkpoint(talk, 0));
    assert_refused(tell_checkpoint(talk, 0), "which has one");
    talk->told.stage.keeps_runs = false;
    assert_refused(tell_checkpoint(talk, 1), "without a place");
}

// ---- bytes that are not a message

static void what_cannot_be_read_is_refused(void **state)
{
    struct talk *talk = *state;
    struct order order;
    struct frame frame = {.type = WEFT__FRAME_TYPE__FRAME_JOB_START, .payload = {"\xff", 1}};
    assert_refused(frames_take(&talk->told, &frame, &order), "a JobStart that cannot be read");
    frame.type = WEFT__FRAME_TYPE__FRAME_TASK_END;
    assert_refused(frames_take(&talk->told, &frame, &order), "a frame of type 6");
    assert_null(order.message);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_of_two_stages_is_taken),
        TEST(a_stage_that_looks_for_a_record_is_taken),
        TEST(a_failed_map_task_is_told_again_with_all_that_went_with_it),
        TEST(frames_out_of_order_are_refused),
        TEST(a_plan_waits_for_the_samples),
        TEST(reduce_tasks_wait_for_the_seals),
        TEST(stages_follow_each_other),
        TEST(tasks_of_a_later_stage_need_the_one_before),
        TEST(wrong_values_of_a_job_are_refused),
        TEST(a_stage_of_nothing_has_no_parts),
        TEST(wrong_values_of_a_stage_are_refused),
        TEST(wrong_values_of_an_output_are_refused),
        TEST(wrong_values_of_a_plan_are_refused),
        TEST(wrong_values_of_a_task_are_refused),
        TEST(a_look_beyond_an_indexed_input_is_refused),
        TEST(a_task_is_at_one_slot_and_a_slot_has_two),
        TEST(seals_and_checkpoints_of_wrong_slots_are_refused),
        TEST(what_cannot_be_read_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
