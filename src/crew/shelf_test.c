// Tests of the shelf of a run: its files, the continuation of earlier ones, and a store that is away.
#include "crew/shelf.h"

#include "crew/keep_testing.h"

static struct {
    struct loop *loop;
    struct store_place *place;
    struct shelf *shelf;
    unsigned asked, turns;
    char news[500];
    bool (*is_done)(void);
} test;

static void asked(void *owner)
{
    (void)owner;
    test.asked++;
}

static void news(void *owner, const char *text)
{
    (void)owner;
    snprintf(test.news, sizeof test.news, "%s", text);
}

static void open_shelf(void)
{
    folder.failures = 0;
    memset(&test, 0, sizeof test);
    char url[400];
    assert_int_equal(file_make_directory(testing_path("run")), WEFT_OK);
    assert_int_equal(file_make_directory(testing_path("shelf")), WEFT_OK);
    snprintf(url, sizeof url, SHELF_SCHEME "%s", testing_path("shelf"));
    assert_int_equal(store_open_place(url, 0, &test.place), WEFT_OK);
    test.loop = loop_new(NULL, NULL);
    static char directory[300];
    snprintf(directory, sizeof directory, "%s", testing_path("run"));
    const struct shelf_options options = {.loop = test.loop,
                                          .place = test.place,
                                          .directory = directory,
                                          .asked = asked,
                                          .news = news};
    test.shelf = shelf_new(&options);
    assert_non_null(test.shelf);
}

static void close_shelf(void)
{
    shelf_free(test.shelf);
    loop_free(test.loop);
    store_close_place(test.place);
}

static void look(void *owner)
{
    (void)owner;
    if (test.is_done() || ++test.turns > 1000)
        loop_stop(test.loop);
}

static void run_until(bool (*is_done)(void))
{
    test.is_done = is_done;
    test.turns = 0;
    struct loop_timer *timer = loop_timer_new(test.loop, 1, 10, look, NULL);
    loop_run(test.loop);
    loop_timer_free(timer);
    assert_true(is_done());
}

static bool is_log_there(void)
{
    return access(testing_path("shelf/a_0.log"), F_OK) == 0;
}

static bool is_state_there(void)
{
    return access(testing_path("shelf/state.json"), F_OK) == 0;
}

static bool was_asked(void)
{
    return test.asked > 0;
}

static bool has_failed(void)
{
    return strstr(test.news, "cannot be kept") != NULL;
}

static bool is_well_again(void)
{
    return strstr(test.news, "are kept again") != NULL;
}

static void logs_and_state_come_while_the_run_lasts_and_the_rest_at_its_end(void **state)
{
    (void)state;
    open_shelf();
    write_file("run/a_0.log", "one\n");
    write_file("run/notes", "not ours");
    run_until(is_log_there);
    write_file("run/state.json", "{}\n");
    run_until(is_state_there);
    write_file("run/a_0.log", "one\ntwo\n");
    write_file("run/weft.log", "said\n");
    close_shelf();
    expect_file("shelf/a_0.log", "one\ntwo\n");
    expect_file("shelf/weft.log", "said\n");
    expect_file("shelf/state.json", "{}\n");
    assert_int_not_equal(access(testing_path("shelf/notes"), F_OK), 0);
    assert_int_equal(test.asked, 0);
}

static void a_log_of_an_earlier_attempt_is_continued(void **state)
{
    (void)state;
    open_shelf();
    write_file("shelf/a_0.log", "of the first attempt\n");
    write_file("run/a_0.log", "of the second\n");
    close_shelf();
    expect_file("shelf/a_0.log", "of the first attempt\nof the second\n");
}

static void a_state_is_put_only_when_it_has_changed(void **state)
{
    (void)state;
    open_shelf();
    write_file("run/state.json", "{\"a\":1}\n");
    const uint32_t before = folder.puts;
    run_until(is_state_there);
    close_shelf();
    assert_int_equal(folder.puts, before + 1);
}

static void a_file_asks_for_the_end_once(void **state)
{
    (void)state;
    open_shelf();
    write_file("shelf/stop", "");
    run_until(was_asked);
    write_file("run/a_0.log", "x");
    run_until(is_log_there);
    assert_int_equal(test.asked, 1);
    close_shelf();
}

static void a_shelf_that_is_away_is_tried_again_and_nothing_is_lost(void **state)
{
    (void)state;
    open_shelf();
    folder.failures = 1;
    write_file("run/a_0.log", "one\n");
    run_until(has_failed);
    assert_non_null(strstr(test.news, "the store is away"));
    run_until(is_well_again);
    folder.failures = 2;
    write_file("run/a_0.log", "one\ntwo\n");
    close_shelf();
    expect_file("shelf/a_0.log", "one\ntwo\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, testing_make_folder, testing_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(logs_and_state_come_while_the_run_lasts_and_the_rest_at_its_end),
        TEST(a_log_of_an_earlier_attempt_is_continued),
        TEST(a_state_is_put_only_when_it_has_changed),
        TEST(a_file_asks_for_the_end_once),
        TEST(a_shelf_that_is_away_is_tried_again_and_nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
