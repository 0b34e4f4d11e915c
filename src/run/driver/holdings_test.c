// Tests of what clients hold for each other.
#include "run/driver/holdings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct run_stage stages[2] = {{.piece_count = 2}, {.piece_count = 3}};
static const struct run_plan plan = {.stages = stages, .stage_count = 2};
static struct holdings holdings;

static const char *address(const void *owner, uint32_t holder)
{
    static char text[32];
    (void)owner;
    text[0] = (char)('a' + holder);
    text[1] = 0;
    return text;
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
    const struct held_seal one = {worker, slot, at};
    assert_int_equal(holdings_note_seal(&holdings, stage, &one), WEFT_OK);
}

static size_t count_seals(uint32_t stage)
{
    Weft__Seals seals = WEFT__SEALS__INIT;
    assert_int_equal(holdings_fill_seals(&holdings, stage, address, NULL, &seals), WEFT_OK);
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
    assert_int_equal(holdings_fill_seals(&holdings, 0, address, NULL, &seals), WEFT_OK);
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
    holdings_note_segment(&holdings, 0, 0, &(struct holding){1, 0xab, 5, 100, 20});
    holdings_note_segment(&holdings, 0, 1, &(struct holding){2, 0xcd, 6, 200, 30});
    holdings_lose(&holdings, 1);
    assert_int_equal(count_seals(0), 1);
    assert_int_equal(count_seals(1), 0);
    assert_int_equal(holdings_fill_source(&holdings, 1, 0, address, NULL, &source, &far),
                     WEFT_INTERNAL);
    assert_int_equal(holdings_fill_source(&holdings, 1, 1, address, NULL, &source, &far), WEFT_OK);
    assert_ptr_equal(source.far, &far);
    assert_int_equal(source.offset, 200);
    assert_int_equal(source.size, 30);
    assert_int_equal(source.crc, 0xcd);
    assert_string_equal(far.address, "c");
    assert_int_equal(far.size, 230);
    // It is made again, by another.
    holdings_note_segment(&holdings, 0, 0, &(struct holding){3, 0xab, 1, 0, 20});
    assert_int_equal(holdings_fill_source(&holdings, 1, 0, address, NULL, &source, &far), WEFT_OK);
    assert_string_equal(far.address, "d");
}

static void a_segment_that_there_is_not(void **state)
{
    Weft__Source source = WEFT__SOURCE__INIT;
    Weft__FarFile far = WEFT__FAR_FILE__INIT;
    (void)state;
    assert_int_equal(holdings_fill_source(&holdings, 1, 1, address, NULL, &source, &far),
                     WEFT_INTERNAL);
    assert_int_equal(holdings_fill_source(&holdings, 1, 2, address, NULL, &source, &far),
                     WEFT_INTERNAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_later_seal_of_a_file_has_the_earlier_one_in_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_lost_client_takes_what_it_holds_in_every_stage, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_segment_that_there_is_not, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
