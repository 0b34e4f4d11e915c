// device: names of places in a cluster. TensorFlow's device names, and our short paths.
//
//   /job:files/replica:0/task:0/device:CPU:0   TensorFlow, in full; any part may be missing or "*"
//   /files/0                                   a member
//   /files/0/some/name                         a resource on it: all after the index is its name
//   /job:files/task:0/some/name                the same resource
//
// Which grammar a path is in shows in its first part: ours has no ':' there, as no role's name has one.
// In TensorFlow's form parts may follow each other in any order, so a resource whose name begins like a
// part ("task:...") can only be written in our form. All of it is pure. Thread: any.
#ifndef CLUSTER_DEVICE_H
#define CLUSTER_DEVICE_H

#include "base/buf.h"
#include "base/err.h"
#include "cluster/role.h"

// ---- TensorFlow's device names -------------------------------------------------------------------------

struct device {
    bool has_job, has_replica, has_task, has_type, has_id;  // false: anything will do
    char job[ROLE_BYTES_MAX + 1], type[ROLE_BYTES_MAX + 1];
    uint32_t replica, task, id;
};

// Reads a full or partial name: "/" (and "", which TensorFlow sends) says nothing; a later part of a kind
// overrides an earlier one, "*" takes it back; /cpu:0, /CPU:0, /gpu:* are the old forms of /device:CPU:0
// and so on. INVALID_ARGUMENT shows where it went wrong.
MUST_CHECK weft_err device_parse(weft_bytes text, struct device *device);

// Reads the local form: "CPU:0".
MUST_CHECK weft_err device_parse_local(weft_bytes text, struct device *device);

// Appends the canonical form: job, replica, task, device, those that are given; an id that is not given
// after a type that is becomes "*". "" when nothing is given, as in TensorFlow.
void device_append(struct buf *buf, const struct device *device);

// Appends "CPU:0"; the device must have a type and an id.
void device_append_local(struct buf *buf, const struct device *device);

// Fills missing parts from `base`.
void device_complete(struct device *device, const struct device *base);

// Whether `device` has every part of `pattern`, and the same.
bool device_matches(const struct device *pattern, const struct device *device);

// Whether both name the same job, replica and task, all of them given.
bool device_is_same_task(const struct device *a, const struct device *b);

enum device_merge {
    DEVICE_MERGE_STRICT,  // any conflict is INVALID_ARGUMENT
    DEVICE_MERGE_SOFT,  // a conflict of type or id drops it (a type with its id); others are errors
    DEVICE_MERGE_INNER,  // nested scopes: what the inner one gives wins
};

// Adds what `inner` gives to `device`. It is untouched when that fails.
MUST_CHECK weft_err device_merge(struct device *device, const struct device *inner,
                                 enum device_merge how);

// ---- Members and resources -----------------------------------------------------------------------------

enum { RESOURCE_NAME_BYTES_MAX = 1024 };

struct member_path {
    char role[ROLE_BYTES_MAX + 1];
    uint32_t index;
};

struct resource_path {
    char role[ROLE_BYTES_MAX + 1];
    uint32_t index;
    const char *name;  // borrowed: the end of the text that was parsed
};

// Reads "/files/0", or TensorFlow's name with a job and a task; a replica other than 0 or a device other
// than the first CPU is refused: a member has no other. Any text after it is refused too.
MUST_CHECK weft_err member_path_parse(const char *text, struct member_path *path);

// Reads a member with a name after it. A name has no control characters, does not begin with '/' or '_'
// (TensorFlow keeps these for itself), and may hold slashes.
MUST_CHECK weft_err resource_path_parse(const char *text, struct resource_path *path);

// The rule for names by itself.
MUST_CHECK weft_err resource_name_check(const char *name);

// Append our form, which parses to the same again.
void member_path_append(struct buf *buf, const char *role, uint32_t index);
void resource_path_append(struct buf *buf, const char *role, uint32_t index, const char *name);

#endif
