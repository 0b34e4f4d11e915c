// Tests of finding resource managers in URLs and configuration files.
#include "launch/yarn/yarn_site.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "wire/hadoop/properties_testing.h"

#define RM(name, value) PROPERTY("yarn.resourcemanager." name, value)

static struct yarn_site site;

static void expect_manager(size_t i, const char *client, const char *scheduler, const char *web)
{
    char text[NET_ADDRESS_TEXT_BYTES];
    assert_true(i < site.count);
    net_write_address(&site.managers[i].client, text);
    assert_string_equal(text, client);
    net_write_address(&site.managers[i].scheduler, text);
    assert_string_equal(text, scheduler);
    net_write_address(&site.managers[i].web, text);
    assert_string_equal(text, web);
}

static void expect_refusal(const char *url, weft_err err, const char *words)
{
    assert_int_equal(yarn_site_find(url, &site), err);
    if (!strstr(err_text(), words))
        fail_msg("%s: \"%s\" does not contain \"%s\"", url, err_text(), words);
    err_clear();
}

static int configure_folder(void **state)
{
    if (testing_make_folder(state) != 0)
        return -1;
    return setenv("HADOOP_CONF_DIR", testing_folder, 1);
}

static int forget_folder(void **state)
{
    unsetenv("HADOOP_CONF_DIR");
    return testing_remove_folder(state);
}

static void urls_are_checked_without_a_configuration(void **state)
{
    static const char *const good[] = {"yarn:",
                                       "yarn://",
                                       "yarn:///q",
                                       "yarn://rm",
                                       "yarn://rm:8032/root.a.b",
                                       "yarn://[::1]:8032/"};
    static const char *const bad[] = {"yarn",          "ssh://a",       "yarn:rm",     "yarn:/q",
                                      "yarn://rm/a/b", "yarn://rm/a b", "yarn://rm:x", "yarn://r m",
                                      "yarn://rm/a,b", "yarn://:8032"};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(yarn_site_check(good[i]), WEFT_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (yarn_site_check(bad[i]) != WEFT_INVALID_ARGUMENT)
            fail_msg("%s is taken", bad[i]);
        assert_non_null(strstr(err_text(), bad[i]));
    }
    err_clear();
}

static void a_host_needs_no_configuration(void **state)
{
    (void)state;
    unsetenv("HADOOP_CONF_DIR");
    unsetenv("HADOOP_HOME");
    assert_int_equal(yarn_site_find("yarn://rm", &site), WEFT_OK);
    expect_manager(0, "rm:8032", "rm:8030", "rm:8088");
    assert_string_equal(site.queue, "");
    assert_int_equal(yarn_site_find("yarn://rm:9999/root.batch", &site), WEFT_OK);
    expect_manager(0, "rm:9999", "rm:8030", "rm:8088");
    assert_string_equal(site.queue, "root.batch");
    expect_refusal("yarn:", WEFT_FAILED_PRECONDITION, "HADOOP_CONF_DIR");
    expect_refusal("yarn://rm:x", WEFT_INVALID_ARGUMENT, "yarn://rm:x");
}

static void the_configuration_has_the_other_addresses(void **state)
{
    (void)state;
    write_file("yarn-site.xml",
               CONFIGURATION(RM("hostname", "one") RM("webapp.address", "0.0.0.0:18088") RM(
                   "scheduler.address", "${yarn.resourcemanager.hostname}:18030")));
    assert_int_equal(yarn_site_find("yarn:///q", &site), WEFT_OK);
    assert_int_equal(site.count, 1);
    expect_manager(0, "one:8032", "one:18030", "one:18088");
    assert_string_equal(site.queue, "q");
    assert_int_equal(yarn_site_find("yarn://one", &site), WEFT_OK);
    expect_manager(0, "one:8032", "one:18030", "one:18088");
    // Of another one nothing is known.
    assert_int_equal(yarn_site_find("yarn://two", &site), WEFT_OK);
    expect_manager(0, "two:8032", "two:8030", "two:8088");
    // Only its address, without a host of its own.
    write_file("yarn-site.xml", CONFIGURATION(RM("address", "three:19032")));
    assert_int_equal(yarn_site_find("yarn:", &site), WEFT_OK);
    expect_manager(0, "three:19032", "three:8030", "three:8088");
    write_file("yarn-site.xml", CONFIGURATION(RM("hostname", "0.0.0.0")));
    assert_int_equal(yarn_site_find("yarn:", &site), WEFT_OK);
    expect_manager(0, "localhost:8032", "localhost:8030", "localhost:8088");
    write_file("yarn-site.xml", CONFIGURATION(RM("hostname", "one") RM("address", "one:x")));
    expect_refusal("yarn:", WEFT_INVALID_ARGUMENT, "yarn.resourcemanager.address");
    write_file("yarn-site.xml", "<configuration><property>");
    expect_refusal("yarn:", WEFT_INVALID_ARGUMENT, "yarn-site.xml: line 1");
}

