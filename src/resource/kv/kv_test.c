// A kv: keys that are put, expected, owned and listed; limits; the state after a restart.
#include "resource/kv/kv_state.h"
#include "resource/resource_testing.h"
#include "wire/pack.h"

static uint16_t open_kv(struct testing_member *member)
{
    return testing_open(member, CALL_KIND_KV, "names", weft_none());
}

static uint64_t put(struct testing_member *member, uint16_t kv, uint8_t flags, const char *key,
                    const char *value)
{
    return testing_call(member, CALL_KV_PUT, flags, kv, PAYLOAD(TEXT(key), RAW(value)));
}

static uint64_t put_if(struct testing_member *member, uint16_t kv, uint64_t expected,
                       const char *key, const char *value)
{
    return testing_call(member, CALL_KV_PUT, CALL_FLAG_IF, kv,
                        PAYLOAD(U64(expected), TEXT(key), RAW(value)));
}

static uint64_t get(struct testing_member *member, uint16_t kv, const char *key)
{
    return testing_call(member, CALL_KV_GET, 0, kv, PAYLOAD(TEXT(key)));
}

static uint64_t remove_key(struct testing_member *member, uint16_t kv, const char *key)
{
    return testing_call(member, CALL_KV_REMOVE, 0, kv, PAYLOAD(TEXT(key)));
}

static uint64_t range(struct testing_member *member, uint16_t kv, const char *from, const char *to,
                      uint32_t limit)
{
    return testing_call(member, CALL_KV_RANGE, 0, kv, PAYLOAD(TEXT(from), TEXT(to), U32(limit)));
}

static void what_was_put_is_there(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t kv = open_kv(a);
    testing_expect_failure(a, get(a, kv, "x"), WEFT_NOT_FOUND, "there is no key 'x'");
    testing_expect(a, put(a, kv, 0, "x", "one"), 0, PAYLOAD(U64(1)));
    testing_expect(a, put(a, kv, 0, "y", ""), 0, PAYLOAD(U64(2)));
    testing_expect(a, put(a, kv, 0, "x", "three"), 0, PAYLOAD(U64(3)));
    testing_expect(a, get(a, kv, "x"), 0, PAYLOAD(U64(3), U8(0), RAW("three")));
    testing_expect(a, get(a, kv, "y"), 0, PAYLOAD(U64(2), U8(0)));
    testing_expect(a, remove_key(a, kv, "x"), 0, weft_none());
    testing_expect(a, remove_key(a, kv, "x"), ANSWER_FLAG_SEEN, weft_none());
    testing_expect_failure(a, get(a, kv, "x"), WEFT_NOT_FOUND, "'x'");
    testing_expect(a, put(a, kv, 0, "x", "five"), 0, PAYLOAD(U64(5)));
}

static void only_what_is_expected_is_changed(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t kv = open_kv(a);
    testing_expect(a, put_if(a, kv, 3, "x", "a"), ANSWER_FLAG_MISSED, PAYLOAD(U64(0)));
    testing_expect(a, put_if(a, kv, 0, "x", "a"), 0, PAYLOAD(U64(1)));
    testing_expect(a, put_if(a, kv, 0, "x", "b"), ANSWER_FLAG_MISSED, PAYLOAD(U64(1), RAW("a")));
    testing_expect(a, put_if(a, kv, 1, "x", "b"), 0, PAYLOAD(U64(2)));
    static const struct {
        uint64_t expected;
        const char *key;
        uint8_t flags;
        uint64_t version;
        const char *value;
    } removals[] = {
        {1, "x", ANSWER_FLAG_MISSED, 2, "b"},
        {0, "x", ANSWER_FLAG_MISSED, 2, "b"},
        {2, "x", 0, 0, NULL},
        {2, "x", ANSWER_FLAG_MISSED, 0, ""},
        {0, "x", ANSWER_FLAG_SEEN, 0, NULL},
    };
    for (size_t i = 0; i < sizeof removals / sizeof *removals; i++)
        testing_expect(a,
                       testing_call(a, CALL_KV_REMOVE, CALL_FLAG_IF, kv,
                                    PAYLOAD(U64(removals[i].expected), TEXT(removals[i].key))),
                       removals[i].flags,
                       removals[i].value ? PAYLOAD(U64(removals[i].version), RAW(removals[i].value))
                                         : weft_none());
}

