// Tests of reading descriptions: a table of TF_CONFIG texts with their meaning, in one canonical line,
// and a table of those that are refused, with what the sentence has to mention.

#include "cluster/spec.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <unistd.h>

#include "cluster/address.h"

// "ps: 0=a:1 | worker: 0=b:2 3=c:3 | me worker/3"
static void show(struct buf *buf, const struct cluster_spec *spec)
{
    for (size_t i = 0; i < spec->roles.count; i++) {
        const struct cluster_role *role = &spec->roles.items[i];
        buf_format(buf, "%s%s:", i ? " | " : "", role->name);
        for (size_t j = 0; j < role->members.count; j++) {
            buf_format(buf, " %" PRIu32 "=", role->members.items[j].index);
            address_append(buf, role->members.items[j].host, role->members.items[j].port);
        }
    }
    if (spec->my_role)
        buf_format(buf, "%sme %s/%" PRIu32, spec->roles.count ? " | " : "", spec->my_role,
                   spec->my_index);
}

struct case_of {
    const char *text, *says;
};

static const struct case_of tf_configs[] = {
    // No cluster at all.
    {"", ""},
    {" \n\t", ""},
    {"{}", ""},
    {"{\"cluster\": {}}", ""},
    {"{\"cluster\": null, \"task\": null}", ""},
    {"{\"environment\": \"cloud\", \"model_dir\": \"gs://x\"}", ""},
    // The forms of the articles.
    {"{\"cluster\": {\"files\": [\"localhost:2222\"], \"map\": [\"localhost:2224\", "
     "\"localhost:2225\"], \"reduce\": [\"localhost:2223\"]}, \"task\": {\"index\": 0, \"type\": "
     "\"map\"}}",
     "files: 0=localhost:2222 | map: 0=localhost:2224 1=localhost:2225 | reduce: 0=localhost:2223 "
     "| me map/0"},
    {"{\"cluster\": {\"ps\": [\"192.168.0.10:2222\"], \"worker\": [\"192.168.0.11:2222\", "
     "\"192.168.0.12:2222\"]}, \"task\": {\"type\": \"ps\", \"index\": 0}}",
     "ps: 0=192.168.0.10:2222 | worker: 0=192.168.0.11:2222 1=192.168.0.12:2222 | me ps/0"},
    // Roles stay in their order.
    {"{\"cluster\": {\"z\": [\"a:1\"], \"a\": [\"a:2\"], \"m\": [\"a:3\"]}}",
     "z: 0=a:1 | a: 0=a:2 | m: 0=a:3"},
    // Index: a text, a number with a point, left out, null.
    {"{\"cluster\": {\"w\": [\"a:1\", \"b:1\"]}, \"task\": {\"type\": \"w\", \"index\": \"1\"}}",
     "w: 0=a:1 1=b:1 | me w/1"},
    {"{\"cluster\": {\"w\": [\"a:1\", \"b:1\"]}, \"task\": {\"type\": \"w\", \"index\": 1.0}}",
     "w: 0=a:1 1=b:1 | me w/1"},
    {"{\"cluster\": {\"w\": [\"a:1\", \"b:1\"]}, \"task\": {\"type\": \"w\"}}",
     "w: 0=a:1 1=b:1 | me w/0"},
    {"{\"cluster\": {\"w\": [\"a:1\", \"b:1\"]}, \"task\": {\"type\": \"w\", \"index\": null}}",
     "w: 0=a:1 1=b:1 | me w/0"},
    // Sparse, also a text of zeros, out of order, without the first.
    {"{\"cluster\": {\"worker\": {\"3\": \"c:3\", \"1\": \"b:2\"}, \"ps\": [\"a\"]}, \"task\": "
     "{\"type\": \"worker\", \"index\": 3}}",
     "worker: 1=b:2 3=c:3 | ps: 0=a:2222 | me worker/3"},
    {"{\"cluster\": {\"worker\": {\"2147483647\": \"c:3\", \"00\": \"b\"}}}",
     "worker: 0=b:2222 2147483647=c:3"},
    {"{\"cluster\": {\"worker\": {\"7\": \"c:3\"}}}", "worker: 7=c:3 | me worker/7"},
    // A type that goes without saying.
    {"{\"cluster\": {\"worker\": [\"a\"]}}", "worker: 0=a:2222 | me worker/0"},
    {"{\"cluster\": {\"worker\": [\"a\", \"b\"]}, \"task\": {\"index\": 1}}",
     "worker: 0=a:2222 1=b:2222 | me worker/1"},
    {"{\"cluster\": {\"worker\": [\"a\", \"b\"]}}", "worker: 0=a:2222 1=b:2222"},
    {"{\"cluster\": {\"worker\": [\"a\"], \"ps\": [\"b\"]}, \"task\": {}}",
     "worker: 0=a:2222 | ps: 0=b:2222"},
    // Evaluators stand outside, any number of them; inside they are like others.
    {"{\"cluster\": {\"chief\": [\"a\"]}, \"task\": {\"type\": \"evaluator\", \"index\": 12}}",
     "chief: 0=a:2222 | me evaluator/12"},
    {"{\"cluster\": {\"evaluator\": [\"a\"]}, \"task\": {\"type\": \"evaluator\"}}",
     "evaluator: 0=a:2222 | me evaluator/0"},
    {"{\"task\": {\"type\": \"evaluator\", \"index\": 3}}", "me evaluator/3"},
    // Alone.
    {"{\"task\": {\"type\": \"master\", \"index\": 0}}", "me master/0"},
    {"{\"cluster\": {}, \"task\": {\"type\": \"worker\"}}", "me worker/0"},
    {"{\"cluster\": {\"master\": [\"a\"], \"worker\": [\"b\"]}, \"task\": {\"type\": \"master\", "
     "\"index\": 0, \"trial\": \"7\"}, \"job\": {\"scale_tier\": \"X\"}, \"environment\": \"cloud\"}",
     "master: 0=a:2222 | worker: 0=b:2222 | me master/0"},
    // Roles without members, addresses of all kinds, escapes in names.
    {"{\"cluster\": {\"ps\": [], \"x\": {}, \"w\": [\"[::1]:1\", \"[::2]\"]}}",
     "ps: | x: | w: 0=[::1]:1 1=[::2]:2222"},
    {"{\"cluster\": {\"w\": [\"a:0\", \"a:0\"]}}", "w: 0=a:0 1=a:0"},
    {"{\"cluster\": {\"\\u0077\": [\"a:\\u0031\"]}}", "w: 0=a:1 | me w/0"},
};

