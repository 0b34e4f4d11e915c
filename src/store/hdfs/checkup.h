// checkup: whether files can be read and written in an HDFS from here, found out by doing it.
#ifndef STORE_HDFS_CHECKUP_H
#define STORE_HDFS_CHECKUP_H

#include "base/err.h"

// Called after each check, in order. `text` is the result; of a failure it is err_text(), with what to do in its second line.
typedef void hdfs_checkup_fn(void *owner, const char *check, weft_err err, const char *text);

struct hdfs_checkup {
    const char
        *url;  // hdfs://...: a file is written in the directory that it names, or in the user's
    uint32_t timeout_ms;  // of each step
    hdfs_checkup_fn *found;
    void *owner;
};

// Checks the configuration, each name node by its address, and the bytes of a file ("files"). Checks that need what an earlier one has
// not found are left out. Nothing stays in HDFS. Thread: one.
void hdfs_checkup(const struct hdfs_checkup *checkup);

#endif
