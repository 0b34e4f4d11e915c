// Tests of the crew: its lives as sequences of events, no process anywhere.

#include "crew/crew.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct crew crew;
static struct crew_actions actions;

static void make_crew(size_t count)
{
    assert_int_equal(crew_init(&crew, count), WEFT_OK);
}

static int drop_crew(void **state)
{
    (void)state;
    crew_fini(&crew);
    return 0;
}

// The actions as a line: "start 0, start 1", "later 0 50, given-up 1 3, finished 3".
static const char *said(void)
{
    static const char *const names[] = {"start", "later", "given-up", "terminate",
                                        "kill",  "grace", "finished"};
    static char text[512];
    size_t at = 0;
    text[0] = 0;
    for (size_t i = 0; i < actions.count; i++) {
        const struct crew_action *action = &actions.items[i];
        const char *comma = i ? ", " : "";
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", comma, names[action->kind]);
        if (action->kind != CREW_SET_GRACE && action->kind != CREW_FINISHED)
            at += (size_t)snprintf(text + at, sizeof text - at, " %zu", action->member);
        if (action->kind == CREW_START_LATER || action->kind == CREW_SET_GRACE)
            at += (size_t)snprintf(text + at, sizeof text - at, " %u", action->delay_ms);
        if (action->kind == CREW_GIVEN_UP || action->kind == CREW_FINISHED)
            at += (size_t)snprintf(text + at, sizeof text - at, " %d", action->exit_code);
    }
    return text;
}

static const char *begin(void)
{
    crew_begin(&crew, &actions);
    return said();
}

static const char *step(struct crew_event event)
{
    crew_step(&crew, &event, &actions);
    return said();
}

static const char *ends(size_t member, int exit_code)
{
    return step((struct crew_event){CREW_MEMBER_ENDED, member, exit_code, false});
}

static const char *due(size_t member)
{
    return step((struct crew_event){.kind = CREW_START_DUE, .member = member});
}

static const char *asked(int exit_code, bool is_person)
{
    return step((struct crew_event){CREW_STOP_ASKED, 0, exit_code, is_person});
}

static const char *grace_ends(void)
{
    return step((struct crew_event){.kind = CREW_GRACE_ENDED});
}

static void all_that_end_well_end_the_crew_with_0(void **state)
{
    (void)state;
    make_crew(3);
    assert_string_equal(begin(), "start 0, start 1, start 2");
    assert_string_equal(ends(1, 0), "");
    assert_string_equal(ends(0, 0), "");
    assert_string_equal(ends(2, 0), "finished 0");
    assert_string_equal(ends(2, 0), "");
}

static void a_failure_ends_the_others_and_gives_the_exit_code(void **state)
{
    (void)state;
    make_crew(3);
    begin();
    assert_string_equal(ends(1, 7), "given-up 1 7, terminate 0, terminate 2, grace 5000");
    assert_string_equal(ends(0, 143), "");
    assert_string_equal(ends(2, 9), "finished 7");
    assert_int_equal(crew.members[0].state, CREW_STOPPED);
    assert_int_equal(crew.members[1].state, CREW_FAILED);
}

static void who_does_not_end_in_time_is_killed(void **state)
{
    (void)state;
    make_crew(3);
    crew.grace_ms = 100;
    begin();
    assert_string_equal(ends(0, 1), "given-up 0 1, terminate 1, terminate 2, grace 100");
    assert_string_equal(ends(1, 143), "");
    assert_string_equal(grace_ends(), "kill 2");
    assert_string_equal(grace_ends(), "");
    assert_string_equal(ends(2, 137), "finished 1");
}

static void a_crew_that_keeps_going_loses_only_who_failed(void **state)
{
    (void)state;
    make_crew(3);
    crew.keeps_going = true;
    begin();
    assert_string_equal(ends(2, 5), "given-up 2 5");
    assert_string_equal(ends(0, 6), "given-up 0 6");
    assert_string_equal(ends(1, 0), "finished 5");
}

static void a_member_is_started_again_as_often_as_allowed(void **state)
{
    (void)state;
    make_crew(2);
    crew.members[0].restarts_max = 2;
    begin();
    assert_string_equal(ends(0, 137), "later 0 50");
    assert_string_equal(due(0), "start 0");
    assert_string_equal(ends(0, 1), "later 0 100");
    assert_string_equal(due(0), "start 0");
    assert_int_equal(crew_count_restarts(&crew), 2);
    assert_string_equal(ends(0, 3), "given-up 0 3, terminate 1, grace 5000");
    assert_string_equal(ends(1, 0), "finished 3");
}

