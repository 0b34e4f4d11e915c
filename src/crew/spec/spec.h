// spec: the description of a run of roles, as a job.json or flags give it.
//
//   {"roles": {"chief": 1, "worker": {"instances": 2, "memory": "4G"}, "ps": {"awaited": false}},
//    "command": ["python3", "train.py"]}
//
//   crew_spec_load, or {0} -> crew_spec_add_role_flag, crew_flags_add... -> crew_spec_resolve
//
// A role has instances, an instance has one or more processes at one place, and each process is a member. Members are
// numbered through all roles, in their order: by instance, then by process. The index of a member within its role
// never changes, however often it is started again.
//
// A spec starts empty ({0}). Every failure is INVALID_ARGUMENT (RESOURCE_EXHAUSTED for memory) and names the place:
// "job.json: roles.worker.memory: ...". Thread: one owner; once it is resolved it is only read, from any thread.
#ifndef CREW_SPEC_SPEC_H
#define CREW_SPEC_SPEC_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "cluster/spec.h"

enum {
    CREW_SPEC_BYTES_MAX = 1 << 20,  // of a job.json
    CREW_SPEC_LIST_MAX = 4096,      // items of one list: words, variables, files
    CREW_SPEC_ROLES_MAX = 256,
};

#define CREW_ROLE_EVALUATOR "evaluator"
#define CREW_ROLE_TENSORBOARD "tensorboard"
#define CREW_ROLE_RENDEZVOUS "rendezvous"

enum crew_field {
#define SPEC_FIELD(id, key, flag, kind, field, minimum, maximum) CREW_##id,
#define SPEC_SHARED SPEC_FIELD
#include "crew/spec/spec_fields.def"
#undef SPEC_FIELD
#undef SPEC_SHARED
    CREW_FIELD_COUNT,
};

struct crew_pair {
    char *
        name;  // of a variable, a resource, a setting; the path of a file in the directory of the run
    char *value;  // its value; the path of the file here; a number
};

struct crew_words {
    char **items;  // with a NULL at the end, which is not counted, once the spec is resolved
    size_t count, capacity;
};

struct crew_pairs {
    struct crew_pair *items;
    size_t count, capacity;
};

struct crew_fixed {
    struct cluster_member *items;
    size_t count, capacity;
};

struct crew_role {
    char *name;
    uint32_t given;  // 1 << enum crew_field: said, not only the default
    uint32_t instances;
    uint32_t processes;  // of each instance
    // Of each instance; 0: whatever there is. gpus says how many only when it is given: 0 then means none.
    uint64_t memory_bytes;
    uint32_t cpus, gpus;
    char *constraint;  // on the places of instances, in the words of the launcher; NULL: none
    struct crew_pairs
        amounts;  // of further resources of each instance, in the words of the launcher: counts
    struct crew_words command;
    struct crew_pairs variables;
    struct crew_pairs files;
    char *archive;     // an environment made by `weft pack`; NULL: none
    char *pre_script;  // a text for sh, in front of the command; its failure is the member's
    uint32_t restarts;
    bool in_cluster;          // TF_CONFIG names its addresses, and its members have a rank
    bool is_awaited;          // the run is over when all members of these roles have ended
    bool may_fail;            // a failure is reported, and the others continue
    struct crew_fixed fixed;  // addresses that were given, one for each instance; empty: chosen
};

enum crew_preset {
    CREW_PRESET_NONE,
    CREW_PRESET_SINGLE,
    CREW_PRESET_PS,
    CREW_PRESET_ALLREDUCE,
    CREW_PRESET_TORCHRUN,
    CREW_PRESET_HOROVOD,
};

