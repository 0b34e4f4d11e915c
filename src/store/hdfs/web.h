// web: bytes of HDFS by HTTP (WebHDFS): writing a file, and reading where data nodes cannot be reached otherwise.
//
// The name node answers with the address of a data node, which takes or gives the bytes. There is no checksum on the way; the writer
// compares the size afterwards. Thread: one.
#ifndef STORE_HDFS_WEB_H
#define STORE_HDFS_WEB_H

#include "store/hdfs/namenode.h"

struct web;

// Reads a stretch of a file.
MUST_CHECK weft_err web_open(const struct namenode *namenode, const char *path, uint64_t begin,
                             uint64_t end, struct web **web);
MUST_CHECK weft_err web_read(struct web *web, void *data, size_t size, size_t *got);

struct web_file {
    const char *path;
    int64_t size;          // may be unknown: -1
    bool is_private;       // only its owner may read it
    bool makes_directory;  // those above it, too
};

// Makes a new file. ALREADY_EXISTS.
MUST_CHECK weft_err web_create(const struct namenode *namenode, const struct web_file *file,
                               struct web **web);
// Adds to a file that is there. Its size is `size` bytes more afterwards.
MUST_CHECK weft_err web_append(const struct namenode *namenode, const char *path, uint64_t size,
                               struct web **web);
MUST_CHECK weft_err web_write(struct web *web, const void *data, size_t size);
// All was written; a file that was not finished looks like one that was.
MUST_CHECK weft_err web_finish(struct web *web);

void web_close(struct web *web);  // NULL is fine

#endif
