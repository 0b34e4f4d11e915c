// Tests of the keys of pushes: how many are remembered, which are forgotten, and that a journal done again, from
// any snapshot on, remembers the same (testing_stop looks).
// Takes long.

#include "resource/seen_keys.h"

#include <stdio.h>

#include "resource/queue/queue_testing.h"

// A key of `size` bytes for each number.
static weft_bytes key_of(uint32_t number, size_t size)
{
    static char key[CALL_NAME_BYTES_MAX + 1];
    memset(key, 'k', sizeof key);
    const int digits = snprintf(key, sizeof key, "%u", number);
    key[digits] = 'k';
    return (weft_bytes){key, size};
}

static void add(struct seen_keys *keys, uint32_t number, size_t size)
{
    assert_false(seen_keys_have(keys, key_of(number, size)));
    assert_true(seen_keys_add(keys, key_of(number, size), 7));
    seen_keys_trim(keys);
    assert_true(seen_keys_have(keys, key_of(number, size)));
}

static void the_last_million_is_remembered(void **state)
{
    (void)state;
    struct seen_keys keys;
    seen_keys_init(&keys);
    for (uint32_t i = 0; i < SEEN_KEYS_MAX; i++)
        add(&keys, i, 12);
    assert_true(seen_keys_have(&keys, key_of(0, 12)));
    for (uint32_t i = 0; i < SEEN_KEYS_MAX / 2; i++) {
        add(&keys, SEEN_KEYS_MAX + i, 12);
        assert_false(seen_keys_have(&keys, key_of(i, 12)));
        assert_int_equal(keys.count, SEEN_KEYS_MAX);
    }
    assert_int_equal(keys.bytes, (size_t)SEEN_KEYS_MAX * 12);
    assert_true(bytes_equal(seen_keys_at(&keys, 0), key_of(SEEN_KEYS_MAX / 2, 12)));
    assert_true(
        bytes_equal(seen_keys_at(&keys, SEEN_KEYS_MAX - 1), key_of(SEEN_KEYS_MAX / 2 * 3 - 1, 12)));
    seen_keys_fini(&keys);
}

static void long_keys_are_remembered_up_to_their_bytes(void **state)
{
    (void)state;
    struct seen_keys keys;
    seen_keys_init(&keys);
    const uint32_t fit = SEEN_KEYS_BYTES_MAX / CALL_NAME_BYTES_MAX;
    for (uint32_t i = 0; i < fit; i++)
        add(&keys, i, CALL_NAME_BYTES_MAX);
    assert_true(seen_keys_have(&keys, key_of(0, CALL_NAME_BYTES_MAX)));
    add(&keys, fit, 10);  // a short one: a long one goes for it
    assert_false(seen_keys_have(&keys, key_of(0, CALL_NAME_BYTES_MAX)));
    assert_true(seen_keys_have(&keys, key_of(1, CALL_NAME_BYTES_MAX)));
    assert_true(keys.bytes <= SEEN_KEYS_BYTES_MAX);
    seen_keys_fini(&keys);
}

static void what_was_added_last_can_be_taken_back(void **state)
{
    (void)state;
    struct seen_keys keys;
    seen_keys_init(&keys);
    add(&keys, 1, 8);
    assert_true(seen_keys_add(&keys, key_of(2, 8), 7));
    seen_keys_forget_last(&keys);
    assert_false(seen_keys_have(&keys, key_of(2, 8)));
    add(&keys, 2, 8);
    assert_int_equal(keys.count, 2);
    assert_int_equal(keys.bytes, 16);
    seen_keys_fini(&keys);
}

static uint64_t push_number(struct testing_member *member, uint16_t queue, uint32_t number)
{
    return testing_call(member, CALL_QUEUE_PUSH, CALL_FLAG_KEYED, queue,
                        PAYLOAD(U16(CALL_NAME_BYTES_MAX),
                                RAW_BYTES(key_of(number, CALL_NAME_BYTES_MAX)), RAW("x")));
}

static void a_key_that_was_forgotten_counts_again(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    const uint32_t fit = SEEN_KEYS_BYTES_MAX / CALL_NAME_BYTES_MAX;
    for (uint32_t i = 0; i < fit; i++)
        expect_ok(a, push_number(a, q, i));
    expect_seen(a, push_number(a, q, 0));
    expect_ok(a, push_number(a, q, fit));
    expect_seen(a, push_number(a, q, 1));  // which makes it no younger
    testing_restart_from_snapshot();
    expect_seen(a, push_number(a, q, 1));
    expect_ok(a, push_number(a, q, 0));
    expect_ok(a, push_number(a, q, 1));
    expect_seen(a, push_number(a, q, 0));
    assert_int_equal(state_of(a, q).last_id, fit + 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_million_is_remembered),
        cmocka_unit_test(long_keys_are_remembered_up_to_their_bytes),
        cmocka_unit_test(what_was_added_last_can_be_taken_back),
        TEST(a_key_that_was_forgotten_counts_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
