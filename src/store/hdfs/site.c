// Properties of Hadoop that name its name nodes.

#include "store/hdfs/site.h"

#include <stdio.h>

#include "store/hdfs/url.h"
#include "wire/hadoop/properties.h"

static weft_err load(struct properties *properties)
{
    const weft_err code = properties_load(properties, "core-site.xml");
    return code == WEFT_OK ? properties_load(properties, "hdfs-site.xml") : code;
}

// ---- Name nodes -------------------------------------------------------------------------------------------------

// An address that means all interfaces means this name node's.
static weft_err read_web(const char *text, const struct net_address *rpc, struct net_address *web)
{
    *web = *rpc;
    web->port = SITE_WEB_PORT;
    if (!text[0])
        return WEFT_OK;
    const weft_err code = net_read_address(text, SITE_WEB_PORT, web);
    if (code == WEFT_OK && (!web->host[0] || strcmp(web->host, "0.0.0.0") == 0))
        memcpy(web->host, rpc->host, sizeof web->host);
    return code;
}

static weft_err add_node(const struct properties *properties, const char *service, const char *node,
                         struct site *site)
{
    char name[500], value[300];
    struct site_node one;
    snprintf(name, sizeof name, "dfs.namenode.rpc-address.%s.%s", service, node);
    properties_find(properties, name, value, sizeof value);
    if (!value[0])
        return err_set(WEFT_INVALID_ARGUMENT,
                       "the configuration of Hadoop names the name node %s of %s and has no %s",
                       node, service, name);
    weft_err code = net_read_address(value, SITE_RPC_PORT, &one.rpc);
    snprintf(name, sizeof name, "dfs.namenode.http-address.%s.%s", service, node);
    properties_find(properties, name, value, sizeof value);
    if (code == WEFT_OK)
        code = read_web(value, &one.rpc, &one.web);
    if (code == WEFT_OK && site->count < SITE_NODES_MAX)
        site->nodes[site->count++] = one;
    return code;
}

static weft_err find_service(const struct properties *properties, const char *service,
                             struct site *site)
{
    char name[400], nodes[400], node[100];
    snprintf(name, sizeof name, "dfs.ha.namenodes.%s", service);
    properties_find(properties, name, nodes, sizeof nodes);
    weft_err code = WEFT_OK;
    for (const char *from = nodes;
         code == WEFT_OK && properties_next_word(&from, node, sizeof node);)
        code = add_node(properties, service, node, site);
    return code;
}

// A name node that is named by its address.
static weft_err find_host(const struct properties *properties, const char *authority,
                          struct site *site)
{
    char value[300];
    struct net_address known = {0};
    struct site_node *node = &site->nodes[0];
    weft_err code = net_read_address(authority, SITE_RPC_PORT, &node->rpc);
    if (code != WEFT_OK)
        return code;
    site->count = 1;
    // The web address of the configuration is that of this name node only if it is the configuration's.
    properties_find(properties, "dfs.namenode.rpc-address", value, sizeof value);
    if (!value[0]) {
        properties_find(properties, "fs.defaultFS", value, sizeof value);
        struct hdfs_url url = {0};
        if (hdfs_is_url(value) && hdfs_url_read(value, &url) == WEFT_OK)
            snprintf(value, sizeof value, "%s", url.authority);
        err_clear();
    }
    const bool is_known = value[0] && net_read_address(value, SITE_RPC_PORT, &known) == WEFT_OK &&
                          known.port == node->rpc.port && strcmp(known.host, node->rpc.host) == 0;
    err_clear();
    value[0] = 0;
    if (is_known)
        properties_find(properties, "dfs.namenode.http-address", value, sizeof value);
    return read_web(value, &node->rpc, &node->web);
}

// ---- Addresses of name nodes instead of a name ---------------------------------------------------------------------

