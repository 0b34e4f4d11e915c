// spec: reading TF_CONFIG and cluster files. jansson reads the JSON, strictly: a key that stands twice,
// trailing text, NUL bytes and nesting beyond its limit are refused there. The values are then checked
// field by field, as TF_CONFIG is often written by hand or by a shell script that went wrong, and
// TensorFlow itself reports that late, if at all.

#include "cluster/spec.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/json.h"
#include "cluster/spec_state.h"
#include "sys/file/load.h"

#define CLUSTER_FORM                                                                               \
    "  try: {\"ps\": [\"host1:2222\"], \"worker\": [\"host2:2222\", \"host3:2222\"]}"

static weft_bytes bytes_of(const json_t *text)
{
    return (weft_bytes){json_string_value(text), json_string_length(text)};
}

// The value of a key; null is as good as absent, as writers differ in their treatment of "none".
static const json_t *find_value(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

// ---- The cluster ---------------------------------------------------------------------------------------

static weft_err read_member(struct cluster_spec *spec, const char *role, uint32_t index,
                            const json_t *address)
{
    if (!json_is_string(address))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "the address of /%s/%" PRIu32 " is %s\n"
                       "  an address is a text, such as \"localhost:2222\"",
                       role, index, json_type_text(address));
    return cluster_spec_add_member(spec, role, index, bytes_of(address));
}

static weft_err read_list(struct cluster_spec *spec, const char *role, const json_t *list)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < json_array_size(list); i++)
        err = read_member(spec, role, (uint32_t)i, json_array_get(list, i));
    return err;
}

// {"3": "host:port"}: some of a role's members, each with its number.
static weft_err read_sparse(struct cluster_spec *spec, const char *role, json_t *object)
{
    weft_err err = WEFT_OK;
    for (void *at = json_object_iter(object); !err && at; at = json_object_iter_next(object, at)) {
        const weft_bytes key = weft_text(json_object_iter_key(at));
        uint32_t index;
        if (role_read_index(key, &index))
            err = read_member(spec, role, index, json_object_iter_value(at));
        else
            err = err_set(WEFT_INVALID_ARGUMENT,
                          "%s is not an index of the role %s\n"
                          "  some members of a role are {\"0\": \"host:port\", \"3\": ...}, all of"
                          " them are a list",
                          role_quote(key).text, role);
    }
    return err;
}

static weft_err read_role(struct cluster_spec *spec, const char *key, json_t *members)
{
    const weft_err err = cluster_spec_add_role(spec, weft_text(key));
    if (err)
        return err;
    if (json_is_array(members))
        return read_list(spec, key, members);
    if (json_is_object(members))
        return read_sparse(spec, key, members);
    return err_set(WEFT_INVALID_ARGUMENT,
                   "the role %s is %s where its list of addresses is expected\n"
                   "  try: \"%s\": [\"localhost:2222\"]",
                   key, json_type_text(members), key);
}

static weft_err read_cluster(struct cluster_spec *spec, json_t *cluster)
{
    weft_err err = WEFT_OK;
    if (!json_is_object(cluster))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "the cluster is %s where an object of roles is expected\n" CLUSTER_FORM,
                       json_type_text(cluster));
    for (void *at = json_object_iter(cluster); !err && at; at = json_object_iter_next(cluster, at))
        err = read_role(spec, json_object_iter_key(at), json_object_iter_value(at));
    return err ? err : cluster_spec_check(spec);
}

// ---- The task: our own name ----------------------------------------------------------------------------

static weft_err read_type(const json_t *task, const char **type)
{
    const json_t *value = find_value(task, "type");
    *type = json_string_value(value);
    if (value && !*type)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "the \"type\" of the task is %s where the name of a role is expected",
                       json_type_text(value));
    return *type ? role_check_name(bytes_of(value)) : WEFT_OK;
}

