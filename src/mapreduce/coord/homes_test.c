// Tests of which tasks are best done where, against looking at all of them.
#include "mapreduce/coord/homes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define AT(...)                                                                                    \
    {                                                                                              \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define NO HOMES_NONE

static void the_lowest_task_of_a_home_is_found(void **state)
{
    (void)state;
    static const struct task_homes of_tasks[] = {AT(1, NO, NO), AT(0, 1, NO), AT(NO, 2, 2),
                                                 AT(3, 1, 0)};
    struct homes homes;
    assert_true(homes_init(&homes, of_tasks, 4, 4));
    for (uint32_t home = 0; home < 5; home++)
        assert_int_equal(homes_lowest(&homes, home), BITS_NONE);
    for (uint32_t task = 0; task < 4; task++)
        homes_set(&homes, task, true);
    assert_int_equal(homes_lowest(&homes, 0), 1);
    assert_int_equal(homes_lowest(&homes, 1), 0);
    assert_int_equal(homes_lowest(&homes, 2), BITS_NONE);
    assert_int_equal(homes_lowest(&homes, 3), 3);
    assert_int_equal(homes_lowest(&homes, HOMES_NONE), BITS_NONE);
    homes_set(&homes, 1, false);
    assert_int_equal(homes_lowest(&homes, 0), 3);
    assert_int_equal(homes_lowest(&homes, 1), 0);
    homes_set(&homes, 0, false);
    assert_int_equal(homes_lowest(&homes, 1), 3);
    homes_set(&homes, 3, false);
    assert_int_equal(homes_lowest(&homes, 3), BITS_NONE);
    homes_set(&homes, 0, true);
    assert_int_equal(homes_lowest(&homes, 1), 0);
    homes_fini(&homes);
}

static void nothing_is_a_set_as_well(void **state)
{
    (void)state;
    struct homes homes;
    assert_true(homes_init(&homes, NULL, 0, 0));
    assert_int_equal(homes_lowest(&homes, 0), BITS_NONE);
    homes_fini(&homes);
    homes_fini(&homes);
}

enum { TASKS = 300, HOMES = 7, STEPS = 5000 };

static uint32_t look_at_all(const struct task_homes *of_tasks, const bool *is_in, uint32_t home)
{
    for (uint32_t task = 0; task < TASKS; task++)
        for (int i = 0; i < HOMES_OF_TASK; i++)
            if (is_in[task] && of_tasks[task].numbers[i] == home)
                return task;
    return BITS_NONE;
}

static void it_is_what_looking_at_all_would_find(void **state)
{
    (void)state;
    static struct task_homes of_tasks[TASKS];
    static bool is_in[TASKS];
    struct homes homes;
    srand(7);
    for (uint32_t task = 0; task < TASKS; task++) {
        const int count = rand() % (HOMES_OF_TASK + 1), first = rand() % HOMES;
        for (int i = 0; i < HOMES_OF_TASK; i++)
            of_tasks[task].numbers[i] = i < count ? (uint32_t)(first + i) % HOMES : HOMES_NONE;
    }
    assert_true(homes_init(&homes, of_tasks, TASKS, HOMES));
    for (int i = 0; i < STEPS; i++) {
        const uint32_t task = (uint32_t)rand() % TASKS, home = (uint32_t)rand() % HOMES;
        is_in[task] = rand() % 8 == 0;
        homes_set(&homes, task, is_in[task]);
        assert_int_equal(homes_lowest(&homes, home), look_at_all(of_tasks, is_in, home));
    }
    homes_fini(&homes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lowest_task_of_a_home_is_found),
        cmocka_unit_test(nothing_is_a_set_as_well),
        cmocka_unit_test(it_is_what_looking_at_all_would_find),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
