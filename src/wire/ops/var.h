// The calls of a variable.
//
//     attributes   u8 dtype, u8 rank, i64 dims[rank]; none: a scalar int64
//     value        its content, little-endian, as wire/tuple.h says; bytes are a scalar string
//
//     VAR_READ                                  -> u64 version, value
//     VAR_SET             value                 -> u64 version
//     VAR_CREATE          value                 -> u64 version, value now; SEEN: it had one already
//     VAR_ADD, MIN, MAX   operand               -> u64 version, value now
//     VAR_SWAP            blob expected, value  -> u64 version, value now; MISSED: it was another
//     VAR_WATCH           u64 known version     -> u64 version, value, once the version is beyond known
//
// A change begins, with ONCE, with the item that it counts for, and with KEYED, of VAR_ADD alone,
// with a text: its key.
#ifndef WIRE_OPS_VAR_H
#define WIRE_OPS_VAR_H

#include "wire/ops/ops.h"
#include "wire/tuple.h"

struct ops_var_attributes {
    uint8_t dtype, rank;
    int64_t dims[TUPLE_RANK_MAX];
};

// VAR_SET, VAR_CREATE, VAR_ADD, VAR_MIN, VAR_MAX, VAR_SWAP.
struct ops_var_change {
    uint8_t op;
    bool is_once, is_keyed;  // not both
    struct call_item item;   // is_once
    weft_bytes key;          // is_keyed
    weft_bytes expected;     // VAR_SWAP
    weft_bytes value;
};

struct ops_var_watch {
    uint64_t known;
};

struct ops_var_answer {
    uint64_t version;
    weft_bytes value;
};

// For a change that is cut: the values before the cut are set.
enum ops_var_cut { OPS_VAR_WHOLE, OPS_VAR_CUT_ITEM, OPS_VAR_CUT_KEY, OPS_VAR_CUT_EXPECTED };

void ops_var_attributes_encode(struct buf *out, const struct ops_var_attributes *from);

// False: other bytes than such a value. A rank above TUPLE_RANK_MAX is read even so.
MUST_CHECK bool ops_var_attributes_decode(weft_bytes bytes, struct ops_var_attributes *to);

void ops_var_read_make(struct ops_call *call);

static inline void ops_var_change_make(struct ops_call *call, const struct ops_var_change *from)
{
    const uint16_t key_size = (uint16_t)from->key.size;
    const uint32_t expected_size = (uint32_t)from->expected.size;
    const bool is_swap = from->op == CALL_VAR_SWAP;
    ASSERT(!from->is_keyed || (!from->is_once && !is_swap && from->key.size <= UINT16_MAX));
    ops_call_init(
        call, from->op,
        (uint8_t)((from->is_once ? CALL_FLAG_ONCE : 0) | (from->is_keyed ? CALL_FLAG_KEYED : 0)));
    if (from->is_once)
        ops_call_put_item(call, &from->item);
    if (from->is_keyed)
        ops_call_put(call, &key_size, sizeof key_size);
    if (is_swap)
        ops_call_put(call, &expected_size, sizeof expected_size);
    call->first = from->is_keyed ? from->key : is_swap ? from->expected : weft_none();
    call->second = from->value;
}

MUST_CHECK enum ops_var_cut ops_var_change_decode(const struct call *call,
                                                  struct ops_var_change *to);
void ops_var_watch_make(struct ops_call *call, const struct ops_var_watch *from);
MUST_CHECK bool ops_var_watch_decode(weft_bytes bytes, struct ops_var_watch *to);

static inline size_t ops_var_answer_size(const struct ops_var_answer *answer)
{
    return sizeof answer->version + answer->value.size;
}

// In place; inline, because it answers every change.
static inline void ops_var_answer_put(char *to, const struct ops_var_answer *from)
{
    memcpy(to, &from->version, sizeof from->version);
    if (from->value.size)
        memcpy(to + sizeof from->version, from->value.data, from->value.size);
}

MUST_CHECK bool ops_var_answer_decode(weft_bytes bytes, struct ops_var_answer *to);

#endif
