// Tests of the frames from an interpreter: which pairs wait for the end of their attempt, and damaged frames.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "code/python/interpreter.h"
#include "mapreduce/work/slot_testing.h"

static struct rig rig;
static struct interpreter interpreter;

static void map_nothing(weft_task *task, weft_bytes record)
{
    (void)task, (void)record;
}

static const weft_job job = {.name = "frames", .map = map_nothing, .reduce = weft_first};

static int setup(void **state)
{
    (void)state;
    rig_init(&rig, &job, weft_text("x\n"));
    rig_open(&rig);
    slot_begin_attempt(&rig.slots[0], SLOT_COLLECT, 0);
    interpreter = (struct interpreter){
        .task = &rig.slots[0].hot, .defers = true, .waiting_max = 100, .asked = 'E'};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    buf_fini(&interpreter.in);
    buf_fini(&interpreter.room);
    buf_fini(&interpreter.call);
    buf_fini(&interpreter.failure_text);
    rig_fini(&rig);
    return 0;
}

static void receive(char kind, const void *payload, size_t size)
{
    const uint32_t length = (uint32_t)size;
    buf_append(&interpreter.in, &length, 4);
    buf_append(&interpreter.in, &kind, 1);
    buf_append(&interpreter.in, payload, size);
    interpreter_take_frames(&interpreter);
}

static void receive_pair(char kind, size_t value_size)
{
    char payload[200] = {0};
    const uint32_t sizes[2] = {1, (uint32_t)value_size};
    memcpy(payload, sizes, sizeof sizes);
    payload[8] = 'k';
    assert_true(9 + value_size <= sizeof payload);
    receive(kind, payload, 9 + value_size);
}

static uint64_t emitted(void)
{
    return rig.slots[0].records_out;
}

static void what_an_interpreter_is_at_does_not_end_the_waiting(void **state)
{
    (void)state;
    receive_pair('P', 5);
    receive('A', "reducefn\0'key'", 14);
    assert_true(interpreter.is_at_work);
    receive_pair('P', 6);
    assert_int_equal(emitted(), 0);
    receive('A', "", 0);
    assert_false(interpreter.is_at_work);
    assert_int_equal(emitted(), 0);
    receive('E', "", 0);
    assert_int_equal(emitted(), 2);
}

static void pairs_wait_for_the_end(void **state)
{
    (void)state;
    receive_pair('P', 5);
    receive_pair('P', 6);
    assert_int_equal(emitted(), 0);
    assert_int_equal(interpreter.waiting, interpreter.in.size);
    receive('E', "", 0);
    assert_true(interpreter.has_ended);
    assert_int_equal(emitted(), 2);
    assert_int_equal(interpreter.in.size, 0);
}

static void a_frame_may_come_in_pieces(void **state)
{
    (void)state;
    static const char frame[] = {9, 0, 0, 0, 'P', 1, 0, 0, 0, 0, 0, 0, 0, 'k', 0, 0, 0, 0, 'E'};
    for (size_t i = 0; i < sizeof frame; i++) {
        assert_int_equal(emitted(), 0);
        buf_append(&interpreter.in, &frame[i], 1);
        interpreter_take_frames(&interpreter);
    }
    assert_int_equal(emitted(), 1);
    assert_true(interpreter.has_ended);
}

static void pairs_of_an_attempt_that_fails_are_dropped(void **state)
{
    (void)state;
    receive_pair('P', 5);
    receive('F', "\0\0\0\0\0\0\0\0it raised", 17);
    assert_int_equal(emitted(), 0);
    assert_int_equal(interpreter.failure, WEFT_ABORTED);
    assert_string_equal(buf_text(&interpreter.failure_text), "it raised");
    assert_true(interpreter.is_reported && !interpreter.is_final && !interpreter.has_emitted);
    assert_int_equal(interpreter.waiting, 0);
}

static void too_many_pairs_do_not_wait(void **state)
{
    (void)state;
    receive_pair('P', 60);
    assert_int_equal(emitted(), 0);
    receive_pair('P', 60);
    assert_int_equal(emitted(), 2);
    assert_true(interpreter.has_emitted);
    receive_pair('P', 1);
    assert_int_equal(emitted(), 3);
    assert_int_equal(interpreter.in.size, 0);
}

static void held_pairs_pass_those_that_wait(void **state)
{
    (void)state;
    receive_pair('P', 5);
    receive_pair('Q', 7);
    assert_int_equal(emitted(), 1);
    assert_false(interpreter.has_emitted);
    receive('F', "\0\0\0\0\0\0\0\0x", 9);
    assert_int_equal(emitted(), 1);
    assert_false(interpreter.has_emitted);
}

static void only_the_answer_to_the_question_ends_it(void **state)
{
    (void)state;
    interpreter.asked = 'S';
    receive('E', "", 0);
    assert_false(interpreter.has_ended);
    receive('S', "", 0);
    assert_true(interpreter.has_ended);
}

static void a_script_that_cannot_be_used_is_final(void **state)
{
    (void)state;
    receive('L', "no mapfn", 8);
    assert_int_equal(interpreter.failure, WEFT_FAILED_PRECONDITION);
    assert_true(interpreter.is_final && !interpreter.is_reported);
}

static void check_damaged(char kind, const void *payload, size_t size)
{
    receive(kind, payload, size);
    if (!interpreter.failure)
        receive('E', "", 0);  // where it waited
    assert_int_equal(interpreter.failure, WEFT_DATA_LOSS);
    interpreter.failure = WEFT_OK;
    interpreter.in.size = interpreter.waiting = 0;
    interpreter.has_emitted = false;
}

static void damaged_frames_are_failures(void **state)
{
    (void)state;
    check_damaged('P', "\5\0\0\0\0\0\0\0k", 9);
    check_damaged('P', "\1\0\0", 3);
    check_damaged('N', "\1\0\0\0\0\0\0\0", 8);
    check_damaged('G', "\377\377\377\377\0\0\0\0\0\0\0\0k", 13);
    check_damaged('E', "x", 1);
    check_damaged('F', "short", 5);
    check_damaged('!', "", 0);
    buf_append(&interpreter.in, "\377\377\377\377N", 5);
    interpreter_take_frames(&interpreter);
    assert_int_equal(interpreter.failure, WEFT_DATA_LOSS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pairs_wait_for_the_end),
        TEST(what_an_interpreter_is_at_does_not_end_the_waiting),
        TEST(a_frame_may_come_in_pieces),
        TEST(pairs_of_an_attempt_that_fails_are_dropped),
        TEST(too_many_pairs_do_not_wait),
        TEST(held_pairs_pass_those_that_wait),
        TEST(only_the_answer_to_the_question_ends_it),
        TEST(a_script_that_cannot_be_used_is_final),
        TEST(damaged_frames_are_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
