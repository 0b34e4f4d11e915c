// What clients do with the kv and at the barrier.
#include "sim_host/caller.h"

// A version that the key may have: one that somebody saw.
static uint64_t draw_version(uint8_t key)
{
    uint64_t version = 0;
    for (size_t i = 0; i < history.ops.count; i++) {
        const struct op *op = &history.ops.items[i];
        if ((op->kind == OP_PUT || op->kind == OP_GET) && op->a == key &&
            op->outcome == OUTCOME_OK && world_chance(500))
            version = (uint64_t)op->value;
    }
    return version;
}

void caller_change_kv(struct caller *caller)
{
    struct op op = {.kind = world_chance(300) ? OP_RM : OP_PUT,
                    .a = world_below(KEY_COUNT),
                    .is_if = world_chance(400)};
    op.is_owned = op.kind == OP_PUT && world_chance(400);
    op.b = op.kind == OP_PUT ? (uint8_t)history.ops.count : 0;
    op.expected = op.is_if ? draw_version((uint8_t)op.a) : 0;
    const char key[] = {1, 0, (char)('a' + op.a)}, value = (char)op.b;
    struct peer_ask what = {
        .op = op.kind == OP_PUT ? CALL_KV_PUT : CALL_KV_REMOVE,
        .flags = (uint8_t)((op.is_if ? CALL_FLAG_IF : 0) | (op.is_owned ? CALL_FLAG_OWNED : 0)),
        .parts = {{(const char *)&op.expected, op.is_if ? sizeof op.expected : 0},
                  {key, sizeof key},
                  {&value, op.kind == OP_PUT}},
    };
    struct peer_call call = {0};
    struct op *ended = caller_do(caller, &op, &what, &call);
    if (ended->outcome == OUTCOME_OK && call.answer.size >= sizeof ended->value)
        memcpy(&ended->value, call.answer.data, sizeof ended->value);
    peer_call_fini(&call);
}

void caller_get(struct caller *caller, uint8_t key)
{
    const struct op op = {.kind = OP_GET, .a = key};
    const char name[] = {1, 0, (char)('a' + key)};
    struct peer_ask what = {.op = CALL_KV_GET, .parts = {{name, sizeof name}}};
    struct peer_call call = {0};
    struct op *ended = caller_do(caller, &op, &what, &call);
    if (ended->outcome == OUTCOME_OK) {
        memcpy(&ended->value, call.answer.data, sizeof ended->value);
        ended->is_owned = call.answer.data[8];
        ended->b = (uint8_t)call.answer.data[9];
    }
    peer_call_fini(&call);
}

void caller_wait_at_barrier(struct caller *caller)
{
    const struct op op = {.kind = OP_WAIT};
    struct peer_ask what = {.op = CALL_BARRIER_WAIT};
    struct peer_call call = {0};
    struct op *ended = caller_do(caller, &op, &what, &call);
    if (ended->outcome == OUTCOME_OK)
        memcpy(&ended->value, call.answer.data, sizeof ended->value);
    peer_call_fini(&call);
}
