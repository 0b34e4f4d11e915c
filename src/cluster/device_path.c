// device: paths of members and resources, in both grammars. The short one is ours; the long one is what
// TensorFlow programs have in their source, so that it can be pasted.

#include <inttypes.h>

#include "cluster/device_state.h"

#define MEMBER_FORM "  try: /files/0, or /job:files/task:0"
#define RESOURCE_FORM "  try: /files/0/filenames, or /job:files/task:0/filenames"

// What the two kinds of path differ in when something is wrong.
struct kind {
    const char *name, *form;
};
static const struct kind member = {"the path of a member", MEMBER_FORM};
static const struct kind resource = {"the path of a resource", RESOURCE_FORM};

static weft_err is_wrong(const struct kind *kind, const char *text, const char *why)
{
    return err_set(WEFT_INVALID_ARGUMENT, "%s is not %s: %s\n%s", role_quote(weft_text(text)).text,
                   kind->name, why, kind->form);
}

// ---- The short form ------------------------------------------------------------------------------------

// "/role/index" and what follows it.
static weft_err read_short(const struct kind *kind, const char *text, struct resource_path *path)
{
    const char *role = text + 1;
    const size_t role_size = strcspn(role, "/");
    if (!role_is_name((weft_bytes){role, role_size}))
        return is_wrong(kind, text,
                        role_size == 0 ? "it names no role"
                                       : "a role is a letter, then letters, digits and '_'");
    const char *index = role + role_size + (role[role_size] == '/');
    const size_t index_size = strcspn(index, "/");
    if (index_size == 0)
        return is_wrong(kind, text, "it does not say which member of the role");
    if (!role_read_index((weft_bytes){index, index_size}, &path->index))
        return is_wrong(kind, text, "after the role comes the member's index, a number from 0 on");
    memcpy(path->role, role, role_size);
    path->role[role_size] = 0;
    path->name = index + index_size;
    return WEFT_OK;
}

// ---- TensorFlow's form ---------------------------------------------------------------------------------

static const char *check_device(const struct device *device)
{
    if (!device->has_job)
        return "it names no job";
    if (!device->has_task)
        return "it does not say which task of the job";
    if (device->has_replica && device->replica != 0)
        return "there is only replica 0";
    if (device->has_type && strcmp(device->type, "CPU") != 0)
        return "what members share lies in their memory, at CPU:0";
    if (device->has_id && device->id != 0)
        return "what members share lies in their memory, at CPU:0";
    return NULL;
}

// Parts as long as there are some; from the first that is none the name begins.
static weft_err read_long(const struct kind *kind, const char *text, struct resource_path *path)
{
    struct device device = {0};
    weft_bytes at = weft_text(text);
    enum device_part part = DEVICE_PART;
    while (part == DEVICE_PART && at.size > 0)
        part = device_read_part(&at, &device);
    if (part == DEVICE_BAD_PART)
        return is_wrong(kind, text, "one of its parts is not a job, task, replica or device");
    const char *why = check_device(&device);
    if (why)
        return is_wrong(kind, text, why);
    memcpy(path->role, device.job, sizeof path->role);
    path->index = device.task;
    path->name = at.data;
    return WEFT_OK;
}

// ---- Both ----------------------------------------------------------------------------------------------

// Leaves path->name at what follows the member: "" or "/...".
static weft_err read_path(const struct kind *kind, const char *text, struct resource_path *path)
{
    if (text[0] != '/')
        return is_wrong(kind, text, "it does not begin with '/'");
    const size_t first_size = strcspn(text + 1, "/");
    const bool is_long = memchr(text + 1, ':', first_size);
    return is_long ? read_long(kind, text, path) : read_short(kind, text, path);
}

weft_err member_path_parse(const char *text, struct member_path *path)
{
    struct resource_path whole;
    const weft_err err = read_path(&member, text, &whole);
    if (err)
        return err;
    if (*whole.name)
        return is_wrong(&member, text, "something follows the index");
    memcpy(path->role, whole.role, sizeof path->role);
    path->index = whole.index;
    return WEFT_OK;
}

static const char *check_name(const char *name)
{
    if (!*name)
        return "it has no name after the member";
    if (*name == '/')
        return "its name begins with '/'";
    if (*name == '_')
        return "names that begin with '_' are kept for private ones";
    if (strlen(name) > RESOURCE_NAME_BYTES_MAX)
        return "its name is longer than 1024 bytes";
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            return "its name has control characters";
    return NULL;
}

weft_err resource_name_check(const char *name)
{
    const char *why = check_name(name);
    return why ? err_set(WEFT_INVALID_ARGUMENT, "%s is not the name of a resource: %s",
                         role_quote(weft_text(name)).text, *name ? why : "it is empty")
               : WEFT_OK;
}

weft_err resource_path_parse(const char *text, struct resource_path *path)
{
    const weft_err err = read_path(&resource, text, path);
    if (err)
        return err;
    path->name += *path->name == '/';
    const char *why = check_name(path->name);
    return why ? is_wrong(&resource, text, why) : WEFT_OK;
}

void member_path_append(struct buf *buf, const char *role, uint32_t index)
{
    buf_format(buf, "/%s/%" PRIu32, role, index);
}

void resource_path_append(struct buf *buf, const char *role, uint32_t index, const char *name)
{
    buf_format(buf, "/%s/%" PRIu32 "/%s", role, index, name);
}
