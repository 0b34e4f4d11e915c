// reader: the bytes of a file in HDFS, wherever its blocks are.
//
// A block is read from the data node that the name node puts first; when one fails or sends a wrong checksum, from the next one, then from wherever
// the name node says it is by now, and at last by WebHDFS. Bytes that were given out are not asked for again.
// The file is as long as it was when it was opened. If its path means another file by then, that is DATA_LOSS. Thread: one.
#ifndef STORE_HDFS_READER_H
#define STORE_HDFS_READER_H

#include "store/hdfs/namenode.h"

struct reader;

// NOT_FOUND, FAILED_PRECONDITION (a directory), ...: with the path. `namenode` stays the caller's.
MUST_CHECK weft_err reader_open(struct namenode *namenode, const char *path,
                                struct reader **reader);
void reader_close(struct reader *reader);  // NULL is fine

uint64_t reader_size(const struct reader *reader);
// The data node that the last bytes came from, each of them checked; NULL: they came by WebHDFS.
const struct net_address *reader_data_node(const struct reader *reader);

// Up to size bytes at offset, fewer only at the end of the file. Reading on from where the last call ended costs nothing extra.
MUST_CHECK weft_err reader_read_at(struct reader *reader, void *data, size_t size, uint64_t offset,
                                   size_t *got);

#endif
