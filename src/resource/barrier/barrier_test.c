// A barrier: which calls wait, which return, and its state after a restart.
#include "resource/resource_testing.h"
#include "wire/pack.h"

static uint16_t open_for(struct testing_member *member, uint32_t count)
{
    return testing_open(member, CALL_KIND_BARRIER, "start", PAYLOAD(U32(count)));
}

static uint64_t wait_at(struct testing_member *member, uint16_t barrier)
{
    return testing_call(member, CALL_BARRIER_WAIT, 0, barrier, weft_none());
}

static void all_go_on_when_the_last_one_comes(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t of_a = open_for(a, 3), of_b = open_for(b, 3);
    for (uint64_t generation = 1; generation <= 3; generation++) {
        const uint64_t first = wait_at(a, of_a), second = wait_at(b, of_b);
        testing_expect_waiting(a, first);
        testing_expect_waiting(b, second);
        const uint64_t third = wait_at(a, of_a);
        assert_int_equal(testing_first_answered(a), first);
        testing_expect(a, first, 0, PAYLOAD(U64(generation)));
        testing_expect(b, second, 0, PAYLOAD(U64(generation)));
        testing_expect(a, third, 0, PAYLOAD(U64(generation)));
    }
}

static void barrier_for_one_never_holds_anyone(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t barrier = open_for(a, 1);
    testing_expect(a, wait_at(a, barrier), 0, PAYLOAD(U64(1)));
    testing_expect(a, wait_at(a, barrier), 0, PAYLOAD(U64(2)));
}

static void one_that_gives_up_is_missing(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    struct testing_member *c = testing_join("/work/2");
    const uint16_t of_a = open_for(a, 2), of_b = open_for(b, 2), of_c = open_for(c, 2);
    const uint64_t cancelled = wait_at(a, of_a);
    testing_call(a, CALL_CANCEL, 0, 0, PAYLOAD(U64(cancelled)));
    testing_expect_failure(a, cancelled, WEFT_CANCELLED, "barrier 'start'");
    wait_at(b, of_b);
    testing_end(b);
    const uint64_t patient = wait_at(c, of_c);
    testing_expect_waiting(c, patient);
    const uint64_t second = wait_at(a, of_a);
    testing_expect(c, patient, 0, PAYLOAD(U64(1)));
    testing_expect(a, second, 0, PAYLOAD(U64(1)));
}

static void waits_survive_a_restart(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t of_a = open_for(a, 3), of_b = open_for(b, 3);
    testing_expect_waiting(a, wait_at(a, of_a));
    const uint64_t first = wait_at(b, of_b);
    testing_restart();
    testing_expect_waiting(b, first);
    testing_restart_from_snapshot();
    testing_expect_waiting(b, first);
    testing_expect(a, wait_at(a, of_a), 0, PAYLOAD(U64(1)));
    testing_expect(b, first, 0, PAYLOAD(U64(1)));
}

// A snapshot has waits resource by resource; answers are counted in their order, so it must not show.
static void waits_end_from_the_last_call_to_the_first(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t x = testing_open(a, CALL_KIND_BARRIER, "x", PAYLOAD(U32(3)));
    const uint16_t y = testing_open(a, CALL_KIND_BARRIER, "y", PAYLOAD(U32(3)));
    const uint64_t first = wait_at(a, y), second = wait_at(a, x), third = wait_at(a, y);
    testing_call(a, CALL_LEAVE, 0, 0, weft_none());
    const uint64_t waits[] = {third, second, first};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(testing_first_answered(a), waits[i]);
        testing_expect_failure(a, waits[i], WEFT_CANCELLED, "has left");
    }
}

