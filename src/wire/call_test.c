// Tests of calls and answers as bytes.

#include "wire/call.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct call call_of(weft_bytes bytes)
{
    struct call call;
    assert_int_equal(call_next(&bytes, &call), WEFT_OK);
    assert_int_equal(bytes.size, 0);
    return call;
}

static void append_call(struct buf *out, uint8_t op, uint64_t sequence, weft_bytes payload)
{
    call_append_head(out, op, CALL_FLAG_KEYED, 513, sequence, payload.size);
    buf_append(out, payload.data, payload.size);
}

static void a_call_is_read_as_it_was_written(void **state)
{
    (void)state;
    struct buf bytes = {0};
    append_call(&bytes, CALL_QUEUE_PUSH, 0x0102030405060708u, weft_text("payload"));
    const struct call call = call_of(buf_bytes(&bytes));
    assert_int_equal(call.op, CALL_QUEUE_PUSH);
    assert_int_equal(call.flags, CALL_FLAG_KEYED);
    assert_int_equal(call.handle, 513);
    assert_true(call.sequence == 0x0102030405060708u);
    assert_int_equal(call.payload.size, 7);
    assert_memory_equal(call.payload.data, "payload", 7);
    assert_int_equal(call.whole.size, CALL_HEAD_BYTES + 7);
    assert_ptr_equal(call.whole.data, bytes.data);
    buf_fini(&bytes);
}

// Bytes in journals and between versions must not change.
static void the_layout_is_the_one_that_is_drawn(void **state)
{
    (void)state;
    static const uint8_t call[] = {18, 0, 0, 0, 16, 2, 1, 2, 8, 7, 6, 5, 4, 3, 2, 1, 'a', 'b'};
    static const uint8_t answer[] = {17, 0, 0, 0, 11, 4, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1, 'c'};
    struct buf bytes = {0};
    append_call(&bytes, CALL_QUEUE_PUSH, 0x0102030405060708u, weft_text("ab"));
    assert_int_equal(bytes.size, sizeof call);
    assert_memory_equal(bytes.data, call, sizeof call);
    bytes.size = 0;
    answer_append(&bytes, &(struct answer){WEFT_OUT_OF_RANGE, ANSWER_FLAG_MISSED,
                                           0x0102030405060708u, weft_text("c")});
    assert_int_equal(bytes.size, sizeof answer);
    assert_memory_equal(bytes.data, answer, sizeof answer);
    buf_fini(&bytes);
}

static void calls_follow_each_other(void **state)
{
    (void)state;
    struct buf bytes = {0};
    append_call(&bytes, CALL_QUEUE_PUSH, 1, weft_none());
    append_call(&bytes, CALL_PING, 1 | CALL_ASKS_BIT, weft_text("x"));
    append_call(&bytes, CALL_QUEUE_POP, 2, weft_text("yz"));
    weft_bytes rest = buf_bytes(&bytes);
    static const uint8_t ops[] = {CALL_QUEUE_PUSH, CALL_PING, CALL_QUEUE_POP};
    for (size_t i = 0; i < 3; i++) {
        struct call call;
        assert_int_equal(call_next(&rest, &call), WEFT_OK);
        assert_int_equal(call.op, ops[i]);
        assert_int_equal(call.payload.size, i);
    }
    assert_int_equal(rest.size, 0);
    buf_fini(&bytes);
}

static void answers_follow_each_other(void **state)
{
    (void)state;
    struct buf bytes = {0};
    answer_append(&bytes, &(struct answer){WEFT_OK, 0, 5, weft_text("one")});
    answer_append(&bytes, &(struct answer){WEFT_ABORTED, 128, 6, weft_none()});
    weft_bytes rest = buf_bytes(&bytes);
    struct answer answer;
    assert_int_equal(answer_next(&rest, &answer), WEFT_OK);
    assert_true(answer.code == WEFT_OK && answer.flags == 0 && answer.sequence == 5);
    assert_memory_equal(answer.payload.data, "one", 3);
    assert_int_equal(answer_next(&rest, &answer), WEFT_OK);
    assert_true(answer.code == WEFT_ABORTED && answer.flags == 128 && answer.sequence == 6);
    assert_int_equal(answer.payload.size, 0);
    assert_int_equal(rest.size, 0);
    buf_fini(&bytes);
}

// The bytes stand in a block of exactly their size.
static weft_err read_cut(const struct buf *bytes, size_t size, bool is_call)
{
    char *copy = malloc(size + !size);
    assert_non_null(copy);
    memcpy(copy, bytes->data, size);
    weft_bytes rest = {copy, size};
    struct call call;
    struct answer answer;
    const weft_err err = is_call ? call_next(&rest, &call) : answer_next(&rest, &answer);
    free(copy);
    return err;
}

