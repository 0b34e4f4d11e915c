// Tests of asks and containers, against answers as a resource manager gives them.
#include "launch/yarn/yarn_roster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "launch/yarn/yarn_message.h"

static struct yarn_roster roster;
static struct yarn_event event;

static int begin(void **state)
{
    (void)state;
    roster = (struct yarn_roster){0};
    return 0;
}

static int end(void **state)
{
    (void)state;
    roster_fini(&roster);
    return 0;
}

// ---- Answers ------------------------------------------------------------------------------------------------------

static void register_with(int64_t memory_mb, int32_t cores, const char *type)
{
    struct yarn_maker maker = {0};
    Hadoop__RegisterAnswer *answer = yarn_make(&maker, &hadoop__register_answer__descriptor);
    answer->maximum = yarn_make(&maker, &hadoop__resource__descriptor);
    answer->maximum->has_memory_mb = answer->maximum->has_cores = true;
    answer->maximum->memory_mb = memory_mb;
    answer->maximum->cores = cores;
    answer->queue = yarn_make_text(&maker, "root.q");
    if (type) {
        Hadoop__ResourceType *one = yarn_make_next(&maker, &hadoop__resource_type__descriptor,
                                                   &answer->types, &answer->n_types);
        one->name = yarn_make_text(&maker, type);
    }
    roster_take_registration(&roster, answer);
    yarn_free(answer);
}

static struct yarn_container_id id_of(int64_t number)
{
    return (struct yarn_container_id){{1700000000000, 7}, 1, number};
}

struct answer {
    struct yarn_maker maker;
    Hadoop__AllocateAnswer *message;
};

static struct answer new_answer(int32_t response)
{
    struct answer answer = {0};
    answer.message = yarn_make(&answer.maker, &hadoop__allocate_answer__descriptor);
    answer.message->has_response = true;
    answer.message->response = response;
    return answer;
}

static void add_grant(struct answer *answer, int64_t number, size_t ask, const char *host)
{
    const struct yarn_container_id id = id_of(number);
    Hadoop__Container *one =
        yarn_make_next(&answer->maker, &hadoop__container__descriptor, &answer->message->allocated,
                       &answer->message->n_allocated);
    one->id = yarn_make(&answer->maker, &hadoop__container_id__descriptor);
    yarn_make_id(&answer->maker, &id, one->id);
    one->node = yarn_make(&answer->maker, &hadoop__node_id__descriptor);
    one->node->host = yarn_make_text(&answer->maker, host);
    one->node->has_port = true;
    one->node->port = 45454;
    one->priority = yarn_make(&answer->maker, &hadoop__priority__descriptor);
    one->priority->has_value = true;
    one->priority->value = (int32_t)ask + 1;
    one->token = yarn_make(&answer->maker, &hadoop__token__descriptor);
    one->token->kind = yarn_make_text(&answer->maker, "ContainerToken");
    one->token->service = yarn_make_text(&answer->maker, "");
}

static void add_status(struct answer *answer, int64_t number, int32_t status)
{
    const struct yarn_container_id id = id_of(number);
    Hadoop__ContainerStatus *one =
        yarn_make_next(&answer->maker, &hadoop__container_status__descriptor,
                       &answer->message->completed, &answer->message->n_completed);
    one->id = yarn_make(&answer->maker, &hadoop__container_id__descriptor);
    yarn_make_id(&answer->maker, &id, one->id);
    one->has_exit_status = true;
    one->exit_status = status;
}

static void take(struct answer answer)
{
    assert_false(answer.maker.has_failed);
    roster_take_answer(&roster, answer.message);
    yarn_free(answer.message);
}

static void grant(int64_t number, size_t ask, const char *host)
{
    struct answer answer = new_answer(1);
    add_grant(&answer, number, ask, host);
    take(answer);
}

static void finish(int64_t number, int32_t status)
{
    struct answer answer = new_answer(1);
    add_status(&answer, number, status);
    take(answer);
}

// ---- Expectations -------------------------------------------------------------------------------------------------

static void expect_event(enum yarn_event_kind kind)
{
    assert_true(roster_next_event(&roster, &event));
    assert_int_equal(event.kind, kind);
    if (event.kind != YARN_EVENT_REFUSED)
        free(event.text);
}

static void expect_no_event(void)
{
    assert_false(roster_next_event(&roster, &event));
}