static void every_form_of_tf_config_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof tf_configs / sizeof *tf_configs; i++) {
        struct cluster_spec spec = {0};
        struct buf text = {0};
        const char *given = tf_configs[i].text;
        if (cluster_spec_read_tf_config(&spec, weft_text(given), "TF_CONFIG"))
            fail_msg("%s: %s", given, err_text());
        show(&text, &spec);
        assert_string_equal(buf_text(&text), tf_configs[i].says);
        buf_fini(&text);
        cluster_spec_fini(&spec);
    }
}

static const struct case_of bad_tf_configs[] = {
    {"{", "not JSON"},
    {"[]", "a list where an object"},
    {"7", "not JSON"},
    {"null", "not JSON"},
    {"{} x", "not JSON"},
    {"{'cluster': {'ps': ['a']}}", "double quotes"},
    {"{cluster: {ps: [a:2222]}}", "a shell takes others away"},
    {"{\"cluster\": {\"ps\": [\"a\"], \"ps\": [\"b\"]}}", "duplicate object key"},
    {"{\"cluster\": {}, \"cluster\": {}}", "duplicate object key"},
    {"{\"cluster\": {\"ps\": [\"a\\u0000b\"]}}", "not JSON"},
    {"{\"task\": {\"index\": 99999999999999999999999}}", "too big integer"},
    {"{\"task\": {\"index\": 1e999}}", "not JSON"},
    {"{\"cluster\": []}", "the cluster is a list"},
    {"{\"cluster\": \"ps\"}", "the cluster is a text"},
    {"{\"cluster\": {\"ps\": \"a:2222\"}}", "\"ps\": [\"localhost:2222\"]"},
    {"{\"cluster\": {\"ps\": null}}", "the role ps is null"},
    {"{\"cluster\": {\"ps\": 3}}", "the role ps is a number"},
    {"{\"cluster\": {\"ps\": [1]}}", "the address of /ps/0 is a number"},
    {"{\"cluster\": {\"ps\": [null]}}", "the address of /ps/0 is null"},
    {"{\"cluster\": {\"ps\": [[\"a\"]]}}", "the address of /ps/0 is a list"},
    {"{\"cluster\": {\"ps\": {\"x\": \"a\"}}}", "\"x\" is not an index of the role ps"},
    {"{\"cluster\": {\"ps\": {\"-1\": \"a\"}}}", "\"-1\" is not an index"},
    {"{\"cluster\": {\"ps\": {\"2147483648\": \"a\"}}}", "is not an index"},
    {"{\"cluster\": {\"ps\": {\"1\": \"a\", \"01\": \"b\"}}}", "/ps/1 is given twice"},
    {"{\"cluster\": {\"ps\": {\"1\": true}}}", "the address of /ps/1 is true or false"},
    {"{\"cluster\": {\"ps\": [\"\"]}}", "/ps/0: the address \"\" is empty"},
    {"{\"cluster\": {\"ps\": [\"a\", \"/tmp/x\"]}}", "/ps/1: the address \"/tmp/x\" is a path"},
    {"{\"cluster\": {\"my-role\": [\"a\"]}}", "\"my-role\" is not the name of a role"},
    {"{\"cluster\": {\"\": [\"a\"]}}", "\"\" is not the name of a role"},
    {"{\"cluster\": {\"job:x\": [\"a\"]}}", "not the name of a role"},
    {"{\"cluster\": {\"0\": [\"a\"]}}", "not the name of a role"},
    {"{\"cluster\": {\"w\": [\"a:1\", \"A:1\"]}}", "/w/0 and /w/1 have the same address"},
    {"{\"cluster\": {\"w\": [\"a\"], \"v\": [\"a:2222\"]}}", "/w/0 and /v/0 have the same address"},
    {"{\"cluster\": {\"w\": [\"[::1]:1\", \"[0::1]:1\"]}}", "the same address [::1]:1"},
    {"{\"task\": []}", "the task is a list"},
    {"{\"task\": {\"type\": 3}}", "\"type\" of the task is a number"},
    {"{\"task\": {\"type\": \"a b\"}}", "not the name of a role"},
    {"{\"task\": {\"type\": \"map\"}}", "no cluster is described"},
    {"{\"task\": {\"type\": \"worker\", \"index\": 1}}", "no cluster is described"},
    {"{\"cluster\": {\"w\": [\"a\"]}, \"task\": {\"type\": \"w\", \"index\": -1}}", "from 0 on"},
    {"{\"cluster\": {\"w\": [\"a\"]}, \"task\": {\"type\": \"w\", \"index\": 0.5}}", "from 0 on"},
    {"{\"cluster\": {\"w\": [\"a\"]}, \"task\": {\"type\": \"w\", \"index\": true}}", "from 0 on"},
    {"{\"cluster\": {\"w\": [\"a\"]}, \"task\": {\"type\": \"w\", \"index\": \"x\"}}", "from 0 on"},
    {"{\"cluster\": {\"w\": [\"a\"]}, \"task\": {\"type\": \"w\", \"index\": 4294967296}}",
     "from 0 on"},
    {"{\"cluster\": {\"w\": [\"a\"]}, \"task\": {\"type\": \"w\", \"index\": 1}}",
     "the task: there is no /w/1\n  the role has one member"},
    {"{\"cluster\": {\"w\": [\"a\", \"b\"]}, \"task\": {\"type\": \"w\", \"index\": 2}}",
     "2 members: /w/0 to /w/1"},
    {"{\"cluster\": {\"w\": {\"1\": \"a\", \"5\": \"b\"}}, \"task\": {\"type\": \"w\"}}",
     "2 members from 1 to 5"},
    {"{\"cluster\": {\"w\": []}, \"task\": {\"type\": \"w\"}}", "the role has no members"},
    {"{\"cluster\": {\"worker\": [\"a\"], \"ps\": [\"b\"]}, \"task\": {\"type\": \"wroker\"}}",
     "did you mean: worker"},
    {"{\"cluster\": {\"worker\": [\"a\"], \"ps\": [\"b\"]}, \"task\": {\"type\": \"chief\"}}",
     "its roles are: worker, ps"},
    {"{\"cluster\": {\"worker\": [\"a\"], \"ps\": [\"b\"]}, \"task\": {\"index\": 0}}",
     "no \"type\", and the cluster has 2 roles"},
    {"{\"cluster\": {\"evaluator\": [\"a\"]}, \"task\": {\"type\": \"evaluator\", \"index\": 1}}",
     "there is no /evaluator/1"},
};