// HOST:PORT:WEB_PORT, of which the last piece is cut off. False: it is none.
static bool cut_web_port(char *text, const char **web_port)
{
    const char *bracket = strrchr(text, ']');
    char *first = strchr(bracket ? bracket : text, ':'), *last = strrchr(text, ':');
    if (!first || first == text || last == first || last == first + 1 ||
        memchr(first + 1, ':', (size_t)(last - first - 1)))
        return false;
    *last = 0;
    *web_port = last + 1;
    return true;
}

static bool names_nodes(const char *authority)
{
    char text[HDFS_AUTHORITY_BYTES];
    const char *web_port;
    snprintf(text, sizeof text, "%.*s", (int)strcspn(authority, ","), authority);
    return strchr(authority, ',') || cut_web_port(text, &web_port);
}

static weft_err add_address(char *text, struct site *site)
{
    struct site_node *node = &site->nodes[site->count];
    const char *web_port = NULL;
    char web[NET_ADDRESS_TEXT_BYTES] = "";
    if (site->count == SITE_NODES_MAX)
        return err_set(WEFT_INVALID_ARGUMENT, "there are at most %d name nodes", SITE_NODES_MAX);
    const bool has_web_port = cut_web_port(text, &web_port);
    weft_err code = net_read_address(text, SITE_RPC_PORT, &node->rpc);
    if (code == WEFT_OK && has_web_port)
        snprintf(web, sizeof web, ":%.20s", web_port);
    if (code == WEFT_OK)
        code = read_web(web, &node->rpc, &node->web);
    site->count += code == WEFT_OK;
    return code;
}

static weft_err read_nodes(const char *authority, struct site *site)
{
    char text[HDFS_AUTHORITY_BYTES], *rest = NULL;
    weft_err code = WEFT_OK;
    snprintf(text, sizeof text, "%s", authority);
    for (char *one = strtok_r(text, ",", &rest); one && code == WEFT_OK;
         one = strtok_r(NULL, ",", &rest))
        code = add_address(one, site);
    if (code == WEFT_OK && site->count == 0)
        return err_set(WEFT_INVALID_ARGUMENT, "%s names no name node", authority);
    return code;
}

bool site_write(const struct site *site, struct buf *authority)
{
    for (size_t i = 0; i < site->count; i++) {
        const struct site_node *node = &site->nodes[i];
        char rpc[NET_ADDRESS_TEXT_BYTES];
        if (strcmp(node->rpc.host, node->web.host) != 0)
            return false;
        net_write_address(&node->rpc, rpc);
        buf_format(authority, "%s%s:%u", i ? "," : "", rpc, node->web.port);
    }
    return true;
}

// ---- All of them -------------------------------------------------------------------------------------------------

static weft_err find_default(const struct properties *properties,
                             char authority[HDFS_AUTHORITY_BYTES])
{
    char value[HDFS_AUTHORITY_BYTES + 20];
    struct hdfs_url url = {0};
    properties_find(properties, "fs.defaultFS", value, sizeof value);
    if (!hdfs_is_url(value))
        return err_set(WEFT_FAILED_PRECONDITION,
                       "hdfs:///... needs a default name node, and there is none in the "
                       "configuration of Hadoop (fs.defaultFS in core-site.xml)\n"
                       "  try: HADOOP_CONF_DIR=DIR, or hdfs://HOST:PORT/...");
    const weft_err code = hdfs_url_read(value, &url);
    memcpy(authority, url.authority, sizeof url.authority);
    return code;
}

weft_err site_find(const char *authority, struct site *site)
{
    struct properties properties = {0};
    char named[HDFS_AUTHORITY_BYTES];
    snprintf(named, sizeof named, "%s", authority);
    *site = (struct site){0};
    weft_err code = load(&properties);
    if (code == WEFT_OK)
        code = properties_check_security(&properties);
    if (code == WEFT_OK && !named[0])
        code = find_default(&properties, named);
    if (code == WEFT_OK)
        code =
            names_nodes(named) ? read_nodes(named, site) : find_service(&properties, named, site);
    if (code == WEFT_OK && site->count == 0)
        code = find_host(&properties, named, site);
    properties_fini(&properties);
    return code;
}
