// Tools: how they find their host, and that a token does not stay in the argument list.

#include "client/tool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define TOKEN "00112233445566778899aabbccddeeff"

static void a_token_leaves_the_argument_list_and_is_used(void **state)
{
    (void)state;
    char at[] = "--at=localhost:7#" TOKEN, command[] = "--at=x#" TOKEN;
    char *words[] = {(char *)"weft", (char *)"queue", at, (char *)"--", command};
    weft_cluster *cluster = NULL;
    struct secret expected;
    tool_hide_tokens(5, words);
    assert_string_equal(at, "--at=localhost:7");
    for (size_t i = strlen(at); i < sizeof at; i++)
        assert_int_equal(at[i], 0);
    assert_string_equal(command, "--at=x#" TOKEN);  // is the command's own
    assert_int_equal(tool_open(&(struct tool_options){.at = at + 5}, &cluster), WEFT_OK);
    assert_int_equal(secret_read(TOKEN, &expected), WEFT_OK);
    assert_memory_equal(cluster->token.bytes, expected.bytes, expected.size);
    assert_int_equal(cluster->at.port, 7);
    assert_int_equal(cluster->patience_ms, TOOL_PATIENCE_MS);
    tool_close(cluster);
}

static void an_address_without_a_port_means_that_of_hosts(void **state)
{
    (void)state;
    weft_cluster *cluster = NULL;
    setenv("WEFT_AT", "example.org", 1);
    assert_int_equal(tool_open(&(struct tool_options){0}, &cluster), WEFT_OK);
    assert_string_equal(cluster->at.host, "example.org");
    assert_int_equal(cluster->at.port, ADDRESS_PORT_OF_HOSTS);
    tool_close(cluster);
    unsetenv("WEFT_AT");
}

static void a_name_alone_and_a_path_both_name_a_resource_at_an_address(void **state)
{
    (void)state;
    weft_cluster *cluster = NULL;
    struct remote name = {0}, path = {0}, none = {0};
    assert_int_equal(tool_open(&(struct tool_options){.at = "localhost:1"}, &cluster), WEFT_OK);
    assert_int_equal(remote_open(cluster, "jobs", CALL_KIND_QUEUE, weft_none(), &name), WEFT_OK);
    assert_string_equal(name.name, "jobs");
    assert_string_equal(name.container, "");
    assert_int_equal(remote_open(cluster, "/files/3/a/b", CALL_KIND_QUEUE, weft_none(), &path),
                     WEFT_OK);
    assert_string_equal(path.name, "a/b");
    assert_string_equal(path.container, "files");
    assert_ptr_equal(name.peer, path.peer);
    assert_int_equal(remote_open(cluster, "_x", CALL_KIND_QUEUE, weft_none(), &none),
                     WEFT_INVALID_ARGUMENT);
    remote_fini(&name);
    remote_fini(&path);
    remote_fini(&none);
    tool_close(cluster);
}

static void without_any_host_named_it_is_the_one_of_this_machine(void **state)
{
    (void)state;
    weft_cluster *cluster = NULL;
    unsetenv("WEFT_AT");
    unsetenv("TF_CONFIG");
    setenv("WEFT_TOKEN", "0123456789abcdef0123456789abcdef", 1);
    assert_int_equal(tool_open(&(struct tool_options){0}, &cluster), WEFT_OK);
    assert_true(cluster->has_at && cluster->is_at_assumed);
    assert_string_equal(cluster->at.host, "localhost");
    assert_int_equal(cluster->at.port, ADDRESS_PORT_OF_HOSTS);
    err_set(WEFT_UNAVAILABLE, "the host is out of reach");
    assert_int_equal(tool_explain(cluster, WEFT_UNAVAILABLE), WEFT_UNAVAILABLE);
    assert_non_null(strstr(err_text(), "try: weft host"));
    tool_close(cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_leaves_the_argument_list_and_is_used),
        cmocka_unit_test(an_address_without_a_port_means_that_of_hosts),
        cmocka_unit_test(a_name_alone_and_a_path_both_name_a_resource_at_an_address),
        cmocka_unit_test(without_any_host_named_it_is_the_one_of_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
