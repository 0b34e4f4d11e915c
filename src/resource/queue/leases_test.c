// Tests of leases: slots, endings and durations.

#include "resource/queue/leases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct element an_element = {.id = 1};

static struct lease *add(struct leases *leases)
{
    struct lease *lease = leases_add(leases, &an_element);
    assert_non_null(lease);
    return lease;
}

static void a_lease_gets_the_lowest_slot_that_is_free(void **state)
{
    (void)state;
    struct leases leases = {0};
    struct lease *all[10];
    for (uint32_t i = 0; i < 10; i++) {
        all[i] = add(&leases);
        assert_int_equal(all[i]->slot, i);
    }
    static const uint32_t dropped[] = {7, 2, 5};
    for (int i = 0; i < 3; i++) {
        leases_drop(&leases, all[dropped[i]]);
        assert_null(leases_find(&leases, dropped[i]));
    }
    assert_int_equal(leases.count, 7);
    static const uint32_t wanted[] = {2, 5, 7, 10};
    for (int i = 0; i < 4; i++) {
        struct lease *lease = add(&leases);
        assert_int_equal(lease->slot, wanted[i]);
        assert_ptr_equal(leases_find(&leases, wanted[i]), lease);
    }
    assert_null(leases_find(&leases, 11));
    assert_null(leases_find(&leases, UINT32_MAX));
    leases_fini(&leases);
}

// As a snapshot does it: slots in order, with holes.
static void slots_between_given_ones_are_used_next(void **state)
{
    (void)state;
    struct leases leases = {0};
    assert_non_null(leases_add_at(&leases, &an_element, 1));
    assert_non_null(leases_add_at(&leases, &an_element, 4));
    assert_null(leases_add_at(&leases, &an_element, 4));
    assert_null(leases_add_at(&leases, &an_element, LEASES_MAX));
    static const uint32_t wanted[] = {0, 2, 3, 5};
    for (int i = 0; i < 4; i++)
        assert_int_equal(add(&leases)->slot, wanted[i]);
    assert_int_equal(leases.count, 6);
    leases_fini(&leases);
}

static void the_lowest_slot_is_found_whatever_was_dropped(void **state)
{
    (void)state;
    struct leases leases = {0};
    bool is_used[64] = {false};
    uint64_t random = 5;
    for (int step = 0; step < 20000; step++) {
        random = random * UINT64_C(6364136223846793005) + 1;
        const uint32_t slot = (uint32_t)(random >> 40) % 64;
        if (is_used[slot]) {
            leases_drop(&leases, leases_find(&leases, slot));
            is_used[slot] = false;
        } else {
            uint32_t lowest = 0;
            while (is_used[lowest])
                lowest++;
            assert_int_equal(add(&leases)->slot, lowest);
            is_used[lowest] = true;
        }
    }
    leases_fini(&leases);
}

static void leases_end_in_the_order_of_their_deadlines(void **state)
{
    (void)state;
    struct leases leases = {0};
    static const uint32_t durations[] = {30, 10, 20, 10, 0, 25};
    for (int i = 0; i < 6; i++)
        assert_true(leases_set_end(&leases, add(&leases), durations[i], 100 + (uint64_t)i));
    static const uint32_t order[] = {1, 3, 2, 0, 5};  // 111, 113, 122, 130, 130
    for (int i = 0; i < 5; i++) {
        struct lease *first = leases_first_to_end(&leases);
        assert_int_equal(first->slot, order[i]);
        leases_drop(&leases, first);
    }
    assert_null(leases_first_to_end(&leases));
    assert_int_equal(leases.count, 1);
    assert_true(leases_find(&leases, 4)->deadline_ms == UINT64_MAX);
    leases_fini(&leases);
}

static void an_end_can_be_moved_and_taken_away(void **state)
{
    (void)state;
    struct leases leases = {0};
    struct lease *one = add(&leases), *two = add(&leases);
    assert_true(leases_set_end(&leases, one, 10, 0));
    assert_true(leases_set_end(&leases, two, 10, 5));
    assert_ptr_equal(leases_first_to_end(&leases), one);
    assert_true(leases_set_end(&leases, one, 10, 8));  // the same list, after the other
    assert_ptr_equal(leases_first_to_end(&leases), two);
    assert_true(leases_set_end(&leases, two, 0, 8));
    assert_ptr_equal(leases_first_to_end(&leases), one);
    assert_true(leases_set_end(&leases, one, 0, 8));
    assert_null(leases_first_to_end(&leases));
    leases_fini(&leases);
}

// A lease may last longer than was asked, by a sixteenth; never shorter. A duration that is saved in a snapshot and
// set again must not grow.
static void durations_are_rounded_up_by_at_most_a_sixteenth(void **state)
{
    (void)state;
    struct leases leases = {0};
    struct lease *lease = add(&leases);
    uint64_t asked = 1;
    for (; asked <= UINT32_MAX; asked += 1 + asked / 37) {
        assert_true(leases_set_end(&leases, lease, (uint32_t)asked, 1000));
        const uint64_t got = lease->duration_ms;
        assert_true(got >= asked && (got - asked) * 16 <= asked);
        assert_true(asked > 31 || got == asked);
        assert_true(lease->deadline_ms == 1000 + got);
        assert_true(leases_set_end(&leases, lease, (uint32_t)got, 1000));
        assert_true(lease->duration_ms == got);
    }
    assert_true(leases_set_end(&leases, lease, UINT32_MAX, 0));
    assert_int_equal(lease->duration_ms, UINT32_MAX);
    assert_true(leases.endings.count < 500);
    leases_fini(&leases);
}

static void a_lease_that_is_used_again_is_as_new(void **state)
{
    (void)state;
    struct leases leases = {0};
    struct lease *lease = add(&leases);
    assert_true(leases_set_end(&leases, lease, 10, 0));
    leases_drop(&leases, lease);
    assert_null(leases_first_to_end(&leases));
    struct lease *again = add(&leases);
    assert_ptr_equal(again, lease);
    assert_true(again->deadline_ms == UINT64_MAX && again->duration_ms == 0);
    assert_null(again->holding.session);
    assert_null(again->in_ending.next);
    leases_fini(&leases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lease_gets_the_lowest_slot_that_is_free),
        cmocka_unit_test(slots_between_given_ones_are_used_next),
        cmocka_unit_test(the_lowest_slot_is_found_whatever_was_dropped),
        cmocka_unit_test(leases_end_in_the_order_of_their_deadlines),
        cmocka_unit_test(an_end_can_be_moved_and_taken_away),
        cmocka_unit_test(durations_are_rounded_up_by_at_most_a_sixteenth),
        cmocka_unit_test(a_lease_that_is_used_again_is_as_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
