// What the tests of queues share: the calls of a queue by name. Elements are texts; where there are
// many, each is one letter.
#ifndef RESOURCE_QUEUE_QUEUE_TESTING_H
#define RESOURCE_QUEUE_QUEUE_TESTING_H

#include "resource/resource_testing.h"
#include "wire/pack.h"

struct queue_limits {
    int64_t capacity;  // 0: none
    uint64_t bytes;
    uint32_t deliveries;
};

static inline weft_bytes queue_attributes(struct queue_limits limits)
{
    return PAYLOAD(U64(limits.capacity ? limits.capacity : -1), U64(limits.bytes),
                   U32(limits.deliveries));
}

static inline uint16_t open_queue(struct testing_member *member, const char *name,
                                  struct queue_limits limits)
{
    return testing_open(member, CALL_KIND_QUEUE, name, queue_attributes(limits));
}

// ---- Calls -------------------------------------------------------------------------------------------

static inline uint64_t push(struct testing_member *member, uint16_t queue, const char *element)
{
    return testing_call(member, CALL_QUEUE_PUSH, 0, queue, weft_text(element));
}

static inline uint64_t push_keyed(struct testing_member *member, uint16_t queue, const char *key,
                                  const char *element)
{
    return testing_call(member, CALL_QUEUE_PUSH, CALL_FLAG_KEYED, queue,
                        PAYLOAD(TEXT(key), RAW(element)));
}

// Each letter is an element.
static inline uint64_t push_many(struct testing_member *member, uint16_t queue, const char *letters)
{
    struct buf payload = {0};
    pack_write_u32(&payload, (uint32_t)strlen(letters));
    for (const char *at = letters; *at; at++)
        pack_write_blob(&payload, (weft_bytes){at, 1});
    const uint64_t sequence =
        testing_call(member, CALL_QUEUE_PUSH_MANY, 0, queue, buf_bytes(&payload));
    buf_fini(&payload);
    return sequence;
}

static inline uint64_t pop(struct testing_member *member, uint16_t queue)
{
    return testing_call(member, CALL_QUEUE_POP, 0, queue, weft_none());
}

static inline uint64_t pop_many(struct testing_member *member, uint16_t queue, int32_t count)
{
    return testing_call(member, CALL_QUEUE_POP_MANY, 0, queue, PAYLOAD(U32((uint32_t)count)));
}

static inline uint64_t pop_up_to(struct testing_member *member, uint16_t queue, int32_t count)
{
    return testing_call(member, CALL_QUEUE_POP_MANY, CALL_FLAG_UP_TO, queue,
                        PAYLOAD(U32((uint32_t)count)));
}

static inline uint64_t take(struct testing_member *member, uint16_t queue)
{
    return testing_call(member, CALL_QUEUE_TAKE, 0, queue, PAYLOAD(U32(0)));
}

static inline uint64_t take_for(struct testing_member *member, uint16_t queue, uint32_t lease_ms)
{
    return testing_call(member, CALL_QUEUE_TAKE, 0, queue, PAYLOAD(U32(lease_ms)));
}

static inline weft_bytes item_payload(struct call_item item)
{
    return PAYLOAD(ITEM(item.queue, item.id, item.slot, item.delivery));
}

static inline uint64_t done(struct testing_member *member, uint16_t queue, struct call_item item)
{
    return testing_call(member, CALL_QUEUE_DONE, 0, queue, item_payload(item));
}

static inline uint64_t give_back(struct testing_member *member, uint16_t queue,
                                 struct call_item item, uint32_t delay_ms)
{
    return testing_call(member, CALL_QUEUE_GIVE_BACK, 0, queue,
                        PAYLOAD(RAW_BYTES(item_payload(item)), U32(delay_ms)));
}

static inline uint64_t bury(struct testing_member *member, uint16_t queue, struct call_item item)
{
    return testing_call(member, CALL_QUEUE_GIVE_BACK, CALL_FLAG_BURY, queue,
                        PAYLOAD(RAW_BYTES(item_payload(item)), U32(0)));
}

static inline uint64_t extend(struct testing_member *member, uint16_t queue, struct call_item item,
                              uint32_t ms)
{
    return testing_call(member, CALL_QUEUE_EXTEND, 0, queue,
                        PAYLOAD(RAW_BYTES(item_payload(item)), U32(ms)));
}

static inline uint64_t close_queue(struct testing_member *member, uint16_t queue)
{
    return testing_call(member, CALL_QUEUE_CLOSE, 0, queue, weft_none());
}

static inline uint64_t close_and_cancel(struct testing_member *member, uint16_t queue)
{
    return testing_call(member, CALL_QUEUE_CLOSE, CALL_FLAG_CANCEL_PENDING, queue, weft_none());
}

