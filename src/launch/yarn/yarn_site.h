// yarn_site: where the resource managers of a YARN are, from a URL and Hadoop's configuration files.
//
//   yarn://HOST[:PORT][/QUEUE]   that resource manager; its other addresses are the configuration's if this one is, else the usual ones
//   yarn://NAME[/QUEUE]          the resource managers of yarn.resourcemanager.cluster-id NAME
//   yarn:[///QUEUE]              those of the configuration
//
// core-site.xml and yarn-site.xml are read from $HADOOP_CONF_DIR (or $HADOOP_HOME/etc/hadoop), if there are any.
#ifndef LAUNCH_YARN_YARN_SITE_H
#define LAUNCH_YARN_YARN_SITE_H

#include "base/buf.h"
#include "sys/net/net.h"

enum {
    YARN_MANAGERS_MAX = 8,
    YARN_CLIENT_PORT = 8032,
    YARN_SCHEDULER_PORT = 8030,
    YARN_WEB_PORT = 8088,
    YARN_QUEUE_BYTES = 256,
};

struct yarn_manager {
    struct net_address client, scheduler, web;
};

// The resource managers of one YARN, one of which is active.
struct yarn_site {
    struct yarn_manager managers[YARN_MANAGERS_MAX];
    size_t count;
    char queue[YARN_QUEUE_BYTES];  // "": the default one
};

// Whether a text is a URL of that kind. INVALID_ARGUMENT with a sentence that quotes it. Reads no file.
MUST_CHECK weft_err yarn_site_check(const char *url);

// INVALID_ARGUMENT: the URL or the configuration cannot be read; FAILED_PRECONDITION: neither names a resource manager;
// UNIMPLEMENTED: the configuration asks for Kerberos or for encrypted calls.
MUST_CHECK weft_err yarn_site_find(const char *url, struct yarn_site *site);

// One line without quotes, and back: for a process in a container of YARN, where there may be no configuration.
// INVALID_ARGUMENT: it is not such a line.
void yarn_site_write(const struct yarn_site *site, struct buf *text);
MUST_CHECK weft_err yarn_site_read(const char *text, struct yarn_site *site);

#endif
