// Tests of what elements of a queue may be: signatures, tuples that fit them and those that do not.

#include "resource/queue/queue_testing.h"
#include "wire/pack.h"
#include "wire/tuple.h"

enum { ANY = 0xff };  // a rank of -1

static const char one_number[] = "\1\0\0\0\0\0\0\0";

// A scalar number and two floats.
static weft_bytes pair_signature(void)
{
    return PAYLOAD(U16(2), U8(TUPLE_INT64), U8(0), U8(TUPLE_FLOAT), U8(1), U64(2));
}

static weft_bytes pair(void)
{
    return PAYLOAD(U16(2), U8(TUPLE_INT64), U8(0), U32(8), RAW_BYTES(((weft_bytes){one_number, 8})),
                   U8(TUPLE_FLOAT), U8(1), U32(8), U64(2), RAW("12345678"));
}

static weft_bytes text_tuple(const char *text)
{
    return PAYLOAD(U16(1), U8(TUPLE_STRING), U8(0), U32(strlen(text)), RAW(text));
}

static weft_bytes with_types(weft_bytes signature)
{
    return PAYLOAD(U64(-1), U64(0), U32(0), RAW_BYTES(signature));
}

static uint16_t open_typed(struct testing_member *member, const char *name, weft_bytes signature)
{
    return testing_open(member, CALL_KIND_QUEUE, name, with_types(signature));
}

static uint64_t push_tuple(struct testing_member *member, uint16_t queue, weft_bytes tuple)
{
    return testing_call(member, CALL_QUEUE_PUSH, CALL_FLAG_TUPLE, queue, tuple);
}

static void expect_refused(struct testing_member *member, uint64_t sequence, const char *words)
{
    testing_expect_failure(member, sequence, WEFT_INVALID_ARGUMENT, words);
}

static void a_tuple_comes_out_as_a_tuple(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_typed(a, "q", pair_signature());
    expect_ok(a, push_tuple(a, q, pair()));
    expect_ok(a, push_tuple(a, q, pair()));
    const uint32_t head = 1u << 31 | (uint32_t)pair().size;
    expect_ok(a, testing_call(a, CALL_QUEUE_PUSH_MANY, 0, q,
                              PAYLOAD(U32(1), U32(head), RAW_BYTES(pair()))));
    testing_expect(a, pop(a, q), ANSWER_FLAG_TUPLE, pair());
    testing_expect(a, pop_many(a, q, 2), 0,
                   PAYLOAD(U32(2), U32(head), RAW_BYTES(pair()), U32(head), RAW_BYTES(pair())));
    expect_ok(a, push_tuple(a, q, pair()));
    assert_int_equal(testing_answer(a, take(a, q)).flags, ANSWER_FLAG_TUPLE);
}

static void a_tuple_of_one_text_is_a_text(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.bytes = 3});
    expect_ok(a, push_tuple(a, q, text_tuple("abc")));
    expect_element(a, pop(a, q), "abc");
    const uint32_t head = 1u << 31 | (uint32_t)text_tuple("x").size;
    expect_ok(a, testing_call(a, CALL_QUEUE_PUSH_MANY, 0, q,
                              PAYLOAD(U32(2), U32(head), RAW_BYTES(text_tuple("x")), BLOB("y"))));
    expect_elements(a, pop_many(a, q, 2), "xy");
    expect_refused(a, push_tuple(a, q, text_tuple("abcd")), "never fits");
}

static void a_queue_without_types_takes_no_other_tuples(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    expect_refused(a, push_tuple(a, q, pair()), "1 components are declared, and 2 came");
    expect_refused(a, push_tuple(a, q, weft_text("t")), "is cut");
    expect_refused(
        a, push_tuple(a, q, PAYLOAD(U16(1), U8(TUPLE_STRING), U8(1), U32(2), U64(1), RAW("\1a"))),
        "component 0 is declared string, and string[1] came");
    assert_int_equal(state_of(a, q).last_id, 0);
}

static void what_does_not_fit_the_types_is_refused(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_typed(a, "q", pair_signature());
    expect_refused(a, push(a, q, "text"), "2 components are declared, and 1 came");
    expect_refused(a, push_many(a, q, "ab"), "2 components are declared, and 1 came");
    expect_refused(a, push_keyed(a, q, "key", "text"), "queue 'q'");
    expect_refused(a,
                   push_tuple(a, q,
                              PAYLOAD(U16(2), U8(TUPLE_INT64), U8(0), U32(8), U64(1),
                                      U8(TUPLE_FLOAT), U8(1), U32(4), U64(1), U32(0))),
                   "component 1 is declared float[2], and float[1] came");
    expect_refused(a,
                   push_tuple(a, q,
                              PAYLOAD(U16(2), U8(TUPLE_DOUBLE), U8(0), U32(8), U64(1),
                                      U8(TUPLE_FLOAT), U8(1), U32(8), U64(2), U64(0))),
                   "component 0 is declared int64, and double came");
    const struct queue_state now = state_of(a, q);
    assert_true(now.last_id == 0 && now.count == 0 && now.givers == 0);
}

