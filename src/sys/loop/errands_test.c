// Tests of the thread beside the loop.
#include "sys/loop/errands.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sys/time/clock.h"

enum { ERRANDS = 100 };

static struct loop *loop;
static struct errands *errands;
static _Atomic int worked;
static int done;

struct task {
    int number;
    bool is_done;
};

static void work(void *owner)
{
    const struct task *task = owner;
    assert_int_equal(atomic_fetch_add(&worked, 1), task->number);  // in order
}

static void report(void *owner)
{
    struct task *task = owner;
    assert_int_equal(task->number, done++);
    task->is_done = true;
    if (done == ERRANDS)
        loop_stop(loop);
}

static void begin(void)
{
    loop = loop_new(NULL, NULL);
    errands = errands_new(loop);
    assert_non_null(errands);
    worked = done = 0;
}

static void errands_are_done_in_order_and_reported_in_the_loop(void **state)
{
    struct task tasks[ERRANDS] = {0};
    (void)state;
    begin();
    for (int i = 0; i < ERRANDS; i++) {
        tasks[i].number = i;
        assert_int_equal(errands_do(errands, work, report, &tasks[i]), WEFT_OK);
    }
    loop_run(loop);
    for (int i = 0; i < ERRANDS; i++)
        assert_true(tasks[i].is_done);
    errands_free(errands);
    loop_free(loop);
}

static void wait_a_little(void *owner)
{
    (void)owner;
    clock_sleep_ms(20);
    atomic_fetch_add(&worked, 1);
}

static void never(void *owner)
{
    (void)owner;
    abort();
}

static void errands_that_are_left_are_not_done(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 3; i++)
        assert_int_equal(errands_do(errands, wait_a_little, never, NULL), WEFT_OK);
    errands_free(errands);
    const int at_the_end = worked;
    assert_in_range(at_the_end, 0, 2);
    clock_sleep_ms(50);
    assert_int_equal(worked, at_the_end);
    loop_free(loop);
}

static void free_all(void *owner)
{
    (void)owner;
    errands_free(errands);
    errands = NULL;
    loop_stop(loop);
}

static void a_report_may_free_the_errands(void **state)
{
    (void)state;
    begin();
    assert_int_equal(errands_do(errands, wait_a_little, free_all, NULL), WEFT_OK);
    assert_int_equal(errands_do(errands, wait_a_little, never, NULL), WEFT_OK);
    loop_run(loop);
    assert_null(errands);
    errands_free(NULL);
    loop_free(loop);
}

enum { TOGETHER = 4 };

// Each waits for all others: with fewer threads than that, none would end.
static void meet(void *owner)
{
    (void)owner;
    atomic_fetch_add(&worked, 1);
    while (atomic_load(&worked) < TOGETHER)
        clock_sleep_ms(1);
}

static void count_met(void *owner)
{
    (void)owner;
    if (++done == TOGETHER)
        loop_stop(loop);
}

static void several_threads_do_errands_at_the_same_time(void **state)
{
    (void)state;
    loop = loop_new(NULL, NULL);
    errands = errands_new_several(loop, TOGETHER);
    assert_non_null(errands);
    worked = done = 0;
    for (int i = 0; i < TOGETHER; i++)
        assert_int_equal(errands_do(errands, meet, count_met, NULL), WEFT_OK);
    loop_run(loop);
    assert_int_equal(worked, TOGETHER);
    errands_free(errands);
    loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errands_are_done_in_order_and_reported_in_the_loop),
        cmocka_unit_test(errands_that_are_left_are_not_done),
        cmocka_unit_test(a_report_may_free_the_errands),
        cmocka_unit_test(several_threads_do_errands_at_the_same_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
