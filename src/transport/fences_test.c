// Tests of transport/fences: sessions that have ended, and names that are not for people.

#include "transport/fences.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static weft_err check_name(const char *name)
{
    struct hello hello = {0};
    snprintf(hello.member, sizeof hello.member, "%s", name);
    return fences_check_name(&hello);
}

static void names_reach_terminals(void **state)
{
    (void)state;
    assert_int_equal(check_name(""), WEFT_OK);
    assert_int_equal(check_name("vm-1.example.org/4711"), WEFT_OK);
    assert_int_equal(check_name("m\xc3\xbcller/1"), WEFT_OK);
    assert_int_equal(check_name("a\033[2Jb/1"), WEFT_INVALID_ARGUMENT);
    assert_int_equal(check_name("two\nlines/1"), WEFT_INVALID_ARGUMENT);
    assert_int_equal(check_name("a\177b"), WEFT_INVALID_ARGUMENT);
    assert_int_equal(check_name("a\xc2\x9b"
                                "2Jb"),
                     WEFT_INVALID_ARGUMENT);
    assert_int_equal(check_name("a\x9b"
                                "2Jb"),
                     WEFT_INVALID_ARGUMENT);
}

static void sessions_that_have_ended_stay_out(void **state)
{
    static struct fences fences;
    struct hello hello = {.epoch = 7};
    (void)state;
    hello.session[0] = 1;
    assert_int_equal(fences_check(&fences, &hello, 7), WEFT_OK);
    hello.resumes = true;
    assert_int_equal(fences_check(&fences, &hello, 7), WEFT_ABORTED);
    hello.resumes = false;
    fences_add(&fences, hello.session, true);
    assert_int_equal(fences_check(&fences, &hello, 7), WEFT_ABORTED);
    hello.session[0] = 2;
    assert_int_equal(fences_check(&fences, &hello, 7), WEFT_OK);
    // Older ones give way.
    for (int i = 0; i < FENCED_MAX; i++)
        fences_add(&fences, hello.session, false);
    hello.session[0] = 1;
    assert_int_equal(fences_check(&fences, &hello, 7), WEFT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_reach_terminals),
        cmocka_unit_test(sessions_that_have_ended_stay_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
