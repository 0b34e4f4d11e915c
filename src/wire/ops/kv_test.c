// Tests of the calls of a kv. Bytes in journals and between versions must stay as they are drawn.

#include "wire/ops/kv.h"

#include "wire/ops/ops_testing.h"

static void a_get_names_one_key(void **state)
{
    (void)state;
    struct ops_call call;
    struct ops_kv_get got;
    ops_kv_get_make(&call, &(struct ops_kv_get){weft_text("key")});
    expect_call(&call, CALL_KV_GET, 0, BYTES("\x03\0key"));
    assert_true(ops_kv_get_decode(BYTES("\x03\0key"), &got));
    expect_bytes(got.key, weft_text("key"));
    assert_false(ops_kv_get_decode(BYTES("\x03\0key+"), &got));
    assert_false(ops_kv_get_decode(BYTES("\x03\0ke"), &got));
}

static void expect_change(const struct ops_kv_change *change, uint8_t flags, weft_bytes bytes)
{
    struct ops_call call;
    struct ops_kv_change got;
    ops_kv_change_make(&call, change);
    expect_call(&call, change->op, flags, bytes);
    const struct call sent = call_of(change->op, flags, bytes);
    assert_true(ops_kv_change_decode(&sent, &got));
    assert_true(got.op == change->op && got.has_expected == change->has_expected &&
                got.expected == change->expected && got.is_owned == change->is_owned);
    expect_bytes(got.key, change->key);
    expect_bytes(got.value, change->value);
}

static void changes_are_read_as_they_were_made(void **state)
{
    (void)state;
    const weft_bytes key = weft_text("key"), value = weft_text("value");
    expect_change(&(struct ops_kv_change){.op = CALL_KV_PUT, .key = key, .value = value}, 0,
                  BYTES("\x03\0keyvalue"));
    expect_change(&(struct ops_kv_change){.op = CALL_KV_PUT,
                                          .has_expected = true,
                                          .is_owned = true,
                                          .expected = EIGHT_VALUE,
                                          .key = key,
                                          .value = value},
                  CALL_FLAG_IF | CALL_FLAG_OWNED, BYTES(EIGHT "\x03\0keyvalue"));
    expect_change(&(struct ops_kv_change){.op = CALL_KV_REMOVE, .key = key}, 0, BYTES("\x03\0key"));
}

static bool reads_change(weft_bytes bytes)
{
    struct ops_kv_change got;
    const struct call call = call_of(CALL_KV_PUT, CALL_FLAG_IF, bytes);
    return ops_kv_change_decode(&call, &got);
}

static void a_change_that_is_cut_is_none(void **state)
{
    (void)state;
    expect_cut_below(BYTES(EIGHT "\x03\0keyvalue"), 13, reads_change);
}

static void a_range_names_its_ends_and_a_limit(void **state)
{
    (void)state;
    const weft_bytes bytes = BYTES("\x04\0from\x02\0to" FOUR);
    struct buf out = {0};
    struct ops_kv_range got;
    ops_kv_range_encode(&out,
                        &(struct ops_kv_range){weft_text("from"), weft_text("to"), FOUR_VALUE});
    expect_buf(&out, bytes);
    assert_true(ops_kv_range_decode(bytes, &got));
    expect_bytes(got.from, weft_text("from"));
    expect_bytes(got.to, weft_text("to"));
    assert_int_equal(got.limit, FOUR_VALUE);
    assert_false(ops_kv_range_decode((weft_bytes){bytes.data, bytes.size - 1}, &got));
    assert_false(ops_kv_range_decode(BYTES("\0\0\0\0\0\0\0\0+"), &got));
}

static void a_watch_names_a_prefix_and_a_revision(void **state)
{
    (void)state;
    const weft_bytes bytes = BYTES("\x03\0pre" EIGHT);
    struct buf out = {0};
    struct ops_kv_watch got;
    ops_kv_watch_encode(&out, &(struct ops_kv_watch){weft_text("pre"), EIGHT_VALUE});
    expect_buf(&out, bytes);
    assert_true(ops_kv_watch_decode(bytes, &got));
    expect_bytes(got.prefix, weft_text("pre"));
    assert_true(got.known == EIGHT_VALUE);
    assert_false(ops_kv_watch_decode((weft_bytes){bytes.data, bytes.size - 1}, &got));
}