static void expect_refusal(size_t ask, const char *words)
{
    expect_event(YARN_EVENT_REFUSED);
    assert_int_equal(event.ask, ask);
    if (!strstr(event.text, words))
        fail_msg("\"%s\" does not contain \"%s\"", event.text, words);
    free(event.text);
}

static struct yarn_grant *expect_grant(void)
{
    expect_event(YARN_EVENT_GRANTED);
    return event.grant;
}

static void expect_end(struct yarn_grant *of, enum yarn_end_kind kind)
{
    expect_event(YARN_EVENT_ENDED);
    assert_ptr_equal(event.grant, of);
    assert_int_equal(of->end.kind, kind);
    assert_true(of->end.text[0]);
    roster_forget(&roster, of);
}

// "1:*=2" is a line: ask 0 (priority 1), anywhere, two.
static void expect_request(const char *lines)
{
    struct buf text = {0};
    Hadoop__Allocate *request = roster_make_request(&roster);
    assert_non_null(request);
    for (size_t i = 0; i < request->n_asks; i++) {
        const Hadoop__ResourceRequest *line = request->asks[i];
        assert_int_equal(line->priority->value, line->request);
        buf_format(&text, "%s%d:%s=%d%s%s", i ? " " : "", (int)line->priority->value, line->place,
                   (int)line->count, line->relaxes_locality ? "" : "!",
                   line->label ? line->label : "");
    }
    for (size_t i = 0; i < request->n_releases; i++)
        buf_format(&text, " -%d", (int)request->releases[i]->number);
    for (size_t i = 0; request->blacklist && i < request->blacklist->n_additions; i++)
        buf_format(&text, " +%s", request->blacklist->additions[i]);
    for (size_t i = 0; request->blacklist && i < request->blacklist->n_removals; i++)
        buf_format(&text, " /%s", request->blacklist->removals[i]);
    assert_string_equal(buf_text(&text), lines);
    buf_fini(&text);
    yarn_free(request);
}

static size_t ask_for(const struct yarn_want *want)
{
    size_t ask;
    assert_int_equal(roster_ask(&roster, want, &ask), WEFT_OK);
    return ask;
}

static const struct yarn_want two = {.count = 2, .memory_bytes = 512 << 20};

// ---- Tests --------------------------------------------------------------------------------------------------------

static void an_ask_is_sent_once_and_granted(void **state)
{
    (void)state;
    const size_t ask = ask_for(&two);
    expect_request("1:*=2");
    take(new_answer(5));
    expect_request("");
    assert_int_equal(roster.response, 5);
    grant(1, ask, "one");
    const struct yarn_grant *first = expect_grant();
    assert_string_equal(first->shown.id, "container_1700000000000_0007_01_000001");
    assert_string_equal(first->shown.host, "one");
    assert_int_equal(first->shown.port, 45454);
    assert_int_equal(roster_outstanding(&roster), 1);
    expect_request("");  // the scheduler has counted that
    grant(2, ask, "one");
    expect_grant();
    assert_int_equal(roster_outstanding(&roster), 0);
    expect_no_event();
}

static void a_grant_is_taken_once(void **state)
{
    (void)state;
    const size_t ask = ask_for(&two);
    grant(1, ask, "one");
    grant(1, ask, "one");
    expect_grant();
    expect_no_event();
    assert_int_equal(roster_outstanding(&roster), 1);
}

static void surplus_goes_back_until_that_is_confirmed(void **state)
{
    (void)state;
    const size_t ask = ask_for(&two);
    roster_withdraw(&roster, ask);
    expect_request("1:*=0");
    grant(1, ask, "one");
    grant(2, 99, "one");  // of no ask of ours
    expect_no_event();
    expect_request(" -1 -2");
    finish(1, -100);
    expect_request(" -2");
    expect_no_event();
    for (int i = 0; i < 30; i++)
        take(new_answer(1));
    expect_request("");  // it is not known any more
}

static void a_container_that_is_given_back_ends_as_stopped(void **state)
{
    (void)state;
    const size_t ask = ask_for(&two);
    grant(1, ask, "one");
    grant(2, ask, "one");
    struct yarn_grant *first = expect_grant(), *second = expect_grant();
    roster_release(&roster, first);
    roster_release(&roster, first);
    roster_release(&roster, second);
    expect_request("1:*=0 -1 -2");
    finish(1, -100);
    expect_end(first, YARN_STOPPED);
    for (int i = 0; i < 30; i++)
        take(new_answer(1));
    expect_end(second, YARN_STOPPED);
}

