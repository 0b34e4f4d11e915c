// Tests of the calls of a barrier. Bytes in journals and between versions must stay as they are drawn.

#include "wire/ops/barrier.h"

#include "wire/ops/ops_testing.h"

static void a_barrier_is_described_by_its_count(void **state)
{
    (void)state;
    struct buf out = {0};
    struct ops_barrier_attributes got;
    ops_barrier_attributes_encode(&out, &(struct ops_barrier_attributes){FOUR_VALUE});
    expect_buf(&out, BYTES(FOUR));
    assert_true(ops_barrier_attributes_decode(BYTES(FOUR), &got));
    assert_int_equal(got.count, FOUR_VALUE);
    assert_false(ops_barrier_attributes_decode(BYTES(FOUR "x"), &got));
    assert_false(ops_barrier_attributes_decode(BYTES("123"), &got));
}

static void a_wait_has_no_operands(void **state)
{
    (void)state;
    struct ops_call call;
    ops_barrier_wait_make(&call);
    expect_call(&call, CALL_BARRIER_WAIT, 0, weft_none());
}

static bool reads_opened(weft_bytes bytes)
{
    struct ops_barrier_opened got;
    return ops_barrier_opened_decode(bytes, &got);
}

static void a_wait_is_answered_with_the_generation(void **state)
{
    (void)state;
    char bytes[OPS_BARRIER_OPENED_BYTES];
    struct ops_barrier_opened got;
    ops_barrier_opened_put(bytes, &(struct ops_barrier_opened){EIGHT_VALUE});
    expect_bytes((weft_bytes){bytes, sizeof bytes}, BYTES(EIGHT));
    assert_true(ops_barrier_opened_decode(BYTES(EIGHT), &got));
    assert_true(got.generation == EIGHT_VALUE);
    expect_cut_below(BYTES(EIGHT), 8, reads_opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_barrier_is_described_by_its_count),
        cmocka_unit_test(a_wait_has_no_operands),
        cmocka_unit_test(a_wait_is_answered_with_the_generation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
