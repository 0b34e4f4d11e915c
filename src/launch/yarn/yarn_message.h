// yarn_message: messages of protocol buffers that are put together here, in memory as if they had been received. Pure. Thread: any.
#ifndef LAUNCH_YARN_YARN_MESSAGE_H
#define LAUNCH_YARN_YARN_MESSAGE_H

#include "base/buf.h"
#include "wire/hadoop.pb-c.h"

// Makes messages and texts for them. Fails by its flag, checked once; it is then a pointer to NULL that has to be freed as any other.
struct yarn_maker {
    bool has_failed;  // out of memory
};

// An empty message of that type; NULL: out of memory, or it was before.
void *yarn_make(struct yarn_maker *maker, const ProtobufCMessageDescriptor *descriptor);
// One more at the end of a list; it, or NULL.
void *yarn_make_next(struct yarn_maker *maker, const ProtobufCMessageDescriptor *descriptor,
                     void *list, size_t *count);
char *yarn_make_text(struct yarn_maker *maker, const char *text);  // NULL for NULL
void yarn_make_next_text(struct yarn_maker *maker, const char *text, char ***list, size_t *count);
ProtobufCBinaryData yarn_make_bytes(struct yarn_maker *maker, weft_bytes bytes);
void *yarn_make_copy(struct yarn_maker *maker, const void *message);  // NULL for NULL

void yarn_free(void *message);  // NULL is fine

#endif
