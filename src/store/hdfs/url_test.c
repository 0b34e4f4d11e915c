// Tests of names in HDFS.
#include "store/hdfs/url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void names_are_read_as_people_write_them(void **state)
{
    (void)state;
    static const struct {
        const char *text, *authority, *path;
    } cases[] = {
        {"hdfs://nn:9000/a/b", "nn:9000", "/a/b"},
        {"hdfs:///a", "", "/a"},
        {"hdfs://ns1", "ns1", "/"},
        {"hdfs://ns1/", "ns1", "/"},
        {"hdfs://nn//a///b/", "nn", "/a/b"},
        {"hdfs://nn/a/./b/../c", "nn", "/a/c"},
        {"hdfs://nn/../../a", "nn", "/a"},
        {"hdfs://nn/a%20b c", "nn", "/a%20b c"},
        {"hdfs://[::1]:9000/x", "[::1]:9000", "/x"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hdfs_url url;
        assert_int_equal(hdfs_url_read(cases[i].text, &url), WEFT_OK);
        assert_string_equal(url.authority, cases[i].authority);
        assert_string_equal(url.path, cases[i].path);
    }
}

static void other_names_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"hdfs:/a", "hdfs:a",   "/a",
                                        "",        "s3://a/b", "hdfs://user@nn/a"};
    struct hdfs_url url;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(hdfs_url_read(texts[i], &url), WEFT_INVALID_ARGUMENT);
    char *text = malloc(3 * HDFS_PATH_BYTES);
    memset(text, 'a', 3 * HDFS_PATH_BYTES);
    text[3 * HDFS_PATH_BYTES - 1] = 0;
    memcpy(text, "hdfs://nn/", 10);
    assert_int_equal(hdfs_url_read(text, &url), WEFT_INVALID_ARGUMENT);
    memcpy(text, "hdfs://aaa", 10);
    assert_int_equal(hdfs_url_read(text, &url), WEFT_INVALID_ARGUMENT);
    free(text);
    assert_true(hdfs_is_url("hdfs:/x"));
    assert_false(hdfs_is_url("hdfs"));
    err_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_read_as_people_write_them),
        cmocka_unit_test(other_names_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
