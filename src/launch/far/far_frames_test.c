// Tests of the frames between a launcher and its agent: what each side refuses.

#include "launch/far/far_frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

// Packs a message and reads it back as the other side would.
static weft_err pass(Weft__FrameType type, const ProtobufCMessage *message, enum far_side from)
{
    struct buf out = {0};
    struct frame_parser parser = {0};
    struct frame frame = {0};
    ProtobufCMessage *read = NULL;
    bool has_frame = false;
    assert_int_equal(message_append(&out, type, message), WEFT_OK);
    assert_int_equal(frame_parser_feed(&parser, out.data, out.size), WEFT_OK);
    assert_int_equal(frame_parser_next(&parser, &frame, &has_frame), WEFT_OK);
    assert_true(has_frame);
    const weft_err err = far_read_frame(&frame, from, 3, &read);
    assert_true((err == WEFT_OK) || !read);
    message_free(read);
    frame_parser_fini(&parser);
    buf_fini(&out);
    return err;
}

static void a_target_stays_below_the_directory_of_the_run(void **state)
{
    (void)state;
    const char *const right[] = {"a", "a/b", "..a", "a..", ".hidden/x"};
    const char *const wrong[] = {"",     "/",    "/etc/passwd", "..",  "../a", "a/../b",
                                 "a/..", "a//b", "a/",          "./a", ".",    "a/."};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        assert_true(far_is_target(right[i]));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(far_is_target(wrong[i]));
}

static void a_member_that_there_is_not_is_refused(void **state)
{
    (void)state;
    Weft__AgentSignal signal = WEFT__AGENT_SIGNAL__INIT;
    signal.signal = 15;
    signal.member = 2;
    const Weft__FrameType type = WEFT__FRAME_TYPE__FRAME_AGENT_SIGNAL;
    assert_int_equal(pass(type, &signal.base, FAR_LAUNCHER), WEFT_OK);
    signal.member = 3;
    assert_int_equal(pass(type, &signal.base, FAR_LAUNCHER), WEFT_DATA_LOSS);
    signal.member = 0;
    signal.signal = 65;
    assert_int_equal(pass(type, &signal.base, FAR_LAUNCHER), WEFT_DATA_LOSS);
}

static void each_side_sends_only_its_own_frames(void **state)
{
    (void)state;
    Weft__AgentSignal signal = WEFT__AGENT_SIGNAL__INIT;
    signal.signal = 15;
    assert_int_equal(pass(WEFT__FRAME_TYPE__FRAME_AGENT_SIGNAL, &signal.base, FAR_AGENT),
                     WEFT_DATA_LOSS);
    assert_int_equal(pass(WEFT__FRAME_TYPE__FRAME_AGENT_STOP, NULL, FAR_LAUNCHER), WEFT_OK);
    assert_int_equal(pass(WEFT__FRAME_TYPE__FRAME_AGENT_STOP, NULL, FAR_AGENT), WEFT_DATA_LOSS);
    assert_int_equal(pass(WEFT__FRAME_TYPE__FRAME_AGENT_BEAT, NULL, FAR_AGENT), WEFT_OK);
    assert_int_equal(pass(WEFT__FRAME_TYPE__FRAME_AGENT_BEAT, &signal.base, FAR_LAUNCHER),
                     WEFT_DATA_LOSS);
    assert_int_equal(pass(WEFT__FRAME_TYPE__FRAME_TASK_RUN, NULL, FAR_LAUNCHER), WEFT_DATA_LOSS);
}

static void a_start_needs_a_program_and_variables_with_names(void **state)
{
    (void)state;
    Weft__AgentStart start = WEFT__AGENT_START__INIT;
    char *program[] = {"sh"}, *right[] = {"A="}, *wrong[] = {"=A"};
    const Weft__FrameType type = WEFT__FRAME_TYPE__FRAME_AGENT_START;
    assert_int_equal(pass(type, &start.base, FAR_LAUNCHER), WEFT_DATA_LOSS);
    start.n_arguments = 1;
    start.arguments = program;
    start.n_environment = 1;
    start.environment = right;
    assert_int_equal(pass(type, &start.base, FAR_LAUNCHER), WEFT_OK);
    start.environment = wrong;
    assert_int_equal(pass(type, &start.base, FAR_LAUNCHER), WEFT_DATA_LOSS);
}

static void another_version_is_refused_by_both_names(void **state)
{
    (void)state;
    assert_int_equal(far_check_version("h1", FAR_WIRE_VERSION, weft_version()), WEFT_OK);
    assert_int_equal(far_check_version("h1", FAR_WIRE_VERSION, "9.9.9"), WEFT_FAILED_PRECONDITION);
    assert_non_null(strstr(err_text(), "9.9.9"));
    assert_non_null(strstr(err_text(), weft_version()));
    assert_int_equal(far_check_version("h1", FAR_WIRE_VERSION + 1, weft_version()),
                     WEFT_FAILED_PRECONDITION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_target_stays_below_the_directory_of_the_run),
        cmocka_unit_test(a_member_that_there_is_not_is_refused),
        cmocka_unit_test(each_side_sends_only_its_own_frames),
        cmocka_unit_test(a_start_needs_a_program_and_variables_with_names),
        cmocka_unit_test(another_version_is_refused_by_both_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
