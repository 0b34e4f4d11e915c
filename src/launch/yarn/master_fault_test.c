// Tests of application masters with faults: lost answers, restarts, fail-over, tokens.
// Takes long: heartbeats.
#include "launch/yarn/master_testing.h"

static void answers_that_are_lost_are_asked_for_again(void **state)
{
    static const char *const methods[] = {"submitApplication", "getApplicationReport",
                                          "registerApplicationMaster", "startContainers",
                                          "finishApplicationMaster"};
    static const enum fake_kind kinds[] = {FAKE_LOSE_ANSWER, FAKE_LOSE_REQUEST};
    (void)state;
    for (int kind = 0; kind < 2; kind++)
        for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
            begin(1, "exit 0");
            fake_add_fault(
                &(struct fake_fault){.method = methods[i], .kind = kinds[kind], .count = 1});
            ask_for(1);
            run_until(has_ended_one);
            assert_int_equal(owner.last_end.kind, YARN_EXITED);
            end();
            assert_int_equal(fake.final, YARN_SUCCEEDED);
        }
}

// Nothing is granted twice, and nothing is lost.
static void heartbeats_that_are_lost_change_nothing(void **state)
{
    (void)state;
    for (int skip = 0; skip < 6; skip++) {
        begin(3, "sleep");
        fake_add_fault(&(struct fake_fault){
            .method = "allocate", .kind = FAKE_LOSE_ANSWER, .count = 2, .skip = skip});
        fake_add_fault(&(struct fake_fault){
            .method = "allocate", .kind = FAKE_LOSE_REQUEST, .count = 1, .skip = skip + 2});
        ask_for(3);
        run_until(has_started_three);
        fake_end_container(1, 0, "");
        fake_end_container(2, 5, "");
        run_until(has_ended_two);
        assert_int_equal(owner.granted, 3);
        assert_int_equal(owner.ended, 2);
        assert_int_equal(owner.failed, 0);
        end();
    }
}

static void a_resource_manager_restarts(void **state)
{
    (void)state;
    begin(2, "sleep");
    ask_for(3);
    run_until(has_started_two);
    fake_restart(0);
    run_until(has_registered_twice);
    fake_end_container(1, 4, "");
    run_until(has_ended_one);
    assert_int_equal(owner.last_end.exit_code, 4);
    mutex_lock(&fake.mutex);
    fake.free = 1;
    mutex_unlock(&fake.mutex);
    run_until(has_started_three);  // the third is asked for again
    assert_int_equal(owner.granted, 3);
    assert_int_equal(owner.registered, 1);
    assert_non_null(strstr(owner.news, "registering again"));
    end();
    assert_int_equal(fake.final, YARN_SUCCEEDED);
}

static void another_resource_manager_takes_over(void **state)
{
    (void)state;
    begin(1, "sleep");
    ask_for(2);
    run_until(has_started_one);
    fake_restart(1);
    run_until(has_registered_twice);
    mutex_lock(&fake.mutex);
    fake.free = 1;
    mutex_unlock(&fake.mutex);
    run_until(has_started_two);
    fake_restart(0);
    fake_end_container(1, 0, "");
    run_until(has_ended_one);
    end();
    assert_int_equal(fake.final, YARN_SUCCEEDED);
}

static void the_second_one_is_found_at_the_beginning(void **state)
{
    (void)state;
    memset(&owner, 0, sizeof owner);
    const struct yarn_site site = fake_begin(1);
    fake.active = 1;
    owner.command = "exit 0";
    owner.loop = loop_new(NULL, NULL);
    open_at(&site);
    ask_for(1);
    run_until(has_ended_one);
    end();
}

static void what_was_not_used_before_a_restart_is_lost(void **state)
{
    (void)state;
    begin(1, NULL);
    ask_for(1);
    run_until(has_granted_one);
    fake_restart(0);
    run_until(has_ended_one);
    assert_int_equal(owner.last_end.kind, YARN_LOST);
    assert_false(owner.last_end.is_charged);
    end();
}

static bool has_rolled(void)
{
    return fake.key == 1 && !fake.rolls;
}
static bool has_logged_in_again(void)
{
    return fake.registrations == 2;
}

