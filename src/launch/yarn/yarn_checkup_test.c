// Tests of finding out whether containers can be had, as far as they need no resource manager; test/hadoop/brief has one.
#include "launch/yarn/yarn_checkup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sys/file/folder_testing.h"

static size_t found_count;
static weft_err last_err;
static char last_check[100], last_text[ERR_TEXT_BYTES_MAX];

static void take(void *owner, const char *check, weft_err err, const char *text)
{
    (void)owner;
    found_count++;
    last_err = err;
    snprintf(last_check, sizeof last_check, "%s", check);
    snprintf(last_text, sizeof last_text, "%s", text);
}

static void examine(const char *url)
{
    const struct yarn_checkup checkup = {.url = url, .timeout_ms = 1000, .found = take};
    found_count = 0;
    assert_false(yarn_checkup(&checkup));
    assert_string_equal(err_text(), "");
}

static void configure(const char *file, const char *name, const char *value)
{
    FILE *stream = fopen(testing_path(file), "w");
    assert_non_null(stream);
    fprintf(stream,
            "<configuration><property><name>%s</name><value>%s</value></property></configuration>",
            name, value);
    assert_int_equal(fclose(stream), 0);
    setenv("HADOOP_CONF_DIR", testing_folder, 1);
}

static void without_a_configuration_there_is_nothing_to_ask(void **state)
{
    (void)state;
    unsetenv("HADOOP_CONF_DIR");
    unsetenv("HADOOP_HOME");
    examine("yarn:");
    assert_int_equal(found_count, 1);
    assert_string_equal(last_check, "hadoop");
    assert_int_equal(last_err, WEFT_FAILED_PRECONDITION);
}

static void kerberos_is_named(void **state)
{
    (void)state;
    configure("core-site.xml", "hadoop.security.authentication", "Kerberos");
    examine("yarn://127.0.0.1:1");
    assert_int_equal(found_count, 1);
    assert_string_equal(last_check, "hadoop");
    assert_int_equal(last_err, WEFT_UNIMPLEMENTED);
    assert_non_null(strstr(last_text, "asks for Kerberos"));
}

static void one_that_is_away_ends_the_checks(void **state)
{
    (void)state;
    configure("yarn-site.xml", "yarn.resourcemanager.address", "127.0.0.1:1");
    examine("yarn:///some");
    assert_int_equal(found_count, 2);
    assert_string_equal(last_check, "127.0.0.1:1");
    assert_int_equal(last_err, WEFT_UNAVAILABLE);
    assert_non_null(strstr(last_text, "no program listens there"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, testing_make_folder, testing_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_a_configuration_there_is_nothing_to_ask),
        TEST(kerberos_is_named),
        TEST(one_that_is_away_ends_the_checks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
