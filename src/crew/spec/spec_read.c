// Reading a job.json. jansson reads the JSON, strictly: a key that stands twice, trailing text and NUL bytes are
// refused there. Each key is then looked up in the table of fields; every sentence begins with the place.

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "crew/spec/spec_state.h"
#include "sys/file/load.h"

#define SPEC_FORM "  try: {\"roles\": {\"worker\": 2}, \"command\": [\"python3\", \"train.py\"]}"

enum { JSON_DEPTH_MAX = 16 };  // a description needs 4

// ---- A role ----------------------------------------------------------------------------------------------------

// The field of a key. For all roles, only those that can be shared.
static bool find_field(const char *key, bool is_for_all, enum crew_field *field)
{
    for (size_t i = 0; i < CREW_FIELD_COUNT; i++) {
        if ((spec_fields[i].is_shared || !is_for_all) && strcmp(spec_fields[i].key, key) == 0) {
            *field = (enum crew_field)i;
            return true;
        }
    }
    return false;
}

// The keys that may stand in a role, or at the top; ends with NULL.
static void list_keys(const char **keys, bool is_top)
{
    static const char *const top[] = {"name",           "on",      "preset", "tensorboard", "roles",
                                      "start_deadline", "settings"};
    for (size_t i = 0; is_top && i < sizeof top / sizeof *top; i++)
        *keys++ = top[i];
    for (size_t i = 0; i < CREW_FIELD_COUNT; i++)
        if (spec_fields[i].is_shared || !is_top)
            *keys++ = spec_fields[i].key;
    *keys = NULL;
}

static weft_err refuse_key(const char *key, bool is_top)
{
    const char *keys[CREW_FIELD_COUNT + 8];
    enum crew_field field;
    if (is_top && find_field(key, false, &field))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "\"%s\" belongs to one role\n  write it below \"roles\", in each role that "
                       "has it",
                       key);
    list_keys(keys, is_top);
    return spec_refuse_word(is_top ? "a key of a description" : "a key of a role", key, keys);
}

static weft_err read_field(struct crew_role *role, const char *key, const json_t *value,
                           bool is_for_all)
{
    enum crew_field field;
    if (!find_field(key, is_for_all, &field))
        return refuse_key(key, is_for_all);
    if (json_is_null(value))  // as good as absent
        return WEFT_OK;
    return err_wrap(spec_set_json(role, field, value), "%s", key);
}

static weft_err read_role(struct crew_role *role, json_t *value)
{
    weft_err err = WEFT_OK;
    if (json_is_integer(value))  // "worker": 2
        return spec_set_json(role, CREW_INSTANCES, value);
    if (json_is_null(value))
        return WEFT_OK;
    if (!json_is_object(value))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "it is %s where a number of instances or an object is expected\n"
                       "  try: {\"instances\": 2, \"memory\": \"4G\"}",
                       json_type_text(value));
    for (void *at = json_object_iter(value); !err && at; at = json_object_iter_next(value, at))
        err = read_field(role, json_object_iter_key(at), json_object_iter_value(at), false);
    return err;
}

static weft_err read_roles(struct crew_spec *spec, json_t *roles)
{
    weft_err err = WEFT_OK;
    if (!json_is_object(roles))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "it is %s where an object of roles is expected\n" SPEC_FORM,
                       json_type_text(roles));
    for (void *at = json_object_iter(roles); !err && at; at = json_object_iter_next(roles, at)) {
        const char *name = json_object_iter_key(at);
        struct crew_role *role = spec_add_role(spec, name);
        if (!role)
            return WEFT_INVALID_ARGUMENT;
        err = err_wrap(read_role(role, json_object_iter_value(at)), "%s", name);
    }
    return err;
}

// ---- The whole -------------------------------------------------------------------------------------------------

static weft_err read_text(char **to, const json_t *value)
{
    if (!json_is_string(value) || json_string_length(value) == 0)
        return err_set(WEFT_INVALID_ARGUMENT, "it is %s where a text is expected",
                       json_is_string(value) ? "empty" : json_type_text(value));
    return crew_spec_set_text(to, json_string_value(value));
}

static weft_err read_preset(struct crew_spec *spec, const json_t *value)
{
    return json_is_string(value)
               ? crew_spec_set_preset(spec, json_string_value(value))
               : err_set(WEFT_INVALID_ARGUMENT, "it is %s where the name of a preset is expected",
                         json_type_text(value));
}

