// block: reading a stretch of one block from one data node, with its checksums. Thread: one.
#ifndef STORE_HDFS_BLOCK_H
#define STORE_HDFS_BLOCK_H

#include "base/err.h"
#include "sys/net/tcp.h"
#include "wire/hadoop.pb-c.h"

struct block;

struct block_options {
    struct net_address address;  // of the data node
    const Hadoop__LocatedBlock *located;
    const char *client;   // the name of this process
    uint64_t begin, end;  // in the block
};

// UNAVAILABLE, NOT_FOUND, DATA_LOSS, ...: this data node cannot give it; another one may.
MUST_CHECK weft_err block_open(const struct block_options *options, struct block **block);
// The same over a connection to the data node, which is taken over.
MUST_CHECK weft_err block_over(struct tcp *tcp, const struct block_options *options,
                               struct block **block);
void block_close(struct block *block);  // NULL is fine

const struct net_address *block_address(const struct block *block);  // of the data node
// Some bytes, each of which has been checked; 0 only at the end. DATA_LOSS: a checksum is wrong, or these bytes are not a block.
MUST_CHECK weft_err block_read(struct block *block, void *data, size_t size, size_t *got);

#endif
