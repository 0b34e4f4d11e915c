// Tests of cluster/device: a table of names with their canonical form, merging, and paths.

#include "cluster/device.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const char *const canonical[][2] = {
    {"", ""},
    {"/", ""},
    {"/job:files", "/job:files"},
    {"/job:files/replica:0/task:0/device:CPU:0", "/job:files/replica:0/task:0/device:CPU:0"},
    {"/device:CPU:0/task:0/replica:0/job:files", "/job:files/replica:0/task:0/device:CPU:0"},
    {"/job:files/task:0/cpu:0", "/job:files/task:0/device:CPU:0"},
    {"/CPU:1", "/device:CPU:1"},
    {"/gpu:*", "/device:GPU:*"},
    {"/GPU:7", "/device:GPU:7"},
    {"/device:gpu:7", "/device:gpu:7"},
    {"/device:XLA_CPU:0", "/device:XLA_CPU:0"},
    {"/device:TPU", "/device:TPU:*"},
    {"/device:TPU:*", "/device:TPU:*"},
    {"/device:*", ""},
    {"/device:*:*", ""},
    {"/device:*:3", ""},
    {"/job:*/task:*/replica:*", ""},
    {"/job:a/job:b", "/job:b"},
    {"/job:a/job:*", ""},
    {"/task:1/task:2/task:3", "/task:3"},
    {"/task:1/task:*", ""},
    {"/cpu:1/gpu:2", "/device:GPU:2"},
    {"/gpu:2/device:CPU", "/device:CPU:*"},
    {"/task:007", "/task:7"},
    {"/task:2147483647", "/task:2147483647"},
    {"/job:a_B9_/replica:12", "/job:a_B9_/replica:12"},
};

static void names_have_one_canonical_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof canonical / sizeof *canonical; i++) {
        struct device device;
        struct buf text = {0};
        if (device_parse(weft_text(canonical[i][0]), &device))
            fail_msg("%s: %s", canonical[i][0], err_text());
        device_append(&text, &device);
        assert_string_equal(buf_text(&text), canonical[i][1]);
        buf_fini(&text);
    }
}

static const char *const no_devices[] = {"//",
                                         "job:a",
                                         "/job:",
                                         "/job",
                                         "/job:a/",
                                         "/job:1a",
                                         "/job:_a",
                                         "/job:a-b",
                                         "/job:a:b",
                                         "/job:*x",
                                         "/task:",
                                         "/task:x",
                                         "/task:-1",
                                         "/task:1x",
                                         "/task:1:2",
                                         "/task:2147483648",
                                         "/task:99999999999999999999",
                                         "/replica:",
                                         "/device:",
                                         "/device:CPU:",
                                         "/device:CPU:x",
                                         "/device:CPU:0:0",
                                         "/device:0",
                                         "/device:C-PU:0",
                                         "/cpu:",
                                         "/cpu",
                                         "/cpu:x",
                                         "/Cpu:0",
                                         "/tpu:0",
                                         "/job:a /task:0",
                                         " /job:a",
                                         "CPU:0",
                                         "/files/0",
                                         "/job:a//task:0",
                                         "/gpu:**"};

static void what_is_no_device_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof no_devices / sizeof *no_devices; i++) {
        struct device device;
        if (device_parse(weft_text(no_devices[i]), &device) != WEFT_INVALID_ARGUMENT)
            fail_msg("%s is taken", no_devices[i]);
        assert_non_null(strstr(err_text(), "not the name of a device"));
    }
    struct device device;
    char long_name[ROLE_BYTES_MAX + 16];
    memset(long_name, 'a', sizeof long_name);
    memcpy(long_name, "/job:", 5);
    const weft_bytes fits = {long_name, 5 + ROLE_BYTES_MAX}, too_long = {long_name, fits.size + 1};
    assert_int_equal(device_parse(fits, &device), WEFT_OK);
    assert_int_equal(device_parse(too_long, &device), WEFT_INVALID_ARGUMENT);
    assert_int_equal(device_parse(weft_text("/job:a/tsk:0/cpu:1"), &device), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "\"/tsk:0\" cannot be a part"));
}

