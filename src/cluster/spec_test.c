// Tests of building a description, asking it, and writing it.

#include "cluster/spec.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const char article[] = "{\"files\": [\"localhost:2222\"], \"reduce\": [\"localhost:2223\"],"
                              " \"map\": [\"localhost:2224\", \"localhost:2225\"]}";

static void the_indented_form_is_pythons(void **state)
{
    (void)state;
    struct cluster_spec spec = {0};
    struct buf text = {0};
    assert_int_equal(cluster_spec_read_file(&spec, weft_text(article), "x"), WEFT_OK);
    assert_int_equal(cluster_spec_write_tf_config(&text, &spec, "map", 1, CLUSTER_INDENTED),
                     WEFT_OK);
    assert_string_equal(buf_text(&text), "{\n"
                                         "  \"cluster\": {\n"
                                         "    \"files\": [\n"
                                         "      \"localhost:2222\"\n"
                                         "    ],\n"
                                         "    \"reduce\": [\n"
                                         "      \"localhost:2223\"\n"
                                         "    ],\n"
                                         "    \"map\": [\n"
                                         "      \"localhost:2224\",\n"
                                         "      \"localhost:2225\"\n"
                                         "    ]\n"
                                         "  },\n"
                                         "  \"task\": {\n"
                                         "    \"type\": \"map\",\n"
                                         "    \"index\": 1\n"
                                         "  }\n"
                                         "}");
    buf_fini(&text);
    cluster_spec_fini(&spec);
}

static void the_compact_form_has_no_blanks_and_keeps_what_else_was_said(void **state)
{
    (void)state;
    struct cluster_spec spec = {0}, again = {0};
    struct buf text = {0}, second = {0};
    const char given[] = "{\"model_dir\": \"it's a \\u00e9\", \"environment\": \"cloud\", "
                         "\"cluster\": {\"w\": {\"4\": \"[::1]\"}, \"p\": []}, \"x\": [1, 2.5]}";
    assert_int_equal(cluster_spec_read_tf_config(&spec, weft_text(given), "x"), WEFT_OK);
    assert_int_equal(cluster_spec_write_tf_config(&text, &spec, NULL, 0, CLUSTER_COMPACT), WEFT_OK);
    assert_string_equal(buf_text(&text),
                        "{\"cluster\":{\"w\":{\"4\":\"[::1]:2222\"},\"p\":[]},"
                        "\"model_dir\":\"it's\\u0020a\\u0020\\u00E9\",\"environment\":\"cloud\","
                        "\"x\":[1,2.5]}");
    assert_int_equal(cluster_spec_read_tf_config(&again, buf_bytes(&text), "x"), WEFT_OK);
    assert_int_equal(cluster_spec_write_tf_config(&second, &again, NULL, 0, CLUSTER_COMPACT),
                     WEFT_OK);
    assert_string_equal(buf_text(&second), buf_text(&text));
    buf_fini(&text);
    buf_fini(&second);
    cluster_spec_fini(&spec);
    cluster_spec_fini(&again);
}

static void flags_make_roles_and_ports_are_counted_up(void **state)
{
    (void)state;
    struct cluster_spec spec = {0};
    struct buf text = {0};
    assert_int_equal(cluster_spec_add_flag(&spec, "files=1"), WEFT_OK);
    assert_int_equal(cluster_spec_add_flag(&spec, "reduce=LOCALHOST:2223"), WEFT_OK);
    assert_int_equal(cluster_spec_add_flag(&spec, "map=2"), WEFT_OK);
    assert_int_equal(cluster_spec_add_flag(&spec, "ps=a,[::1]:7"), WEFT_OK);
    assert_int_equal(cluster_spec_write_tf_config(&text, &spec, "map", 0, CLUSTER_COMPACT),
                     WEFT_FAILED_PRECONDITION);
    assert_non_null(strstr(err_text(), "/files/0 has no address"));
    assert_int_equal(cluster_spec_assign_addresses(&spec, "localhost", 2222), WEFT_OK);
    assert_int_equal(cluster_spec_check(&spec), WEFT_OK);
    text.size = 0;
    assert_int_equal(cluster_spec_write_tf_config(&text, &spec, "map", 0, CLUSTER_COMPACT),
                     WEFT_OK);
    assert_string_equal(
        buf_text(&text),
        "{\"cluster\":{\"files\":[\"localhost:2222\"],\"reduce\":[\"LOCALHOST:2223\"],"
        "\"map\":[\"localhost:2224\",\"localhost:2225\"],\"ps\":[\"a:2222\",\"[::1]:7\"]},"
        "\"task\":{\"type\":\"map\",\"index\":0}}");
    buf_fini(&text);
    cluster_spec_fini(&spec);
}

static void bad_flags_are_told_why(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        {"map", "how many members"},
        {"map=", "how many members"},
        {"", "how many members"},
        {"=2", "\"\" is not the name of a role"},
        {"a-b=2", "\"a-b\" is not"},
        {"map=0", "from 1 to"},
        {"map=-1", "from 1 to"},
        {"map=99999999", "from 1 to"},
        {"map=a,,b", "/map/1: the address \"\" is empty"},
        {"map=a:x", "/map/0: the address"},
        {"taken=1", "given twice"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct cluster_spec spec = {0};
        assert_int_equal(cluster_spec_add_flag(&spec, "taken=1"), WEFT_OK);
        assert_int_equal(cluster_spec_add_flag(&spec, table[i][0]), WEFT_INVALID_ARGUMENT);
        if (!strstr(err_text(), table[i][1]))
            fail_msg("%s: %s", table[i][0], err_text());
        cluster_spec_fini(&spec);
    }
}

