// bean: what a service of Hadoop reports about itself by its web server (/jmx). Pure. Thread: any.
//
//   {"beans": [{"name": "Hadoop:service=NameNode,name=...", "FSState": "Operational", "NumLiveDataNodes": 2, ...}]}
#ifndef STORE_HDFS_BEAN_H
#define STORE_HDFS_BEAN_H

#include "base/err.h"

enum { BEAN_WORD_BYTES = 64 };

struct bean {
    char state[BEAN_WORD_BYTES];    // FSState: "Operational", "safeMode"; "": not said
    char version[BEAN_WORD_BYTES];  // SoftwareVersion
    uint64_t live_nodes, dead_nodes, free_bytes;
};

// Adds what the text says to a bean; other things in it are ignored. DATA_LOSS: it is no such text.
MUST_CHECK weft_err bean_read(weft_bytes text, struct bean *bean);

#endif
