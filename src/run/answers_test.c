// Tests of what a worker may answer: every rule is broken once.

#include "run/answers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct answer_rules rules = {
    .slot_count = 2, .task_counts = {1, 3, 4}, .is_last = true, .input_count = 2};

static weft_err hear_by(const struct answer_rules *by, Weft__FrameType type, const void *message)
{
    struct buf packed = {0};
    ProtobufCMessage *heard = NULL;
    assert_int_equal(message_append(&packed, type, message), WEFT_OK);
    const struct frame frame = {
        .type = type,
        .payload = {packed.data + FRAME_HEADER_BYTES, packed.size - FRAME_HEADER_BYTES}};
    err_clear();
    assert_int_equal(answer_unpack(&frame, &heard), WEFT_OK);
    const weft_err code = answer_check(type, by, heard);
    message_free(heard);
    buf_fini(&packed);
    return code;
}

static void assert_refused(weft_err code, const char *why)
{
    assert_int_equal(code, WEFT_INTERNAL);
    if (!strstr(err_text(), why))
        fail_msg("\"%s\" is not in: %s", why, err_text());
}

// ---- TASK_END

struct end {
    Weft__TaskEnd message;
    Weft__BadRecord bad, *bad_list[1];
    Weft__Place place;
    ProtobufCBinaryData keys[257];
    Weft__Counter counter, *counters[257];
};

static struct end *fill_end(struct end *end)
{
    weft__task_end__init(&end->message);
    weft__bad_record__init(&end->bad);
    weft__place__init(&end->place);
    weft__counter__init(&end->counter);
    for (int i = 0; i < 257; i++) {
        end->counters[i] = &end->counter;
        end->keys[i] = (ProtobufCBinaryData){0};
    }
    end->bad_list[0] = &end->bad;
    end->message.kind = WEFT__TASK_KIND__TASK_MAP;
    end->message.task = 2;
    end->message.slot = 1;
    end->message.bad = end->bad_list;
    end->message.n_bad = 1;
    end->message.place = &end->place;
    end->message.sample_keys = end->keys;
    end->message.counters = end->counters;
    end->message.n_counters = 256;
    return end;
}

static weft_err hear_end(const struct end *end)
{
    return hear_by(&rules, WEFT__FRAME_TYPE__FRAME_TASK_END, &end->message);
}

static void the_end_of_a_task_is_checked(void **state)
{
    struct end end;
    (void)state;
    assert_int_equal(hear_end(fill_end(&end)), WEFT_OK);
#define refuse_when(change, why) (fill_end(&end), change, assert_refused(hear_end(&end), why))
    refuse_when(end.message.kind = 3, "the end of a task of kind 3");
    refuse_when(end.message.task = 3, "the end of map task 3 of 3");
    refuse_when(end.message.slot = 2, "slot 2 of 2");
    refuse_when(end.message.code = 17, "code 17");
    refuse_when(end.message.n_sample_keys = 1, "a sample of 1 keys by a map task");
    refuse_when((end.message.kind = 0, end.message.task = 0, end.message.n_sample_keys = 257),
                "a sample of 257 keys");
    refuse_when(end.message.n_counters = 257, "257 counters");
    refuse_when(end.bad.input = 2, "a bad record of input 2 of 2");
    refuse_when(end.message.kind = 2, "bad records of a reduce task");
    refuse_when(end.place.input = 2, "a record of input 2 of 2");
#undef refuse_when
}

// ---- commits

struct commit {
    Weft__Committed message;
    uint32_t tasks[2], sums[2];
    uint64_t bytes[2], records[2];
};

static struct commit *fill_commit(struct commit *commit)
{
    *commit = (struct commit){.tasks = {0, 3}, .bytes = {1, 2}};
    weft__committed__init(&commit->message);
    commit->message.kind = WEFT__TASK_KIND__TASK_REDUCE;
    commit->message.tasks = commit->tasks;
    commit->message.output_bytes = commit->bytes;
    commit->message.output_crc = commit->sums;
    commit->message.output_records = commit->records;
    commit->message.n_tasks = commit->message.n_output_bytes = 2;
    commit->message.n_output_crc = commit->message.n_output_records = 2;
    return commit;
}

static weft_err hear_commit(const struct commit *commit)
{
    return hear_by(&rules, WEFT__FRAME_TYPE__FRAME_COMMITTED, &commit->message);
}