static void members_are_found_and_what_is_missing_is_named(void **state)
{
    (void)state;
    struct cluster_spec spec = {0};
    assert_int_equal(cluster_spec_read_file(&spec, weft_text(article), "x"), WEFT_OK);
    assert_int_equal(cluster_spec_find_member(&spec, "map", 1)->port, 2225);
    assert_null(cluster_spec_find_member(&spec, "map", 2));
    assert_null(cluster_spec_find_member(&spec, "mop", 0));
    assert_int_equal(cluster_spec_check_member(&spec, "map", 1), WEFT_OK);
    assert_int_equal(cluster_spec_check_member(&spec, "map", 2), WEFT_NOT_FOUND);
    assert_int_equal(cluster_spec_set_address(&spec, "map", 2, weft_text("a")), WEFT_NOT_FOUND);
    assert_int_equal(cluster_spec_set_address(&spec, "map", 1, weft_text("a:b")),
                     WEFT_INVALID_ARGUMENT);
    assert_int_equal(cluster_spec_set_address(&spec, "map", 1, weft_text("localhost")), WEFT_OK);
    assert_int_equal(cluster_spec_check(&spec), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "/files/0 and /map/1 have the same address localhost:2222"));
    cluster_spec_fini(&spec);
}

static void ports_run_out_with_a_sentence(void **state)
{
    (void)state;
    struct cluster_spec spec = {0};
    assert_int_equal(cluster_spec_add_flag(&spec, "map=3"), WEFT_OK);
    assert_int_equal(cluster_spec_assign_addresses(&spec, "h", 65534), WEFT_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(err_text(), "no ports left on h"));
    cluster_spec_fini(&spec);
    assert_int_equal(cluster_spec_add_flag(&spec, "map=3"), WEFT_OK);
    assert_int_equal(cluster_spec_assign_addresses(&spec, "h", 0), WEFT_OK);
    assert_int_equal(spec.roles.items[0].members.items[2].port, 0);
    assert_int_equal(cluster_spec_check(&spec), WEFT_OK);
    cluster_spec_fini(&spec);
}

static void sparse_members_are_kept_in_order(void **state)
{
    (void)state;
    struct cluster_spec spec = {0};
    assert_int_equal(cluster_spec_add_role(&spec, weft_text("w")), WEFT_OK);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(cluster_spec_add_member(&spec, "w", i * 7919 % 1000, (weft_bytes){0}),
                         WEFT_OK);
    assert_true(cluster_role_is_dense(&spec.roles.items[0]));
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(spec.roles.items[0].members.items[i].index, i);
    assert_int_equal(cluster_spec_add_member(&spec, "w", 7, (weft_bytes){0}),
                     WEFT_INVALID_ARGUMENT);
    assert_int_equal(cluster_spec_add_member(&spec, "v", 7, (weft_bytes){0}),
                     WEFT_INVALID_ARGUMENT);
    assert_int_equal(cluster_spec_add_member(&spec, "w", 2000, (weft_bytes){0}), WEFT_OK);
    assert_false(cluster_role_is_dense(&spec.roles.items[0]));
    cluster_spec_fini(&spec);
}

static void the_chief_is_the_first_of_its_kind(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_chief;
    } table[] = {
        {"{\"cluster\":{\"chief\":[\"a\"],\"worker\":[\"b\"]},\"task\":{\"type\":\"chief\"}}",
         true},
        {"{\"cluster\":{\"chief\":[\"a\"],\"worker\":[\"b\"]},\"task\":{\"type\":\"worker\"}}",
         false},
        {"{\"cluster\":{\"master\":[\"a\"],\"worker\":[\"b\"]},\"task\":{\"type\":\"master\"}}",
         true},
        {"{\"cluster\":{\"ps\":[\"a\"],\"worker\":[\"b\"]},\"task\":{\"type\":\"worker\"}}", true},
        {"{\"cluster\":{\"ps\":[\"a\"],\"worker\":[\"b\"]},\"task\":{\"type\":\"ps\"}}", false},
        {"{\"cluster\":{\"map\":[\"a\",\"b\"]},\"task\":{\"index\":0}}", true},
        {"{\"cluster\":{\"map\":[\"a\",\"b\"]},\"task\":{\"index\":1}}", false},
        {"{\"cluster\":{\"chief\":[\"a\"]},\"task\":{\"type\":\"evaluator\"}}", false},
        {"", true},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct cluster_spec spec = {0};
        assert_int_equal(cluster_spec_read_tf_config(&spec, weft_text(table[i].text), "x"),
                         WEFT_OK);
        assert_int_equal(cluster_spec_is_chief(&spec), table[i].is_chief);
        cluster_spec_fini(&spec);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_indented_form_is_pythons),
        cmocka_unit_test(the_compact_form_has_no_blanks_and_keeps_what_else_was_said),
        cmocka_unit_test(flags_make_roles_and_ports_are_counted_up),
        cmocka_unit_test(bad_flags_are_told_why),
        cmocka_unit_test(members_are_found_and_what_is_missing_is_named),
        cmocka_unit_test(ports_run_out_with_a_sentence),
        cmocka_unit_test(sparse_members_are_kept_in_order),
        cmocka_unit_test(the_chief_is_the_first_of_its_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
