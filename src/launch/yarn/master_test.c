// Tests of application masters against resource managers and a node manager of our own.
#include "launch/yarn/master_testing.h"

static void a_program_runs_and_ends(void **state)
{
    (void)state;
    begin(1, "exit 3");
    ask_for(1);
    run_until(has_ended_one);
    assert_string_equal(owner.app, "application_1700000000000_0007");
    assert_string_equal(yarn_master_application(owner.master), owner.app);
    assert_string_equal(fake.queue, "default");
    assert_int_equal(owner.started, 1);
    assert_int_equal(owner.last_end.kind, YARN_EXITED);
    assert_int_equal(owner.last_end.exit_code, 3);
    assert_true(owner.last_end.is_charged);
    assert_true(fake.containers[1].has_tokens);
    assert_int_equal(owner.failed, 0);
    end();
    assert_int_equal(fake.final, YARN_SUCCEEDED);
    assert_string_equal(fake.final_text, "well done");
}

static void a_program_is_stopped(void **state)
{
    (void)state;
    begin(2, "sleep");
    ask_for(2);
    run_until(has_started_two);
    yarn_master_stop(owner.master, owner.containers[0]);
    yarn_master_stop(owner.master, owner.containers[0]);
    run_until(has_ended_one);
    assert_int_equal(owner.last_end.kind, YARN_STOPPED);
    assert_int_equal(owner.count, 1);
    end();
}

static void a_container_is_given_back_unused(void **state)
{
    (void)state;
    begin(1, NULL);
    ask_for(1);
    run_until(has_granted_one);
    yarn_master_stop(owner.master, owner.containers[0]);
    run_until(has_ended_one);
    assert_int_equal(owner.last_end.kind, YARN_STOPPED);
    assert_int_equal(fake.free, 1);
    end();
}

static void a_program_that_is_stopped_while_it_starts_ends(void **state)
{
    (void)state;
    begin(1, NULL);
    ask_for(1);
    run_until(has_granted_one);
    const struct yarn_program program = {.command = "sleep"};
    assert_int_equal(yarn_master_launch(owner.master, owner.containers[0], &program), WEFT_OK);
    yarn_master_stop(owner.master, owner.containers[0]);
    run_until(has_ended_one);
    assert_int_equal(owner.last_end.kind, YARN_STOPPED);
    assert_int_equal(owner.started, 1);
    end();
}

static bool has_given_back_two(void)
{
    int count = 0;
    for (int i = 0; i < FAKE_CONTAINERS_MAX; i++)
        count += fake.containers[i].has_ended && !fake.containers[i].is_started;
    return count == 2 && owner.started == 2;
}

static void containers_beyond_the_ask_go_back(void **state)
{
    (void)state;
    begin(2, "sleep");
    fake.surplus = 2;
    ask_for(2);
    run_until(has_given_back_two);
    assert_int_equal(owner.granted, 2);
    end();
}

static void an_ask_is_withdrawn(void **state)
{
    (void)state;
    begin(1, "sleep");
    const size_t ask = ask_for(3);
    run_until(has_started_one);
    yarn_master_withdraw(owner.master, ask);
    ask_for(1);
    mutex_lock(&fake.mutex);
    fake.free += 3;
    mutex_unlock(&fake.mutex);
    run_until(has_started_two);
    assert_int_equal(fake.counts[1], 0);
    assert_int_equal(owner.containers[1]->ask, 1);
    end();
}

static void preemption_and_lost_nodes_are_not_charged(void **state)
{
    (void)state;
    begin(3, "sleep");
    ask_for(3);
    run_until(has_started_three);
    fake_end_container(1, -102, "preempted");
    run_until(has_ended_one);
    assert_int_equal(owner.last_end.kind, YARN_PREEMPTED);
    assert_false(owner.last_end.is_charged);
    fake_end_container(2, -100, "Container released on a *lost* node");
    run_until(has_ended_two);
    assert_int_equal(owner.last_end.kind, YARN_LOST);
    assert_false(owner.last_end.is_charged);
    end();
}

static void memory_kills_are_reported_with_figures(void **state)
{
    (void)state;
    begin(1, "sleep");
    ask_for(1);
    run_until(has_started_one);
    fake_end_container(
        1, -104, "x. Current usage: 3 GB of 2 GB physical memory used; a. Killing container.");
    run_until(has_ended_one);
    assert_int_equal(owner.last_end.kind, YARN_MEMORY);
    assert_true(owner.last_end.is_charged);
    expect_text("3 GB of 2 GB");
    end();
}

static void an_ask_that_is_refused_hurts_no_other(void **state)
{
    (void)state;
    begin(1, "sleep");
    run_until(is_registered);
    fake_add_fault(&(struct fake_fault){
        .method = "allocate",
        .kind = FAKE_REFUSE,
        .exception = "org.apache.hadoop.yarn.exceptions.InvalidLabelResourceRequestException",
        .text = "no such label",
        .count = 1,
        .bytes_min = 20});  // not the heartbeat that may be on its way
    const size_t bad = ask_for(1);
    run_until(has_refused);
    assert_int_equal(owner.refused_ask, bad);
    assert_int_equal(owner.err, WEFT_INVALID_ARGUMENT);
    expect_text("no such label");
    ask_for(1);
    run_until(has_started_one);
    assert_int_equal(owner.refused, 1);
    end();
}