static void owned_keys_go_with_their_session(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t of_a = open_kv(a), of_b = open_kv(b);
    put(a, of_a, CALL_FLAG_OWNED, "mine", "a");
    put(a, of_a, CALL_FLAG_OWNED, "taken", "a");
    put(a, of_a, CALL_FLAG_OWNED, "freed", "a");
    put(b, of_b, CALL_FLAG_OWNED, "taken", "b");
    put(b, of_b, 0, "freed", "b");
    testing_expect(b, get(b, of_b, "mine"), 0, PAYLOAD(U64(1), U8(1), RAW("a")));
    testing_expect(b, get(b, of_b, "freed"), 0, PAYLOAD(U64(5), U8(0), RAW("b")));
    testing_restart_from_snapshot();
    testing_end(a);
    testing_expect(b, range(b, of_b, "", "", 0), 0,
                   PAYLOAD(U64(6), TEXT("freed"), U64(5), U8(0), BLOB("b"), TEXT("taken"), U64(4),
                           U8(1), BLOB("b")));
    testing_expect(b, testing_call(b, CALL_LEAVE, 0, 0, weft_none()), 0, weft_none());
    testing_expect_failure(b, get(b, of_b, "taken"), WEFT_NOT_FOUND, "taken");
}

// In the order of their versions, which a snapshot must not lose: z before a.
static void owned_keys_go_in_the_order_they_were_put(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t of_a = open_kv(a), of_b = open_kv(b);
    put(a, of_a, CALL_FLAG_OWNED, "a", "1");
    put(a, of_a, CALL_FLAG_OWNED, "z", "2");
    put(a, of_a, CALL_FLAG_OWNED, "m", "3");
    put(a, of_a, CALL_FLAG_OWNED, "a", "4");
    testing_restart_from_snapshot();
    const uint64_t watch = testing_call(b, CALL_KV_WATCH, 0, of_b, PAYLOAD(TEXT(""), U64(4)));
    testing_end(a);
    testing_expect(b, watch, 0, PAYLOAD(U64(5), U8(2), TEXT("z"), U64(5), BLOB("")));
    testing_expect(
        b, testing_call(b, CALL_KV_WATCH, 0, of_b, PAYLOAD(TEXT(""), U64(5))), 0,
        PAYLOAD(U64(7), U8(2), TEXT("m"), U64(6), BLOB(""), U8(2), TEXT("a"), U64(7), BLOB("")));
}