static void a_restarted_member_that_ends_well_is_no_failure(void **state)
{
    (void)state;
    make_crew(2);
    crew.members[1].restarts_max = 1;
    begin();
    assert_string_equal(ends(0, 0), "");
    assert_string_equal(ends(1, 1), "later 1 50");
    assert_string_equal(due(1), "start 1");
    assert_string_equal(due(1), "");
    assert_string_equal(ends(1, 0), "finished 0");
}

static void who_rests_when_the_end_comes_is_not_started_again(void **state)
{
    (void)state;
    make_crew(2);
    crew.members[0].restarts_max = 9;
    begin();
    assert_string_equal(ends(0, 1), "later 0 50");
    assert_string_equal(asked(143, true), "terminate 1, grace 5000");
    assert_string_equal(due(0), "");
    assert_string_equal(ends(1, 143), "finished 143");
}

static void an_end_that_is_asked_for_while_all_rest_comes_at_once(void **state)
{
    (void)state;
    make_crew(1);
    crew.members[0].restarts_max = 1;
    begin();
    ends(0, 1);
    assert_string_equal(asked(130, true), "grace 5000, finished 130");
}

static void no_restart_follows_once_the_end_was_asked_for(void **state)
{
    (void)state;
    make_crew(2);
    crew.members[0].restarts_max = crew.members[1].restarts_max = 5;
    begin();
    assert_string_equal(asked(130, true), "terminate 0, terminate 1, grace 5000");
    assert_string_equal(ends(0, 130), "");
    assert_string_equal(ends(1, 0), "finished 130");
}

static void asking_twice_kills_at_once(void **state)
{
    (void)state;
    make_crew(2);
    begin();
    asked(130, true);
    assert_string_equal(asked(143, true), "kill 0, kill 1");
    assert_string_equal(asked(143, true), "");
    assert_string_equal(ends(0, 137), "");
    assert_string_equal(ends(1, 137), "finished 130");
}

static void a_person_who_asks_during_a_stop_does_not_wait_either(void **state)
{
    (void)state;
    make_crew(3);
    begin();
    ends(0, 4);
    assert_string_equal(asked(130, true), "kill 1, kill 2");
    ends(1, 137);
    assert_string_equal(ends(2, 137), "finished 4");
}

static void a_time_limit_does_not_count_as_asking_twice(void **state)
{
    (void)state;
    make_crew(2);
    begin();
    assert_string_equal(asked(6, false), "terminate 0, terminate 1, grace 5000");
    assert_string_equal(asked(6, false), "");
    ends(0, 0);
    assert_string_equal(ends(1, 0), "finished 6");
}

static void who_is_not_waited_for_is_stopped_when_the_others_are_done(void **state)
{
    (void)state;
    make_crew(3);
    crew.members[1].is_awaited = crew.members[2].is_awaited = true;
    begin();
    assert_string_equal(ends(1, 0), "");
    assert_string_equal(ends(2, 0), "terminate 0, grace 5000");
    assert_string_equal(ends(0, 143), "finished 0");
}

static void a_failure_of_who_is_not_waited_for_counts(void **state)
{
    (void)state;
    make_crew(2);
    crew.members[1].is_awaited = true;
    begin();
    assert_string_equal(ends(0, 3), "given-up 0 3, terminate 1, grace 5000");
    assert_string_equal(ends(1, 0), "finished 3");
}

static void a_member_that_may_fail_ends_nothing(void **state)
{
    (void)state;
    make_crew(3);
    crew.members[0].is_awaited = crew.members[1].is_awaited = true;
    crew.members[2].may_fail = true;
    begin();
    assert_string_equal(ends(2, 127), "given-up 2 127");
    assert_string_equal(ends(0, 0), "");
    assert_string_equal(ends(1, 0), "grace 5000, finished 0");
}

static void who_is_waited_for_may_be_started_again(void **state)
{
    (void)state;
    make_crew(2);
    crew.members[1].is_awaited = true;
    crew.members[1].restarts_max = 1;
    begin();
    assert_string_equal(ends(1, 1), "later 1 50");
    assert_string_equal(due(1), "start 1");
    assert_string_equal(ends(1, 0), "terminate 0, grace 5000");
    assert_string_equal(ends(0, 0), "finished 0");
}

