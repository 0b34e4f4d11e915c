// Tests of the calls of a queue. Bytes in journals and between versions must stay as they are drawn.

#include "wire/ops/queue.h"

#include "wire/ops/ops_testing.h"

static void a_queue_is_described_by_its_limits_and_types(void **state)
{
    (void)state;
    const weft_bytes bytes = BYTES("\xff\xff\xff\xff\xff\xff\xff\xff" EIGHT FOUR "types");
    struct buf out = {0};
    struct ops_queue_attributes got;
    ops_queue_attributes_encode(
        &out, &(struct ops_queue_attributes){-1, EIGHT_VALUE, FOUR_VALUE, weft_text("types")});
    expect_buf(&out, bytes);
    assert_true(ops_queue_attributes_decode(bytes, &got));
    assert_true(got.capacity == -1 && got.capacity_bytes == EIGHT_VALUE &&
                got.deliveries_max == FOUR_VALUE);
    expect_bytes(got.signature, weft_text("types"));
    assert_false(ops_queue_attributes_decode((weft_bytes){bytes.data, 19}, &got));
    assert_true(ops_queue_attributes_decode(weft_none(), &got));
    assert_true(got.capacity == -1 && got.capacity_bytes == 0 && got.deliveries_max == 0);
}

static void a_push_is_a_key_if_there_is_one_and_an_element(void **state)
{
    (void)state;
    struct ops_call call;
    struct ops_queue_push got;
    ops_queue_push_make(&call, &(struct ops_queue_push){.element = weft_text("element")});
    expect_call(&call, CALL_QUEUE_PUSH, 0, weft_text("element"));
    ops_queue_push_make(&call, &(struct ops_queue_push){true, weft_text("key"), weft_text("e")});
    expect_call(&call, CALL_QUEUE_PUSH, CALL_FLAG_TUPLE | CALL_FLAG_KEYED, BYTES("\x03\0keye"));
    assert_true(ops_queue_push_decode(weft_text("element"), 0, &got));
    assert_true(!got.is_tuple && got.key.size == 0);
    expect_bytes(got.element, weft_text("element"));
    assert_true(
        ops_queue_push_decode(BYTES("\x03\0keye"), CALL_FLAG_TUPLE | CALL_FLAG_KEYED, &got));
    assert_true(got.is_tuple);
    expect_bytes(got.key, weft_text("key"));
    expect_bytes(got.element, weft_text("e"));
}

static bool reads_keyed(weft_bytes bytes)
{
    struct ops_queue_push got;
    return ops_queue_push_decode(bytes, CALL_FLAG_KEYED, &got);
}

static void a_key_that_is_cut_or_empty_is_none(void **state)
{
    (void)state;
    expect_cut_below(BYTES("\x03\0keyelement"), 5, reads_keyed);
    assert_false(reads_keyed(BYTES("\0\0element")));
}

static void a_push_of_many_is_a_list(void **state)
{
    (void)state;
    const weft_bytes entries = BYTES("\x01\0\0\0a\x02\0\0\x80"
                                     "bc\0\0\0\0");
    struct buf out = {0};
    struct ops_call call;
    struct ops_queue_list got;
    bool is_tuple;
    ops_queue_entry_encode(&out, weft_text("a"), false);
    ops_queue_entry_encode(&out, weft_text("bc"), true);
    ops_queue_entry_encode(&out, weft_none(), false);
    expect_buf(&out, entries);
    ops_queue_push_many_make(&call, &(struct ops_queue_list){3, entries});
    ops_call_append(&out, &call);
    assert_int_equal(call.op, CALL_QUEUE_PUSH_MANY);
    assert_true(ops_queue_push_many_decode(buf_bytes(&out), &got));
    assert_int_equal(got.count, 3);
    expect_bytes(got.entries, entries);
    expect_bytes(ops_queue_entry_next(&got.entries, &is_tuple), weft_text("a"));
    assert_false(is_tuple);
    expect_bytes(ops_queue_entry_next(&got.entries, &is_tuple), weft_text("bc"));
    assert_true(is_tuple);
    assert_true(ops_queue_has_entries(entries, 3));
    assert_false(ops_queue_has_entries(entries, 2));
    assert_false(ops_queue_has_entries(entries, 4));
    assert_false(ops_queue_push_many_decode(BYTES("\x01\0\0"), &got));
    buf_fini(&out);
}

