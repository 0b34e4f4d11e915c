// Tests of clients that come again and know facts about a host, and of journals that lack some of them.
#include "resource/queue/queue_testing.h"
#include "resource/resource_testing.h"

enum { FIRST_MARK = 1000 };

static void begin_life(void)
{
    uint64_t mark;
    const uint64_t life = host_life(testing.host, &mark);
    testing_must(host_begin_life(testing.host, FIRST_MARK + life));
}

// The knowledge of a client that got all answers, in the life of that number.
static struct host_memory memory_of(const struct testing_member *member, uint64_t life)
{
    return (struct host_memory){
        .epoch = host_epoch(testing.host),
        .life = life,
        .mark = FIRST_MARK + life - 1,
        .session_number = member->number,
        .changes = member->session->applied,
        .answers = session_answer_count(member->session),
    };
}

static void expect_loss(weft_err err, const char *why)
{
    assert_int_equal(err, WEFT_DATA_LOSS);
    assert_non_null(strstr(err_text(), why));
    assert_non_null(strstr(err_text(), "its journal is an older one"));
    err_clear();
}

static void who_knows_no_more_than_the_journal_goes_on(void **state)
{
    (void)state;
    begin_life();
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    expect_ok(a, push(a, q, "a"));
    const struct host_memory before = memory_of(a, 1);
    testing_must(host_check_memory(testing.host, a->session, &before));
    begin_life();
    testing_must(host_check_memory(testing.host, a->session, &before));
    expect_ok(a, push(a, q, "b"));
    begin_life();
    testing_must(host_check_memory(testing.host, a->session, &before));
    const struct host_memory later = memory_of(a, 2);
    testing_must(host_check_memory(testing.host, a->session, &later));
}

static void calls_and_answers_that_are_missing_are_a_loss(void **state)
{
    (void)state;
    begin_life();
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    expect_ok(a, push(a, q, "a"));
    struct host_memory more = memory_of(a, 1);
    more.changes++;
    expect_loss(host_check_memory(testing.host, a->session, &more), "calls that it answered");
    more = memory_of(a, 1);
    more.answers++;
    expect_loss(host_check_memory(testing.host, a->session, &more), "answers that it gave");
    more.life = more.mark = 0;  // of a host without a journal, or a client that knows of no lives
    expect_loss(host_check_memory(testing.host, a->session, &more), "answers that it gave");
}

// It had its answer in the part that is lost. Before it comes again the same call is answered anew, by what
// another has pushed: the numbers fit, and their meaning does not.
static void what_was_answered_since_does_not_make_up_for_it(void **state)
{
    (void)state;
    begin_life();
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    const uint16_t of_b = open_queue(b, "q", (struct queue_limits){0});
    pop(a, q);
    struct host_memory knows = memory_of(a, 1);
    knows.answers++;
    begin_life();
    expect_ok(b, push(b, of_b, "another"));
    assert_int_equal(knows.answers, session_answer_count(a->session));
    expect_loss(host_check_memory(testing.host, a->session, &knows), "answers that it gave");
    const struct host_memory told = memory_of(a, 2);
    testing_must(host_check_memory(testing.host, a->session, &told));
}

static void a_life_that_is_not_in_the_journal_is_a_loss(void **state)
{
    (void)state;
    begin_life();
    begin_life();
    struct testing_member *a = testing_join("/work/0");
    struct host_memory memory = memory_of(a, 2);
    testing_must(host_check_memory(testing.host, a->session, &memory));
    memory.mark++;
    expect_loss(host_check_memory(testing.host, a->session, &memory), "the life in which");
    memory = memory_of(a, 3);
    expect_loss(host_check_memory(testing.host, a->session, &memory), "the life in which");
}

static void a_session_that_is_not_in_the_journal_is_a_loss(void **state)
{
    (void)state;
    begin_life();
    struct testing_member *a = testing_join("/work/0");
    struct host_memory memory = memory_of(a, 1);
    testing_must(host_end_session(testing.host, a->session));
    a->session = NULL;
    testing_must(host_check_stranger(testing.host, &memory));  // given up in the same life
    begin_life();
    testing_join("/work/1");
    testing_must(host_check_stranger(testing.host, &memory));
    memory.session_number = 2;  // that of another: it was lost with the end of life 1
    expect_loss(host_check_stranger(testing.host, &memory), "the session between them");
    memory.session_number = 1;
    memory.mark++;
    expect_loss(host_check_stranger(testing.host, &memory), "the life in which");
    memory.mark--;
    memory.epoch++;
    expect_loss(host_check_stranger(testing.host, &memory), "the life in which");
    memory.life = 0;  // it had no journal: its content is gone, and every client knows that
    testing_must(host_check_stranger(testing.host, &memory));
}

static void lives_that_are_forgotten_are_no_loss(void **state)
{
    (void)state;
    begin_life();
    struct testing_member *a = testing_join("/work/0");
    const struct host_memory memory = memory_of(a, 1);
    for (int i = 0; i < 200; i++)
        begin_life();
    testing_must(host_check_memory(testing.host, a->session, &memory));
    testing_must(host_check_stranger(testing.host, &memory));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_knows_no_more_than_the_journal_goes_on),
        TEST(calls_and_answers_that_are_missing_are_a_loss),
        TEST(what_was_answered_since_does_not_make_up_for_it),
        TEST(a_life_that_is_not_in_the_journal_is_a_loss),
        TEST(a_session_that_is_not_in_the_journal_is_a_loss),
        TEST(lives_that_are_forgotten_are_no_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
