// Fuzzes what a host reads from members and they from it.
//
//   0   u8   1: calls, 2: answers, else: a payload, read by the bytes that follow
//
// Calls and answers that are read must be written to the same bytes again. A payload is read by readers
// that its own bytes choose: nothing is read beyond its end, and past it there are only zeros.
#include <stdint.h>
#include <string.h>

#include "wire/call.h"
#include "wire/pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_calls(weft_bytes bytes)
{
    struct call call;
    struct buf again = {0};
    const weft_bytes all = bytes;
    while (bytes.size && !call_next(&bytes, &call)) {
        ASSERT(call_op_is_known(call.op) && call.sequence != 0);
        ASSERT(call.whole.size == call.payload.size + CALL_HEAD_BYTES);
        ASSERT(call.whole.data + call.whole.size == bytes.data);
        call_append_head(&again, call.op, call.flags, call.handle, call.sequence,
                         call.payload.size);
        buf_append(&again, call.payload.data, call.payload.size);
    }
    ASSERT(again.size <= all.size);
    ASSERT(again.size == 0 || memcmp(again.data, all.data, again.size) == 0);
    buf_fini(&again);
}

static void check_answers(weft_bytes bytes)
{
    struct answer answer;
    struct buf again = {0};
    while (bytes.size) {
        const weft_bytes before = bytes;
        if (answer_next(&bytes, &answer))
            break;
        again.size = 0;
        answer_append(&again, &answer);
        ASSERT(again.size == before.size - bytes.size);
        memcpy(again.data + 6, before.data + 6, 2);  // not looked at
        ASSERT(memcmp(again.data, before.data, again.size) == 0);
    }
    buf_fini(&again);
}

static void read_one(struct pack_reader *reader, uint8_t how)
{
    struct call_item item;
    switch (how % 8) {
    case 0:
        pack_read_u8(reader);
        break;
    case 1:
        pack_read_u16(reader);
        break;
    case 2:
        pack_read_u32(reader);
        break;
    case 3:
        pack_read_u64(reader);
        break;
    case 4:
        pack_read_text(reader);
        break;
    case 5:
        pack_read_blob(reader);
        break;
    case 6:
        pack_read_item(reader, &item);
        break;
    default:
        pack_read_bytes(reader, how);
    }
}

static void check_payload(weft_bytes bytes)
{
    struct pack_reader reader = {bytes, false};
    for (size_t i = 0; i < bytes.size; i++) {
        const size_t before = reader.rest.size;
        read_one(&reader, (uint8_t)bytes.data[i]);
        ASSERT(reader.rest.size <= before);
        if (reader.has_failed)
            ASSERT(reader.rest.size == 0 && pack_read_u64(&reader) == 0);
        else
            ASSERT(reader.rest.data + reader.rest.size == bytes.data + bytes.size);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const weft_bytes rest = {(const char *)data + 1, size - 1};
    if (data[0] == 1)
        check_calls(rest);
    else if (data[0] == 2)
        check_answers(rest);
    else
        check_payload(rest);
    err_clear();
    return 0;
}
