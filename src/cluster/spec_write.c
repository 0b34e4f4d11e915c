// spec: writing TF_CONFIG. The layout is that of Python 3's json module, so that a file made here and
// one made by a script of three lines are the same bytes.

#include "cluster/spec.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "cluster/address.h"

static weft_err no_memory(void)
{
    return err_no_memory("to write TF_CONFIG");
}

static weft_err make_address(const struct cluster_role *role, const struct cluster_member *member,
                             json_t **address)
{
    struct buf text = {0};
    if (!member->host)
        return err_set(WEFT_FAILED_PRECONDITION,
                       "/%s/%" PRIu32 " has no address yet\n"
                       "  it gets one when it is started, or from a cluster file",
                       role->name, member->index);
    address_append(&text, member->host, member->port);
    *address = json_string(buf_text(&text));
    buf_fini(&text);
    return *address ? WEFT_OK : no_memory();
}

// A list when it can be one, otherwise {"3": "host:port"}.
static weft_err make_role(const struct cluster_role *role, json_t *cluster)
{
    const bool is_list = cluster_role_is_dense(role);
    json_t *members = is_list ? json_array() : json_object();
    weft_err err = json_object_set_new(cluster, role->name, members) ? no_memory() : WEFT_OK;
    for (size_t i = 0; !err && i < role->members.count; i++) {
        json_t *address = NULL;
        char key[16];
        snprintf(key, sizeof key, "%" PRIu32, role->members.items[i].index);
        err = make_address(role, &role->members.items[i], &address);
        if (!err && (is_list ? json_array_append_new(members, address)
                             : json_object_set_new(members, key, address)))
            err = no_memory();
    }
    return err;
}

static weft_err make_cluster(const struct cluster_spec *spec, json_t *root)
{
    json_t *cluster = json_object();
    weft_err err = json_object_set_new(root, "cluster", cluster) ? no_memory() : WEFT_OK;
    for (size_t i = 0; !err && i < spec->roles.count; i++)
        err = make_role(&spec->roles.items[i], cluster);
    return err;
}

static weft_err make_task(json_t *root, const char *role, uint32_t index)
{
    json_t *task = json_object();
    const bool has_failed = json_object_set_new(root, "task", task) ||
                            json_object_set_new(task, "type", json_string(role)) ||
                            json_object_set_new(task, "index", json_integer(index));
    return has_failed ? no_memory() : WEFT_OK;
}

// A blank inside of a text becomes an escape: outside of texts the compact form has none, and a line
// without blanks is one word to every shell and every reader of env files.
static int append_without_blanks(const char *data, size_t size, void *owner)
{
    for (size_t i = 0; i < size; i++) {
        if (data[i] == ' ')
            buf_append_text(owner, "\\u0020");
        else
            buf_append(owner, &data[i], 1);
    }
    return ((struct buf *)owner)->has_failed ? -1 : 0;
}

static int append_as_it_is(const char *data, size_t size, void *owner)
{
    buf_append(owner, data, size);
    return ((struct buf *)owner)->has_failed ? -1 : 0;
}

weft_err cluster_spec_write_tf_config(struct buf *buf, const struct cluster_spec *spec,
                                      const char *role, uint32_t index, enum cluster_layout layout)
{
    json_t *root = json_object();
    weft_err err = make_cluster(spec, root);
    if (!err && role)
        err = make_task(root, role, index);
    if (!err && spec->rest && json_object_update(root, spec->rest))
        err = no_memory();
    const bool is_compact = layout == CLUSTER_COMPACT;
    const size_t flags = JSON_ENSURE_ASCII | (is_compact ? JSON_COMPACT : JSON_INDENT(2));
    if (!err &&
        json_dump_callback(root, is_compact ? append_without_blanks : append_as_it_is, buf, flags))
        err = no_memory();
    json_decref(root);
    return err;
}
