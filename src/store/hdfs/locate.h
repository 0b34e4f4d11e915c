// locate: which machines have the blocks of files in HDFS, by the port (store/store.h). Thread: one.
#ifndef STORE_HDFS_LOCATE_H
#define STORE_HDFS_LOCATE_H

#include "store/store.h"

// *locator is NULL before the first call, and keeps a connection to the name node.
MUST_CHECK weft_err hdfs_locate(struct hdfs_locator **locator, const char *url,
                                store_stretch_fn *take, void *owner);
void hdfs_locator_free(struct hdfs_locator *locator);  // NULL is fine

#endif
