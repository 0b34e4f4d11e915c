// Properties of Hadoop that name its resource managers.

#include "launch/yarn/yarn_site.h"

#include <stdio.h>

#include "wire/hadoop/properties.h"

enum { VALUE_BYTES = 400 };

static const char scheme[] = "yarn:";

// ---- URLs -------------------------------------------------------------------------------------------------------

struct yarn_url {
    char authority[VALUE_BYTES];  // "": that of the configuration
    char queue[YARN_QUEUE_BYTES];
};

static weft_err refuse(const char *url, const char *why)
{
    return err_set(WEFT_INVALID_ARGUMENT,
                   "%.200s is not a URL of YARN: %s\n"
                   "  try: yarn://HOST:PORT/QUEUE, or yarn: for the one of HADOOP_CONF_DIR",
                   url, why);
}

static bool is_queue(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || *text == 0x7f || strchr("/?#,\"'\\", *text))
            return false;
    return true;
}

static weft_err read_url(const char *text, struct yarn_url *url)
{
    *url = (struct yarn_url){0};
    if (strncmp(text, scheme, strlen(scheme)) != 0)
        return refuse(text, "it does not begin with yarn:");
    const char *rest = text + strlen(scheme);
    if (rest[0] && strncmp(rest, "//", 2) != 0)
        return refuse(text, "two slashes are missing");
    rest += rest[0] ? 2 : 0;
    const size_t size = strcspn(rest, "/");
    const char *queue = rest[size] ? rest + size + 1 : "";
    if (size >= sizeof url->authority || strlen(queue) >= sizeof url->queue)
        return refuse(text, "it is too long");
    if (!is_queue(queue))
        return refuse(text, "a queue has no blanks, slashes, commas or quotes in its name");
    memcpy(url->authority, rest, size);
    memcpy(url->queue, queue, strlen(queue));
    struct net_address address;
    const weft_err err =
        size ? net_read_address(url->authority, YARN_CLIENT_PORT, &address) : WEFT_OK;
    if (err || (size && !address.host[0])) {
        err_clear();
        return refuse(text, "its host cannot be read");
    }
    return WEFT_OK;
}

weft_err yarn_site_check(const char *url)
{
    struct yarn_url read;
    return read_url(url, &read);
}

// ---- Resource managers ------------------------------------------------------------------------------------------

// A property of one of several resource managers; of the only one, if `id` is "".
static void find(const struct properties *properties, const char *name, const char *id,
                 char value[VALUE_BYTES])
{
    char whole[VALUE_BYTES];
    snprintf(whole, sizeof whole, "yarn.resourcemanager.%s%s%s", name, id[0] ? "." : "", id);
    properties_find(properties, whole, value, VALUE_BYTES);
}

// `host` is that of the resource manager; an address that means all interfaces means it, too.
static weft_err find_address(const struct properties *properties, const char *name, const char *id,
                             uint16_t port, const char *host, struct net_address *address)
{
    char value[VALUE_BYTES];
    *address = (struct net_address){.port = port};
    find(properties, name, id, value);
    const weft_err err = value[0] ? net_read_address(value, port, address) : WEFT_OK;
    if (err)
        return err_wrap(err, "yarn.resourcemanager.%s in Hadoop's configuration", name);
    if (!address->host[0] || strcmp(address->host, "0.0.0.0") == 0)
        snprintf(address->host, sizeof address->host, "%.250s", host);
    return WEFT_OK;
}

static weft_err add_manager(const struct properties *properties, const char *id,
                            struct yarn_site *site)
{
    struct yarn_manager one;
    char host[VALUE_BYTES];
    find(properties, "hostname", id, host);
    if (!host[0] || strcmp(host, "0.0.0.0") == 0)
        snprintf(host, sizeof host, "localhost");
    weft_err err = find_address(properties, "address", id, YARN_CLIENT_PORT, host, &one.client);
    if (!err)
        err = find_address(properties, "scheduler.address", id, YARN_SCHEDULER_PORT,
                           one.client.host, &one.scheduler);
    if (!err)
        err = find_address(properties, "webapp.address", id, YARN_WEB_PORT, one.client.host,
                           &one.web);
    if (!err && site->count < YARN_MANAGERS_MAX)
        site->managers[site->count++] = one;
    return err;
}

static bool is_named(const struct properties *properties, const char *id)
{
    char address[VALUE_BYTES], host[VALUE_BYTES];
    find(properties, "address", id, address);
    find(properties, "hostname", id, host);
    return address[0] || host[0];
}

