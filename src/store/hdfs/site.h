// site: where the name nodes are, from Hadoop's configuration files.
//
// core-site.xml and hdfs-site.xml are read from $HADOOP_CONF_DIR (or $HADOOP_HOME/etc/hadoop), if there are any.
#ifndef STORE_HDFS_SITE_H
#define STORE_HDFS_SITE_H

#include "base/buf.h"
#include "sys/net/net.h"

enum { SITE_NODES_MAX = 8, SITE_RPC_PORT = 8020, SITE_WEB_PORT = 9870 };

struct site_node {
    struct net_address rpc, web;
};

// The name nodes of one file system, one of which is active.
struct site {
    struct site_node nodes[SITE_NODES_MAX];
    size_t count;
};

// Of the authority of a URL; "": the default of the configuration. FAILED_PRECONDITION: there is no default (not NOT_FOUND, which is about files);
// INVALID_ARGUMENT: the
// authority or the configuration cannot be read; UNIMPLEMENTED: the configuration asks for Kerberos or for encrypted calls.
MUST_CHECK weft_err site_find(const char *authority, struct site *site);

// Appends the authority that means this site where there is no configuration: HOST:PORT:WEB_PORT,HOST:PORT:WEB_PORT... False: a name
// node has its web server under another name, which cannot be said like that.
bool site_write(const struct site *site, struct buf *authority);

#endif