static void a_commit_is_checked(void **state)
{
    struct commit commit;
    (void)state;
    assert_int_equal(hear_commit(fill_commit(&commit)), WEFT_OK);
#define refuse_when(change, why)                                                                   \
    (fill_commit(&commit), change, assert_refused(hear_commit(&commit), why))
    refuse_when(commit.message.kind = 0, "a commit of tasks of kind 0");
    refuse_when(commit.message.kind = 3, "a commit of tasks of kind 3");
    refuse_when(commit.tasks[1] = 4, "a commit of reduce task 4 of 4");
    refuse_when(commit.message.n_output_bytes = 1, "with the sizes of 1");
    refuse_when(commit.message.n_output_crc = 1, "a commit of 2 tasks");
    refuse_when(commit.message.n_output_records = 0, "a commit of 2 tasks");
    refuse_when(commit.bytes[0] = UINT64_MAX, "bytes");
#undef refuse_when
    // Map tasks are held for the reduce: they have no sizes.
    fill_commit(&commit);
    commit.tasks[1] = 2;
    commit.message.kind = WEFT__TASK_KIND__TASK_MAP;
    commit.message.n_output_bytes = commit.message.n_output_crc = 0;
    commit.message.n_output_records = 0;
    assert_int_equal(hear_commit(&commit), WEFT_OK);
}

static void an_answer_names_the_stage_whose_rules_it_is_held_to(void **state)
{
    struct end end;
    struct answer_rules later = rules;
    Weft__Committed committed = WEFT__COMMITTED__INIT;
    Weft__Sealed sealed = WEFT__SEALED__INIT;
    (void)state;
    const Weft__FrameType type = WEFT__FRAME_TYPE__FRAME_TASK_END;
    fill_end(&end)->message.stage = 1;
    committed.stage = 2;
    assert_int_equal(answer_stage(type, &end.message.base, 5), 1);
    assert_int_equal(answer_stage(WEFT__FRAME_TYPE__FRAME_COMMITTED, &committed.base, 5), 2);
    assert_int_equal(answer_stage(WEFT__FRAME_TYPE__FRAME_SEALED, &sealed.base, 5), 5);
    assert_refused(hear_by(&rules, type, &end.message), "an answer of stage 1");
    later.stage = 1;
    assert_int_equal(hear_by(&later, type, &end.message), WEFT_OK);
}

static void a_checkpoint_is_checked(void **state)
{
    Weft__Checkpointed done = WEFT__CHECKPOINTED__INIT;
    struct answer_rules later = rules;
    uint32_t task = 2;
    (void)state;
    const Weft__FrameType type = WEFT__FRAME_TYPE__FRAME_CHECKPOINTED;
    done.tasks = &task;
    done.n_tasks = 1;
    done.path = (char *)"/runs/map-0-0-0";
    assert_int_equal(hear_by(&rules, type, &done), WEFT_OK);
    later.stage = done.stage = 1;
    assert_refused(hear_by(&later, type, &done), "a stage that keeps nothing");
    done.stage = 0;
    done.is_seal = true;
    assert_refused(hear_by(&rules, type, &done), "a seal for other workers");
    done.is_seal = false;
    task = 3;
    assert_refused(hear_by(&rules, type, &done), "a checkpoint of map task 3 of 3");
    done.slot = 2;
    assert_refused(hear_by(&rules, type, &done), "a checkpoint of slot 2 of 2");
    done.slot = 0;
    for (int i = 0; i < 3; i++) {
        static const char *const paths[] = {"", "/runs/", "/runs/.."};
        done.path = (char *)paths[i];
        assert_refused(hear_by(&rules, type, &done), "in no file");
    }
    done.path = (char *)"map";
    done.offset = UINT64_MAX;
    assert_refused(hear_by(&rules, type, &done), "a checkpoint at byte");
}

// ---- where workers share

static void what_workers_share_has_its_place(void **state)
{
    struct answer_rules shared = rules;
    struct commit commit;
    uint64_t offsets[2] = {0, 5};
    uint32_t task = 2;
    Weft__Checkpointed done = WEFT__CHECKPOINTED__INIT;
    (void)state;
    shared.is_shared = true;
    shared.is_last = false;
    fill_commit(&commit);
    commit.message.shelf_offsets = offsets;
#define hear_shared() hear_by(&shared, WEFT__FRAME_TYPE__FRAME_COMMITTED, &commit.message)
    assert_refused(hear_shared(), "with the places of 0");
    commit.message.n_shelf_offsets = 2;
    assert_int_equal(hear_shared(), WEFT_OK);
    commit.message.n_output_records = 1;
    assert_refused(hear_shared(), "a commit of 2 tasks");
    commit.message.n_output_records = 2;
    offsets[1] = UINT64_MAX;
    assert_refused(hear_shared(), "a commit at byte");
#undef hear_shared
    // Map output for others is in a file without a name, in any stage.
    done.tasks = &task, done.n_tasks = 1;
    done.stage = shared.stage = 1;
    done.is_seal = true;
    assert_int_equal(hear_by(&shared, WEFT__FRAME_TYPE__FRAME_CHECKPOINTED, &done), WEFT_OK);
    done.path = (char *)"/runs/..";
    assert_refused(hear_by(&shared, WEFT__FRAME_TYPE__FRAME_CHECKPOINTED, &done), "in no file");
}