// "90s", or a number of seconds.
static weft_err read_time(uint32_t *milliseconds, const json_t *value)
{
    struct buf text = {0};
    if (json_is_integer(value))
        buf_format(&text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else
        buf_append_text(&text, json_is_string(value) ? json_string_value(value) : "");
    const bool is_time = text_read_duration(buf_text(&text), milliseconds);
    buf_fini(&text);
    return is_time ? WEFT_OK
                   : err_set(WEFT_INVALID_ARGUMENT,
                             "it is not a time\n  a time is written \"10m\", \"30s\" or \"500ms\"");
}

static weft_err read_key(struct crew_spec *spec, const char *key, json_t *value)
{
    if (strcmp(key, "roles") == 0)
        return err_wrap(json_is_null(value) ? WEFT_OK : read_roles(spec, value), "roles");
    const bool is_absent = json_is_null(value);
    char **text = strcmp(key, "name") == 0          ? &spec->name
                  : strcmp(key, "on") == 0          ? &spec->on
                  : strcmp(key, "tensorboard") == 0 ? &spec->tensorboard
                                                    : NULL;
    if (text)
        return is_absent ? WEFT_OK : err_wrap(read_text(text, value), "%s", key);
    if (strcmp(key, "start_deadline") == 0)
        return is_absent ? WEFT_OK
                         : err_wrap(read_time(&spec->start_deadline_ms, value), "%s", key);
    if (strcmp(key, "settings") == 0)
        return is_absent ? WEFT_OK
                         : err_wrap(spec_set_settings(&spec->settings, value), "settings");
    if (strcmp(key, "preset") == 0)
        return is_absent ? WEFT_OK : err_wrap(read_preset(spec, value), "preset");
    return read_field(&spec->all, key, value, true);
}

// A cluster file, which `--cluster` reads, has lists of addresses where a description has keys.
static bool is_cluster_file(const json_t *root)
{
    json_t *cluster = json_object_get(root, "cluster");
    json_t *roles = cluster ? cluster : (json_t *)root;
    void *first = json_object_iter(roles);
    const json_t *value = first ? json_object_iter_value(first) : NULL;
    const char *address = json_string_value(json_array_get(value, 0));
    return address && strchr(address, ':') && !json_object_get(root, "roles");
}

static weft_err read_root(struct crew_spec *spec, json_t *root)
{
    weft_err err = WEFT_OK;
    if (!json_is_object(root))
        return err_set(WEFT_INVALID_ARGUMENT, "it is %s where an object is expected\n" SPEC_FORM,
                       json_type_text(root));
    if (is_cluster_file(root))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "it is a cluster file, with an address for each member\n"
                       "  try: --cluster instead of --spec");
    for (void *at = json_object_iter(root); !err && at; at = json_object_iter_next(root, at))
        err = read_key(spec, json_object_iter_key(at), json_object_iter_value(at));
    if (!err && spec->roles.count == 0 && !spec->preset)
        return err_set(WEFT_INVALID_ARGUMENT, "it has no roles\n" SPEC_FORM);
    return err;
}

// Before jansson sees it, so that no text makes it descend far. Brackets inside of texts do not count.
static bool is_deep(weft_bytes text)
{
    int depth = 0;
    bool is_inside = false;
    for (size_t i = 0; i < text.size && depth <= JSON_DEPTH_MAX; i++) {
        const char c = text.data[i];
        if (is_inside && c == '\\')
            i++;
        else if (c == '"')
            is_inside = !is_inside;
        else if (!is_inside && (c == '{' || c == '['))
            depth++;
        else if (!is_inside && (c == '}' || c == ']'))
            depth--;
    }
    return depth > JSON_DEPTH_MAX;
}

static weft_err not_json(weft_bytes text, const json_error_t *error)
{
    const bool has_double = text.size > 0 && memchr(text.data, '"', text.size);
    struct buf words = {0};
    for (const char *c = error->text; *c; c++)
        buf_append(&words, (unsigned char)*c < ' ' || *c == 127 ? "?" : c, 1);
    const weft_err err =
        err_set(WEFT_INVALID_ARGUMENT, "it is not JSON: line %d, column %d: %s\n  %s", error->line,
                error->column, buf_text(&words),
                has_double ? "try: python3 -m json.tool, which shows where it goes wrong"
                           : "try: double quotes, in which JSON has its texts");
    buf_fini(&words);
    return err;
}

weft_err crew_spec_read(struct crew_spec *spec, weft_bytes text, const char *source)
{
    json_error_t error;
    weft_err err = WEFT_OK;
    json_t *root = NULL;
    if (text.size > CREW_SPEC_BYTES_MAX)
        err = err_set(WEFT_INVALID_ARGUMENT, "it is larger than %d MiB, which no description needs",
                      CREW_SPEC_BYTES_MAX >> 20);
    else if (is_deep(text))
        err = err_set(WEFT_INVALID_ARGUMENT, "its brackets are nested more than %d deep",
                      JSON_DEPTH_MAX);
    else if (!(root = json_loadb(text.data ? text.data : "", text.size, JSON_REJECT_DUPLICATES,
                                 &error)))
        err = not_json(text, &error);
    else
        err = read_root(spec, root);
    json_decref(root);
    if (err) {
        struct err_kept kept;
        err_keep(&kept);
        crew_spec_fini(spec);
        err_put_back(&kept);
    }
    return err_wrap(err, "%s", source);
}

// ---- From a file -----------------------------------------------------------------------------------------------

// A path in a file is meant from where the file is.
static weft_err move_path(char **path, const char *directory)
{
    struct buf moved = {0};
    if (!*path || **path == '/')
        return WEFT_OK;
    buf_format(&moved, "%s/%s", directory, *path);
    const weft_err err =
        moved.has_failed ? spec_no_memory() : crew_spec_set_text(path, buf_text(&moved));
    buf_fini(&moved);
    return err;
}

static weft_err move_paths(struct crew_role *role, const char *directory)
{
    weft_err err = move_path(&role->archive, directory);
    for (size_t i = 0; !err && i < role->files.count; i++)
        err = move_path(&role->files.items[i].value, directory);
    return err;
}

static weft_err move_all_paths(struct crew_spec *spec, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return WEFT_OK;
    char *directory = strndup(path, slash == path ? 1 : (size_t)(slash - path));
    if (!directory)
        return spec_no_memory();
    weft_err err = move_paths(&spec->all, directory);
    for (size_t i = 0; !err && i < spec->roles.count; i++)
        err = move_paths(&spec->roles.items[i], directory);
    free(directory);
    return err;
}

weft_err crew_spec_load(struct crew_spec *spec, const char *path)
{
    const char *source;
    struct buf text = {0};
    weft_err err = file_load_argument(path, CREW_SPEC_BYTES_MAX + 1, &text, &source);
    if (!err)
        err = crew_spec_read(spec, buf_bytes(&text), source);
    if (!err && source == path && (err = move_all_paths(spec, path)))
        crew_spec_fini(spec);
    buf_fini(&text);
    return err;
}
