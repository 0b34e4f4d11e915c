// url: names of files in HDFS as people write them. Pure. Thread: any.
//
//   hdfs://HOST[:PORT]/path   hdfs://NAMESERVICE/path   hdfs:///path (the one of $HADOOP_CONF_DIR)
//   hdfs://HOST:PORT:WEB_PORT,HOST:PORT:WEB_PORT/path   all name nodes of a file system, for which no configuration is needed
//
// Nothing in it is escaped: a path is what stands there, as in Hadoop's own commands.
#ifndef STORE_HDFS_URL_H
#define STORE_HDFS_URL_H

#include "base/buf.h"
#include "base/err.h"

enum { HDFS_PATH_BYTES = 8192, HDFS_AUTHORITY_BYTES = 300 };

struct hdfs_url {
    char authority[HDFS_AUTHORITY_BYTES];  // "": that of the configuration
    char path[HDFS_PATH_BYTES];  // from the root, without "." and "..", without a "/" at its end
};

bool hdfs_is_url(const char *text);

// What stands between "hdfs://" and the path; empty for other texts, too. Borrowed.
weft_bytes hdfs_url_authority(const char *text);

// Appends the URL with another authority.
void hdfs_url_append_at(const char *text, const char *authority, struct buf *url);

// INVALID_ARGUMENT with a sentence that quotes the text.
MUST_CHECK weft_err hdfs_url_read(const char *text, struct hdfs_url *url);

#endif
