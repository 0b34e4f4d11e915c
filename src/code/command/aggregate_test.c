// Tests of the reducer `aggregate`: the forms are those of Hadoop's ValueAggregator classes.

#include "code/command/aggregate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct aggregate aggregate;

static int tear_down(void **state)
{
    (void)state;
    aggregate_fini(&aggregate);
    aggregate = (struct aggregate){0};
    return 0;
}

static void add_all(const char *key, const char *const *values)
{
    assert_int_equal(aggregate_begin(&aggregate, weft_text(key)), WEFT_OK);
    for (; *values; values++)
        assert_int_equal(aggregate_add(&aggregate, weft_text(*values)), WEFT_OK);
}

static void expect_bytes(weft_bytes bytes, const char *expected)
{
    assert_int_equal(bytes.size, strlen(expected));
    assert_memory_equal(bytes.data, expected, bytes.size);
}

static void expect_report(const char *key, const char *const *values, const char *expected)
{
    weft_bytes result;
    add_all(key, values);
    assert_int_equal(aggregate_report(&aggregate, &result), WEFT_OK);
    expect_bytes(result, expected);
}

static void expect_combined(const char *key, const char *const *values, const char *expected)
{
    char text[256] = "";
    weft_bytes value;
    add_all(key, values);
    assert_true(aggregate_can_combine(&aggregate));
    for (size_t at = 0; aggregate_next_combined(&aggregate, &at, &value);) {
        strncat(text, value.data, value.size);
        strcat(text, "|");
    }
    assert_string_equal(text, expected);
}

#define VALUES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void integers_are_summed_and_compared(void **state)
{
    (void)state;
    expect_report("LongValueSum:word", VALUES("1", "2", "-10"), "-7");
    expect_bytes(aggregate.name, "word");
    expect_report("longvaluesum:a:b", VALUES("+5"), "5");
    expect_bytes(aggregate.name, "a:b");
    expect_report("LongValueMax:", VALUES("-3", "-2", "-9"), "-2");
    expect_report("LongValueMin:x", VALUES("3", "2", "9"), "2");
    expect_combined("LongValueSum:word", VALUES("1", "2"), "3|");
    expect_combined("LongValueMin:word", VALUES("1", "2"), "1|");
}

static void doubles_are_summed_exactly_and_printed_as_java_does(void **state)
{
    (void)state;
    expect_report("DoubleValueSum:x", VALUES("1", "2"), "3.0");
    expect_report("DoubleValueSum:x", VALUES("0.1", "0.2", "0.3"), "0.6");
    expect_report("DoubleValueSum:x", VALUES("1e16", "1", "-1e16"), "1.0");
    expect_report("DoubleValueSum:x", VALUES("12345678"), "1.2345678E7");
    expect_report("DoubleValueSum:x", VALUES("9999999"), "9999999.0");
    expect_report("DoubleValueSum:x", VALUES("1e7"), "1.0E7");
    expect_report("DoubleValueSum:x", VALUES("0.001"), "0.001");
    expect_report("DoubleValueSum:x", VALUES("0.00015"), "1.5E-4");
    expect_report("DoubleValueSum:x", VALUES("-120.5", " 0.25 "), "-120.25");
    expect_report("DoubleValueSum:x", VALUES("0"), "0.0");
    assert_false(aggregate_can_combine(&aggregate));
}

static void strings_are_compared_by_bytes(void **state)
{
    (void)state;
    expect_report("StringValueMax:x", VALUES("b", "a", "ba", ""), "ba");
    expect_report("StringValueMin:x", VALUES("b", "ab", "a"), "a");
    expect_report("StringValueMin:x", VALUES("b", ""), "");
    expect_combined("StringValueMax:x", VALUES("b", "c"), "c|");
}

static void different_values_are_counted(void **state)
{
    (void)state;
    expect_report("UniqValueCount:x", VALUES("b", "a", "b", "", "a\t1"), "4");
    expect_combined("UniqValueCount:x", VALUES("b", "a", "b"), "a|b|");
}

static void many_values_are_thinned_on_the_way(void **state)
{
    (void)state;
    weft_bytes result;
    assert_int_equal(aggregate_begin(&aggregate, weft_text("UniqValueCount:x")), WEFT_OK);
    for (int i = 0; i < 100000; i++) {
        char value[16];
        snprintf(value, sizeof value, "%d", i % 5000);
        assert_int_equal(aggregate_add(&aggregate, weft_text(value)), WEFT_OK);
    }
    assert_true(aggregate.items.count < 20000);
    assert_int_equal(aggregate_report(&aggregate, &result), WEFT_OK);
    expect_bytes(result, "5000");
}

static void a_histogram_tells_of_how_often_each_value_came(void **state)
{
    (void)state;
    // a 3 times, b twice, c once: 3 values; 1, 2, 3; mean 2; deviation sqrt(2/3)
    const char *const report = "3\t1\t2\t3\t2.0\t0.816496580927726";
    expect_report("ValueHistogram:x", VALUES("a", "b", "a", "c", "b", "a"), report);
    expect_combined("ValueHistogram:x", VALUES("a", "b", "a"), "a\t2|b\t1|");
    expect_report("ValueHistogram:x", VALUES("a\t2", "b\t1", "c", "b", "a\t1"), report);
}

static void what_cannot_be_aggregated_is_told(void **state)
{
    (void)state;
    assert_int_equal(aggregate_begin(&aggregate, weft_text("word")), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "the key 'word' does not say what to do"));
    assert_int_equal(aggregate_begin(&aggregate, weft_text("LongSum:a")), WEFT_INVALID_ARGUMENT);
    assert_int_equal(aggregate_begin(&aggregate, weft_text("LongValueSum:a")), WEFT_OK);
    assert_int_equal(aggregate_add(&aggregate, weft_text("1 ")), WEFT_INVALID_ARGUMENT);
    assert_string_equal(err_text(),
                        "aggregate: LongValueSum:a has the value '1 ', which is not a number");
    assert_int_equal(aggregate_add(&aggregate, weft_text("9223372036854775807")), WEFT_OK);
    assert_int_equal(aggregate_add(&aggregate, weft_text("1")), WEFT_OUT_OF_RANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(integers_are_summed_and_compared, tear_down),
        cmocka_unit_test_teardown(doubles_are_summed_exactly_and_printed_as_java_does, tear_down),
        cmocka_unit_test_teardown(strings_are_compared_by_bytes, tear_down),
        cmocka_unit_test_teardown(different_values_are_counted, tear_down),
        cmocka_unit_test_teardown(many_values_are_thinned_on_the_way, tear_down),
        cmocka_unit_test_teardown(a_histogram_tells_of_how_often_each_value_came, tear_down),
        cmocka_unit_test_teardown(what_cannot_be_aggregated_is_told, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
