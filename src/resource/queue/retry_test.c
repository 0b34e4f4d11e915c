// Tests of dead letters: why they are there, also after a restart, and their way back.
#include "resource/queue/queue_testing.h"
#include "wire/pack.h"

static uint64_t fail_because(struct testing_member *member, uint16_t queue, struct call_item item,
                             uint64_t when_s, const char *reason)
{
    char name[CALL_ITEM_BYTES];
    pack_put_item(name, &item);
    struct buf payload = {0};
    buf_append(&payload, name, sizeof name);
    pack_write_u32(&payload, 0);
    pack_write_u64(&payload, when_s);
    pack_write_text(&payload, weft_text(reason));
    const uint64_t sequence =
        testing_call(member, CALL_QUEUE_GIVE_BACK, CALL_FLAG_BURY, queue, buf_bytes(&payload));
    buf_fini(&payload);
    return sequence;
}

// The first element of a queue, its note, and nothing more.
static void expect_note(struct testing_member *member, uint16_t queue, const char *element,
                        uint64_t when_s, uint32_t deliveries, const char *reason)
{
    const struct answer answer = testing_answer(
        member, testing_call(member, CALL_QUEUE_PEEK, CALL_FLAG_NOTES, queue, PAYLOAD(U32(1))));
    struct pack_reader reader = {answer.payload, false};
    pack_read_u64(&reader);
    pack_read_u32(&reader);
    pack_read_u8(&reader);
    const weft_bytes is = pack_read_blob(&reader);
    assert_int_equal(is.size, strlen(element));
    assert_memory_equal(is.data, element, is.size);
    assert_int_equal(pack_read_u8(&reader), reason != NULL);
    if (!reason)
        return;
    assert_int_equal(pack_read_u64(&reader), when_s);
    assert_int_equal(pack_read_u32(&reader), deliveries);
    const weft_bytes said = pack_read_text(&reader);
    assert_int_equal(said.size, strlen(reason));
    assert_memory_equal(said.data, reason, said.size);
    assert_int_equal(reader.rest.size, 0);
}

static uint64_t retry(struct testing_member *member, uint16_t queue, uint64_t count)
{
    return testing_call(member, CALL_QUEUE_RETRY, 0, queue, PAYLOAD(U64(count)));
}

static void a_dead_letter_says_why_and_when_it_failed(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.deliveries = 1});
    open_queue(b, "q", (struct queue_limits){.deliveries = 1});
    expect_ok(a, push_many(a, q, "abc"));
    expect_buried(a, fail_because(a, q, take_now(a, q, "a", 1), 1234, "exited with code 1"));
    const uint16_t dead = testing_open(a, CALL_KIND_QUEUE, "q.dead", weft_none());
    expect_note(a, dead, "a", 1234, 1, "exited with code 1");
    testing_restart();
    expect_note(a, dead, "a", 1234, 1, "exited with code 1");
    testing_restart_from_snapshot();
    expect_note(a, dead, "a", 1234, 1, "exited with code 1");
    take_now(b, q, "b", 1);
    testing_end(b);
    take_now(a, dead, "a", 1);
    expect_note(a, dead, "b", 0, 1, "/work/1 was lost");
    expect_note(a, q, "c", 0, 0, NULL);
}

static void dead_letters_go_back_and_are_counted_anew(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.deliveries = 1});
    expect_ok(a, push_many(a, q, "abcd"));
    for (const char *at = "abc"; *at; at++)
        expect_buried(a, bury(a, q, take_now(a, q, (char[]){*at, 0}, 1)));
    const uint16_t dead = testing_open(a, CALL_KIND_QUEUE, "q.dead", weft_none());
    testing_expect(a, retry(a, dead, 1), 0, PAYLOAD(U64(1)));
    expect_stored(a, q, "ad");
    testing_expect(a, retry(a, dead, 0), 0, PAYLOAD(U64(2)));
    expect_stored(a, q, "abcd");
    expect_stored(a, dead, "");
    testing_expect(a, retry(a, dead, 0), 0, PAYLOAD(U64(0)));
    expect_ok(a, done(a, q, take_now(a, q, "a", 1)));
    take_now(a, q, "b", 1);
    testing_restart();
    expect_stored(a, q, "cd");
}

static void expect_same_element(struct call_item is, struct call_item was)
{
    assert_int_equal(is.queue, was.queue);
    assert_int_equal(is.id, was.id);
}

// Buries the first of q, restarts as the caller says, tries it again and takes it.
static struct call_item fail_and_retry(struct testing_member *a, uint16_t q, uint16_t dead,
                                       struct call_item item, void restart(void))
{
    expect_buried(a, bury(a, q, item));
    if (restart)
        restart();
    testing_expect(a, retry(a, dead, 0), 0, PAYLOAD(U64(1)));
    if (restart)
        restart();
    return take_now(a, q, "b", 1);
}

static void dead_letters_go_back_as_the_elements_they_were(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.deliveries = 1});
    const uint16_t dead = testing_open(a, CALL_KIND_QUEUE, "q.dead", weft_none());
    expect_ok(a, push_many(a, q, "ab"));
    expect_ok(a, done(a, q, take_now(a, q, "a", 1)));
    const struct call_item was = take_now(a, q, "b", 1);
    expect_ok(a, push_many(a, q, "c"));
    struct call_item is = fail_and_retry(a, q, dead, was, NULL);
    expect_same_element(is, was);
    is = fail_and_retry(a, q, dead, is, testing_restart);
    expect_same_element(is, was);
    is = fail_and_retry(a, q, dead, is, testing_restart_from_snapshot);
    expect_same_element(is, was);
    expect_ok(a, done(a, q, is));
    assert_int_equal(take_now(a, q, "c", 1).id, was.id + 1);
}