#define TWO                                                                                        \
    RM("ha.enabled", "true")                                                                       \
    RM("cluster-id", "prod")                                                                       \
    RM("ha.rm-ids", "a, b")                                                                        \
    RM("hostname.a", "one") RM("address.b", "two:9032") RM("webapp.address.b", "two:9088")

static void one_of_several_is_found_by_the_name_of_the_cluster(void **state)
{
    (void)state;
    write_file("yarn-site.xml", CONFIGURATION(TWO));
    static const char *const urls[] = {"yarn://prod/q", "yarn:///q"};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(yarn_site_find(urls[i], &site), WEFT_OK);
        assert_int_equal(site.count, 2);
        expect_manager(0, "one:8032", "one:8030", "one:8088");
        expect_manager(1, "two:9032", "two:8030", "two:9088");
        assert_string_equal(site.queue, "q");
    }
    assert_int_equal(yarn_site_find("yarn://two:9032", &site), WEFT_OK);
    assert_int_equal(site.count, 1);
    expect_manager(0, "two:9032", "two:8030", "two:9088");
    write_file("yarn-site.xml", CONFIGURATION(TWO RM("ha.rm-ids", "a,c")));
    expect_refusal("yarn:", WEFT_INVALID_ARGUMENT, "yarn.resourcemanager.address.c");
}

static void security_that_is_not_spoken_is_refused(void **state)
{
    (void)state;
    write_file("core-site.xml",
               CONFIGURATION(PROPERTY("hadoop.security.authentication", "kerberos")));
    expect_refusal("yarn://rm", WEFT_UNIMPLEMENTED, "Kerberos");
    write_file("core-site.xml", CONFIGURATION(PROPERTY("hadoop.rpc.protection", "privacy")));
    expect_refusal("yarn://rm", WEFT_UNIMPLEMENTED, "hadoop.rpc.protection");
    write_file("core-site.xml",
               CONFIGURATION(PROPERTY("hadoop.rpc.protection", "privacy,authentication")
                                 PROPERTY("hadoop.security.authentication", "simple")));
    assert_int_equal(yarn_site_find("yarn://rm", &site), WEFT_OK);
}

static void a_site_travels_as_a_line(void **state)
{
    static const char *const bad[] = {
        "",           "/", "a:1,a:2 /q", "a:1,a:2,a:3/q", "a:1,a:2,a:3 /q/r", "a:1,a:2,a:x /q",
        "a:1,a:2,a:3"};
    struct buf text = {0};
    (void)state;
    write_file("yarn-site.xml", CONFIGURATION(TWO));
    assert_int_equal(yarn_site_find("yarn:///root.q", &site), WEFT_OK);
    yarn_site_write(&site, &text);
    assert_string_equal(buf_text(&text),
                        "one:8032,one:8030,one:8088 two:9032,two:8030,two:9088 /root.q");
    assert_int_equal(yarn_site_read(buf_text(&text), &site), WEFT_OK);
    assert_int_equal(site.count, 2);
    expect_manager(1, "two:9032", "two:8030", "two:9088");
    assert_string_equal(site.queue, "root.q");
    buf_fini(&text);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (yarn_site_read(bad[i], &site) != WEFT_INVALID_ARGUMENT)
            fail_msg("\"%s\" is read", bad[i]);
    err_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_are_checked_without_a_configuration),
        cmocka_unit_test(a_host_needs_no_configuration),
        cmocka_unit_test_setup_teardown(the_configuration_has_the_other_addresses, configure_folder,
                                        forget_folder),
        cmocka_unit_test_setup_teardown(one_of_several_is_found_by_the_name_of_the_cluster,
                                        configure_folder, forget_folder),
        cmocka_unit_test_setup_teardown(a_site_travels_as_a_line, configure_folder, forget_folder),
        cmocka_unit_test_setup_teardown(security_that_is_not_spoken_is_refused, configure_folder,
                                        forget_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