static void an_end_is_reported_once_and_after_the_call(void **state)
{
    (void)state;
    const size_t ask = ask_for(&two);
    grant(1, ask, "one");
    struct yarn_grant *one = expect_grant();
    one->state = YARN_GRANT_STARTING;
    one->is_busy = true;
    finish(1, 3);
    finish(1, 4);
    expect_no_event();
    one->is_busy = false;
    roster_settle(&roster, one);
    assert_int_equal(one->end.exit_code, 3);
    expect_end(one, YARN_EXITED);
    roster_take_answer(&roster, &(Hadoop__AllocateAnswer)HADOOP__ALLOCATE_ANSWER__INIT);
    expect_no_event();
    finish(1, 3);
    expect_no_event();
}

static void hosts_that_are_excluded_grant_nothing(void **state)
{
    (void)state;
    const size_t ask = ask_for(&two);
    expect_request("1:*=2");
    assert_int_equal(roster_exclude(&roster, "bad", true), WEFT_OK);
    assert_true(roster_has_news(&roster));
    expect_request(" +bad");
    take(new_answer(1));
    assert_false(roster_has_news(&roster));
    grant(1, ask, "bad");  // it was on its way
    expect_no_event();
    expect_request("1:*=2 -1");
    assert_int_equal(roster_exclude(&roster, "bad", true), WEFT_OK);
    expect_request(" -1");
    assert_int_equal(roster_exclude(&roster, "bad", false), WEFT_OK);
    expect_request(" -1 /bad");
    grant(2, ask, "bad");
    expect_grant();
}

static void take_nodes(void)
{
    struct yarn_maker maker = {0};
    static const char *const names[] = {"one", "two", "three"};
    static const char *const racks[] = {"/a", "/a", "/b"};
    Hadoop__NodesAnswer *nodes = yarn_make(&maker, &hadoop__nodes_answer__descriptor);
    for (int i = 0; i < 3; i++) {
        Hadoop__NodeReport *one = yarn_make_next(&maker, &hadoop__node_report__descriptor,
                                                 &nodes->nodes, &nodes->n_nodes);
        one->node = yarn_make(&maker, &hadoop__node_id__descriptor);
        one->node->host = yarn_make_text(&maker, names[i]);
        one->rack = yarn_make_text(&maker, racks[i]);
    }
    roster_take_nodes(&roster, nodes);
    yarn_free(nodes);
}

static void hosts_are_asked_for_with_their_racks(void **state)
{
    static const char *const hosts[] = {"one", "two", "three", "nowhere", NULL};
    static const char *const nowhere[] = {"nowhere", "nobody", NULL};
    (void)state;
    const size_t near = ask_for(&(struct yarn_want){.count = 1, .hosts = hosts});
    ask_for(&(struct yarn_want){.count = 1, .hosts = hosts, .is_strict = true});
    const size_t lost =
        ask_for(&(struct yarn_want){.count = 1, .hosts = nowhere, .is_strict = true});
    assert_true(roster_needs_nodes(&roster));
    expect_request("");
    take_nodes();
    assert_false(roster_needs_nodes(&roster));
    expect_refusal(lost, "nowhere, nobody");
    expect_request("1:one=1 1:/a=1 1:two=1 1:three=1 1:/b=1 1:*=1 "
                   "2:one=1 2:/a=1! 2:two=1 2:three=1 2:/b=1! 2:*=1!");
    take(new_answer(1));
    // The scheduler has counted it at its host, and not at the others.
    grant(1, near, "one");
    expect_grant();
    expect_request("1:one=0 1:/a=0 1:two=0 1:three=0 1:/b=0");
    expect_no_event();
}

static void labels_are_of_the_line_for_all_places(void **state)
{
    (void)state;
    ask_for(&(struct yarn_want){.count = 3, .label = "gpu"});
    expect_request("1:*=3gpu");
}