static inline uint64_t cancel(struct testing_member *member, uint64_t sequence)
{
    return testing_call(member, CALL_CANCEL, 0, 0, PAYLOAD(U64(sequence)));
}

static inline uint64_t remove_queue(struct testing_member *member, uint16_t queue)
{
    return testing_call(member, CALL_REMOVE, 0, queue, weft_none());
}

// ---- Their results -------------------------------------------------------------------------------------

static inline void expect_ok(struct testing_member *member, uint64_t sequence)
{
    testing_expect(member, sequence, 0, weft_none());
}

static inline void expect_seen(struct testing_member *member, uint64_t sequence)
{
    testing_expect(member, sequence, ANSWER_FLAG_SEEN, weft_none());
}

static inline void expect_buried(struct testing_member *member, uint64_t sequence)
{
    testing_expect(member, sequence, ANSWER_FLAG_BURIED, weft_none());
}

static inline void expect_waits(struct testing_member *member, uint64_t sequence)
{
    testing_expect_waiting(member, sequence);
}

static inline void expect_element(struct testing_member *member, uint64_t sequence,
                                  const char *element)
{
    testing_expect(member, sequence, 0, weft_text(element));
}

static inline void expect_elements(struct testing_member *member, uint64_t sequence,
                                   const char *letters)
{
    struct buf wanted = {0};
    pack_write_u32(&wanted, (uint32_t)strlen(letters));
    for (const char *at = letters; *at; at++)
        pack_write_blob(&wanted, (weft_bytes){at, 1});
    testing_expect(member, sequence, 0, buf_bytes(&wanted));
    buf_fini(&wanted);
}

static inline void expect_closed(struct testing_member *member, uint64_t sequence)
{
    testing_expect_failure(member, sequence, WEFT_CANCELLED, "closed");
}

static inline void expect_end(struct testing_member *member, uint64_t sequence)
{
    testing_expect_failure(member, sequence, WEFT_OUT_OF_RANGE,
                           "is closed and has insufficient elements");
}

static inline void expect_stale(struct testing_member *member, uint64_t sequence)
{
    testing_expect_failure(member, sequence, WEFT_ABORTED, "");
}

// An element that is leased now, with the number of its delivery.
static inline struct call_item expect_item(struct testing_member *member, uint64_t sequence,
                                           const char *element, uint32_t delivery)
{
    const struct answer answer = testing_answer(member, sequence);
    if (answer.code)
        fail_msg("%s: %.*s", weft_err_name(answer.code), (int)answer.payload.size,
                 answer.payload.data);
    struct pack_reader reader = {answer.payload, false};
    struct call_item item;
    pack_read_item(&reader, &item);
    assert_false(reader.has_failed);
    assert_int_equal(reader.rest.size, strlen(element));
    assert_memory_equal(reader.rest.data, element, reader.rest.size);
    assert_int_equal(item.delivery, delivery);
    return item;
}

static inline struct call_item take_now(struct testing_member *member, uint16_t queue,
                                        const char *element, uint32_t delivery)
{
    return expect_item(member, take(member, queue), element, delivery);
}

struct queue_state {
    uint64_t count, bytes, last_id, leases;
    uint32_t givers, takers;
    bool is_closed;
};

static inline struct queue_state state_of(struct testing_member *member, uint16_t queue)
{
    const struct answer answer =
        testing_answer(member, testing_call(member, CALL_QUEUE_STATE, 0, queue, weft_none()));
    assert_int_equal(answer.code, WEFT_OK);
    struct pack_reader reader = {answer.payload, false};
    struct queue_state state = {.count = pack_read_u64(&reader)};
    state.bytes = pack_read_u64(&reader);
    state.last_id = pack_read_u64(&reader);
    state.leases = pack_read_u64(&reader);
    state.givers = pack_read_u32(&reader);
    state.takers = pack_read_u32(&reader);
    state.is_closed = pack_read_u8(&reader);
    assert_true(!reader.has_failed && reader.rest.size == 0);
    return state;
}

// The stored elements, one letter each, in order.
static inline void expect_stored(struct testing_member *member, uint16_t queue, const char *letters)
{
    const struct answer answer =
        testing_answer(member, testing_call(member, CALL_QUEUE_PEEK, 0, queue, PAYLOAD(U32(1000))));
    struct pack_reader reader = {answer.payload, false};
    char stored[1001];
    size_t count = 0;
    while (reader.rest.size && count < 1000) {
        pack_read_u64(&reader);
        pack_read_u32(&reader);
        pack_read_u8(&reader);
        const weft_bytes element = pack_read_blob(&reader);
        stored[count++] = element.size ? element.data[0] : ' ';
    }
    stored[count] = 0;
    assert_string_equal(stored, letters);
    assert_int_equal(state_of(member, queue).count, count);
}

#endif