static void a_new_token_is_used_for_the_next_login(void **state)
{
    (void)state;
    begin(1, "sleep");
    ask_for(1);
    run_until(has_started_one);
    mutex_lock(&fake.mutex);
    fake.rolls = true;
    mutex_unlock(&fake.mutex);
    run_until(has_rolled);
    mutex_lock(&fake.mutex);
    fake.oldest_key = 1;
    mutex_unlock(&fake.mutex);
    fake_restart(0);
    run_until(has_logged_in_again);
    assert_int_equal(fake.refused_logins, 0);
    end();
}

static void a_token_that_was_missed_is_in_the_report(void **state)
{
    (void)state;
    begin(1, "sleep");
    ask_for(1);
    run_until(has_started_one);
    mutex_lock(&fake.mutex);
    fake.key = fake.oldest_key = 2;
    mutex_unlock(&fake.mutex);
    fake_restart(0);
    run_until(has_logged_in_again);
    assert_int_equal(fake.refused_logins, 1);
    assert_int_equal(owner.failed, 0);
    end();
}

static void an_application_that_is_killed_fails(void **state)
{
    (void)state;
    begin(1, "sleep");
    ask_for(1);
    run_until(has_started_one);
    mutex_lock(&fake.mutex);
    fake.state = YARN_APP_KILLED;
    strcpy(fake.diagnostics, "by alice");
    mutex_unlock(&fake.mutex);
    run_until(has_failed);
    assert_int_equal(owner.err, WEFT_ABORTED);
    expect_text("was killed: by alice");
    end();
    assert_int_equal(fake.final, 0);
}

static void end_late(void *unused)
{
    (void)unused;
    mutex_lock(&fake.mutex);
    fake.state = YARN_APP_KILLED;
    mutex_unlock(&fake.mutex);
}

// The report says for a while that the application runs.
static void a_report_that_is_late_is_waited_for(void **state)
{
    (void)state;
    begin(1, "sleep");
    ask_for(1);
    run_until(has_started_one);
    strcpy(fake.diagnostics, "by alice");
    fake_add_fault(&(struct fake_fault){
        .method = "allocate",
        .kind = FAKE_REFUSE,
        .exception = "org.apache.hadoop.yarn.exceptions.ApplicationAttemptNotFoundException",
        .text = "doesn't exist",
        .count = 1000});
    assert_non_null(loop_timer_new(owner.loop, 300, 0, end_late, NULL));
    run_until(has_failed);
    assert_int_equal(owner.err, WEFT_ABORTED);
    expect_text("was killed: by alice");
    end();
    assert_int_equal(fake.final, 0);
}

static void an_application_that_yarn_does_not_take_fails(void **state)
{
    (void)state;
    memset(&owner, 0, sizeof owner);
    const struct yarn_site site = fake_begin(1);
    fake.state = YARN_APP_FAILED;
    strcpy(fake.diagnostics, "to unknown queue: q");
    owner.loop = loop_new(NULL, NULL);
    open_at(&site);
    run_until(has_failed);
    assert_int_equal(owner.err, WEFT_FAILED_PRECONDITION);
    expect_text("unknown queue");
    end();
}

static void a_shut_down_says_why(void **state)
{
    (void)state;
    begin(1, "sleep");
    run_until(is_registered);
    mutex_lock(&fake.mutex);
    fake.state = YARN_APP_FINISHED + 1;
    fake.shuts_down = true;
    mutex_unlock(&fake.mutex);
    run_until(has_failed);
    assert_int_equal(owner.err, WEFT_FAILED_PRECONDITION);
    end();
}

// The asks were in a request that was not carried out.
static void exceptions_of_no_known_kind_pass(void **state)
{
    (void)state;
    begin(1, "sleep");
    run_until(is_registered);
    fake_add_fault(&(struct fake_fault){.method = "allocate",
                                        .kind = FAKE_REFUSE,
                                        .exception = "java.lang.IllegalStateException",
                                        .text = "stopping",
                                        .count = 3});
    ask_for(1);
    run_until(has_started_one);
    assert_int_equal(owner.failed, 0);
    end();
}

static void one_that_stays_is_a_failure(void **state)
{
    (void)state;
    begin(1, "sleep");
    fake_add_fault(&(struct fake_fault){.method = "allocate",
                                        .kind = FAKE_REFUSE,
                                        .exception = "java.lang.IllegalStateException",
                                        .text = "broken",
                                        .count = 1000});
    run_until(has_failed);
    assert_int_equal(owner.err, WEFT_UNKNOWN);
    expect_text("broken");
    end();
    assert_int_equal(fake.final, YARN_SUCCEEDED);  // its end was reported all the same
}

