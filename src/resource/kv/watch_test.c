// Watches of a kv: their reports, when they report all keys instead, and how they end.
#include "resource/kv/kv_state.h"
#include "resource/resource_testing.h"
#include "wire/pack.h"

static uint16_t open_kv(struct testing_member *member)
{
    return testing_open(member, CALL_KIND_KV, "names", weft_none());
}

static void put(struct testing_member *member, uint16_t kv, const char *key, const char *value)
{
    testing_call(member, CALL_KV_PUT, 0, kv, PAYLOAD(TEXT(key), RAW(value)));
}

static void remove_key(struct testing_member *member, uint16_t kv, const char *key)
{
    testing_call(member, CALL_KV_REMOVE, 0, kv, PAYLOAD(TEXT(key)));
}

static uint64_t watch(struct testing_member *member, uint16_t kv, const char *prefix,
                      uint64_t known)
{
    return testing_call(member, CALL_KV_WATCH, 0, kv, PAYLOAD(TEXT(prefix), U64(known)));
}

#define PUT(key, version, value) U8(OPS_KV_PUT), TEXT(key), U64(version), BLOB(value)
#define REMOVED(key, version) U8(OPS_KV_REMOVED), TEXT(key), U64(version), U32(0)

static void change_under_the_prefix_is_told(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t of_a = open_kv(a), of_b = open_kv(b);
    const uint64_t narrow = watch(b, of_b, "a/", 0), wide = watch(b, of_b, "", 0);
    put(a, of_a, "a", "other");
    testing_expect(b, wide, 0, PAYLOAD(U64(1), PUT("a", 1, "other")));
    testing_expect_waiting(b, narrow);
    put(a, of_a, "a/x", "1");
    testing_expect(b, narrow, 0, PAYLOAD(U64(2), PUT("a/x", 2, "1")));
    const uint64_t again = watch(b, of_b, "a/", 2);
    testing_expect_waiting(b, again);
    remove_key(a, of_a, "a");
    remove_key(a, of_a, "a/none");
    testing_expect_waiting(b, again);
    remove_key(a, of_a, "a/x");
    testing_expect(b, again, 0, PAYLOAD(U64(4), REMOVED("a/x", 4)));
}

static void watch_that_is_withdrawn_makes_room_for_another(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t kv = open_kv(a);
    for (uint32_t i = 0; i < 100; i++) {
        const uint64_t watched = watch(a, kv, "", 0);
        testing_expect_waiting(a, watched);
        testing_call(a, CALL_WITHDRAW, 0, 0, PAYLOAD(U64(watched)));
        testing_expect_failure(a, watched, WEFT_CANCELLED, "map 'names'");
    }
    const uint64_t last = watch(a, kv, "", 0);
    put(a, kv, "a", "1");
    testing_expect(a, last, 0, PAYLOAD(U64(1), PUT("a", 1, "1")));
}