struct crew_spec {
    char *name;                  // NULL: none
    char *on;                    // the URL of a launcher; NULL: this machine
    struct crew_pairs settings;  // of the launcher
    char *tensorboard;           // the directory whose logs it shows; NULL: none is started
    uint32_t start_deadline_ms;  // in which all members have to start; 0: any
    enum crew_preset preset;
    VEC(struct crew_role) roles;
    struct crew_role all;  // what holds for roles that do not say otherwise
    struct json_t *rest;   // what else a TF_CONFIG said, for every member's; or NULL
    bool is_resolved;
};

void crew_spec_fini(struct crew_spec *spec);

// ---- Making --------------------------------------------------------------------------------------------------

// Reads the text of a job.json. Leaves the spec empty when it fails. `source` begins every sentence.
MUST_CHECK weft_err crew_spec_read(struct crew_spec *spec, weft_bytes text, const char *source);

// The same from a path; "-" is standard input. Relative paths of files and archives in it are relative to its directory.
// NOT_FOUND, PERMISSION_DENIED... when it cannot be read.
MUST_CHECK weft_err crew_spec_load(struct crew_spec *spec, const char *path);

// What `--role` says: "map=2" gives a role two instances, whether the file has it or not; "map=a:1,b:2" gives their
// addresses.
MUST_CHECK weft_err crew_spec_add_role_flag(struct crew_spec *spec, const char *text);

// The roles of a cluster file, with their addresses. Takes its `rest` away.
MUST_CHECK weft_err crew_spec_add_cluster(struct crew_spec *spec, struct cluster_spec *cluster);

// `--preset`. INVALID_ARGUMENT when it is none, or when the file has another one.
MUST_CHECK weft_err crew_spec_set_preset(struct crew_spec *spec, const char *name);

// Copies a text in place of the one that is there.
MUST_CHECK weft_err crew_spec_set_text(char **to, const char *text);

// `--set`: "NAME=value" for the launcher.
MUST_CHECK weft_err crew_spec_add_setting(struct crew_spec *spec, const char *text);

// What flags say of roles. They win over the file, and those for one role over those for all.
struct crew_flags {
    VEC(struct crew_flag {
        enum crew_field field;
        const char *text;
    })
    items;
    VEC(const char *) until;     // roles that are awaited, instead of those that otherwise were
    const char *const *program;  // with its arguments and a NULL; NULL: none is named
};
void crew_flags_fini(struct crew_flags *flags);

// "2G" for all roles, "worker=2G" for one; for variables and files "NAME=VALUE" and "worker:NAME=VALUE". The text is
// borrowed; it is looked at by crew_spec_resolve.
MUST_CHECK weft_err crew_flags_add(struct crew_flags *flags, enum crew_field field,
                                   const char *text);

// Puts the file, the flags, the preset and defaults together; then checks all of it. Afterwards every role is complete.
MUST_CHECK weft_err crew_spec_resolve(struct crew_spec *spec, const struct crew_flags *flags);

// ---- Asking --------------------------------------------------------------------------------------------------

// NULL when there is none.
struct crew_role *crew_spec_find_role(const struct crew_spec *spec, const char *name);

// How many members an instance of the role has: its processes, unless the program starts these by itself (torchrun).
uint32_t crew_role_members_of_instance(const struct crew_spec *spec, const struct crew_role *role);

size_t crew_spec_count_members(const struct crew_spec *spec);

// One member: where it stands among the others.
struct crew_seat {
    const struct crew_role *role;
    size_t number;      // in the run
    uint32_t index;     // in its role
    uint32_t instance;  // of its role, from 0
    uint32_t process;   // in its instance, from 0
};

// The seat of a member that exists.
struct crew_seat crew_spec_seat(const struct crew_spec *spec, size_t number);

const char *crew_preset_name(enum crew_preset preset);

// ---- Writing -------------------------------------------------------------------------------------------------

// Appends a resolved spec as a job.json that means the same, with every role complete.
void crew_spec_write(struct buf *buf, const struct crew_spec *spec);

// Appends a table for people: a line for each role.
void crew_spec_write_plan(struct buf *buf, const struct crew_spec *spec);

#endif
