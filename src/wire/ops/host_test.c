// Tests of the calls of a host itself. Bytes in journals and between versions must stay as they are drawn.

#include "wire/ops/host.h"

#include "wire/ops/ops_testing.h"

static void an_open_names_what_it_wants(void **state)
{
    (void)state;
    const weft_bytes bytes = BYTES("\x02\x04\0work\x05\0totalattributes");
    struct buf out = {0};
    struct ops_open got;
    ops_open_encode(&out, &(struct ops_open){CALL_KIND_VAR, weft_text("work"), weft_text("total"),
                                             weft_text("attributes")});
    expect_buf(&out, bytes);
    assert_true(ops_open_decode(bytes, &got));
    assert_int_equal(got.kind, CALL_KIND_VAR);
    expect_bytes(got.container, weft_text("work"));
    expect_bytes(got.name, weft_text("total"));
    expect_bytes(got.attributes, weft_text("attributes"));
}

static bool reads_open(weft_bytes bytes)
{
    struct ops_open got;
    return ops_open_decode(bytes, &got);
}

static void an_open_is_cut_before_the_end_of_its_name(void **state)
{
    (void)state;
    expect_cut_below(BYTES("\x02\x04\0work\x05\0totalattributes"), 14, reads_open);
}

static void it_is_answered_with_what_there_is(void **state)
{
    (void)state;
    struct buf out = {0};
    struct ops_opened got;
    ops_opened_encode(&out, &(struct ops_opened){EIGHT_VALUE, 1, weft_text("attributes")});
    expect_buf(&out, BYTES(EIGHT "\x01\0\0\0\0\0\0\0attributes"));
    assert_true(ops_opened_decode(BYTES(EIGHT EIGHT "x"), &got));
    assert_true(got.uid == EIGHT_VALUE && got.epoch == EIGHT_VALUE);
    expect_bytes(got.attributes, weft_text("x"));
    assert_false(ops_opened_decode(BYTES(EIGHT), &got));
}

static void a_list_names_resources(void **state)
{
    (void)state;
    const weft_bytes bytes = BYTES("\x01\x01\0c\x01\0n\x02\0\0\x01\0m");
    struct buf out = {0};
    struct ops_listed got;
    weft_bytes rest = bytes;
    ops_listed_encode(&out, &(struct ops_listed){CALL_KIND_QUEUE, weft_text("c"), weft_text("n")});
    ops_listed_encode(&out, &(struct ops_listed){CALL_KIND_VAR, weft_none(), weft_text("m")});
    expect_buf(&out, bytes);
    assert_true(ops_listed_next(&rest, &got));
    assert_true(ops_listed_next(&rest, &got));
    assert_int_equal(got.kind, CALL_KIND_VAR);
    expect_bytes(got.name, weft_text("m"));
    assert_int_equal(rest.size, 0);
    rest = BYTES("\x01\x01\0c\x01\0");
    assert_false(ops_listed_next(&rest, &got));
}

static void a_call_is_taken_back_by_its_number(void **state)
{
    (void)state;
    struct ops_call call;
    struct ops_recall got;
    ops_recall_make(&call, &(struct ops_recall){CALL_WITHDRAW, EIGHT_VALUE});
    expect_call(&call, CALL_WITHDRAW, 0, BYTES(EIGHT));
    const struct call sent = call_of(CALL_CANCEL, 0, BYTES(EIGHT));
    assert_true(ops_recall_decode(&sent, &got));
    assert_true(got.op == CALL_CANCEL && got.sequence == EIGHT_VALUE);
    const struct call cut = call_of(CALL_CANCEL, 0, BYTES("1234567"));
    assert_false(ops_recall_decode(&cut, &got));
}

static void some_have_no_operands(void **state)
{
    (void)state;
    struct ops_call call;
    ops_list_make(&call);
    expect_call(&call, CALL_LIST, 0, weft_none());
    ops_remove_make(&call);
    expect_call(&call, CALL_REMOVE, 0, weft_none());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_open_names_what_it_wants),
        cmocka_unit_test(an_open_is_cut_before_the_end_of_its_name),
        cmocka_unit_test(it_is_answered_with_what_there_is),
        cmocka_unit_test(a_list_names_resources),
        cmocka_unit_test(a_call_is_taken_back_by_its_number),
        cmocka_unit_test(some_have_no_operands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