static void local_names_are_a_type_and_a_number(void **state)
{
    (void)state;
    struct device device;
    struct buf text = {0};
    assert_int_equal(device_parse_local(weft_text("XLA_GPU:03"), &device), WEFT_OK);
    device_append_local(&text, &device);
    assert_string_equal(buf_text(&text), "XLA_GPU:3");
    buf_fini(&text);
    static const char *const bad[] = {"",       "CPU",   "CPU:",   "CPU:*",
                                      "CPU:0/", "0:CPU", "/CPU:0", ":0"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(device_parse_local(weft_text(bad[i]), &device), WEFT_INVALID_ARGUMENT);
}

static struct device parsed(const char *text)
{
    struct device device;
    assert_int_equal(device_parse(weft_text(text), &device), WEFT_OK);
    return device;
}

// outer, inner, then the result of a strict, a soft and an inner merge; "!jobs" is a refusal.
static const char *const merges[][5] = {
    {"/", "/job:a", "/job:a", "/job:a", "/job:a"},
    {"/job:a/task:1", "/cpu:0", "/job:a/task:1/device:CPU:0", "/job:a/task:1/device:CPU:0",
     "/job:a/task:1/device:CPU:0"},
    {"/job:a", "/job:a/task:1", "/job:a/task:1", "/job:a/task:1", "/job:a/task:1"},
    {"/job:a", "/job:b", "!jobs", "!jobs", "/job:b"},
    {"/replica:0", "/replica:1", "!replicas", "!replicas", "/replica:1"},
    {"/task:0/cpu:0", "/task:1", "!tasks", "!tasks", "/task:1/device:CPU:0"},
    {"/job:a/cpu:0", "/gpu:0", "!types", "/job:a", "/job:a/device:GPU:0"},
    {"/cpu:0", "/gpu:1", "!types", "", "/device:GPU:1"},
    {"/gpu:0", "/gpu:1", "!ids", "/device:GPU:*", "/device:GPU:1"},
    {"/gpu:*", "/gpu:1", "/device:GPU:1", "/device:GPU:1", "/device:GPU:1"},
    {"/gpu:1", "/gpu:*", "/device:GPU:1", "/device:GPU:1", "/device:GPU:1"},
};

static void merging_is_strict_soft_or_by_scope(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof merges / sizeof *merges; i++) {
        for (int how = DEVICE_MERGE_STRICT; how <= DEVICE_MERGE_INNER; how++) {
            struct device outer = parsed(merges[i][0]), inner = parsed(merges[i][1]);
            const char *expected = merges[i][2 + how];
            struct buf text = {0};
            const weft_err err = device_merge(&outer, &inner, (enum device_merge)how);
            device_append(&text, &outer);
            if (*expected == '!') {
                assert_int_equal(err, WEFT_INVALID_ARGUMENT);
                assert_non_null(strstr(err_text(), expected + 1));
            } else {
                assert_int_equal(err, WEFT_OK);
                assert_string_equal(buf_text(&text), expected);
            }
            buf_fini(&text);
        }
    }
}

static void patterns_match_what_has_all_they_give(void **state)
{
    (void)state;
    const struct device full = parsed("/job:a/replica:0/task:1/cpu:0");
    static const char *const yes[] = {"/", "/job:a", "/task:1", "/device:CPU", "/job:a/task:*"};
    static const char *const no[] = {"/job:b", "/task:0", "/gpu:0", "/cpu:1", "/replica:1"};
    for (size_t i = 0; i < 5; i++) {
        struct device pattern = parsed(yes[i]);
        assert_true(device_matches(&pattern, &full));
        pattern = parsed(no[i]);
        assert_false(device_matches(&pattern, &full));
    }
    struct device partial = parsed("/job:a"), other = parsed("/job:a/replica:0/task:1/gpu:3");
    assert_false(device_matches(&full, &partial));
    assert_false(device_is_same_task(&full, &partial));
    assert_true(device_is_same_task(&full, &other));
    device_complete(&partial, &other);
    assert_true(device_matches(&other, &partial));
}

