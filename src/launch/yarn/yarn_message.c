// Messages in memory that protobuf-c releases.

#include "launch/yarn/yarn_message.h"

#include <stdlib.h>

static void *allocate(struct yarn_maker *maker, size_t size)
{
    void *room = maker->has_failed ? NULL : calloc(1, size ? size : 1);
    maker->has_failed |= !room;
    return room;
}

void *yarn_make(struct yarn_maker *maker, const ProtobufCMessageDescriptor *descriptor)
{
    ProtobufCMessage *message = allocate(maker, descriptor->sizeof_message);
    if (message)
        protobuf_c_message_init(descriptor, message);
    return message;
}

// A list with room for one more; NULL: out of memory. The list stays as it was, then.
static void *widen(struct yarn_maker *maker, void **list, size_t count)
{
    void *wider = maker->has_failed ? NULL : realloc(*list, (count + 1) * sizeof(void *));
    maker->has_failed |= !wider;
    if (wider)
        *list = wider;
    return wider;
}

void *yarn_make_next(struct yarn_maker *maker, const ProtobufCMessageDescriptor *descriptor,
                     void *list, size_t *count)
{
    void ***messages = list;
    void *message = yarn_make(maker, descriptor);
    if (!message || !widen(maker, (void **)messages, *count)) {
        free(message);
        return NULL;
    }
    (*messages)[(*count)++] = message;
    return message;
}

char *yarn_make_text(struct yarn_maker *maker, const char *text)
{
    char *copy = text ? allocate(maker, strlen(text) + 1) : NULL;
    if (copy)
        memcpy(copy, text, strlen(text));
    return copy;
}

void yarn_make_next_text(struct yarn_maker *maker, const char *text, char ***list, size_t *count)
{
    char *copy = yarn_make_text(maker, text);
    if (!copy || !widen(maker, (void **)list, *count)) {
        free(copy);
        return;
    }
    (*list)[(*count)++] = copy;
}

ProtobufCBinaryData yarn_make_bytes(struct yarn_maker *maker, weft_bytes bytes)
{
    uint8_t *copy = allocate(maker, bytes.size);
    if (copy && bytes.size)
        memcpy(copy, bytes.data, bytes.size);
    return (ProtobufCBinaryData){copy ? bytes.size : 0, copy};
}

void *yarn_make_copy(struct yarn_maker *maker, const void *message)
{
    const ProtobufCMessage *from = message;
    if (!from)
        return NULL;
    const size_t size = protobuf_c_message_get_packed_size(from);
    uint8_t *bytes = allocate(maker, size);
    ProtobufCMessage *copy = NULL;
    if (bytes) {
        protobuf_c_message_pack(from, bytes);
        copy = protobuf_c_message_unpack(from->descriptor, NULL, size, bytes);
        maker->has_failed |= !copy;
    }
    free(bytes);
    return copy;
}

void yarn_free(void *message)
{
    if (message)
        protobuf_c_message_free_unpacked(message, NULL);
}
