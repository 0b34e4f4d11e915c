// glob: the files in HDFS that a pattern means: * ? [a-z] within a name, {a,b} anywhere. Thread: one.
#ifndef STORE_HDFS_GLOB_H
#define STORE_HDFS_GLOB_H

#include "store/hdfs/namenode.h"

bool glob_is_pattern(const char *path);

// Calls take with every path that is there and matches, by name within each directory, and once however often the pattern means it. A path without a pattern is that path itself. NOT_FOUND: there
// is none.
typedef weft_err glob_visit_fn(void *owner, const char *path, const Hadoop__FileStatus *status);
MUST_CHECK weft_err glob_visit(struct namenode *namenode, const char *path, glob_visit_fn *take,
                               void *owner);

#endif
