// Tests of cluster/address: valid ones, refused ones with the reason, and which are the same.

#include "cluster/address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void addresses_have_one_form(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        {"localhost:2222", "localhost:2222"},
        {"localhost", "localhost:2222"},
        {"192.168.0.10:1", "192.168.0.10:1"},
        {"10.0.0.1", "10.0.0.1:2222"},
        {"[::1]:2222", "[::1]:2222"},
        {"[::1]", "[::1]:2222"},
        {"[fe80::1%eth0]:65535", "[fe80::1%eth0]:65535"},
        {"[::ffff:10.0.0.1]:80", "[::ffff:10.0.0.1]:80"},
        {"node_7.rack-3.example.com.:0", "node_7.rack-3.example.com.:0"},
        {"3com.com:00080", "3com.com:80"},
        {"unix", "unix:2222"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct address address;
        struct buf text = {0};
        assert_int_equal(address_parse(weft_text(table[i][0]), &address), WEFT_OK);
        address_append(&text, address.host, address.port);
        assert_string_equal(buf_text(&text), table[i][1]);
        buf_fini(&text);
    }
}

// An address and what the refusal has to mention.
static const char *const bad[][2] = {
    {"", "empty"},
    {"/run/weft.sock", "path"},
    {"unix:/run/weft.sock", "path"},
    {"./socket", "path"},
    {"grpc://host:2222", "protocol"},
    {"::1", "brackets"},
    {"host:1:2", "brackets"},
    {"fe80::1:2222", "brackets"},
    {"[::1", "closing"},
    {"[::1]2222", "without a ':'"},
    {"[host]:1", "IPv6"},
    {"[]:1", "IPv6"},
    {"[fe80::1%]:1", "zone"},
    {"[fe80::1%a b]:1", "zone"},
    {":2222", "no host"},
    {"host:", "port 2222"},
    {"host:65536", "0 to 65535"},
    {"host:-1", "0 to 65535"},
    {"host:+1", "0 to 65535"},
    {"host:http", "0 to 65535"},
    {"host:99999999999999999999", "0 to 65535"},
    {"10.0.0.256:1", "IPv4"},
    {"10.0.1:1", "IPv4"},
    {"2222", "IPv4"},
    {"a b:1", "letters"},
    {"it's:1", "letters"},
    {"\xc3\xa9:1", "letters"},
    {"user@host:1", "letters"},
    {"host,other:1", "letters"},
    {"a..b:1", "not a host name"},
    {"-a:1", "not a host name"},
};

static void what_is_no_address_is_told_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct address address;
        assert_int_equal(address_parse(weft_text(bad[i][0]), &address), WEFT_INVALID_ARGUMENT);
        if (!strstr(err_text(), bad[i][1]))
            fail_msg("%s: %s", bad[i][0], err_text());
        assert_non_null(strstr(err_text(), "HOST:PORT"));
    }
    struct address address;
    assert_int_equal(address_parse((weft_bytes){"ho\0st:1", 7}, &address), WEFT_INVALID_ARGUMENT);
}

static void hosts_are_as_long_as_dns_allows(void **state)
{
    (void)state;
    char text[ADDRESS_HOST_BYTES_MAX + 2];
    struct address address;
    memset(text, 'a', sizeof text);
    const weft_bytes longest = {text, ADDRESS_HOST_BYTES_MAX}, longer = {text, sizeof text - 1};
    assert_int_equal(address_parse(longest, &address), WEFT_OK);
    assert_int_equal(address_parse(longer, &address), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "too long"));
}

static void hosts_are_compared_by_what_they_mean(void **state)
{
    (void)state;
    assert_int_equal(address_compare_hosts("localhost", "LocalHost"), 0);
    assert_int_equal(address_compare_hosts("::1", "0:0::0:1"), 0);
    assert_int_not_equal(address_compare_hosts("::1", "::2"), 0);
    assert_int_not_equal(address_compare_hosts("fe80::1%a", "fe80::1%b"), 0);
    assert_true(address_compare_hosts("::1", "localhost") > 0);
    assert_true(address_compare_hosts("localhost", "::1") < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_have_one_form),
        cmocka_unit_test(what_is_no_address_is_told_why),
        cmocka_unit_test(hosts_are_as_long_as_dns_allows),
        cmocka_unit_test(hosts_are_compared_by_what_they_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