static void wants_beyond_the_cluster_are_refused(void **state)
{
    static const struct yarn_amount gpu = {"yarn.io/gpu", 1}, fpga = {"yarn.io/fpga", 1};
    (void)state;
    const size_t early = ask_for(&(struct yarn_want){.count = 1, .memory_bytes = 4097ULL << 20});
    register_with(4096, 8, "yarn.io/gpu");
    expect_event(YARN_EVENT_REGISTERED);
    expect_refusal(early, "4097 MB");
    expect_refusal(ask_for(&(struct yarn_want){.count = 1, .cores = 9}), "9 cores");
    expect_refusal(ask_for(&(struct yarn_want){.count = 1, .amounts = &fpga, .amount_count = 1}),
                   "yarn.io/fpga");
    ask_for(&(struct yarn_want){.count = 1, .amounts = &gpu, .amount_count = 1});
    ask_for(&(struct yarn_want){.count = 1, .memory_bytes = 4096ULL << 20, .cores = 8});
    expect_no_event();
    expect_request("4:*=1 5:*=1");
    size_t ask;
    assert_int_equal(roster_ask(&roster, &(struct yarn_want){0}, &ask), WEFT_INVALID_ARGUMENT);
    err_clear();
}

static void the_one_that_is_refused_is_found(void **state)
{
    (void)state;
    ask_for(&two);
    const size_t bad = ask_for(&two);
    ask_for(&two);
    expect_request("1:*=2 2:*=2 3:*=2");
    roster_take_refusal(&roster, "no such label");
    expect_no_event();
    assert_true(roster_has_news(&roster));
    expect_request("1:*=2");
    take(new_answer(1));
    expect_request("2:*=2");
    roster_take_refusal(&roster, "no such label");
    expect_refusal(bad, "no such label");
    expect_request("3:*=2");
    take(new_answer(1));
    expect_request("");
    ask_for(&two);
    ask_for(&two);
    expect_request("4:*=2 5:*=2");
}

static void a_request_that_was_not_carried_out_is_repeated(void **state)
{
    static const char *const hosts[] = {"one", NULL};
    (void)state;
    ask_for(&(struct yarn_want){.count = 1, .hosts = hosts});
    take_nodes();
    assert_int_equal(roster_exclude(&roster, "bad", true), WEFT_OK);
    expect_request("1:one=1 1:/a=1 1:*=1 +bad");
    roster_take_back(&roster);
    expect_request("1:one=1 1:/a=1 1:*=1 +bad");
    take(new_answer(1));
    roster_take_back(&roster);
    expect_request(" +bad");
}

static void everything_is_sent_again_after_a_restart(void **state)
{
    (void)state;
    const size_t ask = ask_for(&two);
    assert_int_equal(roster_exclude(&roster, "bad", true), WEFT_OK);
    expect_request("1:*=2 +bad");
    struct answer answer = new_answer(7);
    add_grant(&answer, 1, ask, "one");
    take(answer);
    struct yarn_grant *running = expect_grant();
    running->state = YARN_GRANT_RUNNING;
    const size_t more = ask_for(&(struct yarn_want){.count = 3});
    expect_request("2:*=3");
    grant(2, more, "one");
    grant(3, more, "one");
    struct yarn_grant *unused = expect_grant(), *returned = expect_grant();
    roster_release(&roster, returned);
    roster_resync(&roster);
    assert_int_equal(roster.response, 0);
    expect_end(returned, YARN_STOPPED);
    expect_end(unused, YARN_LOST);
    expect_no_event();
    expect_request("1:*=1 2:*=1 -3 +bad");
    finish(1, 0);
    expect_end(running, YARN_EXITED);
}

static void take_kept(int64_t number)
{
    struct answer answer = new_answer(1);
    add_grant(&answer, number, 0, "one");
    answer.message->kept = answer.message->allocated;
    answer.message->n_kept = 1;
    answer.message->allocated = NULL;
    answer.message->n_allocated = 0;
    take(answer);
}

static void containers_of_the_attempt_before_are_kept(void **state)
{
    (void)state;
    roster.takes_kept = true;
    take_kept(1);
    expect_event(YARN_EVENT_KEPT);
    struct yarn_grant *one = event.grant;
    assert_true(one->shown.ask == YARN_ASK_KEPT);
    take_kept(1);
    expect_no_event();
    roster_resync(&roster);
    expect_no_event();
    finish(1, 0);
    expect_end(one, YARN_EXITED);
}

static void containers_that_the_owner_does_not_know_go_back(void **state)
{
    (void)state;
    take_kept(1);
    expect_no_event();
    expect_request(" -1");
}

