// Tests of reading configuration files of Hadoop.
#include "hadoop/conf.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct streaming_list words;

static int tear_down(void **state)
{
    (void)state;
    streaming_drop(&words);
    return 0;
}

static weft_err read_text(const char *text)
{
    streaming_drop(&words);
    return streaming_read_conf("a.xml", weft_text(text), &words);
}

#define PROPERTY(name, value)                                                                      \
    "<property>\n <name>" name "</name>\n <value>" value "</value>\n</property>\n"

static void properties_become_words(void **state)
{
    (void)state;
    assert_int_equal(
        read_text("<?xml version=\"1.0\"?>\n<!-- a <comment> -->\n<configuration>\n" PROPERTY(
            " a.b ", "1") PROPERTY("c", " x &amp; &#x41;&#66; <![CDATA[<y>]]>")
                      PROPERTY("empty", "") "<property><name>d</name><final>true</final>"
                                            "<value/><description>a b</description></property>"
                                            "</configuration>\n"),
        WEFT_OK);
    static const char *const expected[] = {"-D", "a.b=1",  "-D", "c= x & AB <y>",
                                           "-D", "empty=", "-D", "d="};
    assert_int_equal(words.count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < words.count; i++)
        assert_string_equal(words.items[i], expected[i]);
}

static void an_empty_configuration_says_nothing(void **state)
{
    (void)state;
    assert_int_equal(read_text("<configuration>\n</configuration>"), WEFT_OK);
    assert_int_equal(words.count, 0);
}

static void what_is_no_configuration_is_refused_with_its_line(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "\n\n{\"a\": 1}",
        "\n\n<html></html>",
        "\n\n<property><name>a</name></property>",
        "\n\n<property><name>a</name><value>b",
        "\n\n<property><name>a</name>",
        "\n\n<property><name>a</name><value>&nbsp;</value></property>",
        "\n\n<property><name>a</name><value>&#xfffffff;</value></property>",
        "\n\n<property name=\"a\" value=\"b\"/>",
        "\n\n<xi:include href=\"b.xml\"/>",
        "\n\n<!-- a",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(read_text(texts[i]), WEFT_INVALID_ARGUMENT);
        if (!strstr(weft_error(), "a.xml: line 3"))
            fail_msg("%s: %s", texts[i], weft_error());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(properties_become_words, tear_down),
        cmocka_unit_test_teardown(an_empty_configuration_says_nothing, tear_down),
        cmocka_unit_test_teardown(what_is_no_configuration_is_refused_with_its_line, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
