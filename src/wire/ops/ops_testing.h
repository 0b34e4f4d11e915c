// What the tests of calls share: bytes that are drawn, and cut everywhere.
#ifndef WIRE_OPS_OPS_TESTING_H
#define WIRE_OPS_OPS_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "wire/ops/ops.h"

// The bytes of a literal.
#define BYTES(literal) ((weft_bytes){literal, sizeof literal - 1})

#define EIGHT "\x08\x07\x06\x05\x04\x03\x02\x01"
#define EIGHT_VALUE UINT64_C(0x0102030405060708)
#define FOUR "\x04\x03\x02\x01"
#define FOUR_VALUE UINT32_C(0x01020304)

// An item, as it is sent.
#define ITEM_BYTES EIGHT "\x02\0\0\0\0\0\0\0" FOUR "\x05\0\0\0"
#define ITEM_VALUE ((struct call_item){EIGHT_VALUE, 2, FOUR_VALUE, 5})

static inline void expect_bytes(weft_bytes got, weft_bytes wanted)
{
    assert_int_equal(got.size, wanted.size);
    if (wanted.size)
        assert_memory_equal(got.data, wanted.data, wanted.size);
}

// The bytes that were appended; frees the buffer.
static inline void expect_buf(struct buf *got, weft_bytes wanted)
{
    expect_bytes(buf_bytes(got), wanted);
    buf_fini(got);
}

// The parts of a call together; they equal the appended bytes.
static inline void expect_call(const struct ops_call *call, uint8_t op, uint8_t flags,
                               weft_bytes wanted)
{
    struct buf appended = {0}, joined = {0};
    weft_bytes parts[OPS_PARTS];
    ops_call_append(&appended, call);
    ops_call_parts(call, parts);
    for (size_t i = 0; i < OPS_PARTS; i++)
        buf_append(&joined, parts[i].data, parts[i].size);
    assert_int_equal(call->op, op);
    assert_int_equal(call->flags, flags);
    expect_buf(&appended, wanted);
    expect_buf(&joined, wanted);
}

static inline struct call call_of(uint8_t op, uint8_t flags, weft_bytes payload)
{
    return (struct call){.op = op, .flags = flags, .payload = payload};
}

static inline bool same_item(struct call_item a, struct call_item b)
{
    return a.queue == b.queue && a.id == b.id && a.slot == b.slot && a.delivery == b.delivery;
}

// Whether bytes that stand in a block of exactly their size can be read.
typedef bool reads_fn(weft_bytes bytes);

static inline void expect_cut_below(weft_bytes whole, size_t smallest, reads_fn *reads)
{
    for (size_t size = 0; size <= whole.size; size++) {
        char *copy = malloc(size + !size);
        assert_non_null(copy);
        memcpy(copy, whole.data, size);
        assert_int_equal(reads((weft_bytes){copy, size}), size >= smallest);
        free(copy);
    }
}

#endif