static void preemption_is_news_once(void **state)
{
    (void)state;
    const size_t ask = ask_for(&two);
    grant(1, ask, "one");
    expect_grant();
    for (int i = 0; i < 2; i++) {
        const struct yarn_container_id id = id_of(1);
        struct answer answer = new_answer(1);
        Hadoop__Preemption *preemption = answer.message->preemption =
            yarn_make(&answer.maker, &hadoop__preemption__descriptor);
        preemption->strict = yarn_make(&answer.maker, &hadoop__contract__descriptor);
        preemption->negotiation = yarn_make(&answer.maker, &hadoop__negotiation__descriptor);
        Hadoop__PreemptedContainer *one =
            i ? yarn_make_next(&answer.maker, &hadoop__preempted_container__descriptor,
                               &preemption->strict->containers, &preemption->strict->n_containers)
              : yarn_make_next(&answer.maker, &hadoop__preempted_container__descriptor,
                               &preemption->negotiation->containers,
                               &preemption->negotiation->n_containers);
        one->id = yarn_make(&answer.maker, &hadoop__container_id__descriptor);
        yarn_make_id(&answer.maker, &id, one->id);
        take(answer);
    }
    expect_event(YARN_EVENT_NEWS);
    expect_no_event();
}

static void tokens_of_nodes_are_replaced(void **state)
{
    struct yarn_maker maker = {0};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct answer answer = new_answer(1);
        Hadoop__NodeToken *one =
            yarn_make_next(&answer.maker, &hadoop__node_token__descriptor,
                           &answer.message->node_tokens, &answer.message->n_node_tokens);
        one->node = yarn_make(&answer.maker, &hadoop__node_id__descriptor);
        one->node->host = yarn_make_text(&answer.maker, "one");
        one->node->has_port = true;
        one->node->port = 1;
        one->token = yarn_make(&answer.maker, &hadoop__token__descriptor);
        one->token->kind = yarn_make_text(&answer.maker, i ? "second" : "first");
        one->token->service = yarn_make_text(&answer.maker, "");
        take(answer);
    }
    assert_false(maker.has_failed);
    assert_int_equal(roster.node_tokens.count, 1);
    assert_string_equal(roster_node_token(&roster, "one", 1)->kind, "second");
    assert_null(roster_node_token(&roster, "one", 2));
    assert_null(roster_node_token(&roster, "two", 1));
}

static void an_ask_that_waits_is_described(void **state)
{
    struct buf text = {0};
    (void)state;
    register_with(4096, 8, NULL);
    expect_event(YARN_EVENT_REGISTERED);
    const size_t ask =
        ask_for(&(struct yarn_want){.count = 2, .memory_bytes = 1 << 30, .label = "x"});
    struct answer answer = new_answer(1);
    answer.message->limit = yarn_make(&answer.maker, &hadoop__resource__descriptor);
    answer.message->limit->has_memory_mb = answer.message->limit->has_cores = true;
    answer.message->limit->memory_mb = 512;
    answer.message->limit->cores = -1;
    take(answer);
    roster_describe(&roster, ask, &text);
    static const char *const words[] = {"2 of 1024 MB", "queue root.q", "label x",
                                        "512 MB",       "0 cores left", "no node manager"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(buf_text(&text), words[i]))
            fail_msg("\"%s\" does not contain \"%s\"", buf_text(&text), words[i]);
    buf_fini(&text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_ask_is_sent_once_and_granted),
        TEST(a_grant_is_taken_once),
        TEST(surplus_goes_back_until_that_is_confirmed),
        TEST(a_container_that_is_given_back_ends_as_stopped),
        TEST(an_end_is_reported_once_and_after_the_call),
        TEST(hosts_that_are_excluded_grant_nothing),
        TEST(hosts_are_asked_for_with_their_racks),
        TEST(labels_are_of_the_line_for_all_places),
        TEST(wants_beyond_the_cluster_are_refused),
        TEST(the_one_that_is_refused_is_found),
        TEST(a_request_that_was_not_carried_out_is_repeated),
        TEST(everything_is_sent_again_after_a_restart),
        TEST(containers_of_the_attempt_before_are_kept),
        TEST(containers_that_the_owner_does_not_know_go_back),
        TEST(preemption_is_news_once),
        TEST(tokens_of_nodes_are_replaced),
        TEST(an_ask_that_waits_is_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
