// device: TensorFlow's grammar of device names, derived from its behaviour.
//
//   name := "" | "/" | part+
//   part := "/job:" (NAME | "*") | "/replica:" (N | "*") | "/task:" (N | "*")
//         | "/device:" (TYPE | "*") [":" (N | "*")]
//         | "/cpu:" (N | "*") | "/CPU:" ... | "/gpu:" ... | "/GPU:" ...
//
// Numbers that do not fit are refused here; TensorFlow lets them wrap.

#include "cluster/device.h"

#include <inttypes.h>
#include <stdio.h>

#include "cluster/device_state.h"

#define FORM "  try: /job:worker/replica:0/task:0/device:CPU:0, or some of these parts"

static bool take(weft_bytes *text, const char *prefix)
{
    const size_t length = strlen(prefix);
    if (text->size < length || memcmp(text->data, prefix, length) != 0)
        return false;
    text->data += length;
    text->size -= length;
    return true;
}

// A name up to the next '/', or also up to the next ':' for the type of a device.
static bool read_name(weft_bytes *text, bool ends_at_colon, char *name)
{
    size_t length = 0;
    while (length < text->size && text->data[length] != '/' &&
           !(ends_at_colon && text->data[length] == ':'))
        length++;
    if (!role_is_name((weft_bytes){text->data, length}))
        return false;
    memcpy(name, text->data, length);
    name[length] = 0;
    text->data += length;
    text->size -= length;
    return true;
}

// Digits, as many as there are: what follows them is for the next part to refuse.
static bool read_number(weft_bytes *text, uint32_t *number)
{
    size_t length = 0;
    while (length < text->size && text->data[length] >= '0' && text->data[length] <= '9')
        length++;
    if (!role_read_index((weft_bytes){text->data, length}, number))
        return false;
    text->data += length;
    text->size -= length;
    return true;
}

// "*" or a number after a part's colon.
static bool read_number_or_any(weft_bytes *text, bool *is_given, uint32_t *number)
{
    *is_given = !take(text, "*");
    return !*is_given || read_number(text, number);
}

static bool read_job(weft_bytes *text, struct device *device)
{
    device->has_job = !take(text, "*");
    return !device->has_job || read_name(text, false, device->job);
}

static bool read_device(weft_bytes *text, struct device *device)
{
    device->has_type = !take(text, "*");
    if (device->has_type && !read_name(text, true, device->type))
        return false;
    device->has_id = false;
    return !take(text, ":") || read_number_or_any(text, &device->has_id, &device->id);
}

static bool read_legacy(weft_bytes *text, struct device *device, const char *type)
{
    device->has_type = true;
    snprintf(device->type, sizeof device->type, "%s", type);
    return read_number_or_any(text, &device->has_id, &device->id);
}

enum device_part device_read_part(weft_bytes *text, struct device *device)
{
    bool is_fine;
    const weft_bytes before = *text;
    if (take(text, "/job:"))
        is_fine = read_job(text, device);
    else if (take(text, "/replica:"))
        is_fine = read_number_or_any(text, &device->has_replica, &device->replica);
    else if (take(text, "/task:"))
        is_fine = read_number_or_any(text, &device->has_task, &device->task);
    else if (take(text, "/device:"))
        is_fine = read_device(text, device);
    else if (take(text, "/cpu:") || take(text, "/CPU:"))
        is_fine = read_legacy(text, device, "CPU");
    else if (take(text, "/gpu:") || take(text, "/GPU:"))
        is_fine = read_legacy(text, device, "GPU");
    else
        return DEVICE_NO_PART;
    if (is_fine && (text->size == 0 || text->data[0] == '/'))
        return DEVICE_PART;
    *text = before;
    return DEVICE_BAD_PART;
}

weft_err device_bad_part(weft_bytes text, weft_bytes at)
{
    // The part by itself, without what follows it.
    const char *slash = at.size > 1 ? memchr(at.data + 1, '/', at.size - 1) : NULL;
    const weft_bytes part = {at.data, slash ? (size_t)(slash - at.data) : at.size};
    if (part.size == text.size)
        return err_set(WEFT_INVALID_ARGUMENT, "%s is not the name of a device\n" FORM,
                       role_quote(text).text);
    return err_set(WEFT_INVALID_ARGUMENT,
                   "%s is not the name of a device: %s cannot be a part of one\n" FORM,
                   role_quote(text).text, role_quote(part).text);
}

weft_err device_parse(weft_bytes text, struct device *device)
{
    *device = (struct device){0};
    if (text.size == 1 && text.data[0] == '/')
        return WEFT_OK;
    for (weft_bytes at = text; at.size > 0;)
        if (device_read_part(&at, device) != DEVICE_PART)
            return device_bad_part(text, at);
    return WEFT_OK;
}