static void what_is_wrong_is_told_and_nothing_stays(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_tf_configs / sizeof *bad_tf_configs; i++) {
        struct cluster_spec spec = {0};
        const struct case_of *bad = &bad_tf_configs[i];
        const weft_err err = cluster_spec_read_tf_config(&spec, weft_text(bad->text), "TF_CONFIG");
        if (err != WEFT_INVALID_ARGUMENT || strncmp(err_text(), "TF_CONFIG: ", 11) != 0 ||
            !strstr(err_text(), bad->says))
            fail_msg("%s: %d %s", bad->text, err, err_text());
        assert_null(spec.roles.items);
        assert_null(spec.my_role);
    }
}

static void nul_bytes_and_deep_nesting_are_refused(void **state)
{
    (void)state;
    struct cluster_spec spec = {0};
    const weft_bytes with_nul = {"{}\0{}", 5};
    assert_int_equal(cluster_spec_read_tf_config(&spec, with_nul, "x"), WEFT_INVALID_ARGUMENT);
    struct buf text = {0};
    buf_append_text(&text, "{\"a\":");
    for (int i = 0; i < 100000; i++)
        buf_append_text(&text, "[");
    assert_int_equal(cluster_spec_read_tf_config(&spec, buf_bytes(&text), "x"),
                     WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "depth"));
    buf_fini(&text);
}