static void a_get_is_answered_with_version_owner_and_value(void **state)
{
    (void)state;
    const struct ops_kv_got answer = {EIGHT_VALUE, true, weft_text("value")};
    char bytes[14];
    struct ops_kv_got got;
    assert_int_equal(ops_kv_got_size(&answer), sizeof bytes);
    ops_kv_got_put(bytes, &answer);
    expect_bytes((weft_bytes){bytes, sizeof bytes}, BYTES(EIGHT "\x01value"));
    assert_true(ops_kv_got_decode((weft_bytes){bytes, sizeof bytes}, &got));
    assert_true(got.version == EIGHT_VALUE && got.is_owned);
    expect_bytes(got.value, weft_text("value"));
    assert_false(ops_kv_got_decode(BYTES(EIGHT), &got));
}

static void a_change_is_answered_with_a_version(void **state)
{
    (void)state;
    const struct ops_kv_changed answer = {EIGHT_VALUE, weft_text("is")};
    char bytes[10];
    struct ops_kv_changed got;
    assert_int_equal(ops_kv_changed_size(&answer), sizeof bytes);
    ops_kv_changed_put(bytes, &answer);
    expect_bytes((weft_bytes){bytes, sizeof bytes}, BYTES(EIGHT "is"));
    assert_true(ops_kv_changed_decode((weft_bytes){bytes, sizeof bytes}, &got));
    assert_true(got.version == EIGHT_VALUE);
    expect_bytes(got.value, weft_text("is"));
    assert_false(ops_kv_changed_decode(BYTES("1234567"), &got));
}

static void lists_begin_with_a_revision_that_can_be_set_later(void **state)
{
    (void)state;
    const struct ops_kv_entry entry = {OPS_KV_REMOVED, true, EIGHT_VALUE, weft_text("k"),
                                       weft_text("v")};
    struct buf range = {0}, watch = {0};
    ops_kv_list_begin(&range, 0);
    assert_true(ops_kv_list_is_empty(&range));
    ops_kv_range_entry_encode(&range, &entry);
    assert_false(ops_kv_list_is_empty(&range));
    ops_kv_list_set_revision(&range, EIGHT_VALUE);
    ops_kv_list_begin(&watch, EIGHT_VALUE);
    ops_kv_watch_entry_encode(&watch, &entry);
    expect_buf(&range, BYTES(EIGHT "\x01\0k" EIGHT "\x01\x01\0\0\0v"));
    expect_buf(&watch, BYTES(EIGHT "\x02\x01\0k" EIGHT "\x01\0\0\0v"));
}

static bool reads_range(weft_bytes bytes)
{
    struct ops_kv_entry got;
    uint64_t revision;
    return ops_kv_revision_next(&bytes, &revision) && ops_kv_range_entry_next(&bytes, &got) &&
           got.is_owned && got.version == EIGHT_VALUE && got.value.size == 1 && bytes.size == 0;
}

static bool reads_watch(weft_bytes bytes)
{
    struct ops_kv_entry got;
    uint64_t revision;
    return ops_kv_revision_next(&bytes, &revision) && ops_kv_watch_entry_next(&bytes, &got) &&
           got.what == OPS_KV_REMOVED && got.version == EIGHT_VALUE && got.value.size == 1 &&
           bytes.size == 0;
}

static void entries_are_taken_off_a_list(void **state)
{
    (void)state;
    const weft_bytes range = BYTES(EIGHT "\x01\0k" EIGHT "\x01\x01\0\0\0v");
    const weft_bytes watch = BYTES(EIGHT "\x02\x01\0k" EIGHT "\x01\0\0\0v");
    expect_cut_below(range, range.size, reads_range);
    expect_cut_below(watch, watch.size, reads_watch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_get_names_one_key),
        cmocka_unit_test(changes_are_read_as_they_were_made),
        cmocka_unit_test(a_change_that_is_cut_is_none),
        cmocka_unit_test(a_range_names_its_ends_and_a_limit),
        cmocka_unit_test(a_watch_names_a_prefix_and_a_revision),
        cmocka_unit_test(a_get_is_answered_with_version_owner_and_value),
        cmocka_unit_test(a_change_is_answered_with_a_version),
        cmocka_unit_test(lists_begin_with_a_revision_that_can_be_set_later),
        cmocka_unit_test(entries_are_taken_off_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
