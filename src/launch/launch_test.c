// Tests of URLs: which launcher they mean, and how they are refused.

#include "launch/launch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void nothing_means_this_machine(void **state)
{
    (void)state;
    const struct launcher *launcher;
    assert_int_equal(launcher_find(NULL, &launcher), WEFT_OK);
    assert_string_equal(launcher->scheme, "local");
    assert_int_equal(launcher_find("local:", &launcher), WEFT_OK);
    assert_string_equal(launcher->scheme, "local");
}

static void a_typo_is_answered_with_what_was_meant(void **state)
{
    (void)state;
    const struct launcher *launcher;
    assert_int_equal(launcher_find("locl:", &launcher), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "did you mean: local:"));
}

static void what_is_no_launcher_is_refused_with_their_forms(void **state)
{
    (void)state;
    const struct launcher *launcher;
    const char *const urls[] = {"",          ":",
                                "mainframe", "mainframe://a",
                                "local://a", "a-scheme-that-is-longer-than-any-that-there-is://a"};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        assert_int_equal(launcher_find(urls[i], &launcher), WEFT_INVALID_ARGUMENT);
        assert_non_null(strstr(err_text(), "local:"));
    }
}

static void settings_belong_to_a_launcher(void **state)
{
    (void)state;
    const struct launcher *yarn, *local;
    assert_int_equal(launcher_find("yarn://rm/small", &yarn), WEFT_OK);
    assert_int_equal(launcher_check_setting(yarn, "tags=a,b"), WEFT_OK);
    assert_int_equal(launcher_check_setting(yarn, "tgs=a"), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "did you mean tags?"));
    assert_int_equal(launcher_check_setting(yarn, "tags"), WEFT_INVALID_ARGUMENT);
    assert_int_equal(launcher_find("local:", &local), WEFT_OK);
    assert_int_equal(launcher_check_setting(local, "tags=a"), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "local: has no settings"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_means_this_machine),
        cmocka_unit_test(a_typo_is_answered_with_what_was_meant),
        cmocka_unit_test(settings_belong_to_a_launcher),
        cmocka_unit_test(what_is_no_launcher_is_refused_with_their_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
