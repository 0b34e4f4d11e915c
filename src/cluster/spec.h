// spec: the description of a cluster. Roles in the order given, each with its members and where they
// listen; and who we are among them. Read from TF_CONFIG, from a cluster file, or built from flags;
// written as TF_CONFIG for any member.
//
//   {"cluster": {"ps": ["10.0.0.1:2222"], "worker": {"3": "10.0.0.4"}},
//    "task": {"type": "worker", "index": 3}}
//
// The same member is written /worker/3 (device.h). A role may be sparse: only some indices are known.
// A member may be without an address as long as a launcher has to find one.
//
// A reader starts from an empty struct ({0}) and leaves it empty when it fails. Thread: one owner;
// once built it is only read, from any thread.
#ifndef CLUSTER_SPEC_H
#define CLUSTER_SPEC_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "cluster/role.h"

enum {
    CLUSTER_TEXT_BYTES_MAX = 16 << 20,  // of a description; larger ones are refused unread
    CLUSTER_MEMBERS_MAX = 1 << 15,      // about 100 bytes each: 3 MB
    CLUSTER_ROLES_MAX = 1024,
};

struct cluster_member {
    uint32_t index;
    uint16_t port;  // 0: the system chooses when the member starts
    char *host;     // without the brackets of IPv6; NULL: no address yet
};

struct cluster_role {
    char *name;
    VEC(struct cluster_member) members;  // by index; not always 0, 1, 2
};

struct cluster_spec {
    VEC(struct cluster_role) roles;  // as given; a role may have no members
    char *my_role;                   // NULL: the description does not say who we are
    uint32_t my_index;
    struct json_t
        *rest;  // what else TF_CONFIG said (environment, rpc_layer...), kept as it was; or NULL
};

void cluster_spec_fini(struct cluster_spec *spec);

// ---- Reading -------------------------------------------------------------------------------------------
// All failures are INVALID_ARGUMENT (RESOURCE_EXHAUSTED for memory), begin with the source, and say what
// is wrong and what would be right: JSON that is none, a key twice, a wrong type, a bad or doubled
// address, a role that is not in the cluster, an index beyond it.

// TF_CONFIG's text. Empty or blank means no cluster, and is fine. Unknown keys are kept in `rest`, null is as
// good as absent. "index" may be a text of digits, and is 0 when left out; "type" may be left out when
// there is one role. An evaluator need not be in the cluster. Without a cluster the type is one that
// TensorFlow runs alone: chief, master, worker, evaluator.
MUST_CHECK weft_err cluster_spec_read_tf_config(struct cluster_spec *spec, weft_bytes text,
                                                const char *source);

// A cluster file's text: the object of roles by itself, or a whole TF_CONFIG, recognized by its "cluster" key.
// A file without any member is refused.
MUST_CHECK weft_err cluster_spec_read_file(struct cluster_spec *spec, weft_bytes text,
                                           const char *source);

// The same from a path; "-" is standard input. NOT_FOUND, PERMISSION_DENIED... when it cannot be read.
MUST_CHECK weft_err cluster_spec_load(struct cluster_spec *spec, const char *path);

// ---- Building ------------------------------------------------------------------------------------------

// Adds what `--role` says: "map=2" is two members without addresses, "map=a:1,b" two with. A role that is
// there already is refused. Call cluster_spec_check when all are there.
MUST_CHECK weft_err cluster_spec_add_flag(struct cluster_spec *spec, const char *text);

// Adds a role without members. Adds a member, whose index must not be there yet. The address is read as
// address_parse does; {0}: none yet.
MUST_CHECK weft_err cluster_spec_add_role(struct cluster_spec *spec, weft_bytes name);
MUST_CHECK weft_err cluster_spec_add_member(struct cluster_spec *spec, const char *role,
                                            uint32_t index, weft_bytes address);

// Gives a member of the cluster another address. NOT_FOUND when there is no such member.
MUST_CHECK weft_err cluster_spec_set_address(struct cluster_spec *spec, const char *role,
                                             uint32_t index, weft_bytes address);

// Gives each member that has no address one on `host`, ports counted up from first_port, roles and
// members in their order. Ports that members of the same host have already are left out.
MUST_CHECK weft_err cluster_spec_assign_addresses(struct cluster_spec *spec, const char *host,
                                                  uint16_t first_port);

// Says who we are: a member of the cluster, or an evaluator outside it; INVALID_ARGUMENT for others.
MUST_CHECK weft_err cluster_spec_set_me(struct cluster_spec *spec, const char *role,
                                        uint32_t index);

// INVALID_ARGUMENT when two members have one address (port 0 aside). The readers have done it.
MUST_CHECK weft_err cluster_spec_check(const struct cluster_spec *spec);

// ---- Asking --------------------------------------------------------------------------------------------

size_t cluster_spec_count_members(const struct cluster_spec *spec);

// NULL when there is none. Borrowed from the spec, until it changes.
const struct cluster_role *cluster_spec_find_role(const struct cluster_spec *spec,
                                                  const char *name);
const struct cluster_member *cluster_role_find_member(const struct cluster_role *role,
                                                      uint32_t index);
const struct cluster_member *cluster_spec_find_member(const struct cluster_spec *spec,
                                                      const char *role, uint32_t index);

// NOT_FOUND with a sentence that lists the members, for one that the user named.
MUST_CHECK weft_err cluster_spec_check_member(const struct cluster_spec *spec, const char *role,
                                              uint32_t index);

// Whether its members are 0, 1, 2 and so on: written as a list, otherwise as an object.
bool cluster_role_is_dense(const struct cluster_role *role);

// Whether we are the one that does what one member has to do: index 0 of chief, else of master, else
// of worker, whichever the cluster has first; index 0 of any role, or none, when it has none of these.
bool cluster_spec_is_chief(const struct cluster_spec *spec);

// ---- Writing -------------------------------------------------------------------------------------------

enum cluster_layout {
    CLUSTER_INDENTED,  // two blanks, one item per line: as Python's json.dumps(..., indent=2)
    CLUSTER_COMPACT,   // one line without any blank: blanks inside of texts are \u0020
};

// Appends TF_CONFIG as this member sees it, without a newline at the end: "cluster" with roles in their
// order, "task" (left out when role is NULL), then what else was read. The same spec gives the same
// bytes; reading them gives the same spec. FAILED_PRECONDITION when a member has no address yet.
MUST_CHECK weft_err cluster_spec_write_tf_config(struct buf *buf, const struct cluster_spec *spec,
                                                 const char *role, uint32_t index,
                                                 enum cluster_layout layout);

#endif