static void a_record_that_is_cut_anywhere_is_data_loss(void **state)
{
    (void)state;
    struct buf bytes = {0};
    append_call(&bytes, CALL_QUEUE_PUSH, 1, weft_text("payload"));
    for (size_t size = 0; size < bytes.size; size++) {
        assert_int_equal(read_cut(&bytes, size, true), WEFT_DATA_LOSS);
        assert_int_equal(read_cut(&bytes, size, false), WEFT_DATA_LOSS);
    }
    assert_int_equal(read_cut(&bytes, bytes.size, true), WEFT_OK);
    assert_int_equal(read_cut(&bytes, bytes.size, false), WEFT_OK);
    buf_fini(&bytes);
}

static void a_size_below_the_head_is_data_loss(void **state)
{
    (void)state;
    struct buf bytes = {0};
    append_call(&bytes, CALL_QUEUE_PUSH, 1, weft_text("payload"));
    for (uint32_t size = 0; size < CALL_HEAD_BYTES; size++) {
        memcpy(bytes.data, &size, sizeof size);
        assert_int_equal(read_cut(&bytes, bytes.size, true), WEFT_DATA_LOSS);
        assert_int_equal(read_cut(&bytes, bytes.size, false), WEFT_DATA_LOSS);
    }
    buf_fini(&bytes);
}

static void expect_call_refused(uint8_t op, uint64_t sequence)
{
    struct buf bytes = {0};
    append_call(&bytes, op, sequence, weft_none());
    assert_int_equal(read_cut(&bytes, bytes.size, true), WEFT_DATA_LOSS);
    buf_fini(&bytes);
}

static void the_number_of_a_call_tells_whether_it_changes_something(void **state)
{
    (void)state;
    expect_call_refused(CALL_QUEUE_PUSH, 0);
    expect_call_refused(CALL_QUEUE_PUSH, 1 | CALL_ASKS_BIT);
    expect_call_refused(CALL_PING, 1);
    expect_call_refused(CALL_PING, 0);
    expect_call_refused(0, 1);
    expect_call_refused(15, 1);
    expect_call_refused(CALL_OP_LIMIT, 1);
    expect_call_refused(255, 1 | CALL_ASKS_BIT);
}

// It must fit into a frame, and so must the answer that hands it to another client.
static void a_call_that_is_too_large_is_data_loss(void **state)
{
    (void)state;
    const size_t size = CALL_BYTES_MAX + 1;
    char *bytes = calloc(1, size);
    assert_non_null(bytes);
    struct buf head = {0};
    call_append_head(&head, CALL_QUEUE_PUSH, 0, 0, 1, CALL_BYTES_MAX - CALL_HEAD_BYTES);
    memcpy(bytes, head.data, CALL_HEAD_BYTES);
    weft_bytes rest = {bytes, size};
    struct call call;
    assert_int_equal(call_next(&rest, &call), WEFT_OK);
    const uint32_t larger = CALL_BYTES_MAX + 1;
    memcpy(bytes, &larger, sizeof larger);
    rest = (weft_bytes){bytes, size};
    assert_int_equal(call_next(&rest, &call), WEFT_DATA_LOSS);
    buf_fini(&head);
    free(bytes);
}

static void an_answer_with_an_unknown_code_is_data_loss(void **state)
{
    (void)state;
    struct buf bytes = {0};
    answer_append(&bytes, &(struct answer){WEFT_UNAUTHENTICATED, 0, 1, weft_none()});
    assert_int_equal(read_cut(&bytes, bytes.size, false), WEFT_OK);
    bytes.data[4]++;
    assert_int_equal(read_cut(&bytes, bytes.size, false), WEFT_DATA_LOSS);
    buf_fini(&bytes);
}

static void operations_have_names(void **state)
{
    (void)state;
    assert_string_equal(call_op_name(CALL_QUEUE_PUSH), "QUEUE_PUSH");
    assert_string_equal(call_op_name(CALL_PING), "PING");
    assert_string_equal(call_op_name(0), "?");
    assert_string_equal(call_op_name(200), "?");
    assert_false(call_op_is_known(0));
    assert_false(call_op_is_known(CALL_OP_LIMIT));
    assert_true(call_op_changes(CALL_OPEN));
    assert_false(call_op_changes(CALL_QUEUE_PEEK));
    assert_false(call_op_changes(255));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_read_as_it_was_written),
        cmocka_unit_test(the_layout_is_the_one_that_is_drawn),
        cmocka_unit_test(calls_follow_each_other),
        cmocka_unit_test(answers_follow_each_other),
        cmocka_unit_test(a_record_that_is_cut_anywhere_is_data_loss),
        cmocka_unit_test(a_size_below_the_head_is_data_loss),
        cmocka_unit_test(the_number_of_a_call_tells_whether_it_changes_something),
        cmocka_unit_test(a_call_that_is_too_large_is_data_loss),
        cmocka_unit_test(an_answer_with_an_unknown_code_is_data_loss),
        cmocka_unit_test(operations_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
