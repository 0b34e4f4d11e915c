// Tests of the names of interfaces: that of the loopback is the only one that every machine has.

#include "sys/net/interface.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void the_loopback_has_its_address(void **state)
{
    char name[INTERFACE_NAME_BYTES] = "";
    (void)state;
    assert_true(interface_find("127.0.0.1", name));
    assert_string_equal(name, "lo");
    assert_true(interface_find_towards("127.0.0.1", name));
    assert_string_equal(name, "lo");
}

static void what_is_no_address_of_ours_has_none(void **state)
{
    char name[INTERFACE_NAME_BYTES] = "kept";
    (void)state;
    assert_false(interface_find("192.0.2.1", name));
    assert_false(interface_find("localhost", name));
    assert_false(interface_find("", name));
    assert_false(interface_find_towards("not an address", name));
    assert_string_equal(name, "kept");
}

static void our_own_address_is_that_of_the_way(void **state)
{
    const struct net_address here = {.host = "127.0.0.2"}, six = {.host = "::1", .port = 7},
                             nowhere = {.host = "no-such-host.invalid"};
    char own[INTERFACE_ADDRESS_BYTES] = "kept";
    (void)state;
    assert_int_equal(interface_find_own(&nowhere, own), WEFT_UNAVAILABLE);
    assert_string_equal(own, "kept");
    assert_int_equal(interface_find_own(&here, own), WEFT_OK);
    assert_true(strncmp(own, "127.", 4) == 0);
    if (interface_find_own(&six, own) == WEFT_OK)  // a machine may have no IPv6
        assert_string_equal(own, "::1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loopback_has_its_address),
        cmocka_unit_test(what_is_no_address_of_ours_has_none),
        cmocka_unit_test(our_own_address_is_that_of_the_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
