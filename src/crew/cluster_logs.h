// cluster_logs: what the members of a cluster in the background have printed.
#ifndef CREW_CLUSTER_LOGS_H
#define CREW_CLUSTER_LOGS_H

#include "base/err.h"

struct cluster_logs_options {
    const char *name;  // of the cluster
    const char
        *on;  // the URL of the launcher that keeps it under that id; NULL: its name is known here
    const char *const *members;  // "map/0", "map" for all of the role, "weft" for what weft says
    size_t member_count;         // 0: all
    uint64_t lines;              // of each log only the last ones; UINT64_MAX: all
    bool follows;                // continues until the cluster has ended
};

// Writes the lines to standard output; where there are several logs, each line has its member in front.
// NOT_FOUND: there is no such cluster or member. Thread: the only one of the process.
MUST_CHECK weft_err cluster_logs(const struct cluster_logs_options *options);

#endif