// Watches are not journalled, so the room that they fill must not decide about calls that are.
static void watches_leave_room_for_waits(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t barrier = open_for(a, 2);
    const uint16_t var = testing_open(a, CALL_KIND_VAR, "x", weft_none());
    for (unsigned i = 0; i < SESSION_WAITS_MAX; i++)
        testing_call(a, CALL_VAR_WATCH, 0, var, PAYLOAD(U64(0)));
    testing_expect_failure(a, testing_call(a, CALL_VAR_WATCH, 0, var, PAYLOAD(U64(0))),
                           WEFT_RESOURCE_EXHAUSTED, "that is the limit");
    testing_expect_waiting(a, wait_at(a, barrier));
}

static void removal_ends_all_waits(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t of_a = open_for(a, 3), of_b = open_for(b, 3);
    const uint64_t wait = wait_at(a, of_a);
    testing_expect(b, testing_call(b, CALL_REMOVE, 0, of_b, weft_none()), 0, weft_none());
    testing_expect_failure(a, wait, WEFT_ABORTED, "removed");
    testing_expect_failure(a, wait_at(a, of_a), WEFT_NOT_FOUND, "was removed");
}

static void senseless_calls_are_refused(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    testing_expect_failure(a, testing_try_open(a, CALL_KIND_BARRIER, "x", weft_none()),
                           WEFT_INVALID_ARGUMENT, "must give the count");
    testing_expect_failure(a, testing_try_open(a, CALL_KIND_BARRIER, "x", PAYLOAD(U32(0))),
                           WEFT_INVALID_ARGUMENT, "at least 1");
    testing_expect_failure(a, testing_try_open(a, CALL_KIND_BARRIER, "x", PAYLOAD(U8(1))),
                           WEFT_INVALID_ARGUMENT, "4 bytes");
    const uint16_t barrier = open_for(a, 2);
    testing_expect_failure(a, testing_try_open(a, CALL_KIND_BARRIER, "start", PAYLOAD(U32(3))),
                           WEFT_INVALID_ARGUMENT, "'start' is for 2, not for 3");
    testing_expect_failure(a, testing_call(a, CALL_VAR_SET, 0, barrier, weft_none()),
                           WEFT_INVALID_ARGUMENT,
                           "what this barrier is asked for (VAR_SET, flags 0)");
    testing_expect_failure(a, testing_call(a, CALL_BARRIER_WAIT, 0, barrier, PAYLOAD(U8(1))),
                           WEFT_INVALID_ARGUMENT, "no operands");
    open_for(a, 2);
    testing_open(a, CALL_KIND_BARRIER, "start", weft_none());
}

static void damaged_parts_are_refused(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    open_for(a, 2);
    const weft_bytes parts[] = {
        PAYLOAD(U32(1)),
        PAYLOAD(U64(1), U32(1)),
        PAYLOAD(U64(1), U32(9), U64(5)),
        PAYLOAD(U64(1), U32(1), U64(5), U32(1), U64(6)),
    };
    struct host *host = testing_new_host(false);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct resource *barrier;
        const struct session_name name = {.id = {(uint8_t)i}, .member = "/work/9"};
        struct session *session;
        testing_must(host_open_session(host, &name, &session));
        char key[2] = {(char)('a' + i), 0};
        testing_must(host_open_resource(host, CALL_KIND_BARRIER, weft_text("files"), weft_text(key),
                                        PAYLOAD(U32(2)), &barrier));
        struct pack_reader reader = {parts[i], false};
        assert_int_equal(barrier->kind->load(barrier, &reader), WEFT_DATA_LOSS);
    }
    host_free(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(all_go_on_when_the_last_one_comes),
        TEST(barrier_for_one_never_holds_anyone),
        TEST(one_that_gives_up_is_missing),
        TEST(waits_survive_a_restart),
        TEST(waits_end_from_the_last_call_to_the_first),
        TEST(watches_leave_room_for_waits),
        TEST(removal_ends_all_waits),
        TEST(senseless_calls_are_refused),
        TEST(damaged_parts_are_refused),
    };
    return cmocka_run_group_tests_name("resource/barrier", tests, NULL, NULL);
}