// A number, a text of digits, or a number that was made to have a point on its way here (1.0).
static weft_err read_index(const json_t *task, bool *is_given, uint32_t *index)
{
    const json_t *value = find_value(task, "index");
    *is_given = value;
    *index = 0;
    bool is_fine = !value;
    if (json_is_string(value)) {
        is_fine = role_read_index(bytes_of(value), index);
    } else if (json_is_number(value)) {
        const double number = json_number_value(value);
        *index = number >= 0 && number <= ROLE_INDEX_MAX ? (uint32_t)number : 0;
        is_fine = number == (double)*index;
    }
    if (is_fine)
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT,
                   "the \"index\" of the task is not a whole number from 0 on\n"
                   "  it is the place of this member in the list of its role");
}

// The types that TensorFlow runs alone when it has no cluster.
static bool runs_alone(const char *type, uint32_t index)
{
    static const char *const types[] = {"chief", "master", "worker"};
    bool is_alone = strcmp(type, CLUSTER_EVALUATOR) == 0;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        is_alone = is_alone || (index == 0 && strcmp(type, types[i]) == 0);
    return is_alone;
}

static weft_err read_task_alone(struct cluster_spec *spec, const char *type, uint32_t index)
{
    if (!type)
        return WEFT_OK;
    if (runs_alone(type, index))
        return cluster_spec_note_me(spec, type, index);
    return err_set(WEFT_INVALID_ARGUMENT,
                   "the task is /%s/%" PRIu32 ", but no cluster is described\n"
                   "  add \"cluster\": {\"%s\": [\"host:port\", ...]} beside \"task\"",
                   type, index, type);
}

// Without a type there must be one role only; without an index as well, one member.
static weft_err read_task_untyped(struct cluster_spec *spec, bool has_index, uint32_t index)
{
    const bool is_clear =
        spec->roles.count == 1 && (has_index || cluster_spec_count_members(spec) == 1);
    if (!is_clear && has_index)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "the task has an \"index\" but no \"type\", and the cluster has %zu roles\n"
                       "  try: \"task\": {\"type\": \"%s\", \"index\": %" PRIu32 "}",
                       spec->roles.count, spec->roles.items[0].name, index);
    if (!is_clear)
        return WEFT_OK;
    const struct cluster_role *only = &spec->roles.items[0];
    return cluster_spec_set_me(spec, only->name, has_index ? index : only->members.items[0].index);
}

static weft_err read_task(struct cluster_spec *spec, const json_t *task)
{
    const char *type;
    bool has_index;
    uint32_t index;
    if (task && !json_is_object(task))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "the task is %s where an object is expected\n"
                       "  try: \"task\": {\"type\": \"worker\", \"index\": 0}",
                       json_type_text(task));
    weft_err err = read_type(task, &type);
    if (!err)
        err = read_index(task, &has_index, &index);
    if (err)
        return err;
    if (spec->roles.count == 0)
        return read_task_alone(spec, type, index);
    if (!type)
        return read_task_untyped(spec, has_index, index);
    return err_wrap(cluster_spec_set_me(spec, type, index), "the task");
}

// ---- The whole -----------------------------------------------------------------------------------------

static weft_err not_an_object(const json_t *root)
{
    return err_set(WEFT_INVALID_ARGUMENT, "it is %s where an object is expected\n" CLUSTER_FORM,
                   json_type_text(root));
}

static weft_err read_tf_config(struct cluster_spec *spec, json_t *root)
{
    if (!json_is_object(root))
        return not_an_object(root);
    json_t *cluster = json_object_get(root, "cluster");
    weft_err err = !cluster || json_is_null(cluster) ? WEFT_OK : read_cluster(spec, cluster);
    if (!err)
        err = read_task(spec, find_value(root, "task"));
    if (err)
        return err;
    json_object_del(root, "cluster");
    json_object_del(root, "task");
    spec->rest = json_object_size(root) > 0 ? json_incref(root) : NULL;
    return WEFT_OK;
}