weft_err device_parse_local(weft_bytes text, struct device *device)
{
    weft_bytes at = text;
    *device = (struct device){.has_type = true, .has_id = true};
    if (read_name(&at, true, device->type) && take(&at, ":") && read_number(&at, &device->id) &&
        at.size == 0)
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT,
                   "%s is not a device of this machine\n  try: CPU:0, or GPU:1",
                   role_quote(text).text);
}

// ---- Writing -------------------------------------------------------------------------------------------

void device_append(struct buf *buf, const struct device *device)
{
    if (device->has_job)
        buf_format(buf, "/job:%s", device->job);
    if (device->has_replica)
        buf_format(buf, "/replica:%" PRIu32, device->replica);
    if (device->has_task)
        buf_format(buf, "/task:%" PRIu32, device->task);
    if (device->has_type && device->has_id)
        buf_format(buf, "/device:%s:%" PRIu32, device->type, device->id);
    else if (device->has_type)
        buf_format(buf, "/device:%s:*", device->type);
}

void device_append_local(struct buf *buf, const struct device *device)
{
    ASSERT(device->has_type && device->has_id);
    buf_format(buf, "%s:%" PRIu32, device->type, device->id);
}

// ---- Two devices ---------------------------------------------------------------------------------------

enum { JOB = 1, REPLICA = 2, TASK = 4, TYPE = 8, ID = 16 };

// Which fields are given, and in which of these two devices differ, as bits.
static unsigned given(const struct device *device)
{
    return (device->has_job ? JOB : 0) | (device->has_replica ? REPLICA : 0) |
           (device->has_task ? TASK : 0) | (device->has_type ? TYPE : 0) |
           (device->has_id ? ID : 0);
}

static unsigned differing(const struct device *a, const struct device *b)
{
    return (strcmp(a->job, b->job) != 0 ? JOB : 0) | (a->replica != b->replica ? REPLICA : 0) |
           (a->task != b->task ? TASK : 0) | (strcmp(a->type, b->type) != 0 ? TYPE : 0) |
           (a->id != b->id ? ID : 0);
}

static void copy_fields(struct device *to, const struct device *from, unsigned fields)
{
    if (fields & JOB)
        memcpy(to->job, from->job, sizeof to->job);
    if (fields & REPLICA)
        to->replica = from->replica;
    if (fields & TASK)
        to->task = from->task;
    if (fields & TYPE)
        memcpy(to->type, from->type, sizeof to->type);
    if (fields & ID)
        to->id = from->id;
    to->has_job = to->has_job || fields & JOB;
    to->has_replica = to->has_replica || fields & REPLICA;
    to->has_task = to->has_task || fields & TASK;
    to->has_type = to->has_type || fields & TYPE;
    to->has_id = to->has_id || fields & ID;
}

void device_complete(struct device *device, const struct device *base)
{
    copy_fields(device, base, given(base) & ~given(device));
}

bool device_matches(const struct device *pattern, const struct device *device)
{
    const unsigned wanted = given(pattern);
    return (wanted & ~given(device)) == 0 && (wanted & differing(pattern, device)) == 0;
}

bool device_is_same_task(const struct device *a, const struct device *b)
{
    const unsigned place = JOB | REPLICA | TASK;
    return (given(a) & given(b) & place) == place && (differing(a, b) & place) == 0;
}

static weft_err cannot_merge(const struct device *device, const struct device *inner,
                             unsigned conflicts)
{
    const char *what = conflicts & JOB       ? "jobs"
                       : conflicts & REPLICA ? "replicas"
                       : conflicts & TASK    ? "tasks"
                       : conflicts & TYPE    ? "types"
                                             : "ids";
    struct buf outer_text = {0}, inner_text = {0};
    device_append(&outer_text, device);
    device_append(&inner_text, inner);
    const weft_err err =
        err_set(WEFT_INVALID_ARGUMENT, "cannot merge devices with incompatible %s: '%s' and '%s'",
                what, buf_text(&outer_text), buf_text(&inner_text));
    buf_fini(&outer_text);
    buf_fini(&inner_text);
    return err;
}

weft_err device_merge(struct device *device, const struct device *inner, enum device_merge how)
{
    const unsigned conflicts = given(device) & given(inner) & differing(device, inner);
    const unsigned fatal = how == DEVICE_MERGE_STRICT ? conflicts
                           : how == DEVICE_MERGE_SOFT ? conflicts & (JOB | REPLICA | TASK)
                                                      : 0;
    if (fatal)
        return cannot_merge(device, inner, fatal);
    unsigned dropped = how == DEVICE_MERGE_SOFT ? conflicts : 0;
    if (dropped & TYPE)
        dropped |= ID;  // an id is one of its type
    copy_fields(device, inner, given(inner) & ~dropped);
    device->has_type = device->has_type && !(dropped & TYPE);
    device->has_id = device->has_id && !(dropped & ID);
    return WEFT_OK;
}
