// Tests of the hosts of a URL, and of the reasons that are read out of the last words of an ssh.

#include "launch/ssh/ssh.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void hosts_are_names_users_and_ports(void **state)
{
    (void)state;
    struct ssh_hosts hosts = {0};
    assert_int_equal(ssh_hosts_read(&hosts, "ssh://a,me@b:2022,[::1]:22,you@[fe80::1%eth0]"),
                     WEFT_OK);
    assert_int_equal(hosts.list.count, 4);
    assert_string_equal(hosts.list.items[0].name, "a");
    assert_null(hosts.list.items[0].port);
    assert_string_equal(hosts.list.items[1].name, "me@b");
    assert_string_equal(hosts.list.items[1].port, "2022");
    assert_string_equal(hosts.list.items[1].label, "me@b:2022");
    assert_string_equal(hosts.list.items[2].name, "::1");
    assert_string_equal(hosts.list.items[2].port, "22");
    assert_string_equal(hosts.list.items[3].name, "you@fe80::1%eth0");
    ssh_hosts_fini(&hosts);
}

static void what_is_no_host_is_refused(void **state)
{
    (void)state;
    const char *const urls[] = {
        "ssh://",       "ssh:a",     "ssh://a,",  "ssh://,a",      "ssh://a,,b", "ssh://-oX=y",
        "ssh://a b",    "ssh://a:",  "ssh://a:0", "ssh://a:70000", "ssh://[::1", "ssh://a;b",
        "ssh://[::1]x", "ssh://me@", "ssh://a,a", "ssh://a/b",     "ssh://$(x)", "ssh://a:22,a:22"};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        struct ssh_hosts hosts = {0};
        assert_int_equal(ssh_hosts_read(&hosts, urls[i]), WEFT_INVALID_ARGUMENT);
        ssh_hosts_fini(&hosts);
    }
}

static void one_host_with_two_ports_is_two_hosts(void **state)
{
    (void)state;
    struct ssh_hosts hosts = {0};
    assert_int_equal(ssh_hosts_read(&hosts, "ssh://a:22,a:23,a"), WEFT_OK);
    assert_int_equal(hosts.list.count, 3);
    ssh_hosts_fini(&hosts);
}

static const struct process_exit failed = {true, false, 255};

static void the_last_words_give_the_reason(void **state)
{
    (void)state;
    bool is_passing = true;
    assert_int_equal(ssh_explain("h", "Warning: x\r\nme@h: Permission denied (publickey).\r\n",
                                 &failed, false, &is_passing),
                     WEFT_PERMISSION_DENIED);
    assert_false(is_passing);
    assert_non_null(strstr(err_text(), "Permission denied (publickey)"));
    assert_non_null(strstr(err_text(), "try: ssh h true"));
    assert_int_equal(
        ssh_explain("h", "kex_exchange_identification: Connection closed by remote host\r\n",
                    &failed, false, &is_passing),
        WEFT_UNAVAILABLE);
    assert_true(is_passing);
    assert_int_equal(ssh_explain("h",
                                 "head: error writing 'standard output': No space left on device\n"
                                 "weft: the program did not arrive whole in /x\n",
                                 &failed, true, &is_passing),
                     WEFT_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(err_text(), "No space left"));
}

static void an_end_without_words_has_its_exit_code(void **state)
{
    (void)state;
    bool is_passing;
    assert_int_equal(ssh_explain("h", "", &failed, false, &is_passing), WEFT_UNAVAILABLE);
    assert_non_null(strstr(err_text(), "255"));
    assert_int_equal(ssh_explain("h", "", &failed, true, &is_passing), WEFT_UNAVAILABLE);
    assert_non_null(strstr(err_text(), "the connection has ended"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_are_names_users_and_ports),
        cmocka_unit_test(what_is_no_host_is_refused),
        cmocka_unit_test(one_host_with_two_ports_is_two_hosts),
        cmocka_unit_test(the_last_words_give_the_reason),
        cmocka_unit_test(an_end_without_words_has_its_exit_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