static void takes_say_for_how_long_or_how_many(void **state)
{
    (void)state;
    struct ops_call call;
    struct ops_queue_take take;
    struct ops_queue_take_many many;
    ops_queue_take_make(&call, &(struct ops_queue_take){true, FOUR_VALUE});
    expect_call(&call, CALL_QUEUE_TAKE, CALL_FLAG_AHEAD, BYTES(FOUR));
    ops_queue_take_many_make(&call,
                             &(struct ops_queue_take_many){CALL_QUEUE_POP_MANY, true, FOUR_VALUE});
    expect_call(&call, CALL_QUEUE_POP_MANY, CALL_FLAG_UP_TO, BYTES(FOUR));
    ops_queue_pop_make(&call);
    expect_call(&call, CALL_QUEUE_POP, 0, weft_none());
    const struct call sent = call_of(CALL_QUEUE_TAKE, CALL_FLAG_AHEAD, BYTES(FOUR));
    assert_true(ops_queue_take_decode(&sent, &take));
    assert_true(take.is_ahead && take.lease_ms == FOUR_VALUE);
    const struct call several = call_of(CALL_QUEUE_TAKE_MANY, CALL_FLAG_UP_TO, BYTES(FOUR));
    assert_true(ops_queue_take_many_decode(&several, &many));
    assert_true(many.op == CALL_QUEUE_TAKE_MANY && many.up_to && many.count == FOUR_VALUE);
    const struct call cut = call_of(CALL_QUEUE_TAKE, 0, BYTES("123"));
    assert_false(ops_queue_take_decode(&cut, &take));
    assert_false(ops_queue_take_many_decode(&cut, &many));
}

static void expect_settle(const struct ops_queue_settle *settle, uint8_t flags, weft_bytes bytes)
{
    struct ops_call call;
    struct ops_queue_settle got;
    ops_queue_settle_make(&call, settle);
    expect_call(&call, settle->op, flags, bytes);
    const struct call sent = call_of(settle->op, flags, bytes);
    assert_true(ops_queue_settle_decode(&sent, &got));
    assert_true(got.op == settle->op && got.is_buried == settle->is_buried &&
                got.is_unbegun == settle->is_unbegun && got.ms == settle->ms &&
                got.has_when == settle->has_when && got.when_s == settle->when_s);
    assert_true(same_item(got.item, settle->item));
    expect_bytes(got.reason, settle->reason);
}

static void a_lease_is_settled_by_its_item(void **state)
{
    (void)state;
    struct ops_queue_settle settle = {.op = CALL_QUEUE_DONE, .item = ITEM_VALUE};
    expect_settle(&settle, 0, BYTES(ITEM_BYTES));
    settle.op = CALL_QUEUE_EXTEND;
    settle.ms = FOUR_VALUE;
    expect_settle(&settle, 0, BYTES(ITEM_BYTES FOUR));
    settle.op = CALL_QUEUE_GIVE_BACK;
    settle.is_unbegun = true;
    expect_settle(&settle, CALL_FLAG_UNBEGUN, BYTES(ITEM_BYTES FOUR));
    settle.is_unbegun = false;
    settle.has_when = true;
    settle.when_s = EIGHT_VALUE;
    expect_settle(&settle, 0, BYTES(ITEM_BYTES FOUR EIGHT));
    settle.is_buried = true;
    settle.reason = weft_text("why");
    expect_settle(&settle, CALL_FLAG_BURY, BYTES(ITEM_BYTES FOUR EIGHT "\x03\0why"));
}

