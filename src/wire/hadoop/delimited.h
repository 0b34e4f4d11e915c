// delimited: messages of protocol buffers with their size in front, as Hadoop sends them. Pure. Thread: any.
#ifndef WIRE_HADOOP_DELIMITED_H
#define WIRE_HADOOP_DELIMITED_H

#include "base/buf.h"
#include "base/err.h"

#include <protobuf-c/protobuf-c.h>

// Appends size and message.
void delimited_write(struct buf *out, const ProtobufCMessage *message);

// Takes a size from the front of `*from`. False: it is not complete, or none.
bool delimited_read_size(weft_bytes *from, uint32_t *size);

// Takes a message from the front of `*from`. DATA_LOSS: it is none, or not complete. Freed by
// protobuf_c_message_free_unpacked.
MUST_CHECK weft_err delimited_read(weft_bytes *from, const ProtobufCMessageDescriptor *descriptor,
                                   ProtobufCMessage **message);

#endif