static void a_start_that_fails_is_not_tried_again(void **state)
{
    (void)state;
    make_crew(2);
    crew.members[1].restarts_max = 5;
    begin();
    ends(1, 1);
    due(1);
    assert_string_equal(step((struct crew_event){CREW_START_FAILED, 1, 4, false}),
                        "given-up 1 4, terminate 0, grace 5000");
    assert_string_equal(ends(0, 143), "finished 4");
}

static void starts_that_fail_together_are_told_once(void **state)
{
    (void)state;
    make_crew(3);
    begin();
    assert_string_equal(step((struct crew_event){CREW_START_FAILED, 1, 5, false}),
                        "given-up 1 5, terminate 0, terminate 2, grace 5000");
    assert_string_equal(step((struct crew_event){CREW_START_FAILED, 2, 5, false}), "");
    assert_string_equal(ends(0, 143), "finished 5");
}

static void a_member_that_is_lost_with_its_host_starts_again_uncounted(void **state)
{
    (void)state;
    make_crew(2);
    crew.members[0].restarts_max = 1;
    begin();
    for (int i = 0; i < 3; i++) {
        assert_string_equal(step((struct crew_event){CREW_MEMBER_LOST, 0, 137, false}),
                            "later 0 50");
        assert_string_equal(step((struct crew_event){.kind = CREW_START_DUE}), "start 0");
    }
    assert_int_equal(crew.members[0].restarts, 0);
}

static void a_lost_member_without_restarts_has_failed(void **state)
{
    (void)state;
    make_crew(2);
    begin();
    assert_string_equal(step((struct crew_event){CREW_MEMBER_LOST, 0, 137, false}),
                        "given-up 0 137, terminate 1, grace 5000");
}

static void a_lost_member_that_finds_no_place_has_failed(void **state)
{
    (void)state;
    make_crew(2);
    crew.members[0].restarts_max = 1;
    begin();
    step((struct crew_event){CREW_MEMBER_LOST, 0, 137, false});
    assert_string_equal(step((struct crew_event){CREW_START_FAILED, 0, 3, false}),
                        "given-up 0 3, terminate 1, grace 5000");
}

static void the_pause_doubles_up_to_a_second(void **state)
{
    (void)state;
    const uint32_t expected[] = {50, 100, 200, 400, 800, 1000, 1000};
    for (uint32_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(crew_backoff_ms(i + 1), expected[i]);
    assert_int_equal(crew_backoff_ms(UINT32_MAX), 1000);
}

static void the_largest_crew_has_room_for_its_actions(void **state)
{
    (void)state;
    make_crew(CREW_MEMBERS_MAX);
    crew_begin(&crew, &actions);
    assert_int_equal(actions.count, CREW_MEMBERS_MAX);
    const struct crew_event event = {CREW_MEMBER_ENDED, 3, 1, false};
    crew_step(&crew, &event, &actions);
    assert_int_equal(actions.count, CREW_MEMBERS_MAX + 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, drop_crew)
    const struct CMUnitTest tests[] = {
        TEST(all_that_end_well_end_the_crew_with_0),
        TEST(a_failure_ends_the_others_and_gives_the_exit_code),
        TEST(who_does_not_end_in_time_is_killed),
        TEST(a_crew_that_keeps_going_loses_only_who_failed),
        TEST(a_member_is_started_again_as_often_as_allowed),
        TEST(a_restarted_member_that_ends_well_is_no_failure),
        TEST(who_rests_when_the_end_comes_is_not_started_again),
        TEST(an_end_that_is_asked_for_while_all_rest_comes_at_once),
        TEST(no_restart_follows_once_the_end_was_asked_for),
        TEST(asking_twice_kills_at_once),
        TEST(a_person_who_asks_during_a_stop_does_not_wait_either),
        TEST(a_time_limit_does_not_count_as_asking_twice),
        TEST(who_is_not_waited_for_is_stopped_when_the_others_are_done),
        TEST(a_failure_of_who_is_not_waited_for_counts),
        TEST(a_member_that_may_fail_ends_nothing),
        TEST(who_is_waited_for_may_be_started_again),
        TEST(a_start_that_fails_is_not_tried_again),
        TEST(starts_that_fail_together_are_told_once),
        TEST(a_member_that_is_lost_with_its_host_starts_again_uncounted),
        TEST(a_lost_member_without_restarts_has_failed),
        TEST(a_lost_member_that_finds_no_place_has_failed),
        TEST(the_pause_doubles_up_to_a_second),
        TEST(the_largest_crew_has_room_for_its_actions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
