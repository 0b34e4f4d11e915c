// Fuzzes what hosts and members read of each other's calls and answers. The first byte says what the rest is: an
// operation, with its flags in the second byte, or, with the top bit, the answer to one. A call that can be read can be
// made again, and is then read and made the same. Lists are read to their end.
#include <stdint.h>

#include "wire/ops/barrier.h"
#include "wire/ops/host.h"
#include "wire/ops/kv.h"
#include "wire/ops/queue.h"
#include "wire/ops/var.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { IS_ANSWER = 128 };

// ---- Calls -------------------------------------------------------------------------------------------------------

// Makes the call that was read again; false: it cannot be read.
static bool make_var_again(const struct call *call, struct ops_call *again)
{
    struct ops_var_change change;
    struct ops_var_watch watch;
    if (call->op == CALL_VAR_WATCH) {
        if (!ops_var_watch_decode(call->payload, &watch))
            return false;
        ops_var_watch_make(again, &watch);
        return true;
    }
    if (ops_var_change_decode(call, &change) != OPS_VAR_WHOLE ||
        (change.is_keyed && (change.is_once || change.op == CALL_VAR_SWAP)))  // no host takes it
        return false;
    ops_var_change_make(again, &change);
    return true;
}

static bool make_kv_again(const struct call *call, struct ops_call *again)
{
    struct ops_kv_change change;
    struct ops_kv_get get;
    if (call->op == CALL_KV_GET) {
        if (!ops_kv_get_decode(call->payload, &get))
            return false;
        ops_kv_get_make(again, &get);
        return true;
    }
    if (!ops_kv_change_decode(call, &change))
        return false;
    ops_kv_change_make(again, &change);
    return true;
}

static bool make_taking_again(const struct call *call, struct ops_call *again)
{
    struct ops_queue_take take;
    struct ops_queue_take_many many;
    if (call->op == CALL_QUEUE_TAKE) {
        if (!ops_queue_take_decode(call, &take))
            return false;
        ops_queue_take_make(again, &take);
        return true;
    }
    if (!ops_queue_take_many_decode(call, &many))
        return false;
    ops_queue_take_many_make(again, &many);
    return true;
}

static bool make_pushing_again(const struct call *call, struct ops_call *again)
{
    struct ops_queue_push push;
    struct ops_queue_list list;
    if (call->op == CALL_QUEUE_PUSH) {
        if (!ops_queue_push_decode(call->payload, call->flags, &push))
            return false;
        ops_queue_push_make(again, &push);
        return true;
    }
    if (!ops_queue_push_many_decode(call->payload, &list))
        return false;
    if (ops_queue_has_entries(list.entries, list.count)) {
        weft_bytes rest = list.entries;
        bool is_tuple;
        for (uint32_t left = list.count; left > 0; left--)
            ops_queue_entry_next(&rest, &is_tuple);
        ASSERT(rest.size == 0);
    }
    ops_queue_push_many_make(again, &list);
    return true;
}

static bool make_settling_again(const struct call *call, struct ops_call *again)
{
    struct ops_queue_settle settle;
    if (!ops_queue_settle_decode(call, &settle))
        return false;
    ops_queue_settle_make(again, &settle);
    return true;
}

static bool make_question_again(const struct call *call, struct ops_call *again)
{
    struct ops_queue_peek peek;
    struct ops_queue_retry retry;
    struct ops_recall recall;
    if (call->op == CALL_QUEUE_PEEK && ops_queue_peek_decode(call, &peek))
        ops_queue_peek_make(again, &peek);
    else if (call->op == CALL_QUEUE_RETRY && ops_queue_retry_decode(call->payload, &retry))
        ops_queue_retry_make(again, &retry);
    else if ((call->op == CALL_CANCEL || call->op == CALL_WITHDRAW) &&
             ops_recall_decode(call, &recall))
        ops_recall_make(again, &recall);
    else
        return false;
    return true;
}

static bool make_again(const struct call *call, struct ops_call *again)
{
    switch (call->op) {
    case CALL_VAR_SET:
    case CALL_VAR_CREATE:
    case CALL_VAR_ADD:
    case CALL_VAR_MIN:
    case CALL_VAR_MAX:
    case CALL_VAR_SWAP:
    case CALL_VAR_WATCH:
        return make_var_again(call, again);
    case CALL_KV_GET:
    case CALL_KV_PUT:
    case CALL_KV_REMOVE:
        return make_kv_again(call, again);
    case CALL_QUEUE_TAKE:
    case CALL_QUEUE_POP_MANY:
    case CALL_QUEUE_TAKE_MANY:
        return make_taking_again(call, again);
    case CALL_QUEUE_PUSH:
    case CALL_QUEUE_PUSH_MANY:
        return make_pushing_again(call, again);
    case CALL_QUEUE_DONE:
    case CALL_QUEUE_EXTEND:
    case CALL_QUEUE_GIVE_BACK:
        return make_settling_again(call, again);
    default:
        return make_question_again(call, again);
    }
}