// Those of the configuration; none is fine.
static weft_err find_managers(const struct properties *properties, struct yarn_site *site)
{
    char is_several[VALUE_BYTES], ids[VALUE_BYTES], id[100];
    find(properties, "ha.enabled", "", is_several);
    find(properties, "ha.rm-ids", "", ids);
    weft_err err = WEFT_OK;
    if (strcmp(is_several, "true") != 0)
        return is_named(properties, "") ? add_manager(properties, "", site) : WEFT_OK;
    for (const char *from = ids; !err && properties_next_word(&from, id, sizeof id);)
        err = is_named(properties, id)
                  ? add_manager(properties, id, site)
                  : err_set(WEFT_INVALID_ARGUMENT,
                            "the configuration of Hadoop names the resource manager %s and has no "
                            "yarn.resourcemanager.address.%s",
                            id, id);
    return err;
}

// The one that a URL names by its host.
static weft_err choose_manager(const char *authority, struct yarn_site *site)
{
    struct yarn_manager one = {0};
    const weft_err err = net_read_address(authority, YARN_CLIENT_PORT, &one.client);
    if (err)
        return err;
    one.scheduler = one.web = one.client;
    one.scheduler.port = YARN_SCHEDULER_PORT;
    one.web.port = YARN_WEB_PORT;
    for (size_t i = 0; i < site->count; i++)
        if (site->managers[i].client.port == one.client.port &&
            strcmp(site->managers[i].client.host, one.client.host) == 0)
            one = site->managers[i];
    site->managers[0] = one;
    site->count = 1;
    return WEFT_OK;
}

static weft_err choose(const struct properties *properties, const char *authority,
                       struct yarn_site *site)
{
    char name[VALUE_BYTES];
    find(properties, "cluster-id", "", name);
    if (authority[0] && strcmp(authority, name) != 0)
        return choose_manager(authority, site);
    if (site->count > 0)
        return WEFT_OK;
    return err_set(WEFT_FAILED_PRECONDITION,
                   "no resource manager is known: the configuration of Hadoop has no "
                   "yarn.resourcemanager.hostname in yarn-site.xml\n"
                   "  try: HADOOP_CONF_DIR=DIR, or yarn://HOST:PORT/QUEUE");
}

weft_err yarn_site_find(const char *url, struct yarn_site *site)
{
    struct properties properties = {0};
    struct yarn_url read;
    *site = (struct yarn_site){0};
    weft_err err = read_url(url, &read);
    if (!err)
        err = properties_load(&properties, "core-site.xml");
    if (!err)
        err = properties_load(&properties, "yarn-site.xml");
    if (!err)
        err = properties_check_security(&properties);
    if (!err)
        err = find_managers(&properties, site);
    if (!err)
        err = choose(&properties, read.authority, site);
    memcpy(site->queue, read.queue, sizeof site->queue);
    properties_fini(&properties);
    return err;
}

// ---- Lines --------------------------------------------------------------------------------------------------------
// "rm1:8032,rm1:8030,rm1:8088 rm2:8032,rm2:8030,rm2:8088 /root.queue"

void yarn_site_write(const struct yarn_site *site, struct buf *text)
{
    for (size_t i = 0; i < site->count; i++) {
        const struct yarn_manager *one = &site->managers[i];
        const struct net_address *const addresses[] = {&one->client, &one->scheduler, &one->web};
        for (int k = 0; k < 3; k++) {
            char address[NET_ADDRESS_TEXT_BYTES];
            net_write_address(addresses[k], address);
            buf_format(text, "%s%s", k ? "," : "", address);
        }
        buf_append_text(text, " ");
    }
    buf_format(text, "/%s", site->queue);
}

static weft_err refuse_line(void)
{
    return err_set(WEFT_INVALID_ARGUMENT, "the addresses of YARN's resource managers are damaged");
}

// Up to the next comma or blank; `*from` is moved past it.
static weft_err take_address(const char **from, char end, struct net_address *address)
{
    char word[NET_ADDRESS_TEXT_BYTES];
    const size_t size = strcspn(*from, ", ");
    if (size >= sizeof word || (*from)[size] != end)
        return refuse_line();
    snprintf(word, sizeof word, "%.*s", (int)size, *from);
    *from += size + 1;
    return net_read_address(word, 0, address);
}

weft_err yarn_site_read(const char *text, struct yarn_site *site)
{
    *site = (struct yarn_site){0};
    while (*text != '/') {
        struct yarn_manager one;
        weft_err err = take_address(&text, ',', &one.client);
        if (!err)
            err = take_address(&text, ',', &one.scheduler);
        if (!err)
            err = take_address(&text, ' ', &one.web);
        if (err || site->count == YARN_MANAGERS_MAX)
            return err ? err : refuse_line();
        site->managers[site->count++] = one;
    }
    if (site->count == 0 || strlen(text + 1) >= sizeof site->queue || !is_queue(text + 1))
        return refuse_line();
    snprintf(site->queue, sizeof site->queue, "%s", text + 1);
    return WEFT_OK;
}
