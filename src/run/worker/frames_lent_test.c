// Tests of the orders for a worker whose inputs are lent.
#include "run/worker/frames_testing.h"

static weft_err tell_lent(struct talk *talk, uint32_t input, uint64_t offset, uint64_t size,
                          uint32_t code)
{
    Weft__Lent lent = WEFT__LENT__INIT;
    lent.input = input;
    lent.offset = offset;
    lent.size = size;
    lent.code = code;
    return tell(talk, WEFT__FRAME_TYPE__FRAME_LENT, &lent.base);
}

static int begin_lent(void **state)
{
    const int code = begin(state);
    struct talk *talk = *state;
    talk->inputs[1].is_lent = true;
    talk->inputs[1].path = (char *)"/proc/1/fd/7";
    return code;
}

static void a_lent_input_has_a_path(void **state)
{
    struct talk *talk = *state;
    talk->inputs[1].path = (char *)"";
    assert_refused(tell_job(talk), "input 1, which is lent, without a path");
    talk->inputs[1].path = (char *)"/proc/1/fd/7";
    assert_taken(tell_job(talk));
}

static void bytes_are_lent_that_were_asked_for(void **state)
{
    struct talk *talk = *state;
    assert_refused(tell_lent(talk, 1, 0, 100, 0), "which were not asked for");
    plan_stage(talk);
    assert_refused(tell_lent(talk, 1, 0, 100, 0), "100 bytes at byte 0 of input 1, which were not");
    frames_note_need(&talk->told, 1, 0, 100);
    frames_note_need(&talk->told, 1, 100, 50);
    frames_note_need(&talk->told, 1, 150, 50);
    assert_refused(tell_lent(talk, 0, 0, 100, 0), "of input 0, which were not asked for");
    assert_refused(tell_lent(talk, 1, 0, 99, 0), "which were not asked for");
    assert_refused(tell_lent(talk, 1, 1, 100, 0), "which were not asked for");
    assert_refused(tell_lent(talk, 1, 0, 100, 99), "lent bytes with code 99");
    assert_taken(tell_lent(talk, 1, 100, 50, 0));
    assert_taken(tell_lent(talk, 1, 0, 100, WEFT_UNAVAILABLE));
    assert_refused(tell_lent(talk, 1, 100, 50, 0), "which were not asked for");
    assert_refused(tell_lent(talk, 1, 0, 100, 0), "which were not asked for");
    assert_taken(tell_lent(talk, 1, 150, 50, 0));
    assert_int_equal(talk->told.needs.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_lent_input_has_a_path, begin_lent, end),
        cmocka_unit_test_setup_teardown(bytes_are_lent_that_were_asked_for, begin_lent, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