static void what_never_was_in_the_queue_is_new_there(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    uint16_t q = open_queue(a, "q", (struct queue_limits){.deliveries = 1});
    const uint16_t dead = testing_open(a, CALL_KIND_QUEUE, "q.dead", weft_none());
    expect_ok(a, push_many(a, q, "a"));
    const struct call_item was = take_now(a, q, "a", 1);
    expect_buried(a, bury(a, q, was));
    expect_ok(a, push_many(a, dead, "b"));
    expect_ok(a, remove_queue(a, q));
    q = testing_open(a, CALL_KIND_QUEUE, "q", weft_none());
    expect_ok(a, push_many(a, q, "c"));
    testing_expect(a, retry(a, dead, 0), 0, PAYLOAD(U64(2)));
    expect_stored(a, q, "cab");
    take_now(a, q, "c", 1);
    const struct call_item is = take_now(a, q, "a", 1);
    assert_int_not_equal(is.queue, was.queue);
    assert_int_equal(is.id, 2);
    assert_int_equal(take_now(a, q, "b", 1).id, 3);
}

// A letter that fails again where it lies is no longer known by its first queue.
static void letters_of_letters_go_back_one_step(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.deliveries = 1});
    const uint16_t dead = testing_open(a, CALL_KIND_QUEUE, "q.dead", weft_none());
    const uint16_t deader = testing_open(a, CALL_KIND_QUEUE, "q.dead.dead", weft_none());
    expect_ok(a, push_many(a, q, "a"));
    expect_buried(a, bury(a, q, take_now(a, q, "a", 1)));
    const struct call_item letter = take_now(a, dead, "a", 1);
    expect_buried(a, bury(a, dead, letter));
    testing_expect(a, retry(a, deader, 0), 0, PAYLOAD(U64(1)));
    expect_note(a, dead, "a", 0, 0, NULL);
    testing_restart_from_snapshot();
    expect_note(a, dead, "a", 0, 0, NULL);
    testing_expect(a, retry(a, dead, 0), 0, PAYLOAD(U64(1)));
    assert_int_equal(take_now(a, q, "a", 1).id, 2);
}

// A call that waits for more holds them during that time, and may go.
static void notes_of_gathered_letters_are_kept(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    const uint16_t dead = testing_open(a, CALL_KIND_QUEUE, "q.dead", weft_none());
    expect_ok(a, push_many(a, q, "a"));
    const struct call_item was = take_now(a, q, "a", 1);
    expect_buried(a, bury(a, q, was));
    const uint64_t waits = pop_many(a, dead, 2);
    testing_restart_from_snapshot();
    cancel(a, waits);
    expect_note(a, dead, "a", 0, 1, "/work/0 has failed it");
    testing_expect(a, retry(a, dead, 0), 0, PAYLOAD(U64(1)));
    expect_same_element(take_now(a, q, "a", 1), was);
}

static void dead_letters_go_back_also_to_a_queue_that_is_closed(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.deliveries = 1});
    expect_ok(a, push_many(a, q, "a"));
    expect_buried(a, bury(a, q, take_now(a, q, "a", 1)));
    expect_ok(a, testing_call(a, CALL_QUEUE_CLOSE, 0, q, weft_none()));
    const uint16_t dead = testing_open(a, CALL_KIND_QUEUE, "q.dead", weft_none());
    testing_expect(a, retry(a, dead, 0), 0, PAYLOAD(U64(1)));
    take_now(a, q, "a", 1);
}

static void only_dead_letters_can_be_tried_again(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    testing_expect_failure(a, retry(a, q, 0), WEFT_INVALID_ARGUMENT, "holds no dead letters");
    testing_expect_failure(a, testing_call(a, CALL_QUEUE_RETRY, 0, q, weft_none()),
                           WEFT_INVALID_ARGUMENT, "is cut");
}

static void notes_of_those_that_are_gone_are_dropped(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    const uint16_t dead = testing_open(a, CALL_KIND_QUEUE, "q.dead", weft_none());
    for (int i = 0; i < 300; i++) {
        expect_ok(a, push_many(a, q, "a"));
        expect_buried(a, bury(a, q, take_now(a, q, "a", 1)));
        if (i < 299)
            expect_ok(a, done(a, dead, take_now(a, dead, "a", 1)));
    }
    expect_note(a, dead, "a", 0, 1, "/work/0 has failed it");
    testing_restart_from_snapshot();
    expect_note(a, dead, "a", 0, 1, "/work/0 has failed it");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_dead_letter_says_why_and_when_it_failed),
        TEST(dead_letters_go_back_and_are_counted_anew),
        TEST(dead_letters_go_back_as_the_elements_they_were),
        TEST(what_never_was_in_the_queue_is_new_there),
        TEST(letters_of_letters_go_back_one_step),
        TEST(notes_of_gathered_letters_are_kept),
        TEST(dead_letters_go_back_also_to_a_queue_that_is_closed),
        TEST(only_dead_letters_can_be_tried_again),
        TEST(notes_of_those_that_are_gone_are_dropped),
    };
    return cmocka_run_group_tests_name("resource/queue_retry", tests, NULL, NULL);
}