// A path, and its meaning: "role index name", or "!" and words of the refusal.
static const char *const resources[][2] = {
    {"/files/0/filenames", "files 0 filenames"},
    {"/files/0/some/name", "files 0 some/name"},
    {"/files/12/a//b/", "files 12 a//b/"},
    {"/job:files/task:0/some/name", "files 0 some/name"},
    {"/task:3/job:files/x", "files 3 x"},
    {"/job:files/replica:0/task:0/device:CPU:0/q", "files 0 q"},
    {"/job:files/task:0/cpu:*/q", "files 0 q"},
    {"/job:files/task:0/jobs", "files 0 jobs"},
    {"/job:files/task:0/x:y", "files 0 x:y"},
    {"/job:files/task:0/a/task:1", "files 0 a/task:1"},
    {"/job:files/task:0/task:1/a", "files 1 a"},
    // Roles that are called like parts, names that look like parts.
    {"/job/0/task", "job 0 task"},
    {"/cpu/0/x", "cpu 0 x"},
    {"/files/0/job:a", "files 0 job:a"},
    {"/files/0/device:CPU:0", "files 0 device:CPU:0"},
    {"/files/007/x", "files 7 x"},
    {"/files/0/0", "files 0 0"},
    {"/files/0/caf\xc3\xa9 a", "files 0 caf\xc3\xa9 a"},
    {"/files/0", "!no name"},
    {"/files/0/", "!no name"},
    {"/files/0//x", "!begins with '/'"},
    {"/files/0/_x", "!private"},
    {"/files/0/a\nb", "!control"},
    {"/files", "!which member"},
    {"/files/", "!which member"},
    {"/files/x/y", "!index"},
    {"/files/-1/y", "!index"},
    {"/files/2147483648/y", "!index"},
    {"/files/*/y", "!index"},
    {"/", "!no role"},
    {"", "!begin with '/'"},
    {"files/0/x", "!begin with '/'"},
    {"//0/x", "!no role"},
    {"/my-role/0/x", "!a role is"},
    {"/_files/0/x", "!a role is"},
    {"/job:files/x", "!which task"},
    {"/job:files/task:*/x", "!which task"},
    {"/task:0/x", "!no job"},
    {"/cpu:0/x", "!no job"},
    {"/files:0/x", "!no job"},
    {"/job:files/task:0", "!no name"},
    {"/job:files/task:0/cpu:0", "!no name"},
    {"/job:files/task:0/device:9/x", "!one of its parts"},
    {"/job:files/task:x/y", "!one of its parts"},
    {"/job:files/replica:1/task:0/x", "!replica 0"},
    {"/job:files/task:0/gpu:0/x", "!CPU:0"},
    {"/job:files/task:0/cpu:1/x", "!CPU:0"},
};

static void resource_paths_are_read_in_both_forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof resources / sizeof *resources; i++) {
        const char *text = resources[i][0], *expected = resources[i][1];
        struct resource_path path, again;
        struct buf shown = {0};
        const weft_err err = resource_path_parse(text, &path);
        if (*expected == '!') {
            if (err != WEFT_INVALID_ARGUMENT || !strstr(err_text(), expected + 1) ||
                !strstr(err_text(), "/files/0/filenames"))
                fail_msg("%s: %d %s", text, err, err_text());
            continue;
        }
        if (err)
            fail_msg("%s: %s", text, err_text());
        buf_format(&shown, "%s %" PRIu32 " %s", path.role, path.index, path.name);
        assert_string_equal(buf_text(&shown), expected);
        shown.size = 0;
        resource_path_append(&shown, path.role, path.index, path.name);
        assert_int_equal(resource_path_parse(buf_text(&shown), &again), WEFT_OK);
        assert_string_equal(again.role, path.role);
        assert_int_equal(again.index, path.index);
        assert_string_equal(again.name, path.name);
        buf_fini(&shown);
    }
}

static void member_paths_end_with_the_index(void **state)
{
    (void)state;
    struct member_path path;
    static const char *const good[] = {"/files/3", "/job:files/task:3",
                                       "/job:files/replica:0/task:3/device:CPU:0",
                                       "/task:3/job:files"};
    static const char *const bad[] = {"/files/3/",  "/files/3/x", "/files",
                                      "/job:files", "files/3",    "/job:files/task:3/x",
                                      "/",          "",           "/cpu:0"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(member_path_parse(good[i], &path), WEFT_OK);
        assert_string_equal(path.role, "files");
        assert_int_equal(path.index, 3);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(member_path_parse(bad[i], &path), WEFT_INVALID_ARGUMENT);
        assert_non_null(strstr(err_text(), "try: /files/0, or"));
    }
    struct buf text = {0};
    member_path_append(&text, "files", 3);
    assert_string_equal(buf_text(&text), "/files/3");
    buf_fini(&text);
}

static void names_have_a_rule_of_their_own(void **state)
{
    (void)state;
    assert_int_equal(resource_name_check("a/b c"), WEFT_OK);
    assert_int_equal(resource_name_check(""), WEFT_INVALID_ARGUMENT);
    assert_int_equal(resource_name_check("_a"), WEFT_INVALID_ARGUMENT);
    char name[RESOURCE_NAME_BYTES_MAX + 2];
    memset(name, 'a', sizeof name);
    name[RESOURCE_NAME_BYTES_MAX + 1] = 0;
    assert_int_equal(resource_name_check(name), WEFT_INVALID_ARGUMENT);
    name[RESOURCE_NAME_BYTES_MAX] = 0;
    assert_int_equal(resource_name_check(name), WEFT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_one_canonical_form),
        cmocka_unit_test(what_is_no_device_is_refused),
        cmocka_unit_test(local_names_are_a_type_and_a_number),
        cmocka_unit_test(merging_is_strict_soft_or_by_scope),
        cmocka_unit_test(patterns_match_what_has_all_they_give),
        cmocka_unit_test(resource_paths_are_read_in_both_forms),
        cmocka_unit_test(member_paths_end_with_the_index),
        cmocka_unit_test(names_have_a_rule_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
