// Fuzzes what a driver reads from a worker: the frame parser, fed in pieces of any size, and every
// message of the wire. What unpacks must pack to bytes that unpack and pack to the same again.
#include "wire/messages.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const ProtobufCMessageDescriptor *descriptor_of(Weft__FrameType type)
{
    switch (type) {
    case WEFT__FRAME_TYPE__FRAME_HELLO:
        return &weft__hello__descriptor;
    case WEFT__FRAME_TYPE__FRAME_JOB_START:
        return &weft__job_start__descriptor;
    case WEFT__FRAME_TYPE__FRAME_STAGE_OPEN:
        return &weft__stage_open__descriptor;
    case WEFT__FRAME_TYPE__FRAME_STAGE_PLAN:
        return &weft__stage_plan__descriptor;
    case WEFT__FRAME_TYPE__FRAME_TASK_RUN:
        return &weft__task_run__descriptor;
    case WEFT__FRAME_TYPE__FRAME_TASK_END:
        return &weft__task_end__descriptor;
    case WEFT__FRAME_TYPE__FRAME_COMMITTED:
        return &weft__committed__descriptor;
    case WEFT__FRAME_TYPE__FRAME_WORKER_FAILED:
        return &weft__worker_failed__descriptor;
    case WEFT__FRAME_TYPE__FRAME_HOST_HELLO:
        return &weft__host_hello__descriptor;
    case WEFT__FRAME_TYPE__FRAME_HOST_CHALLENGE:
        return &weft__host_challenge__descriptor;
    case WEFT__FRAME_TYPE__FRAME_HOST_WELCOME:
        return &weft__host_welcome__descriptor;
    case WEFT__FRAME_TYPE__FRAME_HOST_REFUSED:
        return &weft__host_refused__descriptor;
    default:
        return &weft__seal__descriptor;
    }
}

// Fields this version does not know are kept by protobuf-c as raw bytes, which need not pack to the
// same bytes again (a field number 0, say). Nobody sends them on, so nobody has to care.
static bool has_unknown_fields(const ProtobufCMessage *message)
{
    bool has_unknown = message->n_unknown_fields > 0;
    for (unsigned i = 0; i < message->descriptor->n_fields && !has_unknown; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        if (field->type != PROTOBUF_C_TYPE_MESSAGE)
            continue;
        const char *at = (const char *)message + field->offset;
        const bool is_list = field->label == PROTOBUF_C_LABEL_REPEATED;
        const size_t count =
            is_list
                ? *(const size_t *)(const void *)((const char *)message + field->quantifier_offset)
                : 1;
        ProtobufCMessage *const *items =
            is_list ? *(ProtobufCMessage ***)(void *)at : (ProtobufCMessage **)(void *)at;
        for (size_t j = 0; j < count; j++)
            has_unknown = has_unknown || (items[j] && has_unknown_fields(items[j]));
    }
    return has_unknown;
}

static void check_frame(const struct frame *frame)
{
    ProtobufCMessage *message = NULL, *again = NULL;
    const ProtobufCMessageDescriptor *descriptor = descriptor_of(frame->type);
    if (message_unpack(frame, descriptor, &message) != WEFT_OK)
        return;
    if (has_unknown_fields(message)) {
        message_free(message);
        return;
    }
    struct buf first = {0}, second = {0};
    ASSERT(message_append(&first, frame->type, message) == WEFT_OK);
    struct frame_parser parser = {0};
    struct frame copy = {0};
    bool has_frame = false;
    ASSERT(frame_parser_feed(&parser, first.data, first.size) == WEFT_OK);
    ASSERT(frame_parser_next(&parser, &copy, &has_frame) == WEFT_OK && has_frame);
    ASSERT(copy.type == frame->type && !frame_parser_is_inside_frame(&parser));
    ASSERT(message_unpack(&copy, descriptor, &again) == WEFT_OK);
    ASSERT(message_append(&second, frame->type, again) == WEFT_OK);
    ASSERT(first.size == second.size && memcmp(first.data, second.data, first.size) == 0);
    frame_parser_fini(&parser);
    buf_fini(&first);
    buf_fini(&second);
    message_free(again);
    message_free(message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct frame_parser parser = {0};
    const size_t piece = size ? (size_t)data[0] + 1 : 1;  // the first byte says how it is cut
    for (size_t at = size ? 1 : 0; at < size; at += piece) {
        struct frame frame = {0};
        bool has_frame = false;
        if (frame_parser_feed(&parser, data + at, size - at < piece ? size - at : piece) != WEFT_OK)
            break;
        weft_err code = frame_parser_next(&parser, &frame, &has_frame);
        for (; code == WEFT_OK && has_frame; code = frame_parser_next(&parser, &frame, &has_frame))
            check_frame(&frame);
        if (code != WEFT_OK)
            break;
    }
    frame_parser_fini(&parser);
    return 0;
}
