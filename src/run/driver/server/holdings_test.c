// Tests of the files that clients hold for each other.
#include "run/driver/server/holdings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct run_stage stages[2] = {{.piece_count = 2}, {.piece_count = 3}};
static const struct run_plan plan = {.stages = stages, .stage_count = 2};
static struct holdings holdings;

static void place(const void *owner, uint32_t holder, Weft__FarFile *far)
{
    static char texts[4][2] = {"a", "b", "c", "d"};
    (void)owner;
    far->address = texts[holder];
    far->holder = holder;
}

static int setup(void **state)
{
    (void)state;
    return holdings_init(&holdings, &plan) == WEFT_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    holdings_fini(&holdings);
    return 0;
}

static void seal(uint32_t stage, uint32_t worker, uint32_t slot, struct holding at)
{
    const struct held_seal one = {.worker = worker, .slot = slot, .index = at};
    uint32_t number;
    assert_int_equal(holdings_note_seal(&holdings, stage, &one, &number), WEFT_OK);
}

static size_t count_seals(uint32_t stage)
{
    Weft__Seals seals = WEFT__SEALS__INIT;
    assert_int_equal(holdings_fill_seals(&holdings, stage, place, NULL, &seals), WEFT_OK);
    const size_t count = seals.n_seals;
    holdings_free_seals(&seals);
    return count;
}

// After it has opened its stage again, a slot begins with another file, and the first one still counts.
static void a_later_seal_of_a_file_has_the_earlier_one_in_it(void **state)
{
    Weft__Seals seals = WEFT__SEALS__INIT;
    (void)state;
    seal(0, 1, 0, (struct holding){.holder = 1, .file = 5, .offset = 10, .size = 3});
    seal(0, 1, 0, (struct holding){.holder = 1, .file = 5, .offset = 40, .size = 4});
    seal(0, 1, 0, (struct holding){.holder = 1, .file = 6, .offset = 7, .size = 2});
    seal(0, 1, 1, (struct holding){.holder = 1, .file = 7, .offset = 8, .size = 2});
    assert_int_equal(holdings_fill_seals(&holdings, 0, place, NULL, &seals), WEFT_OK);
    assert_int_equal(seals.n_seals, 3);
    assert_int_equal(seals.seals[0]->offset, 40);
    assert_int_equal(seals.seals[0]->far->size, 44);
    assert_int_equal(seals.seals[0]->far->file, 5);
    assert_string_equal(seals.seals[0]->far->address, "b");
    assert_int_equal(seals.seals[1]->far->file, 6);
    holdings_free_seals(&seals);
    assert_int_equal(count_seals(1), 0);
}

static void a_lost_client_takes_what_it_holds_in_every_stage(void **state)
{
    Weft__Source source = WEFT__SOURCE__INIT;
    Weft__FarFile far = WEFT__FAR_FILE__INIT;
    (void)state;
    seal(0, 1, 0, (struct holding){.holder = 1, .file = 5});
    seal(0, 2, 0, (struct holding){.holder = 2, .file = 5});
    seal(1, 1, 0, (struct holding){.holder = 1, .file = 9});
    holdings_note_segment(&holdings, 0, 0, &(struct holding){1, 0xab, 5, 100, 20, false});
    holdings_note_segment(&holdings, 0, 1, &(struct holding){2, 0xcd, 6, 200, 30, false});
    holdings_lose(&holdings, 1);
    assert_int_equal(count_seals(0), 1);
    assert_int_equal(count_seals(1), 0);
    assert_int_equal(holdings_fill_source(&holdings, 1, 0, place, NULL, &source, &far),
                     WEFT_INTERNAL);
    assert_int_equal(holdings_fill_source(&holdings, 1, 1, place, NULL, &source, &far), WEFT_OK);
    assert_ptr_equal(source.far, &far);
    assert_int_equal(source.offset, 200);
    assert_int_equal(source.size, 30);
    assert_int_equal(source.crc, 0xcd);
    assert_string_equal(far.address, "c");
    assert_int_equal(far.size, 230);
    // It is made again, by another.
    holdings_note_segment(&holdings, 0, 0, &(struct holding){3, 0xab, 1, 0, 20, false});
    assert_int_equal(holdings_fill_source(&holdings, 1, 0, place, NULL, &source, &far), WEFT_OK);
    assert_string_equal(far.address, "d");
}

// Every third worker is lost, and comes back; every slot reports twice.
static void many_slots_keep_one_seal_each(void **state)
{
    enum { WORKERS = 60, SLOTS = 40 };
    (void)state;
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t i = 0; i < WORKERS * SLOTS; i++)
            seal(0, i / SLOTS, i % SLOTS,
                 (struct holding){.holder = i / SLOTS % 3 + 1, .file = i % SLOTS, .offset = round});
    assert_int_equal(count_seals(0), WORKERS * SLOTS);
    holdings_lose(&holdings, 2);
    assert_int_equal(count_seals(0), WORKERS * SLOTS / 3 * 2);
    for (uint32_t i = 0; i < WORKERS * SLOTS; i++)
        seal(0, i / SLOTS, i % SLOTS, (struct holding){.holder = 3, .file = i % SLOTS});
    assert_int_equal(count_seals(0), WORKERS * SLOTS);
    holdings_lose(&holdings, 3);
    assert_int_equal(count_seals(0), 0);
}

static void a_damaged_seal_is_not_sent_and_takes_later_ones_of_its_file_along(void **state)
{
    const struct held_seal again = {.worker = 1,
                                    .index = {.holder = 1, .file = 5, .offset = 40, .size = 4}};
    uint32_t number;
    (void)state;
    seal(0, 1, 0, (struct holding){.holder = 1, .file = 5, .offset = 10, .size = 3});
    seal(0, 2, 0, (struct holding){.holder = 2, .file = 5, .offset = 10, .size = 3});
    assert_null(holdings_find_seal(&holdings, 0, 0));
    assert_null(holdings_find_seal(&holdings, 0, 3));
    assert_null(holdings_find_seal(&holdings, 7, 1));
    holdings_find_seal(&holdings, 0, 1)->is_damaged = true;
    assert_null(holdings_find_seal(&holdings, 0, 1));
    assert_int_equal(count_seals(0), 1);
    assert_int_equal(holdings_note_seal(&holdings, 0, &again, &number), WEFT_OK);
    assert_int_equal(number, 0);
    assert_int_equal(count_seals(0), 1);
    assert_int_equal(holdings_count_damage(&holdings, 1), 1);
    assert_int_equal(holdings_count_damage(&holdings, 2), 1);
    assert_int_equal(holdings_count_damage(&holdings, 1), 2);
}

static void a_segment_that_there_is_not(void **state)
{
    Weft__Source source = WEFT__SOURCE__INIT;
    Weft__FarFile far = WEFT__FAR_FILE__INIT;
    (void)state;
    assert_int_equal(holdings_fill_source(&holdings, 1, 1, place, NULL, &source, &far),
                     WEFT_INTERNAL);
    assert_int_equal(holdings_fill_source(&holdings, 1, 2, place, NULL, &source, &far),
                     WEFT_INTERNAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_later_seal_of_a_file_has_the_earlier_one_in_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_lost_client_takes_what_it_holds_in_every_stage, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(many_slots_keep_one_seal_each, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_damaged_seal_is_not_sent_and_takes_later_ones_of_its_file_along, setup, teardown),
        cmocka_unit_test_setup_teardown(a_segment_that_there_is_not, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
