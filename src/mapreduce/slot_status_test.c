// What an attempt says of itself: last words, cut words, words that are just being written.

#include "mapreduce/slot_status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
// cmocka needs those.
#include <cmocka.h>

static void only_what_is_new_is_read(void **state)
{
    (void)state;
    struct slot_status status = {0};
    struct status_words words;
    assert_false(slot_status_read(&status, 0, &words));
    slot_status_write(&status, 2, 7, "one", 3);
    slot_status_write(&status, 2, 8, "half", 4);
    assert_true(slot_status_read(&status, 0, &words));
    assert_int_equal(words.kind, 2);
    assert_int_equal(words.task, 8);
    assert_string_equal(words.text, "half");
    assert_false(slot_status_read(&status, words.serial, &words));
}

static void long_ones_are_cut(void **state)
{
    (void)state;
    struct slot_status status = {0};
    struct status_words words;
    char text[3 * STATUS_BYTES_MAX];
    memset(text, 'x', sizeof text);
    slot_status_write(&status, 1, 1, text, sizeof text);
    assert_true(slot_status_read(&status, 0, &words));
    assert_int_equal(strlen(words.text), STATUS_BYTES_MAX);
    slot_status_write(&status, 1, 1, "y", 1);
    assert_true(slot_status_read(&status, words.serial, &words));
    assert_string_equal(words.text, "y");
}

static void one_that_is_being_written_is_not_read(void **state)
{
    (void)state;
    struct slot_status status = {0};
    struct status_words words;
    slot_status_write(&status, 1, 1, "y", 1);
    status.serial++;
    assert_false(slot_status_read(&status, 0, &words));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_new_is_read),
        cmocka_unit_test(long_ones_are_cut),
        cmocka_unit_test(one_that_is_being_written_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
