// Tests of finding name nodes in configuration files.
#include "store/hdfs/site.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "wire/hadoop/properties_testing.h"

static struct site site;

static void expect_node(size_t i, const char *rpc, const char *web)
{
    char text[NET_ADDRESS_TEXT_BYTES];
    assert_true(i < site.count);
    net_write_address(&site.nodes[i].rpc, text);
    assert_string_equal(text, rpc);
    net_write_address(&site.nodes[i].web, text);
    assert_string_equal(text, web);
}

static void an_address_needs_no_configuration(void **state)
{
    (void)state;
    unsetenv("HADOOP_CONF_DIR");
    unsetenv("HADOOP_HOME");
    assert_int_equal(site_find("nn:9000", &site), WEFT_OK);
    expect_node(0, "nn:9000", "nn:9870");
    assert_int_equal(site_find("nn", &site), WEFT_OK);
    expect_node(0, "nn:8020", "nn:9870");
    assert_int_equal(site_find("", &site), WEFT_FAILED_PRECONDITION);
    assert_non_null(strstr(err_text(), "HADOOP_CONF_DIR"));
    assert_int_equal(site_find("nn:x", &site), WEFT_INVALID_ARGUMENT);
    err_clear();
}

static void addresses_of_all_name_nodes_need_no_configuration(void **state)
{
    (void)state;
    struct buf text = {0};
    unsetenv("HADOOP_CONF_DIR");
    unsetenv("HADOOP_HOME");
    assert_int_equal(site_find("nn:9000:50070", &site), WEFT_OK);
    assert_int_equal(site.count, 1);
    expect_node(0, "nn:9000", "nn:50070");
    static const char several[] = "one:9000:50070,10.0.0.2:8020:9870,[::1]:7:8";
    assert_int_equal(site_find(several, &site), WEFT_OK);
    assert_int_equal(site.count, 3);
    expect_node(0, "one:9000", "one:50070");
    expect_node(1, "10.0.0.2:8020", "10.0.0.2:9870");
    expect_node(2, "[::1]:7", "[::1]:8");
    assert_true(site_write(&site, &text));
    assert_string_equal(buf_text(&text), several);
    assert_int_equal(site_find("one,two", &site), WEFT_OK);
    assert_int_equal(site.count, 2);
    expect_node(1, "two:8020", "two:9870");
    static const char *const wrong[] = {"a:1:x", "a:1:2:3", "a:1:70000", ",", "a,b:x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(site_find(wrong[i], &site), WEFT_INVALID_ARGUMENT);
    err_clear();
    site = (struct site){.count = 1, .nodes = {{{"a", 1}, {"b", 2}}}};
    assert_false(site_write(&site, &text));
    buf_fini(&text);
}

static void the_default_is_that_of_the_configuration(void **state)
{
    (void)state;
    setenv("HADOOP_CONF_DIR", testing_folder, 1);
    setenv("SITE_TEST_HOST", "seven", 1);
    write_file("core-site.xml", CONFIGURATION(PROPERTY("fs.defaultFS", " hdfs://${a.host}:9000/ ")
                                                  PROPERTY("a.host", "${env.SITE_TEST_HOST}")));
    assert_int_equal(site_find("", &site), WEFT_OK);
    assert_int_equal(site.count, 1);
    expect_node(0, "seven:9000", "seven:9870");
    write_file("hdfs-site.xml",
               CONFIGURATION(PROPERTY("dfs.namenode.http-address", "0.0.0.0:50070")));
    assert_int_equal(site_find("", &site), WEFT_OK);
    expect_node(0, "seven:9000", "seven:50070");
    // Of another name node nothing is known.
    assert_int_equal(site_find("eight:9000", &site), WEFT_OK);
    expect_node(0, "eight:9000", "eight:9870");
    write_file("core-site.xml", CONFIGURATION(PROPERTY("fs.defaultFS", "${fs.defaultFS}")));
    assert_int_equal(site_find("", &site), WEFT_FAILED_PRECONDITION);
    write_file("core-site.xml", "<configuration><property>");
    assert_int_equal(site_find("", &site), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "core-site.xml: line 1"));
    err_clear();
}

static void a_service_has_several_name_nodes(void **state)
{
    (void)state;
    setenv("HADOOP_CONF_DIR", testing_folder, 1);
    write_file("core-site.xml", CONFIGURATION(PROPERTY("fs.defaultFS", "hdfs://ns1")));
    write_file("hdfs-site.xml",
               CONFIGURATION(
                   PROPERTY("dfs.nameservices", "ns1,ns2") PROPERTY("dfs.ha.namenodes.ns1", "a, b")
                       PROPERTY("dfs.namenode.rpc-address.ns1.a", "one:8020")
                           PROPERTY("dfs.namenode.rpc-address.ns1.b", "two:8021")
                               PROPERTY("dfs.namenode.http-address.ns1.b", "two:50070")
                                   PROPERTY("dfs.ha.namenodes.ns2", "c")));
    assert_int_equal(site_find("", &site), WEFT_OK);
    assert_int_equal(site.count, 2);
    expect_node(0, "one:8020", "one:9870");
    expect_node(1, "two:8021", "two:50070");
    assert_int_equal(site_find("ns2", &site), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "dfs.namenode.rpc-address.ns2.c"));
    err_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_needs_no_configuration),
        cmocka_unit_test(addresses_of_all_name_nodes_need_no_configuration),
        cmocka_unit_test_setup_teardown(the_default_is_that_of_the_configuration,
                                        testing_make_folder, testing_remove_folder),
        cmocka_unit_test_setup_teardown(a_service_has_several_name_nodes, testing_make_folder,
                                        testing_remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
