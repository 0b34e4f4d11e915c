// token_file: tokens and secrets as Hadoop keeps them in a file (HADOOP_TOKEN_FILE_LOCATION) and sends them with a container. Pure.
// Thread: any.
//
//     "HDTS" 00   a count, tokens; a count, secrets; all texts with their size in front. What Weft writes, and node managers
//     "HDTS" 01   one message of protocol buffers, with its size in front
#ifndef WIRE_HADOOP_TOKEN_FILE_H
#define WIRE_HADOOP_TOKEN_FILE_H

#include <protobuf-c/protobuf-c.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

// Proves to a service who calls. Borrowed bytes.
struct hadoop_token {
    weft_bytes alias, identifier, password, kind, service;
};

struct hadoop_secret {
    weft_bytes alias, value;
};

struct token_file {
    VEC(struct hadoop_token) tokens;
    VEC(struct hadoop_secret) secrets;
    ProtobufCMessage *message;  // that tokens of version 1 point into
};

// Entries point into `bytes`, which stay the caller's. DATA_LOSS: it is no such file, or not all of it. To be released in every case.
MUST_CHECK weft_err token_file_read(weft_bytes bytes, struct token_file *file);
void token_file_fini(struct token_file *file);  // zeroed is fine

// The first token of a kind, and the secret of that name; NULL: there is none.
const struct hadoop_token *token_file_find(const struct token_file *file, const char *kind);
const struct hadoop_secret *token_file_find_secret(const struct token_file *file, const char *name);

void token_file_write(struct buf *out, const struct token_file *file);

#endif
