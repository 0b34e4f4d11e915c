// Tests of cluster/config_files: the bytes of each kind, and that a refusal leaves all as it was.

#include "cluster/config_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/file/file.h"
#include "sys/file/folder_testing.h"

static struct cluster_spec read_spec(const char *text)
{
    struct cluster_spec spec = {0};
    assert_int_equal(cluster_spec_read_file(&spec, weft_text(text), "x"), WEFT_OK);
    return spec;
}

static const char small[] = "{\"cluster\": {\"w\": [\"a\", \"b\"]}, \"dir\": \"it's here\"}";

static const char as_sh[] =
    "export TF_CONFIG='{\n  \"cluster\": {\n    \"w\": [\n      \"a:2222\",\n      \"b:2222\"\n"
    "    ]\n  },\n  \"task\": {\n    \"type\": \"w\",\n    \"index\": 1\n  },\n"
    "  \"dir\": \"it'\\''s here\"\n}'\nexport CUDA_VISIBLE_DEVICES=-1\n";
static const char as_json[] =
    "{\n  \"cluster\": {\n    \"w\": [\n      \"a:2222\",\n      \"b:2222\"\n    ]\n  },\n"
    "  \"task\": {\n    \"type\": \"w\",\n    \"index\": 1\n  },\n  \"dir\": \"it's here\"\n}\n";
static const char as_env[] =
    "TF_CONFIG={\"cluster\":{\"w\":[\"a:2222\",\"b:2222\"]},\"task\":{\"type\":\"w\",\"index\":1},"
    "\"dir\":\"it's\\u0020here\"}\nCUDA_VISIBLE_DEVICES=-1\n";

static void each_format_has_its_bytes(void **state)
{
    (void)state;
    static const char *const expected[] = {as_sh, as_json, as_env};
    struct cluster_spec spec = read_spec(small);
    for (int format = CONFIG_SH; format <= CONFIG_ENV; format++) {
        struct buf text = {0};
        const struct config_options options = {.format = (enum config_format)format};
        assert_int_equal(config_append(&text, &spec, "w", 1, &options), WEFT_OK);
        assert_string_equal(buf_text(&text), expected[format]);
        buf_fini(&text);
    }
    cluster_spec_fini(&spec);
}

// A variable holds about 128 KiB: beyond that sh turns compact, and then only a file will do.
static void what_no_variable_can_hold_is_refused(void **state)
{
    (void)state;
    static const struct {
        int members;
        weft_err sh, env;
        bool is_indented;
    } table[] = {{4000, WEFT_OK, WEFT_OK, true},
                 {6000, WEFT_OK, WEFT_OK, false},
                 {9000, WEFT_INVALID_ARGUMENT, WEFT_INVALID_ARGUMENT, false}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct cluster_spec spec = {0};
        struct buf text = {0};
        assert_int_equal(cluster_spec_add_role(&spec, weft_text("w")), WEFT_OK);
        for (int j = 0; j < table[i].members; j++) {
            char address[32];
            snprintf(address, sizeof address, "node%05d:2222", j);
            assert_int_equal(cluster_spec_add_member(&spec, "w", (uint32_t)j, weft_text(address)),
                             WEFT_OK);
        }
        struct config_options options = {.format = CONFIG_SH};
        assert_int_equal(config_append(&text, &spec, "w", 0, &options), table[i].sh);
        assert_true(table[i].sh ||
                    !!strstr(buf_text(&text), "\n  \"cluster\"") == table[i].is_indented);
        options.format = CONFIG_ENV;
        assert_int_equal(config_append(&text, &spec, "w", 0, &options), table[i].env);
        options.format = CONFIG_JSON;
        assert_int_equal(config_append(&text, &spec, "w", 0, &options), WEFT_OK);
        buf_fini(&text);
        cluster_spec_fini(&spec);
    }
}

static weft_err count_name(void *owner, const char *name)
{
    (void)name;
    ++*(int *)owner;
    return WEFT_OK;
}

static int count_files(void)
{
    int count = 0;
    assert_int_equal(file_list(testing_folder, count_name, &count), WEFT_OK);
    return count;
}

static weft_err write_files(bool force, enum config_change *first, enum config_change *second)
{
    struct cluster_spec spec = read_spec(small);
    struct config_files files = {0};
    const struct config_options options = {.directory = testing_folder, .force = force};
    const weft_err err = config_files_write(&files, &spec, &options);
    if (!err) {
        *first = files.items.items[0].change;
        *second = files.items.items[1].change;
    }
    config_files_fini(&files);
    cluster_spec_fini(&spec);
    return err;
}

static void a_file_that_holds_something_else_stops_all(void **state)
{
    (void)state;
    char path[sizeof testing_folder + 32];
    enum config_change first, second;
    snprintf(path, sizeof path, "%s/config_w_1.sh", testing_folder);
    FILE *other = fopen(path, "w");
    assert_non_null(other);
    fputs("mine\n", other);
    fclose(other);
    assert_int_equal(write_files(false, &first, &second), WEFT_ALREADY_EXISTS);
    assert_non_null(strstr(err_text(), path));
    assert_int_equal(count_files(), 1);
    assert_int_equal(write_files(true, &first, &second), WEFT_OK);
    assert_int_equal(first, CONFIG_NEW);
    assert_int_equal(second, CONFIG_REPLACED);
    assert_int_equal(write_files(false, &first, &second), WEFT_OK);
    assert_int_equal(first, CONFIG_SAME);
    assert_int_equal(second, CONFIG_SAME);
    assert_int_equal(count_files(), 2);
    unlink(path);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_int_equal(write_files(true, &first, &second), WEFT_ALREADY_EXISTS);
    assert_int_equal(count_files(), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_format_has_its_bytes),
        cmocka_unit_test(what_no_variable_can_hold_is_refused),
        cmocka_unit_test(a_file_that_holds_something_else_stops_all),
    };
    return cmocka_run_group_tests(tests, testing_make_folder, testing_remove_folder);
}
