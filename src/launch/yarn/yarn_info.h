// yarn_info: what a resource manager reports about itself by its web server (/ws/v1/cluster/info). Pure. Thread: any.
//
//   {"clusterInfo": {"haState": "ACTIVE", "resourceManagerVersion": "3.4.1", ...}}
#ifndef LAUNCH_YARN_YARN_INFO_H
#define LAUNCH_YARN_YARN_INFO_H

#include "base/err.h"

enum { YARN_VERSION_BYTES = 64 };

// The version. DATA_LOSS: the text is none of a resource manager.
MUST_CHECK weft_err yarn_info_read(weft_bytes text, char version[YARN_VERSION_BYTES]);

#endif
