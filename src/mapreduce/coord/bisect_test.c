// The search for a bad record: found wherever it is, in few tries, and never by mistake.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "mapreduce/coord/bisect.h"

// Tries until it is over; a stretch fails when `bad` lies in it.
static void search(struct bisect *bisect, uint64_t bad)
{
    uint64_t begin, end;
    while (bisect_next(bisect, &begin, &end)) {
        assert_true(begin < end || bisect->state == BISECT_NOTHING);
        assert_true(end <= bisect->size);
        assert_true(bisect->try_count < 70);
        bisect_take(bisect, begin <= bad && bad < end);
    }
}

static void a_record_is_found_wherever_it_begins(void **unused)
{
    (void)unused;
    for (uint64_t size = 1; size < 40; size++)
        for (uint64_t bad = 0; bad < size; bad++) {
            struct bisect bisect;
            bisect_init(&bisect, size, BISECT_NO_GUESS);
            search(&bisect, bad);
            assert_int_equal(bisect.state, BISECT_FOUND);
            assert_int_equal(bisect.begin, bad);
        }
}

static void sixty_four_mebibytes_take_28_tries(void **unused)
{
    (void)unused;
    struct bisect bisect;
    bisect_init(&bisect, 64 << 20, BISECT_NO_GUESS);
    search(&bisect, 12345678);
    assert_int_equal(bisect.begin, 12345678);
    assert_int_equal(bisect.try_count, 28);
}

static void a_good_guess_takes_two_tries(void **unused)
{
    (void)unused;
    struct bisect bisect;
    bisect_init(&bisect, 1000, 17);
    search(&bisect, 17);
    assert_int_equal(bisect.state, BISECT_FOUND);
    assert_int_equal(bisect.begin, 17);
    assert_int_equal(bisect.try_count, 2);
}

static void a_wrong_guess_costs_one_try(void **unused)
{
    (void)unused;
    struct bisect bisect;
    bisect_init(&bisect, 1024, 17);
    search(&bisect, 900);
    assert_int_equal(bisect.state, BISECT_FOUND);
    assert_int_equal(bisect.begin, 900);
    assert_int_equal(bisect.try_count, 13);
}

static void harm_that_no_single_record_does_blames_none(void **unused)
{
    (void)unused;
    struct bisect bisect;
    bisect_init(&bisect, 1000, BISECT_NO_GUESS);
    search(&bisect, UINT64_MAX);
    assert_int_equal(bisect.state, BISECT_NOT_ONE);
    bisect_init(&bisect, 0, BISECT_NO_GUESS);
    search(&bisect, 0);
    assert_int_equal(bisect.state, BISECT_NOT_ONE);
}

static void what_fails_without_a_record_blames_none(void **unused)
{
    (void)unused;
    struct bisect bisect;
    uint64_t begin, end;
    bisect_init(&bisect, 1000, 17);
    assert_true(bisect_next(&bisect, &begin, &end));
    assert_int_equal(begin, end);
    bisect_take(&bisect, true);
    assert_int_equal(bisect.state, BISECT_NO_RECORD);
    assert_false(bisect_next(&bisect, &begin, &end));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_is_found_wherever_it_begins),
        cmocka_unit_test(sixty_four_mebibytes_take_28_tries),
        cmocka_unit_test(a_good_guess_takes_two_tries),
        cmocka_unit_test(a_wrong_guess_costs_one_try),
        cmocka_unit_test(what_fails_without_a_record_blames_none),
        cmocka_unit_test(harm_that_no_single_record_does_blames_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
