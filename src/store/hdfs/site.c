// Properties of Hadoop that name its name nodes.

#include "store/hdfs/site.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/vec.h"
#include "store/hdfs/url.h"
#include "sys/file/file.h"
#include "sys/file/load.h"
#include "wire/hadoop/conf.h"

enum { CONF_BYTES_MAX = 16 << 20, NESTING_MAX = 20 };

struct property {
    char *name, *value;
};

struct properties {
    VEC(struct property) all;
};

static void properties_fini(struct properties *properties)
{
    for (size_t i = 0; i < properties->all.count; i++) {
        free(properties->all.items[i].name);
        free(properties->all.items[i].value);
    }
    VEC_FINI(&properties->all);
}

static weft_err add(void *owner, weft_bytes name, weft_bytes value)
{
    struct properties *properties = owner;
    struct property one = {strndup(name.data ? name.data : "", name.size),
                           strndup(value.data ? value.data : "", value.size)};
    if (one.name && one.value && VEC_PUSH(&properties->all, one))
        return WEFT_OK;
    free(one.name);
    free(one.value);
    return err_no_memory("for a configuration");
}

// The last one counts. NULL: there is none.
static const char *find_raw(const struct properties *properties, const char *name)
{
    for (size_t i = properties->all.count; i-- > 0;)
        if (strcmp(properties->all.items[i].name, name) == 0)
            return properties->all.items[i].value;
    return NULL;
}

// ${NAME} stands for another property, ${env.NAME} for a variable; unknown ones stay as they are.
static void expand(const struct properties *properties, const char *text, int depth,
                   struct buf *out)
{
    for (const char *at; (at = strstr(text, "${")) && depth < NESTING_MAX;) {
        const char *end = strchr(at, '}');
        char name[256];
        if (!end || (size_t)(end - at - 2) >= sizeof name)
            break;
        snprintf(name, sizeof name, "%.*s", (int)(end - at - 2), at + 2);
        const char *value =
            strncmp(name, "env.", 4) == 0 ? getenv(name + 4) : find_raw(properties, name);
        buf_append(out, text, (size_t)((value ? at : end + 1) - text));
        if (value)
            expand(properties, value, depth + 1, out);
        text = end + 1;
    }
    buf_append_text(out, text);
}

// Without blanks around. "" when there is none.
static void find(const struct properties *properties, const char *name, char *value, size_t size)
{
    struct buf text = {0};
    const char *raw = find_raw(properties, name);
    expand(properties, raw ? raw : "", 0, &text);
    const char *from = buf_text(&text);
    from += strspn(from, " \t\r\n");
    snprintf(value, size, "%s", from);
    for (size_t end = strlen(value); end > 0 && strchr(" \t\r\n", value[end - 1]);)
        value[--end] = 0;
    buf_fini(&text);
}

// ---- Files ----------------------------------------------------------------------------------------------------

static weft_err load_file(const char *directory, const char *name, struct properties *properties)
{
    struct buf path = {0}, text = {0};
    struct file_stat status = {0};
    buf_format(&path, "%s/%s", directory, name);
    weft_err code =
        path.has_failed ? err_no_memory("for a path") : file_stat(buf_text(&path), &status);
    if (code == WEFT_OK && status.kind != FILE_MISSING) {
        code = file_load(buf_text(&path), CONF_BYTES_MAX, &text);
        if (code == WEFT_OK)
            code = conf_read(buf_text(&path), buf_bytes(&text), add, properties);
    }
    buf_fini(&path);
    buf_fini(&text);
    return code;
}

static weft_err load(struct properties *properties)
{
    const char *given = getenv("HADOOP_CONF_DIR"), *home = getenv("HADOOP_HOME");
    struct buf directory = {0};
    if (given && given[0])
        buf_append_text(&directory, given);
    else if (home && home[0])
        buf_format(&directory, "%s/etc/hadoop", home);
    else
        return WEFT_OK;
    weft_err code = load_file(buf_text(&directory), "core-site.xml", properties);
    if (code == WEFT_OK)
        code = load_file(buf_text(&directory), "hdfs-site.xml", properties);
    buf_fini(&directory);
    return code;
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

// "a, b,c": the next word; false at the end.
static bool next_word(const char **from, char *word, size_t size)
{
    *from += strspn(*from, ", \t\r\n");
    const size_t length = strcspn(*from, ", \t\r\n");
    snprintf(word, size, "%.*s", (int)length, *from);
    *from += length;
    return length > 0;
}

static weft_err add_node(const struct properties *properties, const char *service, const char *node,
                         struct site *site)
{
    char name[500], value[300];
    struct site_node one;
    snprintf(name, sizeof name, "dfs.namenode.rpc-address.%s.%s", service, node);
    find(properties, name, value, sizeof value);
    if (!value[0])
        return err_set(WEFT_INVALID_ARGUMENT,
                       "the configuration of Hadoop names the name node %s of %s and has no %s",
                       node, service, name);
    weft_err code = net_read_address(value, SITE_RPC_PORT, &one.rpc);
    snprintf(name, sizeof name, "dfs.namenode.http-address.%s.%s", service, node);
    find(properties, name, value, sizeof value);
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
    find(properties, name, nodes, sizeof nodes);
    weft_err code = WEFT_OK;
    for (const char *from = nodes; code == WEFT_OK && next_word(&from, node, sizeof node);)
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
    find(properties, "dfs.namenode.rpc-address", value, sizeof value);
    if (!value[0]) {
        find(properties, "fs.defaultFS", value, sizeof value);
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
        find(properties, "dfs.namenode.http-address", value, sizeof value);
    return read_web(value, &node->rpc, &node->web);
}

static weft_err find_default(const struct properties *properties,
                             char authority[HDFS_AUTHORITY_BYTES])
{
    char value[HDFS_AUTHORITY_BYTES + 20];
    struct hdfs_url url = {0};
    find(properties, "fs.defaultFS", value, sizeof value);
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
    if (code == WEFT_OK && !named[0])
        code = find_default(&properties, named);
    if (code == WEFT_OK)
        code = find_service(&properties, named, site);
    if (code == WEFT_OK && site->count == 0)
        code = find_host(&properties, named, site);
    properties_fini(&properties);
    return code;
}