static void what_was_missed_is_told_as_it_is_now(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t kv = open_kv(a);
    put(a, kv, "x", "1");
    put(a, kv, "y", "2");
    put(a, kv, "x", "3");
    put(a, kv, "z", "4");
    remove_key(a, kv, "z");
    put(a, kv, "w", "6");
    static const struct {
        uint64_t known;
        const char *prefix;
        const char *told;  // key and version
    } rows[] = {
        {0, "", "y2 x3 -z5 w6 "}, {2, "", "x3 -z5 w6 "}, {3, "", "-z5 w6 "}, {5, "", "w6 "},
        {0, "x", "x3 "},          {2, "x", "x3 "},       {3, "z", "-z5 "},   {0, "w", "w6 "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct answer answer = testing_answer(a, watch(a, kv, rows[i].prefix, rows[i].known));
        struct pack_reader reader = {answer.payload, false};
        struct buf told = {0};
        assert_int_equal(answer.flags, 0);
        assert_int_equal(pack_read_u64(&reader), 6);
        while (reader.rest.size) {
            const bool is_put = pack_read_u8(&reader) == OPS_KV_PUT;
            const weft_bytes key = pack_read_text(&reader);
            const unsigned version = (unsigned)pack_read_u64(&reader);
            buf_format(&told, "%s%.*s%u ", is_put ? "" : "-", (int)key.size, key.data, version);
            pack_read_blob(&reader);
        }
        assert_false(reader.has_failed);
        assert_string_equal(buf_text(&told), rows[i].told);
        buf_fini(&told);
    }
    testing_expect_waiting(a, watch(a, kv, "x", 3));
    testing_expect_waiting(a, watch(a, kv, "", 6));
}

static void who_missed_too_much_is_told_all(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t kv = open_kv(a);
    put(a, kv, "stays", "1");
    for (unsigned i = 0; i < KV_HISTORY_MAX; i++)
        put(a, kv, "other", "2");
    const uint64_t revision = KV_HISTORY_MAX + 1;
    testing_expect(a, watch(a, kv, "s", 0), ANSWER_FLAG_ALL,
                   PAYLOAD(U64(revision), PUT("stays", 1, "1")));
    testing_expect_waiting(a, watch(a, kv, "s", 1));
    testing_expect(a, watch(a, kv, "", 1), 0, PAYLOAD(U64(revision), PUT("other", revision, "2")));
    testing_expect(a, watch(a, kv, "none", 0), ANSWER_FLAG_ALL, PAYLOAD(U64(revision)));
}

static void keys_of_the_history_are_limited_in_bytes(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t handle = open_kv(a);
    char key[CALL_NAME_BYTES_MAX + 1];
    memset(key, 'k', sizeof key - 1);
    key[sizeof key - 1] = 0;
    for (unsigned i = 0; i < 1100; i++)
        put(a, handle, key, "");
    const struct kv *kv = kv_of(a->session->handles.items[handle]);
    assert_int_equal(kv->history_bytes, KV_HISTORY_BYTES_MAX);
    assert_int_equal(kv->history_count, 1024);
    assert_int_equal(testing_answer(a, watch(a, handle, "", 75)).flags, ANSWER_FLAG_ALL);
    assert_int_equal(testing_answer(a, watch(a, handle, "", 76)).flags, 0);
}

static void restart_forgets_what_changed_but_not_what_is(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t kv = open_kv(a);
    put(a, kv, "x", "1");
    put(a, kv, "y", "2");
    testing_restart_from_snapshot();
    testing_expect(a, watch(a, kv, "x", 1), ANSWER_FLAG_ALL, PAYLOAD(U64(2), PUT("x", 1, "1")));
    testing_expect_waiting(a, watch(a, kv, "x", 2));
    put(a, kv, "y", "3");
    testing_expect(a, watch(a, kv, "y", 2), 0, PAYLOAD(U64(3), PUT("y", 3, "3")));
}

static void revision_of_another_life_is_told_all(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t kv = open_kv(a);
    testing_expect(a, watch(a, kv, "", 7), ANSWER_FLAG_ALL, PAYLOAD(U64(0)));
    put(a, kv, "x", "1");
    testing_expect(a, watch(a, kv, "", UINT64_MAX), ANSWER_FLAG_ALL,
                   PAYLOAD(U64(1), PUT("x", 1, "1")));
}

static void watch_ends_with_what_it_watches(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t of_a = open_kv(a), of_b = open_kv(b);
    const uint64_t cancelled = watch(a, of_a, "", 0), removed = watch(b, of_b, "", 0);
    testing_call(a, CALL_CANCEL, 0, 0, PAYLOAD(U64(cancelled)));
    testing_expect_failure(a, cancelled, WEFT_CANCELLED, "the watch of the map 'names' has ended");
    testing_call(a, CALL_REMOVE, 0, of_a, weft_none());
    testing_expect_failure(b, removed, WEFT_ABORTED, "removed");
}

static void last_owner_is_seen_to_go_before_watches_end(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t of_a = open_kv(a), of_b = open_kv(b);
    testing_call(a, CALL_KV_PUT, CALL_FLAG_OWNED, of_a, PAYLOAD(TEXT("x"), RAW("1")));
    const uint64_t first = watch(b, of_b, "", 1), second = watch(b, of_b, "other", 1);
    testing_end(a);
    testing_expect(b, first, 0, PAYLOAD(U64(2), REMOVED("x", 2)));
    testing_expect_failure(b, second, WEFT_OUT_OF_RANGE, "all members that could write have left");
    testing_expect_failure(b, watch(b, of_b, "", 2), WEFT_OUT_OF_RANGE, "left");
    testing_expect(b, watch(b, of_b, "", 1), 0, PAYLOAD(U64(2), REMOVED("x", 2)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(change_under_the_prefix_is_told),
        TEST(watch_that_is_withdrawn_makes_room_for_another),
        TEST(what_was_missed_is_told_as_it_is_now),
        TEST(who_missed_too_much_is_told_all),
        TEST(keys_of_the_history_are_limited_in_bytes),
        TEST(restart_forgets_what_changed_but_not_what_is),
        TEST(revision_of_another_life_is_told_all),
        TEST(watch_ends_with_what_it_watches),
        TEST_ENDING_WATCHES(last_owner_is_seen_to_go_before_watches_end),
    };
    return cmocka_run_group_tests_name("resource/kv_watch", tests, NULL, NULL);
}