// The resource manager ends the program, then.
static void a_program_is_stopped_where_the_node_manager_is_silent(void **state)
{
    (void)state;
    begin(1, "sleep");
    ask_for(1);
    run_until(has_started_one);
    fake_add_fault(
        &(struct fake_fault){.method = "stopContainers", .kind = FAKE_BE_SILENT, .count = 1000});
    yarn_master_stop(owner.master, owner.containers[0]);
    run_until(has_ended_one);
    assert_int_equal(owner.last_end.kind, YARN_STOPPED);
    end();
}

// A resource manager that has gone during a run and does not come back: the end does not wait for it again.
static void the_end_does_not_wait_for_one_that_is_gone(void **state)
{
    (void)state;
    memset(&owner, 0, sizeof owner);
    const struct yarn_site site = fake_begin(1);
    const struct yarn_master_options options = {
        .site = &site, .loop = loop_new(NULL, NULL), .patience_ms = 500, .calls = &calls};
    owner.loop = options.loop;
    assert_int_equal(yarn_master_open(&owner.master, &options), WEFT_OK);
    run_until(is_registered);
    fake_restart(-1);
    run_until(has_failed);
    assert_int_equal(owner.err, WEFT_UNAVAILABLE);
    // Its address is named once.
    const char *address = strstr(owner.last_text, "127.0.0.1:");
    assert_non_null(address);
    assert_null(strstr(address + 1, "127.0.0.1:"));
    const uint64_t begin_ns = clock_now_ns();
    end();
    assert_true(clock_now_ns() - begin_ns < (uint64_t)5000 * NS_PER_MS);
}

static void a_node_manager_that_is_not_ready_is_waited_for(void **state)
{
    (void)state;
    begin(1, "sleep");
    fake_add_fault(&(struct fake_fault){.method = "startContainers",
                                        .kind = FAKE_REFUSE,
                                        .exception = "org.apache.hadoop.ipc.RetriableException",
                                        .text = "not ready",
                                        .count = 2});
    ask_for(1);
    run_until(has_started_one);
    assert_int_equal(owner.ended, 0);
    end();
}

static void a_container_that_its_node_manager_refuses_goes_back(void **state)
{
    (void)state;
    begin(1, "sleep");
    fake_add_fault(&(struct fake_fault){
        .method = "startContainers",
        .kind = FAKE_REFUSE,
        .exception = "org.apache.hadoop.security.token.SecretManager$InvalidToken",
        .text = "This token is expired",
        .count = 1});
    ask_for(1);
    run_until(has_ended_one);
    assert_int_equal(owner.last_end.kind, YARN_NOT_STARTED);
    assert_false(owner.last_end.is_charged);
    expect_text("This token is expired");
    assert_int_equal(owner.started, 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_that_are_lost_are_asked_for_again),
        cmocka_unit_test(heartbeats_that_are_lost_change_nothing),
        cmocka_unit_test(a_resource_manager_restarts),
        cmocka_unit_test(another_resource_manager_takes_over),
        cmocka_unit_test(the_second_one_is_found_at_the_beginning),
        cmocka_unit_test(what_was_not_used_before_a_restart_is_lost),
        cmocka_unit_test(a_new_token_is_used_for_the_next_login),
        cmocka_unit_test(a_token_that_was_missed_is_in_the_report),
        cmocka_unit_test(an_application_that_is_killed_fails),
        cmocka_unit_test(a_report_that_is_late_is_waited_for),
        cmocka_unit_test(an_application_that_yarn_does_not_take_fails),
        cmocka_unit_test(a_shut_down_says_why),
        cmocka_unit_test(exceptions_of_no_known_kind_pass),
        cmocka_unit_test(one_that_stays_is_a_failure),
        cmocka_unit_test(a_program_is_stopped_where_the_node_manager_is_silent),
        cmocka_unit_test(the_end_does_not_wait_for_one_that_is_gone),
        cmocka_unit_test(a_node_manager_that_is_not_ready_is_waited_for),
        cmocka_unit_test(a_container_that_its_node_manager_refuses_goes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