// Whether a file is a whole TF_CONFIG: its "cluster" holds roles. One that holds addresses is a role
// which happens to be called so.
static bool is_tf_config(const json_t *root)
{
    json_t *cluster = json_object_get(root, "cluster");
    bool has_address = false;
    for (void *at = json_object_iter(cluster); at; at = json_object_iter_next(cluster, at))
        has_address = has_address || json_is_string(json_object_iter_value(at));
    return json_is_object(cluster) && !has_address;
}

static weft_err read_cluster_file(struct cluster_spec *spec, json_t *root)
{
    if (!json_is_object(root))
        return not_an_object(root);
    const weft_err err = is_tf_config(root) ? read_tf_config(spec, root) : read_cluster(spec, root);
    if (!err && cluster_spec_count_members(spec) == 0)
        return err_set(WEFT_INVALID_ARGUMENT, "it describes no members\n" CLUSTER_FORM);
    return err;
}

// A text that is too large is not empty, whatever its first bytes are.
static bool is_blank(weft_bytes text)
{
    if (text.size > CLUSTER_TEXT_BYTES_MAX)
        return false;
    for (size_t i = 0; i < text.size; i++)
        if (!isspace((unsigned char)text.data[i]))
            return false;
    return true;
}

// jansson's own words, and their most frequent cause: Python's repr, or quotes that a shell took away.
static weft_err not_json(weft_bytes text, const json_error_t *error)
{
    const bool has_single = memchr(text.data, '\'', text.size);
    const bool has_double = memchr(text.data, '"', text.size);
    const bool has_colon = memchr(text.data, ':', text.size);
    const char *hint =
        has_double || !has_colon ? "try: python3 -m json.tool, which shows where it goes wrong"
        : has_single
            ? "try: double quotes, in which JSON has its texts"
            : "try: its texts in double quotes, and single ones around it all: a shell takes "
              "others away";
    struct buf words = {0};
    for (const char *c = error->text; *c; c++)
        buf_append(&words, (unsigned char)*c < ' ' || *c == 127 ? "?" : c, 1);
    const weft_err err = err_set(WEFT_INVALID_ARGUMENT, "it is not JSON: line %d: %s\n  %s",
                                 error->line, buf_text(&words), hint);
    buf_fini(&words);
    return err;
}

typedef weft_err read_root_fn(struct cluster_spec *spec, json_t *root);

static weft_err read_text(struct cluster_spec *spec, weft_bytes text, read_root_fn *read_root)
{
    json_error_t error;
    if (text.size > CLUSTER_TEXT_BYTES_MAX)
        return err_set(WEFT_INVALID_ARGUMENT, "it is larger than %d MiB, which no cluster needs",
                       CLUSTER_TEXT_BYTES_MAX >> 20);
    json_t *root =
        json_loadb(text.data ? text.data : "", text.size, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        return not_json(text, &error);
    const weft_err err = read_root(spec, root);
    json_decref(root);
    return err;
}

weft_err cluster_spec_read_tf_config(struct cluster_spec *spec, weft_bytes text, const char *source)
{
    if (is_blank(text))
        return WEFT_OK;
    const weft_err err = read_text(spec, text, read_tf_config);
    if (err)
        cluster_spec_fini(spec);
    return err_wrap(err, "%s", source);
}

weft_err cluster_spec_read_file(struct cluster_spec *spec, weft_bytes text, const char *source)
{
    const weft_err err = is_blank(text)
                             ? err_set(WEFT_INVALID_ARGUMENT, "it is empty\n" CLUSTER_FORM)
                             : read_text(spec, text, read_cluster_file);
    if (err)
        cluster_spec_fini(spec);
    return err_wrap(err, "%s", source);
}

weft_err cluster_spec_load(struct cluster_spec *spec, const char *path)
{
    const char *source;
    struct buf text = {0};
    weft_err err = file_load_argument(path, CLUSTER_TEXT_BYTES_MAX + 1, &text, &source);
    if (!err)
        err = cluster_spec_read_file(spec, buf_bytes(&text), source);
    buf_fini(&text);
    return err;
}