static void one_that_does_not_fit_refuses_all_of_a_push(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_typed(a, "q", pair_signature());
    const uint32_t head = 1u << 31 | (uint32_t)pair().size;
    expect_refused(a,
                   testing_call(a, CALL_QUEUE_PUSH_MANY, 0, q,
                                PAYLOAD(U32(2), U32(head), RAW_BYTES(pair()), BLOB("text"))),
                   "are declared");
    assert_int_equal(state_of(a, q).last_id, 0);
}

static void shapes_may_be_open_but_then_many_cannot_be_popped(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t any = open_typed(a, "any", PAYLOAD(U16(1), U8(TUPLE_INT32), U8(ANY)));
    const uint16_t part =
        open_typed(a, "part", PAYLOAD(U16(1), U8(TUPLE_INT32), U8(2), U64(-1), U64(2)));
    const weft_bytes scalar = PAYLOAD(U16(1), U8(TUPLE_INT32), U8(0), U32(4), U32(7));
    const weft_bytes matrix =
        PAYLOAD(U16(1), U8(TUPLE_INT32), U8(2), U32(8), U64(1), U64(2), U32(7), U32(8));
    expect_ok(a, push_tuple(a, any, scalar));
    expect_ok(a, push_tuple(a, any, matrix));
    expect_ok(a, push_tuple(a, part, matrix));
    expect_refused(a, push_tuple(a, part, scalar), "declared int32[?,2], and int32 came");
    expect_refused(a, pop_many(a, any, 1), "declares the shapes");
    expect_refused(a, pop_up_to(a, part, 1), "declares the shapes");
    testing_expect(a, pop(a, any), ANSWER_FLAG_TUPLE, scalar);
    const uint16_t numbers = open_typed(a, "n", PAYLOAD(U16(1), U8(TUPLE_INT32), U8(0)));
    expect_ok(a, push_tuple(a, numbers, scalar));
    assert_int_equal(testing_answer(a, pop_many(a, numbers, 1)).code, WEFT_OK);
}

static void types_are_compared_when_a_queue_is_opened(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    open_typed(a, "q", pair_signature());
    open_typed(b, "q", pair_signature());
    testing_open(b, CALL_KIND_QUEUE, "q", weft_none());
    expect_refused(b, testing_try_open(b, CALL_KIND_QUEUE, "q", with_types(weft_none())),
                   "other component types");
    // One string is what a queue has without types.
    open_typed(a, "texts", PAYLOAD(U16(1), U8(TUPLE_STRING), U8(0)));
    open_typed(b, "texts", weft_none());
}

static void types_that_are_none_are_refused(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const weft_bytes bad[] = {
        PAYLOAD(U16(0)),
        PAYLOAD(U8(1)),
        PAYLOAD(U16(1), U8(99), U8(0)),
        PAYLOAD(U16(1), U8(TUPLE_INT64), U8(1)),
        PAYLOAD(U16(1), U8(TUPLE_INT64), U8(1), U64(-2)),
        PAYLOAD(U16(1), U8(TUPLE_INT64), U8(0), U8(0)),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_refused(a, testing_try_open(a, CALL_KIND_QUEUE, "q", with_types(bad[i])), "");
}

static void dead_letters_have_the_types_of_their_queue(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_typed(a, "q", pair_signature());
    expect_ok(a, push_tuple(a, q, pair()));
    struct pack_reader reader = {testing_answer(a, take(a, q)).payload, false};
    struct call_item item;
    pack_read_item(&reader, &item);
    expect_buried(a, bury(a, q, item));
    const uint16_t dead = open_typed(a, "q.dead", pair_signature());
    testing_expect(a, pop(a, dead), ANSWER_FLAG_TUPLE, pair());
    expect_refused(a, push(a, dead, "text"), "are declared");
}

static void dead_letters_go_also_where_somebody_wanted_texts(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t dead =
        testing_open(a, CALL_KIND_QUEUE, "q.dead", PAYLOAD(U64(-1), U64(0), U32(0)));
    const uint16_t q = open_typed(a, "q", pair_signature());
    expect_ok(a, push_tuple(a, q, pair()));
    struct pack_reader reader = {testing_answer(a, take(a, q)).payload, false};
    struct call_item item;
    pack_read_item(&reader, &item);
    expect_buried(a, bury(a, q, item));
    testing_expect(a, pop(a, dead), ANSWER_FLAG_TUPLE, pair());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_tuple_comes_out_as_a_tuple),
        TEST(a_tuple_of_one_text_is_a_text),
        TEST(a_queue_without_types_takes_no_other_tuples),
        TEST(what_does_not_fit_the_types_is_refused),
        TEST(one_that_does_not_fit_refuses_all_of_a_push),
        TEST(shapes_may_be_open_but_then_many_cannot_be_popped),
        TEST(types_are_compared_when_a_queue_is_opened),
        TEST(types_that_are_none_are_refused),
        TEST(dead_letters_have_the_types_of_their_queue),
        TEST(dead_letters_go_also_where_somebody_wanted_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