static bool has_excluded(void)
{
    return strcmp(fake.excluded, "127.0.0.1") == 0;
}

static void hosts_are_excluded(void **state)
{
    (void)state;
    begin(0, "sleep");
    const size_t ask = ask_for(1);
    assert_int_equal(yarn_master_exclude(owner.master, "127.0.0.1", true), WEFT_OK);
    run_until(has_excluded);
    mutex_lock(&fake.mutex);
    fake.free = 1;  // and this scheduler does not care
    mutex_unlock(&fake.mutex);
    assert_int_equal(yarn_master_exclude(owner.master, "127.0.0.1", true), WEFT_OK);
    assert_int_equal(ask, 0);
    end();
    assert_int_equal(owner.granted, 0);
}

static void it_can_be_closed_from_a_report(void **state)
{
    (void)state;
    begin(1, NULL);
    owner.closes_at_grant = true;
    ask_for(1);
    run_until(has_granted_one);
    assert_null(owner.master);
    end();
    assert_int_equal(fake.final, YARN_SUCCEEDED);
    assert_string_equal(fake.final_text, "at once");
}

static bool is_submitted(void)
{
    return fake.is_submitted;
}

static void what_has_not_registered_is_killed_at_the_end(void **state)
{
    (void)state;
    memset(&owner, 0, sizeof owner);
    const struct yarn_site site = fake_begin(1);
    fake.token_is_late = true;
    strcpy(fake.diagnostics, "the queue is full");
    owner.loop = loop_new(NULL, NULL);
    open_at(&site);
    const size_t ask = ask_for(1);
    run_until(is_submitted);
    // Until it has said why it waits.
    struct buf text = {0};
    for (int i = 0; i < 1000 && !strstr(buf_text(&text), "the queue is full"); i++) {
        text.size = 0;
        yarn_master_describe(owner.master, ask, &text);
        clock_sleep_ms(5);
    }
    assert_non_null(strstr(buf_text(&text), "the queue is full"));
    buf_fini(&text);
    end();
    assert_int_equal(fake.kills, 2);
    assert_int_equal(fake.state, YARN_APP_KILLED);
}

static void nobody_there_is_a_failure_at_once(void **state)
{
    (void)state;
    memset(&owner, 0, sizeof owner);
    const struct yarn_site site = fake_begin(1);
    fake.active = -1;
    owner.loop = loop_new(NULL, NULL);
    const uint64_t begin_ns = clock_now_ns();
    open_at(&site);
    run_until(has_failed);
    assert_int_equal(owner.err, WEFT_UNAVAILABLE);
    assert_true(clock_now_ns() - begin_ns < (uint64_t)WAIT_MS / 2 * NS_PER_MS);
    end();
}

static void applications_that_yarn_refuses_are_not_submitted(void **state)
{
    static const char *const bad_tags[] = {"a\nb", NULL};
    static const char *const many[] = {"1", "2", "3", "4",  "5",  "6",
                                       "7", "8", "9", "10", "11", NULL};
    const struct yarn_application applications[] = {
        {.tags = bad_tags}, {.tags = many}, {.type = "more than twenty characters"}};
    const struct yarn_site site = {.count = 1};
    struct yarn_master *master;
    (void)state;
    struct loop *loop = loop_new(NULL, NULL);
    for (size_t i = 0; i < sizeof applications / sizeof *applications; i++) {
        const struct yarn_master_options options = {
            .site = &site, .application = &applications[i], .loop = loop, .calls = &calls};
        assert_int_equal(yarn_master_open(&master, &options), WEFT_INVALID_ARGUMENT);
        assert_null(master);
    }
    err_clear();
    loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_runs_and_ends),
        cmocka_unit_test(a_program_is_stopped),
        cmocka_unit_test(a_container_is_given_back_unused),
        cmocka_unit_test(a_program_that_is_stopped_while_it_starts_ends),
        cmocka_unit_test(containers_beyond_the_ask_go_back),
        cmocka_unit_test(an_ask_is_withdrawn),
        cmocka_unit_test(preemption_and_lost_nodes_are_not_charged),
        cmocka_unit_test(memory_kills_are_reported_with_figures),
        cmocka_unit_test(an_ask_that_is_refused_hurts_no_other),
        cmocka_unit_test(hosts_are_excluded),
        cmocka_unit_test(it_can_be_closed_from_a_report),
        cmocka_unit_test(what_has_not_registered_is_killed_at_the_end),
        cmocka_unit_test(nobody_there_is_a_failure_at_once),
        cmocka_unit_test(applications_that_yarn_refuses_are_not_submitted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
