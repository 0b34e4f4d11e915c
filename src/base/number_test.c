// Tests of numbers as text. What a double should look like was taken from Python's repr().

#include "base/number.h"

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const char *int_text(int64_t value)
{
    static char text[NUMBER_TEXT_MAX + 1];
    *number_write_int(text, value) = 0;
    return text;
}

static const char *double_text(double value)
{
    static char text[NUMBER_TEXT_MAX + 1];
    memset(text, '#', sizeof text);
    *number_write_double(text, value) = 0;
    return text;
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void integers_are_written_in_decimal(void **unused)
{
    (void)unused;
    assert_string_equal(int_text(0), "0");
    assert_string_equal(int_text(-1), "-1");
    assert_string_equal(int_text(INT64_MAX), "9223372036854775807");
    assert_string_equal(int_text(INT64_MIN), "-9223372036854775808");
    uint64_t power = 1;
    for (int i = 0; i < 19; i++, power *= 10) {
        for (int64_t around = -1; around <= 1; around++) {
            char expected[32];
            const int64_t value = (int64_t)power + around;
            snprintf(expected, sizeof expected, "%lld", (long long)value);
            assert_string_equal(int_text(value), expected);
            snprintf(expected, sizeof expected, "%lld", (long long)-value);
            assert_string_equal(int_text(-value), expected);
        }
    }
}

static void integers_read_back_as_they_were(void **unused)
{
    (void)unused;
    uint64_t state = 1;
    for (int i = 0; i < 100000; i++) {
        const int64_t value = (int64_t)next_random(&state) >> (i % 64);
        int64_t back = ~value;
        assert_true(number_read_int(weft_text(int_text(value)), &back));
        assert_int_equal(back, value);
    }
}

static void doubles_are_written_as_short_as_possible(void **unused)
{
    (void)unused;
    const struct {
        double value;
        const char *text;
    } cases[] = {
        {3.0, "3"},
        {0.0, "0"},
        {-0.0, "-0"},
        {0.1, "0.1"},
        {-1.5, "-1.5"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1e300, "1e+300"},
        {1e15, "1000000000000000"},
        {1e16, "1e+16"},
        {123456789012345678.0, "1.2345678901234568e+17"},
        {9007199254740993.0, "9007199254740992"},
        {0.0001, "0.0001"},
        {0.00001, "1e-05"},
        {0.000123456, "0.000123456"},
        {1.0 / 3, "0.3333333333333333"},
        {100.5, "100.5"},
        {5e-324, "5e-324"},
        {-5e-324, "-5e-324"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {2.225073858507201e-308, "2.225073858507201e-308"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {0x1p-44, "5.684341886080802e-14"},  // the nearest 16 digits would read as its neighbour
        {9.5367431640625e-07, "9.5367431640625e-07"},
        {HUGE_VAL, "inf"},
        {-HUGE_VAL, "-inf"},
        {(double)NAN, "nan"},
        {-(double)NAN, "nan"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(double_text(cases[i].value), cases[i].text);
}

static void doubles_read_back_as_they_were(void **unused)
{
    (void)unused;
    uint64_t state = 2;
    for (int i = 0; i < 50000; i++) {
        const uint64_t bits = next_random(&state) >> (i % 3 == 0 ? 12 : 0);
        double value, back = 0;
        memcpy(&value, &bits, sizeof value);
        const char *text = double_text(value);
        assert_true(strlen(text) <= 24);
        assert_true(number_read_double(weft_text(text), &back));
        if (isnan(value))
            assert_true(isnan(back));
        else
            assert_memory_equal(&back, &value, sizeof value);
    }
}

// Cutting a digit off (rounded) gives another double, or there would have been a shorter text.
static void no_shorter_text_reads_back_the_same(void **unused)
{
    (void)unused;
    uint64_t state = 3;
    for (int i = 0; i < 20000; i++) {
        const double value =
            (double)(next_random(&state) >> 11) / (double)(next_random(&state) >> 40);
        char digits[NUMBER_TEXT_MAX], shorter[NUMBER_TEXT_MAX];
        int count = 0;
        for (const char *at = double_text(value); *at && *at != 'e'; at++)
            if (*at >= '0' && *at <= '9' && (count > 0 || *at != '0'))
                digits[count++] = *at;
        while (count > 0 && digits[count - 1] == '0')
            count--;
        if (count < 2)
            continue;
        snprintf(shorter, sizeof shorter, "%.*e", count - 2, value);
        assert_true(strtod(shorter, NULL) != value);
    }
}

static void text_that_is_no_integer_is_refused(void **unused)
{
    (void)unused;
    const char *const refused[] = {"",
                                   "-",
                                   "+",
                                   " 1",
                                   "1 ",
                                   "1\n",
                                   "0x1",
                                   "1.",
                                   "1e3",
                                   "--1",
                                   "+-1",
                                   "9223372036854775808",
                                   "a",
                                   "1a",
                                   "१",
                                   "1,000",
                                   "-9223372036854775809"};
    int64_t value = 42;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_false(number_read_int(weft_text(refused[i]), &value));
        assert_int_equal(value, 42);
    }
    assert_false(number_read_int((weft_bytes){"1\0", 2}, &value));
    assert_true(number_read_int(weft_text("+007"), &value));
    assert_int_equal(value, 7);
    assert_true(number_read_int(weft_text("-0"), &value));
    assert_int_equal(value, 0);
    assert_true(number_read_int(weft_text("-9223372036854775808"), &value));
    assert_true(value == INT64_MIN);
    assert_true(number_read_int(weft_text("9223372036854775807"), &value));
    assert_true(value == INT64_MAX);
}

static void text_that_is_no_double_is_refused(void **unused)
{
    (void)unused;
    const char *const refused[] = {"",
                                   "-",
                                   ".",
                                   "e5",
                                   "1e",
                                   "1e+",
                                   " 1",
                                   "1 ",
                                   "0x1p3",
                                   "1,5",
                                   "infinity",
                                   "nan(1)",
                                   "1.2.3",
                                   "1e400",
                                   "-1e400",
                                   "1e5.0",
                                   "inf ",
                                   "--1",
                                   "1e99999999999999999999",
                                   "1ee5",
                                   "Inf",
                                   "1e-",
                                   "in",
                                   "+"};
    double value;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_false(number_read_double(weft_text(refused[i]), &value));
    assert_false(number_read_double((weft_bytes){"1\0", 2}, &value));
}

static void doubles_are_read_as_strtod_reads_them(void **unused)
{
    (void)unused;
    const char *const accepted[] = {
        "0",
        "-0",
        "1.",
        ".5",
        "+2.5e-3",
        "1E5",
        "123456789012345678901234567890",
        "0.000000000000000000000000000000000000000001",
        "1e-400",
        "2.2250738585072011e-308",
        "9007199254740993",
        "1e-99999999999999999999",
        "0e99999999999999999999",
        "1e22",
        "1e23",
        "8.5e-22",
        "00000000000000000000000001.5",
        "17976931348623157000000000000000000000000000000000000000000000000000000000000000000000000.5",
    };
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        double value = 42;
        const double expected = strtod(accepted[i], NULL);
        assert_true(number_read_double(weft_text(accepted[i]), &value));
        assert_memory_equal(&value, &expected, sizeof value);
    }
    double value = 0;
    assert_true(number_read_double(weft_text("-inf"), &value) && isinf(value) && value < 0);
    assert_true(number_read_double(weft_text("nan"), &value) && isnan(value));
}

static void random_decimals_are_read_as_strtod_reads_them(void **unused)
{
    (void)unused;
    uint64_t state = 4;
    for (int i = 0; i < 50000; i++) {
        char text[64];
        const uint64_t digits = next_random(&state) >> (next_random(&state) % 60);
        const int point = (int)(next_random(&state) % 20);
        const int exponent = (int)(next_random(&state) % 60) - 30;
        snprintf(text, sizeof text, "%llu.%0*llue%d", (unsigned long long)(digits / 1000), point,
                 (unsigned long long)(digits % 1000), exponent);
        double value = 0;
        const double expected = strtod(text, NULL);
        assert_true(number_read_double(weft_text(text), &value));
        assert_memory_equal(&value, &expected, sizeof value);
    }
}

static void the_locale_of_the_program_does_not_matter(void **unused)
{
    (void)unused;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8"))
        skip();
    double value = 0;
    assert_string_equal(double_text(0.1), "0.1");
    assert_string_equal(double_text(1.0 / 3), "0.3333333333333333");
    assert_true(number_read_double(weft_text("12345678901234567.25"), &value));
    setlocale(LC_NUMERIC, "C");
    assert_true(value == 12345678901234567.25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_written_in_decimal),
        cmocka_unit_test(integers_read_back_as_they_were),
        cmocka_unit_test(doubles_are_written_as_short_as_possible),
        cmocka_unit_test(doubles_read_back_as_they_were),
        cmocka_unit_test(no_shorter_text_reads_back_the_same),
        cmocka_unit_test(text_that_is_no_integer_is_refused),
        cmocka_unit_test(text_that_is_no_double_is_refused),
        cmocka_unit_test(doubles_are_read_as_strtod_reads_them),
        cmocka_unit_test(random_decimals_are_read_as_strtod_reads_them),
        cmocka_unit_test(the_locale_of_the_program_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