static bool reads_give_back(weft_bytes bytes)
{
    struct ops_queue_settle got;
    const struct call call = call_of(CALL_QUEUE_GIVE_BACK, 0, bytes);
    return ops_queue_settle_decode(&call, &got);
}

static void what_settles_a_lease_is_cut_before_its_delay_or_within_what_follows(void **state)
{
    (void)state;
    expect_cut_below(BYTES(ITEM_BYTES FOUR), 28, reads_give_back);
    assert_false(reads_give_back(BYTES(ITEM_BYTES FOUR "1234567")));
    assert_false(reads_give_back(BYTES(ITEM_BYTES FOUR EIGHT "\x03\0wh")));
}

static void questions_and_the_close_are_small(void **state)
{
    (void)state;
    struct ops_call call;
    struct ops_queue_peek peek;
    struct ops_queue_retry retry;
    ops_queue_close_make(&call, true);
    expect_call(&call, CALL_QUEUE_CLOSE, CALL_FLAG_CANCEL_PENDING, weft_none());
    ops_queue_state_make(&call);
    expect_call(&call, CALL_QUEUE_STATE, 0, weft_none());
    ops_queue_peek_make(&call, &(struct ops_queue_peek){FOUR_VALUE, true});
    expect_call(&call, CALL_QUEUE_PEEK, CALL_FLAG_NOTES, BYTES(FOUR));
    const struct call sent = call_of(CALL_QUEUE_PEEK, CALL_FLAG_NOTES, BYTES(FOUR));
    assert_true(ops_queue_peek_decode(&sent, &peek));
    assert_true(peek.with_notes && peek.count == FOUR_VALUE);
    ops_queue_retry_make(&call, &(struct ops_queue_retry){EIGHT_VALUE});
    expect_call(&call, CALL_QUEUE_RETRY, 0, BYTES(EIGHT));
    assert_true(ops_queue_retry_decode(BYTES(EIGHT), &retry));
    assert_true(retry.count == EIGHT_VALUE);
    assert_false(ops_queue_retry_decode(BYTES(FOUR), &retry));
}

static void what_is_taken_is_an_item_and_an_element(void **state)
{
    (void)state;
    char bytes[CALL_ITEM_BYTES + 7];
    struct ops_queue_taken got;
    ops_queue_taken_put(
        bytes, &(struct ops_queue_taken){.item = ITEM_VALUE, .element = weft_text("element")});
    expect_bytes((weft_bytes){bytes, sizeof bytes}, BYTES(ITEM_BYTES "element"));
    assert_true(ops_queue_taken_decode((weft_bytes){bytes, sizeof bytes}, &got));
    assert_true(same_item(got.item, ITEM_VALUE));
    expect_bytes(got.element, weft_text("element"));
    assert_false(ops_queue_taken_decode((weft_bytes){bytes, CALL_ITEM_BYTES - 1}, &got));
}

static bool reads_taken_list(weft_bytes list)
{
    struct ops_queue_taken got;
    uint32_t count;
    return ops_queue_count_next(&list, &count) && count == 1 && ops_queue_taken_next(&list, &got) &&
           same_item(got.item, ITEM_VALUE) && got.is_tuple && got.element.size == 1 &&
           list.size == 0;
}

static void many_are_a_count_and_entries(void **state)
{
    (void)state;
    const weft_bytes wanted = BYTES("\x01\0\0\0" ITEM_BYTES "\x01\0\0\x80"
                                    "a");
    char bytes[OPS_QUEUE_COUNT_BYTES + CALL_ITEM_BYTES + OPS_QUEUE_ENTRY_BYTES + 1];
    char *to = ops_queue_count_put(bytes, 1);
    to = ops_queue_item_put(to, &ITEM_VALUE);
    to = ops_queue_entry_put(to, weft_text("a"), true);
    assert_ptr_equal(to, bytes + sizeof bytes);
    expect_bytes((weft_bytes){bytes, sizeof bytes}, wanted);
    expect_cut_below(wanted, wanted.size, reads_taken_list);
}

