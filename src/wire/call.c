// Calls and answers as bytes.

#include "wire/call.h"

static const struct {
    const char *name;
    bool changes;
} ops[CALL_OP_LIMIT] = {
#define OP(name, number, changes) [number] = {#name, changes},
#include "wire/ops.def"
#undef OP
};

bool call_op_is_known(uint8_t op)
{
    return op < CALL_OP_LIMIT && ops[op].name;
}

bool call_op_changes(uint8_t op)
{
    return op < CALL_OP_LIMIT && ops[op].changes;
}

const char *call_op_name(uint8_t op)
{
    return call_op_is_known(op) ? ops[op].name : "?";
}

// Both heads have the same places: the size first, the sequence last.
static weft_err read_record(weft_bytes *bytes, uint8_t head[CALL_HEAD_BYTES], weft_bytes *whole)
{
    if (bytes->size < CALL_HEAD_BYTES)
        return err_set(WEFT_DATA_LOSS, "a record of %zu bytes is cut", bytes->size);
    memcpy(head, bytes->data, CALL_HEAD_BYTES);
    uint32_t size;
    memcpy(&size, head, 4);
    if (size < CALL_HEAD_BYTES || size > bytes->size)
        return err_set(WEFT_DATA_LOSS, "a record says it has %u of %zu bytes", size, bytes->size);
    *whole = (weft_bytes){bytes->data, size};
    bytes->data += size;
    bytes->size -= size;
    return WEFT_OK;
}

static weft_bytes payload_of(weft_bytes whole)
{
    return (weft_bytes){whole.data + CALL_HEAD_BYTES, whole.size - CALL_HEAD_BYTES};
}

weft_err call_next(weft_bytes *bytes, struct call *call)
{
    uint8_t head[CALL_HEAD_BYTES];
    const weft_err err = read_record(bytes, head, &call->whole);
    if (err)
        return err;
    if (call->whole.size > CALL_BYTES_MAX)
        return err_set(WEFT_DATA_LOSS, "a call of %zu bytes: it may have %u", call->whole.size,
                       CALL_BYTES_MAX);
    call->op = head[4];
    call->flags = head[5];
    memcpy(&call->handle, head + 6, 2);
    memcpy(&call->sequence, head + 8, 8);
    call->payload = payload_of(call->whole);
    const bool asks = call->sequence & CALL_ASKS_BIT;
    if (!call_op_is_known(call->op) || call->sequence == 0 || asks == call_op_changes(call->op))
        return err_set(WEFT_DATA_LOSS, "operation %u with the number %llx is none", call->op,
                       (unsigned long long)call->sequence);
    return WEFT_OK;
}

weft_err answer_next(weft_bytes *bytes, struct answer *answer)
{
    uint8_t head[CALL_HEAD_BYTES];
    weft_bytes whole = {NULL, 0};
    const weft_err err = read_record(bytes, head, &whole);
    if (err)
        return err;
    if (head[4] > WEFT_UNAUTHENTICATED)
        return err_set(WEFT_DATA_LOSS, "an answer with the code %u", head[4]);
    answer->code = (weft_err)head[4];
    answer->flags = head[5];
    memcpy(&answer->sequence, head + 8, 8);
    answer->payload = payload_of(whole);
    return WEFT_OK;
}

void call_append_head(struct buf *out, uint8_t op, uint8_t flags, uint16_t handle,
                      uint64_t sequence, size_t size)
{
    char *head = buf_reserve(out, CALL_HEAD_BYTES + size);
    if (!head)
        return;
    call_put_head(head, op, flags, handle, sequence, size);
    out->size += CALL_HEAD_BYTES;
}

void answer_append(struct buf *out, const struct answer *answer)
{
    call_append_head(out, (uint8_t)answer->code, answer->flags, 0, answer->sequence,
                     answer->payload.size);
    buf_append(out, answer->payload.data, answer->payload.size);
}

void call_append_frame_head(struct buf *out, uint64_t answers_received)
{
    buf_append(out, &answers_received, CALL_FRAME_HEAD_BYTES);
}

bool call_take_frame_head(weft_bytes *frame, uint64_t *answers_received)
{
    if (frame->size < CALL_FRAME_HEAD_BYTES)
        return false;
    memcpy(answers_received, frame->data, CALL_FRAME_HEAD_BYTES);
    frame->data += CALL_FRAME_HEAD_BYTES;
    frame->size -= CALL_FRAME_HEAD_BYTES;
    return true;
}

size_t call_size_of_batch(weft_bytes records, size_t limit)
{
    if (records.size <= limit)
        return records.size;
    size_t size = 0;
    while (size < records.size) {
        uint32_t next;
        memcpy(&next, records.data + size, sizeof next);
        if (size > 0 && size + next > limit)
            break;
        size += next;
    }
    return size;
}
