// Tests of reading what a name node reports about itself.
#include "store/hdfs/bean.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct bean bean;

static weft_err read_text(const char *text)
{
    bean = (struct bean){0};
    return bean_read((weft_bytes){text, strlen(text)}, &bean);
}

static void figures_are_found_among_others(void **state)
{
    (void)state;
    assert_int_equal(
        read_text(
            "{\"beans\": [{\"x\": [1, {}], \"FSState\": \"Operational\", \"NumLiveDataNodes\": 2,"
            " \"NumDeadDataNodes\": 3, \"CapacityRemaining\": 123456789012}]}"),
        WEFT_OK);
    assert_string_equal(bean.state, "Operational");
    assert_string_equal(bean.version, "");
    assert_int_equal(bean.live_nodes, 2);
    assert_int_equal(bean.dead_nodes, 3);
    assert_int_equal(bean.free_bytes, 123456789012);
}

static void several_answers_add_up(void **state)
{
    (void)state;
    static const char version[] = "{\"beans\": [{\"SoftwareVersion\": \"3.4.1\"}]}";
    assert_int_equal(read_text("{\"beans\": [{\"NumLiveDataNodes\": 2}]}"), WEFT_OK);
    assert_int_equal(bean_read((weft_bytes){version, strlen(version)}, &bean), WEFT_OK);
    assert_int_equal(bean.live_nodes, 2);
    assert_string_equal(bean.version, "3.4.1");
}

static void what_cannot_be_is_left_out(void **state)
{
    (void)state;
    assert_int_equal(
        read_text(
            "{\"beans\": [{\"FSState\": 7, \"NumLiveDataNodes\": -1, \"NumDeadDataNodes\": \"2\","
            " \"SoftwareVersion\": \"3\\u001b[31m\\n4\"}]}"),
        WEFT_OK);
    assert_string_equal(bean.state, "");
    assert_int_equal(bean.live_nodes, 0);
    assert_int_equal(bean.dead_nodes, 0);
    assert_string_equal(bean.version, "3_[31m_4");
}

static void other_texts_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"",   "<html>",          "{",
                                        "{}", "{\"beans\": []}", "{\"beans\": [1]}",
                                        "[]", "{\"beans\": {}}", "{\"beans\": [{}]} x"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(read_text(texts[i]), WEFT_DATA_LOSS);
    assert_string_equal(err_text(), "a web server answers there, but not Hadoop's");
    err_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_found_among_others),
        cmocka_unit_test(several_answers_add_up),
        cmocka_unit_test(what_cannot_be_is_left_out),
        cmocka_unit_test(other_texts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
