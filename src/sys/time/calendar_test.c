// Tests of points in time as text.
#include "sys/time/calendar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void a_time_is_written_in_utc(void **state)
{
    (void)state;
    char text[CALENDAR_TEXT_BYTES];
    calendar_write(1717243200, text);
    assert_string_equal(text, "2024-06-01T12:00:00Z");
    calendar_write(0, text);
    assert_string_equal(text, "1970-01-01T00:00:00Z");
    calendar_write(INT64_MAX, text);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_time_is_written_in_utc)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