static void what_is_too_large_is_not_read(void **state)
{
    (void)state;
    struct cluster_spec spec = {0};
    char *text = malloc(CLUSTER_TEXT_BYTES_MAX + 1);
    assert_non_null(text);
    memset(text, ' ', CLUSTER_TEXT_BYTES_MAX + 1);
    memcpy(text, "{}", 2);
    const weft_bytes fits = {text, CLUSTER_TEXT_BYTES_MAX}, too_long = {text, fits.size + 1};
    assert_int_equal(cluster_spec_read_tf_config(&spec, fits, "x"), WEFT_OK);
    assert_int_equal(cluster_spec_read_tf_config(&spec, too_long, "x"), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "larger than 16 MiB"));
    free(text);
}

static void too_many_members_are_refused(void **state)
{
    (void)state;
    struct cluster_spec spec = {0};
    struct buf text = {0};
    buf_append_text(&text, "{\"w\": [");
    for (int i = 0; i <= CLUSTER_MEMBERS_MAX; i++)
        buf_format(&text, "%s\"h%d\"", i ? "," : "", i);
    buf_append_text(&text, "]}");
    assert_int_equal(cluster_spec_read_file(&spec, buf_bytes(&text), "x"), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "more than"));
    buf_fini(&text);
}

static const struct case_of files[] = {
    {"{\"files\": [\"localhost:2222\"], \"reduce\": [\"localhost:2223\"], \"map\": "
     "[\"localhost:2224\", \"localhost:2225\"]}",
     "files: 0=localhost:2222 | reduce: 0=localhost:2223 | map: 0=localhost:2224 1=localhost:2225"},
    {"{\"cluster\": {\"a\": [\"x\"], \"b\": [\"y\"]}, \"task\": {\"type\": \"b\"}, \"more\": 1}",
     "a: 0=x:2222 | b: 0=y:2222 | me b/0"},
    {"{\"cluster\": {\"a\": {\"2\": \"x\"}, \"b\": [\"y\"]}}", "a: 2=x:2222 | b: 0=y:2222"},
    // Roles that are called like the keys of TF_CONFIG.
    {"{\"cluster\": [\"x\"], \"task\": [\"y\"]}", "cluster: 0=x:2222 | task: 0=y:2222"},
    {"{\"cluster\": {\"0\": \"x\"}, \"task\": [\"y\"]}", "cluster: 0=x:2222 | task: 0=y:2222"},
    {"{\"job\": [\"x\"], \"device\": [\"y\"]}", "job: 0=x:2222 | device: 0=y:2222"},
};

static void a_cluster_file_is_roles_or_a_whole_tf_config(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct cluster_spec spec = {0};
        struct buf text = {0};
        if (cluster_spec_read_file(&spec, weft_text(files[i].text), "file"))
            fail_msg("%s: %s", files[i].text, err_text());
        show(&text, &spec);
        assert_string_equal(buf_text(&text), files[i].says);
        buf_fini(&text);
        cluster_spec_fini(&spec);
    }
}

static void a_file_without_members_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "\n", "{}", "{\"ps\": []}", "{\"cluster\": {}}", "[]"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct cluster_spec spec = {0};
        assert_int_equal(cluster_spec_read_file(&spec, weft_text(texts[i]), "c.json"),
                         WEFT_INVALID_ARGUMENT);
        assert_non_null(strstr(err_text(), "c.json: it "));
        assert_non_null(strstr(err_text(), "try: {"));
    }
}

static void a_file_is_loaded_by_its_name(void **state)
{
    (void)state;
    char path[] = "/tmp/weft-spec-test-XXXXXX";
    struct cluster_spec spec = {0};
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "{\"w\": [\"a\"]}", 12), 12);
    assert_int_equal(cluster_spec_load(&spec, path), WEFT_OK);
    assert_int_equal(cluster_spec_count_members(&spec), 1);
    cluster_spec_fini(&spec);
    unlink(path);
    close(fd);
    assert_int_equal(cluster_spec_load(&spec, path), WEFT_NOT_FOUND);
    assert_non_null(strstr(err_text(), path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_of_tf_config_is_read),
        cmocka_unit_test(what_is_wrong_is_told_and_nothing_stays),
        cmocka_unit_test(nul_bytes_and_deep_nesting_are_refused),
        cmocka_unit_test(what_is_too_large_is_not_read),
        cmocka_unit_test(too_many_members_are_refused),
        cmocka_unit_test(a_cluster_file_is_roles_or_a_whole_tf_config),
        cmocka_unit_test(a_file_without_members_is_refused),
        cmocka_unit_test(a_file_is_loaded_by_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
