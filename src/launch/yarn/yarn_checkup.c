// Each resource manager is asked by itself whether it is active; the questions about the cluster go to whichever is.

#include "launch/yarn/yarn_checkup.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "launch/yarn/application.h"
#include "launch/yarn/yarn_client.h"
#include "launch/yarn/yarn_info.h"
#include "launch/yarn/yarn_message.h"
#include "wire/hadoop/properties.h"
#include "wire/http.h"

enum { ANSWER_BYTES_MAX = 1 << 20, PATIENCE_MS = 1, TALLIES_MAX = 16 };

static void report(const struct yarn_checkup *checkup, const char *check, weft_err err,
                   struct buf *text)
{
    checkup->found(checkup->owner, check, err, err ? err_text() : buf_text(text));
    err_clear();
    text->size = 0;
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static weft_err look_at_configuration(const char *url, struct yarn_site *site, struct buf *text)
{
    char user[MACHINE_NAME_BYTES_MAX];
    const weft_err err = yarn_site_find(url, site);
    if (!properties_directory(text))
        buf_append_text(text, "none is named by HADOOP_CONF_DIR");
    properties_find_user(user);
    buf_format(text, ": %zu resource manager%s, simple authentication, user %s", site->count,
               plural(site->count), user);
    return err;
}

// ---- Resource managers ----------------------------------------------------------------------------------------------

static weft_err call_manager(const struct yarn_site *site, bool *is_active)
{
    char user[MACHINE_NAME_BYTES_MAX];
    const struct yarn_link_options options = {
        .site = site, .service = YARN_FOR_CLIENTS, .user = user, .patience_ms = PATIENCE_MS};
    struct yarn_link *link;
    Hadoop__NodesAnswer *answer = NULL;
    struct err_kept kept;
    properties_find_user(user);
    weft_err err = yarn_link_new(&options, &link);
    if (err)
        return err;
    err = yarn_get_nodes(link, &answer);
    *is_active = !err;
    if (err && strcmp(yarn_link_exception(link), "StandbyException") == 0) {
        err = WEFT_OK;
        err_clear();
    }
    if (!err)
        yarn_free(answer);
    err_keep(&kept);
    yarn_link_free(link);
    err_put_back(&kept);
    return err;
}

// We do not need its web server: one that is not reached is not a failure.
static void find_version(const struct yarn_checkup *checkup, const struct net_address *web,
                         char version[YARN_VERSION_BYTES])
{
    struct buf text = {0};
    uint32_t status;
    weft_err err =
        http_get(web, "/ws/v1/cluster/info", checkup->timeout_ms, ANSWER_BYTES_MAX, &status, &text);
    if (!err)
        err = yarn_info_read(buf_bytes(&text), version);
    if (err)
        snprintf(version, YARN_VERSION_BYTES, "of an unknown version");
    err_clear();
    buf_fini(&text);
}

static weft_err look_at_manager(const struct yarn_checkup *checkup,
                                const struct yarn_manager *manager, bool *is_active,
                                struct buf *text)
{
    char version[YARN_VERSION_BYTES];
    const struct yarn_site alone = {.managers = {*manager}, .count = 1};
    const weft_err err = call_manager(&alone, is_active);
    if (err)
        return err;
    find_version(checkup, &manager->web, version);
    buf_format(text, "%s, Hadoop %s", *is_active ? "active" : "standby", version);
    return WEFT_OK;
}

static bool look_at_managers(const struct yarn_checkup *checkup, const struct yarn_site *site)
{
    bool has_active = false;
    for (size_t i = 0; i < site->count; i++) {
        char name[NET_ADDRESS_TEXT_BYTES];
        struct buf text = {0};
        bool is_active = false;
        net_write_address(&site->managers[i].client, name);
        report(checkup, name, look_at_manager(checkup, &site->managers[i], &is_active, &text),
               &text);
        has_active |= is_active;
        buf_fini(&text);
    }
    return has_active;
}

// ---- The cluster ----------------------------------------------------------------------------------------------------

static weft_err look_at_queue(struct yarn_client *client, const char *name, struct buf *text)
{
    struct yarn_queue queue;
    const weft_err err = yarn_client_queue(client, name, &queue);
    if (err)
        return err_set(err, "%s\n  try: --on yarn://.../QUEUE, another queue", err_text());
    if (!queue.is_running)
        return err_set(WEFT_FAILED_PRECONDITION,
                       "the queue %.200s is stopped and takes no application\n"
                       "  try: --on yarn://.../QUEUE, another queue",
                       queue.name);
    buf_format(text, "%s takes applications: %.0f %% of the cluster, at most %.0f %%; ", queue.name,
               100 * queue.share, 100 * queue.share_max);
    text_append_size(text, queue.available_bytes);
    buf_format(text, " and %u core%s of its share free, %u application%s run and %u wait",
               queue.available_cores, plural(queue.available_cores), queue.running,
               plural(queue.running), queue.pending);
    if (queue.labels[0])
        buf_format(text, "; labels %s", queue.labels);
    return WEFT_OK;
}

static weft_err look_at_limits(struct yarn_client *client, struct buf *text)
{
    struct yarn_new made;
    const weft_err err = yarn_client_name(client, &made);
    if (err)
        return err;
    buf_append_text(text, "at most ");
    text_append_size(text, made.memory_bytes);
    buf_format(text, " and %u core%s", made.cores, plural(made.cores));
    return WEFT_OK;
}

// What several nodes have of a name.
struct tally {
    char name[YARN_QUEUE_BYTES];
    int64_t count;
};

// All node managers together.
struct sum {
    uint64_t memory_bytes, cores, nodes;
    struct tally amounts[TALLIES_MAX], labels[TALLIES_MAX];
};

// Names that find no room are left out.
static void tally_add(struct tally tallies[TALLIES_MAX], const char *name, int64_t count)
{
    for (size_t i = 0; i < TALLIES_MAX; i++) {
        struct tally *tally = &tallies[i];
        if (tally->name[0] && strcmp(tally->name, name) != 0)
            continue;
        snprintf(tally->name, sizeof tally->name, "%s", name);
        tally->count += count;
        return;
    }
}

static weft_err add_node(void *owner, const struct yarn_node *node)
{
    struct sum *sum = owner;
    sum->nodes++;
    sum->memory_bytes += node->memory_bytes;
    sum->cores += node->cores;
    for (size_t i = 0; i < node->amount_count; i++)
        tally_add(sum->amounts, node->amounts[i].name, node->amounts[i].count);
    if (node->labels[0])
        tally_add(sum->labels, node->labels, 1);
    return WEFT_OK;
}

static weft_err look_at_nodes(struct yarn_client *client, struct buf *text)
{
    struct sum sum = {0};
    const weft_err err = yarn_client_nodes(client, add_node, &sum);
    if (err)
        return err;
    if (sum.nodes == 0)
        return err_set(WEFT_UNAVAILABLE,
                       "no node manager runs\n"
                       "  try: start node managers; their logs say why they do not register");
    buf_format(text, "%" PRIu64 " node manager%s: ", sum.nodes, plural(sum.nodes));
    text_append_size(text, sum.memory_bytes);
    buf_format(text, ", %" PRIu64 " core%s", sum.cores, plural(sum.cores));
    for (size_t i = 0; i < TALLIES_MAX && sum.amounts[i].name[0]; i++)
        if (sum.amounts[i].count > 0)
            buf_format(text, ", %" PRId64 " %s", sum.amounts[i].count, sum.amounts[i].name);
    for (size_t i = 0; i < TALLIES_MAX && sum.labels[i].name[0]; i++)
        buf_format(text, "; label %s on %" PRId64, sum.labels[i].name, sum.labels[i].count);
    return WEFT_OK;
}

static void look_at_cluster(const struct yarn_checkup *checkup, const struct yarn_site *site)
{
    const struct yarn_client_options options = {.site = site, .patience_ms = PATIENCE_MS};
    struct yarn_client *client;
    struct buf text = {0};
    const weft_err err = yarn_client_open(&options, &client);
    if (err) {
        report(checkup, "queue", err, &text);
        return;
    }
    report(checkup, "queue", look_at_queue(client, site->queue[0] ? site->queue : "default", &text),
           &text);
    report(checkup, "container", look_at_limits(client, &text), &text);
    report(checkup, "nodes", look_at_nodes(client, &text), &text);
    yarn_client_close(client);
    buf_fini(&text);
}

bool yarn_checkup(const struct yarn_checkup *checkup)
{
    struct yarn_site site;
    struct buf text = {0};
    const weft_err err = look_at_configuration(checkup->url, &site, &text);
    report(checkup, "hadoop", err, &text);
    const bool has_active = !err && look_at_managers(checkup, &site);
    if (has_active)
        look_at_cluster(checkup, &site);
    buf_fini(&text);
    return has_active;
}