static void ranges_are_in_bytewise_order(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t kv = open_kv(a);
    static const char *const keys[] = {"b", "\xff", "a/2", "a", "a/10"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        put(a, kv, 0, keys[i], "v");
    static const struct {
        const char *from, *to;
        uint32_t limit;
        const char *found;
        bool has_more;
    } rows[] = {
        {"", "", 0, "a a/10 a/2 b \xff ", false}, {"a/", "a0", 0, "a/10 a/2 ", false},
        {"a/10", "b", 0, "a/10 a/2 ", false},     {"b", "a", 0, "", false},
        {"b\1", "", 0, "\xff ", false},           {"", "", 2, "a a/10 ", true},
        {"a/2", "", 3, "a/2 b \xff ", false},     {"a/", "a0", 1, "a/10 ", true},
        {"a/", "a0", 2, "a/10 a/2 ", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct answer answer =
            testing_answer(a, range(a, kv, rows[i].from, rows[i].to, rows[i].limit));
        assert_int_equal(answer.code, WEFT_OK);
        assert_int_equal(answer.flags, rows[i].has_more ? ANSWER_FLAG_MORE : 0);
        struct pack_reader reader = {answer.payload, false};
        assert_int_equal(pack_read_u64(&reader), 5);
        struct buf found = {0};
        while (reader.rest.size) {
            const weft_bytes key = pack_read_text(&reader);
            buf_format(&found, "%.*s ", (int)key.size, key.data);
            pack_read_u64(&reader);
            pack_read_u8(&reader);
            pack_read_blob(&reader);
        }
        assert_false(reader.has_failed);
        assert_string_equal(buf_text(&found), rows[i].found);
        buf_fini(&found);
    }
}

static void long_answers_are_cut(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t kv = open_kv(a);
    static char value[KV_VALUE_BYTES_MAX];
    for (unsigned i = 0; i < 18; i++) {
        char key[] = {(char)('a' + i), 0};
        testing_call(a, CALL_KV_PUT, 0, kv,
                     PAYLOAD(TEXT(key), RAW_BYTES(((weft_bytes){value, sizeof value}))));
    }
    const struct answer first = testing_answer(a, range(a, kv, "", "", 0));
    assert_int_equal(first.flags, ANSWER_FLAG_MORE);
    assert_in_range(first.payload.size, KV_ANSWER_BYTES_MAX, KV_ANSWER_BYTES_MAX + (2 << 20));
    assert_int_equal(testing_answer(a, range(a, kv, "q", "", 0)).flags, 0);
    const uint64_t all = testing_call(a, CALL_KV_WATCH, 0, kv, PAYLOAD(TEXT(""), U64(99)));
    assert_int_equal(testing_answer(a, all).flags, ANSWER_FLAG_ALL | ANSWER_FLAG_MORE);
    uint64_t known;
    const struct answer changes =
        testing_answer(a, testing_call(a, CALL_KV_WATCH, 0, kv, PAYLOAD(TEXT(""), U64(0))));
    memcpy(&known, changes.payload.data, sizeof known);
    assert_in_range(known, 16, 17);
    const struct answer rest =
        testing_answer(a, testing_call(a, CALL_KV_WATCH, 0, kv, PAYLOAD(TEXT(""), U64(known))));
    memcpy(&known, rest.payload.data, sizeof known);
    assert_int_equal(known, 18);
}

static void senseless_calls_are_refused(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t kv = open_kv(a);
    static char long_key[CALL_NAME_BYTES_MAX + 1];
    const weft_bytes too_long =
        PAYLOAD(U16(sizeof long_key), RAW_BYTES(((weft_bytes){long_key, sizeof long_key})));
    const struct {
        uint8_t op, flags;
        weft_bytes payload;
        const char *words;
    } rows[] = {
        {CALL_KV_GET, 0, weft_none(), "names one key"},
        {CALL_KV_GET, 0, PAYLOAD(TEXT("a"), U8(1)), "names one key"},
        {CALL_KV_PUT, 0, PAYLOAD(TEXT(""), RAW("v")), "a key has 1 to 1024 bytes"},
        {CALL_KV_PUT, 0, too_long, "and this one has 1025"},
        {CALL_KV_PUT, CALL_FLAG_IF, PAYLOAD(TEXT("a")), "a key has 1 to"},
        {CALL_KV_PUT, CALL_FLAG_ONCE, PAYLOAD(TEXT("a")), "(KV_PUT, flags 32)"},
        {CALL_KV_REMOVE, 0, weft_none(), "a key has 1 to"},
        {CALL_KV_REMOVE, 0, PAYLOAD(TEXT("a"), U8(1)), "1 bytes follow"},
        {CALL_KV_REMOVE, CALL_FLAG_OWNED, PAYLOAD(TEXT("a")), "(KV_REMOVE, flags 64)"},
        {CALL_KV_RANGE, 0, weft_none(), "KV_RANGE names"},
        {CALL_KV_WATCH, 0, weft_none(), "KV_WATCH names"},
        {CALL_VAR_ADD, 0, weft_none(), "what this map is asked for (VAR_ADD, flags 0)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        testing_expect_failure(a, testing_call(a, rows[i].op, rows[i].flags, kv, rows[i].payload),
                               WEFT_INVALID_ARGUMENT, rows[i].words);
    testing_expect_failure(a, testing_try_open(a, CALL_KIND_KV, "x", PAYLOAD(U8(1))),
                           WEFT_INVALID_ARGUMENT, "no attributes");
    testing_expect_failure(a, testing_try_open(a, CALL_KIND_KV, "names", PAYLOAD(U8(1))),
                           WEFT_INVALID_ARGUMENT, "no attributes");
    static char value[KV_VALUE_BYTES_MAX + 1];
    testing_expect_failure(
        a,
        testing_call(a, CALL_KV_PUT, 0, kv,
                     PAYLOAD(TEXT("a"), RAW_BYTES(((weft_bytes){value, sizeof value})))),
        WEFT_RESOURCE_EXHAUSTED, "at most 1048576 bytes, not 1048577");
}

static void full_store_takes_only_what_is_smaller(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t handle = open_kv(a);
    put(a, handle, 0, "x", "123");
    struct kv *kv = kv_of(a->session->handles.items[handle]);
    const uint64_t bytes = kv->bytes;
    kv->bytes = KV_BYTES_MAX - 1;
    testing_expect_failure(a, put(a, handle, 0, "y", ""), WEFT_RESOURCE_EXHAUSTED,
                           "the map 'names' is full");
    testing_expect_failure(a, put(a, handle, 0, "x", "12345"), WEFT_RESOURCE_EXHAUSTED, "full");
    testing_expect(a, get(a, handle, "x"), 0, PAYLOAD(U64(1), U8(0), RAW("123")));
    testing_expect(a, put(a, handle, 0, "x", "1234"), 0, PAYLOAD(U64(2)));
    assert_int_equal(kv->bytes, KV_BYTES_MAX);
    remove_key(a, handle, "x");
    assert_int_equal(kv->bytes, KV_BYTES_MAX - bytes - 1);
    testing_restart_from_snapshot();  // a replay into a store that is not full would differ
}

static void many_keys_survive_a_snapshot(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t kv = open_kv(a);
    static char value[3000];
    memset(value, 'v', sizeof value - 1);
    for (unsigned i = 0; i < 2000; i++) {
        char key[16];
        snprintf(key, sizeof key, "%u", i * 7919 % 2000);
        put(a, kv, i % 3 ? 0 : CALL_FLAG_OWNED, key, value);
    }
    testing_restart_from_snapshot();
    assert_int_equal(kv_of(a->session->handles.items[kv])->map.count, 2000);
    testing_end(a);
}

static void damaged_parts_are_refused(void **state)
{
    (void)state;
    const struct {
        weft_bytes part;
        bool is_sound;
    } rows[] = {
        {PAYLOAD(U8(2), TEXT("a"), U64(1), BLOB("v")), false},  // before its revision
        {PAYLOAD(U8(1), U32(9)), false},
        {PAYLOAD(U8(1), U64(9), U8(0)), false},
        {PAYLOAD(U8(1), U64(9)), true},
        {PAYLOAD(U8(2), TEXT("a"), U64(1), BLOB("v")), true},
        {PAYLOAD(U8(2), TEXT("a"), U64(2), BLOB("v")), false},  // twice
        {PAYLOAD(U8(2), TEXT(""), U64(2), BLOB("v")), false},
        {PAYLOAD(U8(3), U32(7), TEXT("a")), false},  // its owner does not exist
        {PAYLOAD(U8(4)), false},
        {weft_none(), false},
    };
    struct host *host = testing_new_host(false);
    struct resource *kv;
    testing_must(host_open_resource(host, CALL_KIND_KV, weft_text("files"), weft_text("x"),
                                    weft_none(), &kv));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pack_reader reader = {rows[i].part, false};
        assert_int_equal(kv->kind->load(kv, &reader), rows[i].is_sound ? WEFT_OK : WEFT_DATA_LOSS);
    }
    host_free(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_put_is_there),
        TEST(only_what_is_expected_is_changed),
        TEST(owned_keys_go_with_their_session),
        TEST(owned_keys_go_in_the_order_they_were_put),
        TEST(ranges_are_in_bytewise_order),
        TEST(long_answers_are_cut),
        TEST(senseless_calls_are_refused),
        TEST(full_store_takes_only_what_is_smaller),
        TEST(many_keys_survive_a_snapshot),
        TEST(damaged_parts_are_refused),
    };
    return cmocka_run_group_tests_name("resource/kv", tests, NULL, NULL);
}