// ---- lent inputs

static void a_need_is_for_bytes_of_a_lent_input(void **state)
{
    Weft__Input inputs[2] = {WEFT__INPUT__INIT, WEFT__INPUT__INIT}, *list[] = {inputs, inputs + 1};
    Weft__JobStart start = WEFT__JOB_START__INIT;
    Weft__Need need = WEFT__NEED__INIT;
    (void)state;
    inputs[1].is_lent = true;
    start.inputs = list;
    start.n_inputs = 2;
    need.size = 5;
    assert_refused(answer_check_need(&need, &start), "input 0, which is not lent");
    need.input = 2;
    assert_refused(answer_check_need(&need, &start), "input 2, which is not lent");
    need.input = 1;
    assert_int_equal(answer_check_need(&need, &start), WEFT_OK);
    need.offset = INT64_MAX;
    assert_refused(answer_check_need(&need, &start), "a need for 5 bytes at byte");
    need.offset = UINT64_MAX;
    assert_refused(answer_check_need(&need, &start), "a need for 5 bytes at byte");
    need.offset = need.size = 0;
    assert_refused(answer_check_need(&need, &start), "a need for 0 bytes");
    // An agent that lends nothing does not hand it on, and a driver refuses it.
    assert_refused(hear_by(&rules, WEFT__FRAME_TYPE__FRAME_NEED, &need), "that are not lent");
}

static void only_a_failure_for_want_of_lent_bytes_is_blameless(void **state)
{
    struct answer_rules lent = rules;
    struct end *end = malloc(sizeof *end);
    (void)state;
    assert_non_null(end);
    lent.is_lent = true;
    fill_end(end);
    end->message.is_blameless = true;
    end->message.code = WEFT_UNAVAILABLE;
    const Weft__FrameType type = WEFT__FRAME_TYPE__FRAME_TASK_END;
    assert_int_equal(hear_by(&lent, type, &end->message), WEFT_OK);
    assert_refused(hear_by(&rules, type, &end->message), "that are not lent");
    end->message.is_final = true;
    assert_refused(hear_by(&lent, type, &end->message), "that are not lent");
    end->message.is_final = false;
    end->message.code = WEFT_OK;
    assert_refused(hear_by(&lent, type, &end->message), "that are not lent");
    free(end);
}

// ---- the rest

static void a_seal_is_checked(void **state)
{
    Weft__Sealed sealed = WEFT__SEALED__INIT;
    (void)state;
    assert_int_equal(hear_by(&rules, WEFT__FRAME_TYPE__FRAME_SEALED, &sealed), WEFT_OK);
    sealed.slot = 2;
    assert_refused(hear_by(&rules, WEFT__FRAME_TYPE__FRAME_SEALED, &sealed),
                   "the seal of slot 2 of 2");
}

static void a_failure_has_a_code(void **state)
{
    Weft__WorkerFailed failed = WEFT__WORKER_FAILED__INIT;
    const Weft__FrameType type = WEFT__FRAME_TYPE__FRAME_WORKER_FAILED;
    (void)state;
    assert_refused(hear_by(&rules, type, &failed), "a failure with code 0");
    failed.code = 99;
    assert_refused(hear_by(&rules, type, &failed), "a failure with code 99");
    failed.code = WEFT_INTERNAL;
    assert_int_equal(hear_by(&rules, type, &failed), WEFT_OK);
}

static void what_no_worker_says_is_refused(void **state)
{
    ProtobufCMessage *heard;
    struct frame frame = {.type = WEFT__FRAME_TYPE__FRAME_TASK_RUN};
    (void)state;
    assert_refused(answer_unpack(&frame, &heard), "a frame of type 5");
    frame = (struct frame){.type = WEFT__FRAME_TYPE__FRAME_SEALED, .payload = {"\xff", 1}};
    assert_refused(answer_unpack(&frame, &heard), "a Sealed that cannot be read");
    assert_null(heard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_a_task_is_checked),
        cmocka_unit_test(a_commit_is_checked),
        cmocka_unit_test(a_checkpoint_is_checked),
        cmocka_unit_test(what_workers_share_has_its_place),
        cmocka_unit_test(a_need_is_for_bytes_of_a_lent_input),
        cmocka_unit_test(only_a_failure_for_want_of_lent_bytes_is_blameless),
        cmocka_unit_test(a_seal_is_checked),
        cmocka_unit_test(an_answer_names_the_stage_whose_rules_it_is_held_to),
        cmocka_unit_test(a_failure_has_a_code),
        cmocka_unit_test(what_no_worker_says_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
