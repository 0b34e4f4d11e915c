// Tests of reading what a resource manager reports about itself.
#include "launch/yarn/yarn_info.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char version[YARN_VERSION_BYTES];

static weft_err read_text(const char *text)
{
    return yarn_info_read((weft_bytes){text, strlen(text)}, version);
}

static void the_version_is_found(void **state)
{
    (void)state;
    // Hadoop repeats names in objects; the last one counts.
    assert_int_equal(
        read_text("{\"clusterInfo\": {\"id\": 1, \"haState\": \"ACTIVE\","
                  " \"resourceManagerVersion\": \"3\", \"resourceManagerVersion\": \"3.4.1\"}}"),
        WEFT_OK);
    assert_string_equal(version, "3.4.1");
    assert_int_equal(read_text("{\"clusterInfo\": {\"resourceManagerVersion\": \"\\u001b[2J 4\"}}"),
                     WEFT_OK);
    assert_string_equal(version, "_[2J_4");
}

static void a_long_version_is_cut(void **state)
{
    char text[300];
    (void)state;
    snprintf(text, sizeof text, "{\"clusterInfo\": {\"resourceManagerVersion\": \"%0200d\"}}", 7);
    assert_int_equal(read_text(text), WEFT_OK);
    assert_int_equal(strlen(version), YARN_VERSION_BYTES - 1);
}

static void other_texts_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "<html>",
                                        "[]",
                                        "{}",
                                        "{\"clusterInfo\": 7}",
                                        "{\"clusterInfo\": {}}",
                                        "{\"clusterInfo\": {\"resourceManagerVersion\": 3}}",
                                        "{\"clusterInfo\": {\"resourceManagerVersion\": \"3\"}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(read_text(texts[i]), WEFT_DATA_LOSS);
    err_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_version_is_found),
        cmocka_unit_test(a_long_version_is_cut),
        cmocka_unit_test(other_texts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