static bool reads_state(weft_bytes bytes)
{
    struct ops_queue_state got;
    return ops_queue_state_decode(bytes, &got) && got.count == EIGHT_VALUE && got.bytes == 2 &&
           got.last_id == 3 && got.leases == 4 && got.givers == FOUR_VALUE && got.takers == 6 &&
           got.is_closed;
}

static void the_state_is_numbers(void **state)
{
    (void)state;
    const weft_bytes wanted =
        BYTES(EIGHT "\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0" FOUR "\x06\0\0\0\x01");
    struct buf out = {0};
    ops_queue_state_encode(&out,
                           &(struct ops_queue_state){EIGHT_VALUE, 2, 3, 4, FOUR_VALUE, 6, true});
    expect_buf(&out, wanted);
    expect_cut_below(wanted, wanted.size, reads_state);
}

static bool reads_peeked(weft_bytes list)
{
    struct ops_queue_stored stored;
    struct ops_queue_note note;
    bool has_note;
    return ops_queue_stored_next(&list, &stored) && stored.id == EIGHT_VALUE &&
           stored.deliveries == FOUR_VALUE && stored.is_tuple && stored.element.size == 1 &&
           ops_queue_peeked_note_next(&list, &has_note, &note) && has_note &&
           note.when_s == EIGHT_VALUE && note.deliveries == 2 && note.reason.size == 3;
}

static void what_is_peeked_may_have_a_note(void **state)
{
    (void)state;
    const weft_bytes wanted = BYTES(EIGHT FOUR "\x01\x01\0\0\0e\x01" EIGHT "\x02\0\0\0\x03\0why");
    struct buf out = {0};
    struct ops_queue_note note;
    bool has_note = true;
    ops_queue_stored_encode(
        &out, &(struct ops_queue_stored){EIGHT_VALUE, FOUR_VALUE, true, weft_text("e")});
    ops_queue_peeked_note_encode(&out, &(struct ops_queue_note){EIGHT_VALUE, 2, weft_text("why")});
    expect_buf(&out, wanted);
    expect_cut_below(wanted, wanted.size, reads_peeked);
    ops_queue_peeked_note_encode(&out, NULL);
    weft_bytes list = buf_bytes(&out);
    assert_true(ops_queue_peeked_note_next(&list, &has_note, &note));
    assert_false(has_note);
    expect_buf(&out, BYTES("\0"));
}

static void a_retry_is_answered_with_a_count(void **state)
{
    (void)state;
    char bytes[OPS_QUEUE_RETRIED_BYTES];
    uint64_t got;
    ops_queue_retried_put(bytes, EIGHT_VALUE);
    expect_bytes((weft_bytes){bytes, sizeof bytes}, BYTES(EIGHT));
    assert_true(ops_queue_retried_decode(BYTES(EIGHT), &got));
    assert_true(got == EIGHT_VALUE);
    assert_false(ops_queue_retried_decode(BYTES(FOUR), &got));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_queue_is_described_by_its_limits_and_types),
        cmocka_unit_test(a_push_is_a_key_if_there_is_one_and_an_element),
        cmocka_unit_test(a_key_that_is_cut_or_empty_is_none),
        cmocka_unit_test(a_push_of_many_is_a_list),
        cmocka_unit_test(takes_say_for_how_long_or_how_many),
        cmocka_unit_test(a_lease_is_settled_by_its_item),
        cmocka_unit_test(what_settles_a_lease_is_cut_before_its_delay_or_within_what_follows),
        cmocka_unit_test(questions_and_the_close_are_small),
        cmocka_unit_test(what_is_taken_is_an_item_and_an_element),
        cmocka_unit_test(many_are_a_count_and_entries),
        cmocka_unit_test(the_state_is_numbers),
        cmocka_unit_test(what_is_peeked_may_have_a_note),
        cmocka_unit_test(a_retry_is_answered_with_a_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
