// yarn_stage: the program in HDFS, from where node managers fetch it for every container.
//
// Its name there has its hash, so it is sent once for each version, and node managers keep it from run to run. Waits for HDFS:
// to be called beside the loop.
#ifndef LAUNCH_YARN_YARN_STAGE_H
#define LAUNCH_YARN_YARN_STAGE_H

#include "base/buf.h"
#include "base/err.h"

struct yarn_stage {
    const char *directory;  // its URL; NULL: .weft/bin of the user's directory
    const char
        *user;  // whose directory, and as whom; NULL: HADOOP_USER_NAME, or the user of this process
    const char *path;  // of the program here
    const char *hash;  // of its content, for the name
    uint64_t bytes;

    // What has come out, for struct yarn_file.
    struct buf url;
    int64_t mtime_ms;
    bool was_sent;
};

// The authority of URLs of the HDFS that Hadoop's configuration names. FAILED_PRECONDITION: none, with what to do.
MUST_CHECK weft_err yarn_stage_find_default(char *authority, size_t size);

// FAILED_PRECONDITION: no HDFS is named, with what to do; UNAVAILABLE: it does not answer.
MUST_CHECK weft_err yarn_stage_put(struct yarn_stage *stage);
void yarn_stage_fini(struct yarn_stage *stage);

#endif
