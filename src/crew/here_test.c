// Tests of what this machine has: devices in a directory of the test, and roles that ask for more or less.

#include "crew/here.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

static void gpus_are_devices_in_the_order_of_their_numbers(void **state)
{
    (void)state;
    static const char *const names[] = {"nvidia10",  "nvidia2",    "nvidia0",
                                        "nvidiactl", "nvidia-uvm", "null"};
    char directory[] = "/tmp/weft-here-XXXXXX", path[64];
    assert_non_null(mkdtemp(directory));
    for (size_t i = 0; i < 6; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        fclose(fopen(path, "w"));
    }
    struct here here;
    assert_false(here_look(&here, NULL, directory));
    assert_int_equal(here.gpu_count, 3);
    assert_string_equal(here.gpus[0], "0");
    assert_string_equal(here.gpus[1], "2");
    assert_string_equal(here.gpus[2], "10");
    assert_true(here.cores > 0);
    here_fini(&here);
    for (size_t i = 0; i < 6; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        remove(path);
    }
    remove(directory);
}

static void visible_devices_are_a_list_that_ends_at_a_minus(void **state)
{
    (void)state;
    struct here here;
    assert_false(here_look(&here, "3,GPU-8,-1,5", "/nowhere"));
    assert_int_equal(here.gpu_count, 2);
    assert_string_equal(here.gpus[1], "GPU-8");
    here_fini(&here);
    assert_false(here_look(&here, "", "/nowhere"));
    assert_int_equal(here.gpu_count, 0);
    here_fini(&here);
}

static void make(struct crew_spec *spec, const char *text)
{
    const struct crew_flags flags = {.program = (const char *[]){"p", NULL}};
    if (crew_spec_read(spec, weft_text(text), "f") || crew_spec_resolve(spec, &flags))
        fail_msg("%s", err_text());
}

static void more_than_there_is_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *roles, *says;
    } cases[] = {
        {"{\"roles\": {\"a\": {\"instances\": 2, \"memory\": \"4G\", \"cpus\": 4, \"gpus\": 1}}}",
         NULL},
        {"{\"roles\": {\"a\": {\"instances\": 8, \"cpus\": 4}}}", NULL},
        {"{\"roles\": {\"a\": {\"cpus\": 5}}}",
         "roles.a: an instance asks for 5 cpus, and this machine has 4\n  try: --cpus a=4"},
        {"{\"roles\": {\"a\": {\"memory\": \"5G\"}, \"b\": {\"memory\": \"4G\"}}}",
         "the roles ask for 9 GiB of memory, and this machine has 8.59 GB free\n  try: less --memory, or "
         "fewer instances"},
        {"{\"roles\": {\"a\": {\"instances\": 30000, \"memory\": \"4000T\"}}}", "of memory"},
        {"{\"roles\": {\"a\": {\"instances\": 2, \"gpus\": 1}, \"b\": {\"gpus\": 1}}}",
         "the roles ask for 3 GPUs, and this machine has 2\n  try: fewer --gpus, or fewer instances"},
        {"{\"roles\": {\"a\": {\"constraint\": \"gpu\"}}}",
         "no label to match the constraint \"gpu\""},
    };
    struct here here = {.cores = 4, .memory_bytes = UINT64_C(8) << 30, .gpu_count = 2};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct crew_spec spec = {0};
        make(&spec, cases[i].roles);
        const weft_err err = here_check(&here, &spec);
        if (cases[i].says ? err != WEFT_INVALID_ARGUMENT || !strstr(err_text(), cases[i].says)
                          : err)
            fail_msg("%s: %s", cases[i].roles, err_text());
        err_clear();
        crew_spec_fini(&spec);
    }
}

static void each_instance_has_gpus_of_its_own(void **state)
{
    (void)state;
    static const char *const expected[] = {"7", NULL, "GPU-a,3", "GPU-a,3", "0,1", "0,1"};
    struct crew_spec spec = {0};
    struct here here;
    make(&spec, "{\"roles\": {\"chief\": {\"gpus\": 1}, \"ps\": {\"gpus\": 0}, \"worker\": "
                "{\"instances\": 2, \"processes\": 2, \"gpus\": 2}}}");
    assert_false(here_look(&here, "7,GPU-a,3,0,1", "/nowhere"));
    assert_false(here_check(&here, &spec));
    for (size_t i = 0; i < 6; i++) {
        weft_err err = WEFT_OK;
        char *list = here_list_gpus(&here, &spec, i, &err);
        assert_false(err);
        assert_true(expected[i] ? list && strcmp(list, expected[i]) == 0 : !list);
        free(list);
    }
    here_fini(&here);
    crew_spec_fini(&spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus_are_devices_in_the_order_of_their_numbers),
        cmocka_unit_test(visible_devices_are_a_list_that_ends_at_a_minus),
        cmocka_unit_test(more_than_there_is_is_refused),
        cmocka_unit_test(each_instance_has_gpus_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
