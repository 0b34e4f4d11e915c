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

static void an_authority_may_be_another_one(void **state)
{
    (void)state;
    static const struct {
        const char *text, *authority, *other;
    } cases[] = {
        {"hdfs:///a/b", "", "hdfs://x:1:2,y/a/b"},
        {"hdfs://nn:8020/a", "nn:8020", "hdfs://x:1:2,y/a"},
        {"hdfs://nn", "nn", "hdfs://x:1:2,y"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf other = {0};
        const weft_bytes authority = hdfs_url_authority(cases[i].text);
        assert_int_equal(authority.size, strlen(cases[i].authority));
        assert_memory_equal(authority.data, cases[i].authority, authority.size);
        hdfs_url_append_at(cases[i].text, "x:1:2,y", &other);
        assert_string_equal(buf_text(&other), cases[i].other);
        buf_fini(&other);
    }
    assert_int_equal(hdfs_url_authority("/a").size, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_read_as_people_write_them),
        cmocka_unit_test(other_names_are_refused),
        cmocka_unit_test(an_authority_may_be_another_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
