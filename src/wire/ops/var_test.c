// Tests of the calls of a variable. Bytes in journals and between versions must stay as they are drawn.

#include "wire/ops/var.h"

#include "wire/ops/ops_testing.h"

static void a_variable_is_described_by_its_type(void **state)
{
    (void)state;
    const weft_bytes bytes = BYTES("\x01\x02" EIGHT "\x03\0\0\0\0\0\0\0");
    struct buf out = {0};
    struct ops_var_attributes got;
    ops_var_attributes_encode(
        &out, &(struct ops_var_attributes){TUPLE_FLOAT, 2, {(int64_t)EIGHT_VALUE, 3}});
    expect_buf(&out, bytes);
    assert_true(ops_var_attributes_decode(bytes, &got));
    assert_true(got.dtype == TUPLE_FLOAT && got.rank == 2 && got.dims[0] == EIGHT_VALUE &&
                got.dims[1] == 3);
    assert_false(ops_var_attributes_decode((weft_bytes){bytes.data, bytes.size - 1}, &got));
    assert_false(ops_var_attributes_decode(BYTES("\x09"), &got));
    assert_false(ops_var_attributes_decode(BYTES("\x09\0x"), &got));
}

static void without_attributes_it_is_an_int64(void **state)
{
    (void)state;
    struct ops_var_attributes got;
    assert_true(ops_var_attributes_decode(weft_none(), &got));
    assert_true(got.dtype == TUPLE_INT64 && got.rank == 0);
}

static void a_rank_that_is_too_high_is_told(void **state)
{
    (void)state;
    struct ops_var_attributes got;
    assert_false(ops_var_attributes_decode(BYTES("\x09\x21"), &got));
    assert_int_equal(got.rank, TUPLE_RANK_MAX + 1);
}

static void expect_change(const struct ops_var_change *change, uint8_t flags, weft_bytes bytes)
{
    struct ops_call call;
    struct ops_var_change got;
    ops_var_change_make(&call, change);
    expect_call(&call, change->op, flags, bytes);
    const struct call sent = call_of(change->op, flags, bytes);
    assert_int_equal(ops_var_change_decode(&sent, &got), OPS_VAR_WHOLE);
    assert_true(got.op == change->op && got.is_once == change->is_once &&
                got.is_keyed == change->is_keyed);
    assert_true(!got.is_once || same_item(got.item, change->item));
    expect_bytes(got.key, change->key);
    expect_bytes(got.expected, change->expected);
    expect_bytes(got.value, change->value);
}

static void changes_are_read_as_they_were_made(void **state)
{
    (void)state;
    const weft_bytes value = weft_text("value"), key = weft_text("key");
    expect_change(&(struct ops_var_change){.op = CALL_VAR_SET, .value = value}, 0, value);
    expect_change(&(struct ops_var_change){.op = CALL_VAR_CREATE}, 0, weft_none());
    expect_change(
        &(struct ops_var_change){
            .op = CALL_VAR_ADD, .is_once = true, .item = ITEM_VALUE, .value = value},
        CALL_FLAG_ONCE, BYTES(ITEM_BYTES "value"));
    expect_change(
        &(struct ops_var_change){.op = CALL_VAR_ADD, .is_keyed = true, .key = key, .value = value},
        CALL_FLAG_KEYED, BYTES("\x03\0keyvalue"));
    expect_change(&(struct ops_var_change){.op = CALL_VAR_SWAP, .expected = key, .value = value}, 0,
                  BYTES("\x03\0\0\0keyvalue"));
    expect_change(&(struct ops_var_change){.op = CALL_VAR_SWAP,
                                           .is_once = true,
                                           .item = ITEM_VALUE,
                                           .expected = key,
                                           .value = value},
                  CALL_FLAG_ONCE, BYTES(ITEM_BYTES "\x03\0\0\0keyvalue"));
}

static void a_change_tells_where_it_is_cut(void **state)
{
    (void)state;
    struct ops_var_change got;
    const struct call item = call_of(CALL_VAR_SWAP, CALL_FLAG_ONCE, BYTES("short"));
    const struct call expected =
        call_of(CALL_VAR_SWAP, CALL_FLAG_ONCE, BYTES(ITEM_BYTES "\x09\0\0\0short"));
    const struct call key = call_of(CALL_VAR_ADD, CALL_FLAG_KEYED, BYTES("\x09\0short"));
    assert_int_equal(ops_var_change_decode(&item, &got), OPS_VAR_CUT_ITEM);
    assert_int_equal(ops_var_change_decode(&key, &got), OPS_VAR_CUT_KEY);
    assert_int_equal(ops_var_change_decode(&expected, &got), OPS_VAR_CUT_EXPECTED);
    assert_true(same_item(got.item, ITEM_VALUE));
}

static void a_watch_names_the_version_that_is_known(void **state)
{
    (void)state;
    struct ops_call call;
    struct ops_var_watch got;
    ops_var_watch_make(&call, &(struct ops_var_watch){EIGHT_VALUE});
    expect_call(&call, CALL_VAR_WATCH, 0, BYTES(EIGHT));
    assert_true(ops_var_watch_decode(BYTES(EIGHT), &got));
    assert_true(got.known == EIGHT_VALUE);
    assert_false(ops_var_watch_decode(BYTES(EIGHT "x"), &got));
    assert_false(ops_var_watch_decode(BYTES("1234567"), &got));
    ops_var_read_make(&call);
    expect_call(&call, CALL_VAR_READ, 0, weft_none());
}

static bool reads_answer(weft_bytes bytes)
{
    struct ops_var_answer got;
    return ops_var_answer_decode(bytes, &got);
}

static void answers_are_a_version_and_a_value(void **state)
{
    (void)state;
    const struct ops_var_answer answer = {EIGHT_VALUE, weft_text("value")};
    char bytes[13];
    struct ops_var_answer got;
    assert_int_equal(ops_var_answer_size(&answer), sizeof bytes);
    ops_var_answer_put(bytes, &answer);
    expect_bytes((weft_bytes){bytes, sizeof bytes}, BYTES(EIGHT "value"));
    assert_true(ops_var_answer_decode(BYTES(EIGHT "value"), &got));
    assert_true(got.version == EIGHT_VALUE);
    expect_bytes(got.value, weft_text("value"));
    expect_cut_below(BYTES(EIGHT "value"), 8, reads_answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_variable_is_described_by_its_type),
        cmocka_unit_test(without_attributes_it_is_an_int64),
        cmocka_unit_test(a_rank_that_is_too_high_is_told),
        cmocka_unit_test(changes_are_read_as_they_were_made),
        cmocka_unit_test(a_change_tells_where_it_is_cut),
        cmocka_unit_test(a_watch_names_the_version_that_is_known),
        cmocka_unit_test(answers_are_a_version_and_a_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
