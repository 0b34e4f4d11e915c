// Any calls in any order, sensible or not, leave a host that its journal brings back to the byte, whole
// or cut by a snapshot at any record. The seed of a failure is printed; it stays in the list.
#include "resource/resource_testing.h"
#include "wire/pack.h"
#include "wire/tuple.h"

enum { SEEDS = 60, STEPS = 120 };

static uint32_t random_state;

static uint32_t draw(uint32_t limit)
{
    random_state = random_state * 1664525 + 1013904223;
    return (random_state >> 8) % limit;
}

// Var, kv and barrier, two of each, under the same handles in every session. Those that are open already
// are refused.
static void open_all(struct testing_member *member)
{
    member->handle_count = 0;
    testing_try_open(member, CALL_KIND_VAR, "number", weft_none());
    testing_try_open(member, CALL_KIND_VAR, "text", PAYLOAD(U8(TUPLE_STRING), U8(0)));
    testing_try_open(member, CALL_KIND_KV, "one", weft_none());
    testing_try_open(member, CALL_KIND_KV, "two", weft_none());
    testing_try_open(member, CALL_KIND_BARRIER, "two", PAYLOAD(U32(2)));
    testing_try_open(member, CALL_KIND_BARRIER, "three", PAYLOAD(U32(3)));
}

static const char *draw_key(void)
{
    static const char *const keys[] = {"a", "b", "a/1", "a/2", "c"};
    return keys[draw(5)];
}

static void call_var(struct testing_member *member)
{
    static const uint8_t ops[] = {CALL_VAR_SET, CALL_VAR_CREATE, CALL_VAR_ADD, CALL_VAR_MIN,
                                  CALL_VAR_MAX, CALL_VAR_SWAP,   CALL_VAR_READ};
    const uint8_t op = ops[draw(sizeof ops)];
    const bool is_once = draw(2) && op != CALL_VAR_CREATE && op != CALL_VAR_READ;
    struct buf payload = {0};
    if (is_once)
        pack_write_item(&payload, &(struct call_item){1 + draw(2), 1 + draw(20), draw(9), 1});
    if (op == CALL_VAR_SWAP)
        pack_write_blob(&payload, PAYLOAD(U64(draw(3))));
    if (op != CALL_VAR_READ)
        pack_write_u64(&payload, draw(3));
    testing_call(member, op, is_once ? CALL_FLAG_ONCE : 0, (uint16_t)draw(2), buf_bytes(&payload));
    buf_fini(&payload);
}

static void call_kv(struct testing_member *member)
{
    const uint16_t kv = (uint16_t)(2 + draw(2));
    switch (draw(4)) {
    case 0:
        testing_call(member, CALL_KV_REMOVE, 0, kv, PAYLOAD(TEXT(draw_key())));
        return;
    case 1:
        testing_call(member, CALL_KV_PUT, CALL_FLAG_IF | CALL_FLAG_OWNED, kv,
                     PAYLOAD(U64(draw(4)), TEXT(draw_key()), RAW("if")));
        return;
    default:
        testing_call(member, CALL_KV_PUT, draw(2) ? CALL_FLAG_OWNED : 0, kv,
                     PAYLOAD(TEXT(draw_key()), RAW("value")));
    }
}

static void watch(struct testing_member *member)
{
    if (draw(2))
        testing_call(member, CALL_VAR_WATCH, 0, (uint16_t)draw(2), PAYLOAD(U64(draw(5))));
    else
        testing_call(member, CALL_KV_WATCH, 0, (uint16_t)(2 + draw(2)),
                     PAYLOAD(TEXT("a"), U64(draw(9))));
}

// One of its handles, and perhaps the same again: calls by it are refused until then.
static void release(struct testing_member *member)
{
    testing_call(member, CALL_RELEASE, 0, (uint16_t)draw(6), weft_none());
    if (draw(4))
        open_all(member);
}

static void call_rubbish(struct testing_member *member)
{
    char bytes[40];
    const size_t size = draw(sizeof bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)draw(draw(2) ? 256 : 4);
    uint8_t op = (uint8_t)draw(CALL_OP_LIMIT);
    // Without its resources, and with handles of its own making, a session would do little else.
    while (!call_op_is_known(op) || op == CALL_REMOVE || op == CALL_OPEN || op == CALL_RELEASE)
        op = (uint8_t)draw(CALL_OP_LIMIT);
    testing_call(member, op, (uint8_t)draw(256), (uint16_t)draw(7), (weft_bytes){bytes, size});
}

static struct testing_member *draw_member(void)
{
    for (;;) {
        struct testing_member *member = &testing.members[draw(testing.member_count)];
        if (member->session)
            return member;
    }
}

static void join_another(void)
{
    if (testing.member_count < TESTING_MEMBERS_MAX)
        open_all(testing_join(draw(4) ? "/work/0" : ""));
}

static void step(void)
{
    struct testing_member *member = draw_member();
    switch (draw(16)) {
    case 0:
        join_another();
        return;
    case 1:
        if (member != &testing.members[0])
            testing_end(member);
        return;
    case 13:
        release(member);
        return;
    case 2:
        testing_call(member, CALL_CANCEL, 0, 0, PAYLOAD(U64(1 + draw(30))));
        return;
    case 3:
    case 4:
        call_rubbish(member);
        return;
    case 5:
    case 6:
        watch(member);
        return;
    case 7:
    case 8:
    case 9:
        testing_call(member, CALL_BARRIER_WAIT, 0, (uint16_t)(4 + draw(2)), weft_none());
        return;
    case 10:
    case 11:
    case 12:
        call_var(member);
        return;
    default:
        call_kv(member);
    }
}

static void any_calls_replay_to_the_same_host(void **state)
{
    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        print_message("SEED=%u\n", seed);
        random_state = seed;
        testing_start_as(state, seed % 2 == 0, seed % 4 < 2);
        open_all(testing_join("/work/0"));
        for (unsigned i = 0; i < STEPS; i++)
            step();
        testing_stop(state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_calls_replay_to_the_same_host)};
    return cmocka_run_group_tests_name("resource/replay", tests, NULL, NULL);
}
