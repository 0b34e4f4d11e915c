// Tests of the port to user code, as a slot calls it: whole attempts, with any kind of code.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mapreduce/work/slot_testing.h"

static char calls[256];

static void note(const char *call)
{
    strncat(calls, call, sizeof calls - strlen(calls) - 2);
    strcat(calls, " ");
}

static weft_err job_setup(weft_task *task)
{
    (void)task;
    note("setup");
    return WEFT_OK;
}

static void job_teardown(weft_task *task)
{
    (void)task;
    note("teardown");
}

static weft_err job_begin(weft_task *task)
{
    (void)task;
    note("job-begin");
    return WEFT_OK;
}

static weft_err job_end(weft_task *task)
{
    (void)task;
    note("job-end");
    return WEFT_OK;
}

static void job_map(weft_task *task, weft_bytes block)
{
    note("batch");
    if (memchr(block.data, '!', block.size))
        weft_fail(task, "a mark");
}

static weft_err code_open(weft_task *task)
{
    (void)task;
    note("open");
    return WEFT_OK;
}

static weft_err code_begin(weft_task *task)
{
    (void)task;
    note("begin");
    return WEFT_OK;
}

static weft_err code_end(weft_task *task)
{
    (void)task;
    note("end");
    return WEFT_OK;
}

static weft_err code_end_badly(weft_task *task)
{
    (void)task;
    note("end");
    return err_set(WEFT_ABORTED, "it ended badly");
}

static void code_cancel(weft_task *task)
{
    (void)task;
    note("cancel");
}

static void code_close(weft_task *task)
{
    (void)task;
    note("close");
}

static const weft_job job = {.name = "test",
                             .map_block = job_map,
                             .setup = job_setup,
                             .teardown = job_teardown,
                             .begin = job_begin,
                             .end = job_end};
static const struct code code = {.name = "test",
                                 .open = code_open,
                                 .begin = code_begin,
                                 .end = code_end,
                                 .cancel = code_cancel,
                                 .close = code_close};

// One attempt over the text, from the first call to the last.
static const char *run(const struct code *by, const char *text, weft_err expected)
{
    struct rig rig;
    rig_init(&rig, &job, weft_text(text));
    rig.stage.code = by;
    rig_open(&rig);
    calls[0] = 0;
    assert_int_equal(slot_call_open(&rig.slots[0]), WEFT_OK);
    assert_int_equal(rig_map_piece(&rig, 0, 0, 0, strlen(text)), expected);
    slot_call_close(&rig.slots[0]);
    rig_fini(&rig);
    return calls;
}

static void without_a_code_the_functions_of_the_job_are_called(void **state)
{
    (void)state;
    assert_string_equal(run(NULL, "a\n", WEFT_OK), "setup job-begin batch job-end teardown ");
}

static void a_code_that_says_nothing_is_as_good_as_none(void **state)
{
    const struct code silent = {.name = "silent"};
    (void)state;
    assert_string_equal(run(&silent, "a\n", WEFT_OK), "setup job-begin batch job-end teardown ");
}

static void a_code_is_called_instead_of_the_job(void **state)
{
    (void)state;
    assert_string_equal(run(&code, "a\n", WEFT_OK), "open begin batch end close ");
}

static void a_failed_attempt_is_cancelled_and_not_ended(void **state)
{
    (void)state;
    assert_string_equal(run(&code, "!\n", WEFT_ABORTED), "open begin batch cancel close ");
}

static void an_attempt_that_fails_at_its_end_is_cancelled_too(void **state)
{
    struct code badly = code;
    (void)state;
    badly.end = code_end_badly;
    assert_string_equal(run(&badly, "a\n", WEFT_ABORTED), "open begin batch end cancel close ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_code_the_functions_of_the_job_are_called),
        cmocka_unit_test(a_code_that_says_nothing_is_as_good_as_none),
        cmocka_unit_test(a_code_is_called_instead_of_the_job),
        cmocka_unit_test(a_failed_attempt_is_cancelled_and_not_ended),
        cmocka_unit_test(an_attempt_that_fails_at_its_end_is_cancelled_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
