// Tests of structs of two versions.

#include "base/sized.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct older {
    int a;
};

struct newer {
    int a, b;
};

static void members_that_the_program_does_not_know_are_zero(void **state)
{
    (void)state;
    const struct {
        struct older theirs;
        int behind;
    } program = {{7}, 9};
    struct newer ours = {1, 1};
    assert_int_equal(sized_take(&ours, sizeof ours, &program, sizeof program.theirs, "x"), WEFT_OK);
    assert_int_equal(ours.a, 7);
    assert_int_equal(ours.b, 0);
    assert_int_equal(sized_take(&ours, sizeof ours, NULL, sizeof program.theirs, "x"), WEFT_OK);
    assert_int_equal(ours.a, 0);
}

static void a_member_that_we_do_not_know_may_not_be_set(void **state)
{
    (void)state;
    struct newer theirs = {7, 0};
    struct older ours;
    assert_int_equal(sized_take(&ours, sizeof ours, &theirs, sizeof theirs, "x"), WEFT_OK);
    assert_int_equal(ours.a, 7);
    theirs.b = 1;
    assert_int_equal(sized_take(&ours, sizeof ours, &theirs, sizeof theirs, "weft_job"),
                     WEFT_UNIMPLEMENTED);
    assert_non_null(strstr(err_text(), "weft_job"));
}

static void a_result_fills_what_the_program_knows_and_no_more(void **state)
{
    (void)state;
    struct {
        struct older theirs;
        int behind;
    } program = {{0}, 9};
    const struct newer ours = {7, 8};
    sized_give(&program.theirs, sizeof program.theirs, &ours, sizeof ours);
    assert_int_equal(program.theirs.a, 7);
    assert_int_equal(program.behind, 9);

    const struct older less = {5};
    struct newer theirs = {1, 1};
    sized_give(&theirs, sizeof theirs, &less, sizeof less);
    assert_int_equal(theirs.a, 5);
    assert_int_equal(theirs.b, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_that_the_program_does_not_know_are_zero),
        cmocka_unit_test(a_member_that_we_do_not_know_may_not_be_set),
        cmocka_unit_test(a_result_fills_what_the_program_knows_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
