// Tests of the settings of an application.

#include "launch/yarn/yarn_settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void settings_find_their_places(void **state)
{
    static const char *const list[] = {"name=my run",
                                       "type=train",
                                       "tags=nightly,ml",
                                       "priority=7",
                                       "lifetime=2h",
                                       "label=gpu",
                                       "viewers=*",
                                       "modifiers=a,b c",
                                       "stage=hdfs://nn:1/bin",
                                       "address=edge1",
                                       "attempts=3",
                                       "keeper_memory=512M",
                                       "keeper_cores=2",
                                       "shelf=hdfs://nn:1/runs",
                                       NULL};
    struct yarn_settings settings;
    (void)state;
    assert_int_equal(yarn_settings_read(list, &settings), WEFT_OK);
    const struct yarn_application *application = &settings.application;
    assert_string_equal(application->name, "my run");
    assert_string_equal(application->type, "train");
    assert_string_equal(application->tags[0], "nightly");
    assert_string_equal(application->tags[1], "ml");
    assert_null(application->tags[2]);
    assert_int_equal(application->priority, 7);
    assert_int_equal(application->lifetime_s, 7200);
    assert_string_equal(application->label, "gpu");
    assert_string_equal(application->viewers, "*");
    assert_string_equal(application->modifiers, "a,b c");
    assert_string_equal(settings.stage, "hdfs://nn:1/bin");
    assert_string_equal(settings.address, "edge1");
    assert_int_equal(settings.attempts, 3);
    assert_int_equal(settings.keeper_bytes, 512 << 20);
    assert_int_equal(settings.keeper_cores, 2);
    assert_string_equal(settings.shelf, "hdfs://nn:1/runs");
    yarn_settings_fini(&settings);
}

static void nothing_said_leaves_the_defaults(void **state)
{
    struct yarn_settings settings;
    (void)state;
    assert_int_equal(yarn_settings_read(NULL, &settings), WEFT_OK);
    assert_null(settings.application.name);
    assert_null(settings.application.tags);
    assert_null(settings.stage);
    yarn_settings_fini(&settings);
}

static void what_cannot_be_is_refused_by_its_name(void **state)
{
    static const struct {
        const char *name, *value, *says;
    } cases[] = {
        {"tag", "a", "did you mean tags?"}, {"mainframe", "a", "there are: name, type"},
        {"tags", "a,,b", "tags=a,,b"},      {"tags", "1,2,3,4,5,6,7,8,9,10,11", "10 words"},
        {"tags", "", "a value is missing"}, {"type", "longer than twenty characters", "at most 20"},
        {"priority", "-1", "from 0"},       {"priority", "x", "from 0"},
        {"lifetime", "soon", "10m"},        {"lifetime", "10ms", "at least 1s"},
        {"stage", "/tmp/x", "hdfs://"},     {"address", "a:1", "without a port"},
        {"address", ":", "this machine"},   {"attempts", "0", "1 to 100"},
        {"shelf", "/x", "hdfs://"},         {"keeper_memory", "much", "256M"},
        {"keeper_cores", "0", "from 1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(yarn_settings_check(cases[i].name, cases[i].value), WEFT_INVALID_ARGUMENT);
        assert_non_null(strstr(err_text(), cases[i].says));
    }
    assert_int_equal(yarn_settings_check("priority", "0"), WEFT_OK);
    assert_int_equal(yarn_settings_check("tags", "1,2,3,4,5,6,7,8,9,10"), WEFT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_find_their_places),
        cmocka_unit_test(nothing_said_leaves_the_defaults),
        cmocka_unit_test(what_cannot_be_is_refused_by_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
