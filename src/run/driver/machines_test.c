// Tests of where tasks are at home, and which client is there.
#include "run/driver/machines.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct machines machines;

static uint32_t number_of(const char *name, const char *number)
{
    uint32_t found;
    assert_true(machines_number(&machines, &(struct store_machine){name, number}, &found));
    return found;
}

static int forget(void **state)
{
    (void)state;
    machines_fini(&machines);
    return 0;
}

static void a_machine_has_one_number(void **state)
{
    (void)state;
    assert_int_equal(number_of("a", "10.0.0.1"), 0);
    assert_int_equal(number_of("b", "10.0.0.1"), 1);
    assert_int_equal(number_of("a", "10.0.0.1"), 0);
    assert_int_equal(machines.all.count, 2);
}

static void a_client_is_known_by_name_or_number(void **state)
{
    (void)state;
    number_of("node1.example.org", "10.0.0.1");
    number_of("node2", "10.0.0.2");
    number_of("", "127.0.0.1");
    number_of("", "fd00::7");
    assert_int_equal(machines_of_client(&machines, "node1/17", "10.9.9.9:1"), 1);
    assert_int_equal(machines_of_client(&machines, "NODE2.example.org/17", "10.9.9.9:1"), 2);
    assert_int_equal(machines_of_client(&machines, "other/17", "10.0.0.2:4711"), 2);
    assert_int_equal(machines_of_client(&machines, "other/17", "[fd00::7]:4711"), 4);
    // A name counts for more than a number: there may be a gateway between.
    assert_int_equal(machines_of_client(&machines, "node2/17", "10.0.0.1:4711"), 2);
    assert_int_equal(machines_of_client(&machines, "node/17", "10.0.0.3:4711"), 0);
    assert_int_equal(machines_of_client(&machines, "node12/17", ""), 0);
    assert_int_equal(machines_of_client(&machines, "other/17", "127.0.0.1:4711"), 0);
    assert_int_equal(machines_of_client(&machines, "/17", ":::x"), 0);
    assert_string_equal(err_text(), "");
}

static void a_task_is_at_home_where_most_of_it_is(void **state)
{
    (void)state;
    static const struct machines_stretch first = {0, 100, {{4, 5, HOMES_NONE}}},
                                         second = {100, 300, {{5, 6, 7}}};
    struct machines_sum sum = {0};
    assert_int_equal(machines_choose(&sum).numbers[0], HOMES_NONE);
    machines_add(&sum, &first, 50, 200);
    machines_add(&sum, &second, 50, 200);
    struct task_homes homes = machines_choose(&sum);
    assert_int_equal(homes.numbers[0], 5);
    assert_int_equal(homes.numbers[1], 6);
    assert_int_equal(homes.numbers[2], 7);
    sum = (struct machines_sum){0};
    machines_add(&sum, &first, 0, 100);
    machines_add(&sum, &second, 0, 100);
    homes = machines_choose(&sum);
    assert_int_equal(homes.numbers[0], 4);
    assert_int_equal(homes.numbers[1], 5);
    assert_int_equal(homes.numbers[2], HOMES_NONE);
}

static void further_machines_are_left_out(void **state)
{
    (void)state;
    struct machines_sum sum = {0};
    for (uint32_t i = 0; i < 2 * MACHINES_SUM_MAX; i++) {
        const struct machines_stretch one = {i, i + 1, {{i, HOMES_NONE, HOMES_NONE}}};
        machines_add(&sum, &one, 0, 1000);
    }
    assert_int_equal(sum.count, MACHINES_SUM_MAX);
    assert_int_equal(machines_choose(&sum).numbers[0], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_machine_has_one_number, forget),
        cmocka_unit_test_teardown(a_client_is_known_by_name_or_number, forget),
        cmocka_unit_test(a_task_is_at_home_where_most_of_it_is),
        cmocka_unit_test(further_machines_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