static void check_call(const struct call *call)
{
    struct ops_call again, twice;
    struct buf first = {0}, second = {0};
    if (!make_again(call, &again))
        return;
    ops_call_append(&first, &again);
    ASSERT(first.size <= call->payload.size);
    const struct call read = {.op = again.op, .flags = again.flags, .payload = buf_bytes(&first)};
    ASSERT(make_again(&read, &twice));
    ops_call_append(&second, &twice);
    ASSERT(twice.op == call->op && twice.flags == again.flags && second.size == first.size);
    ASSERT(first.size == 0 || memcmp(first.data, second.data, first.size) == 0);
    buf_fini(&first);
    buf_fini(&second);
}

// Calls that are written as a whole: what is read is written to the same bytes.
static void check_written(uint8_t op, weft_bytes bytes)
{
    struct buf again = {0};
    struct ops_open open;
    struct ops_kv_range range;
    struct ops_kv_watch watch;
    struct ops_var_attributes var;
    struct ops_queue_attributes queue;
    if (op == CALL_OPEN && ops_open_decode(bytes, &open))
        ops_open_encode(&again, &open);
    else if (op == CALL_KV_RANGE && ops_kv_range_decode(bytes, &range))
        ops_kv_range_encode(&again, &range);
    else if (op == CALL_KV_WATCH && ops_kv_watch_decode(bytes, &watch))
        ops_kv_watch_encode(&again, &watch);
    else if (op == CALL_VAR_READ && bytes.size && ops_var_attributes_decode(bytes, &var))
        ops_var_attributes_encode(&again, &var);
    else if (op == CALL_QUEUE_STATE && bytes.size && ops_queue_attributes_decode(bytes, &queue))
        ops_queue_attributes_encode(&again, &queue);
    else
        return;
    ASSERT(again.size == bytes.size && memcmp(again.data, bytes.data, bytes.size) == 0);
    buf_fini(&again);
}

// ---- Answers -----------------------------------------------------------------------------------------------------

static void read_kv_list(weft_bytes list, bool is_range)
{
    struct ops_kv_entry entry;
    uint64_t revision;
    bool goes_on = ops_kv_revision_next(&list, &revision);
    while (goes_on && list.size)
        goes_on = is_range ? ops_kv_range_entry_next(&list, &entry)
                           : ops_kv_watch_entry_next(&list, &entry);
}

static void read_taken_list(weft_bytes list)
{
    struct ops_queue_taken taken;
    uint32_t count;
    bool goes_on = ops_queue_count_next(&list, &count);
    while (goes_on && count-- > 0)
        goes_on = ops_queue_taken_next(&list, &taken);
}

static void read_peeked_list(weft_bytes list, bool with_notes)
{
    struct ops_queue_stored stored;
    struct ops_queue_note note;
    bool goes_on = true, has_note;
    while (goes_on && list.size)
        goes_on = ops_queue_stored_next(&list, &stored) &&
                  (!with_notes || ops_queue_peeked_note_next(&list, &has_note, &note));
}

static void read_answer(uint8_t op, uint8_t flags, weft_bytes bytes)
{
    struct ops_queue_taken taken;
    struct ops_queue_state state;
    struct ops_var_answer answer;
    struct ops_kv_got got;
    struct ops_kv_changed changed;
    struct ops_barrier_opened opened;
    struct ops_barrier_attributes barrier;
    struct ops_opened host;
    struct ops_listed listed;
    uint64_t count;
    (void)(ops_queue_taken_decode(bytes, &taken) + ops_queue_state_decode(bytes, &state) +
           ops_queue_retried_decode(bytes, &count) + ops_var_answer_decode(bytes, &answer) +
           ops_kv_got_decode(bytes, &got) + ops_kv_changed_decode(bytes, &changed) +
           ops_barrier_opened_decode(bytes, &opened) +
           ops_barrier_attributes_decode(bytes, &barrier) + ops_opened_decode(bytes, &host));
    if (op == CALL_KV_RANGE || op == CALL_KV_WATCH)
        read_kv_list(bytes, op == CALL_KV_RANGE);
    else if (op == CALL_QUEUE_TAKE_MANY)
        read_taken_list(bytes);
    else if (op == CALL_QUEUE_PEEK)
        read_peeked_list(bytes, flags & CALL_FLAG_NOTES);
    else if (op == CALL_LIST)
        for (weft_bytes rest = bytes; rest.size && ops_listed_next(&rest, &listed);)
            continue;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const weft_bytes bytes = {(const char *)data + 2, size - 2};
    const uint8_t op = data[0] & (uint8_t)~IS_ANSWER, flags = data[1];
    const struct call call = {.op = op, .flags = flags, .payload = bytes};
    if (data[0] & IS_ANSWER) {
        read_answer(op, flags, bytes);
    } else {
        check_call(&call);
        check_written(op, bytes);
    }
    return 0;
}
