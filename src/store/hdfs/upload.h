// upload: a new file in HDFS, which appears under its name when all of it is there.
//
// It is written beside its place, under a name that begins with a dot; its size is compared, then it is renamed. One that is closed before
// its end is removed; a killed process leaves it. Thread: one.
#ifndef STORE_HDFS_UPLOAD_H
#define STORE_HDFS_UPLOAD_H

#include "store/hdfs/namenode.h"

struct upload;

// `size` may be unknown: -1. ALREADY_EXISTS: a file has that name, and not `overwrites`; FAILED_PRECONDITION: a directory has it.
MUST_CHECK weft_err upload_open(struct namenode *namenode, const char *path, int64_t size,
                                bool overwrites, struct upload **upload);
MUST_CHECK weft_err upload_write(struct upload *upload, const void *data, size_t size);
MUST_CHECK weft_err upload_finish(struct upload *upload);
void upload_close(struct upload *upload);  // NULL is fine

#endif
