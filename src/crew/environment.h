// environment: the variables by which a member knows who it is and where the others are. A pure function of the
// description, the places of all members, and the member's number.
//
//   always        WEFT_ROLE, WEFT_INDEX, WEFT_HOST, WEFT_PORT, TF_YARN_N_TRY, and what the description gives
//   in a cluster  TF_CONFIG; MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, NODE_RANK,
//                 GROUP_RANK. Ranks count through all members of the cluster: chief first, then roles in their order.
//   evaluator     TF_CONFIG with itself as the task, outside of the cluster; no rank
//   torchrun      PET_*, from which torchrun takes its options, in place of ranks: it gives these to its own processes
//   horovod       HOROVOD_*, besides ranks: where its processes meet, and who each one is
//   GPUs          CUDA_VISIBLE_DEVICES, where the launcher knows the numbers, or the role has none
//
// A variable that the description gives wins over these. docs/roles.md has all of them.
// Thread: any.
#ifndef CREW_ENVIRONMENT_H
#define CREW_ENVIRONMENT_H

#include "crew/spec/spec.h"

enum { CREW_VARIABLE_BYTES_MAX = 128 << 10 };  // what Linux takes in one

// Where a member is.
struct crew_place {
    const char *host;  // by which other members reach it
    uint16_t port;
    const char
        *gpus;  // those of its instance, as CUDA_VISIBLE_DEVICES lists them; NULL: not known here
    const char *interface;  // the network interface that has the address; NULL: not known
};

struct crew_environment {
    VEC(char *) variables;  // "NAME=value"; ends with a NULL, which is not counted
};
void crew_environment_fini(struct crew_environment *environment);

struct crew_attempt {
    const char *run;    // the name of the run; NULL: "weft"
    uint32_t restarts;  // of this member, so far
};

// The roles that are in the cluster, with the addresses of their members, as TF_CONFIG shows them. A role without members
// is left out. `places` has one item for each member of the spec, which is resolved. The caller frees the cluster, which
// starts empty.
MUST_CHECK weft_err crew_describe_cluster(struct cluster_spec *cluster,
                                          const struct crew_spec *spec,
                                          const struct crew_place *places);

// INVALID_ARGUMENT when a variable would be too large for the system.
MUST_CHECK weft_err crew_environment_make(struct crew_environment *environment,
                                          const struct crew_spec *spec,
                                          const struct cluster_spec *cluster,
                                          const struct crew_place *places, size_t member,
                                          const struct crew_attempt *attempt);

// Adds one more, "NAME=value".
MUST_CHECK weft_err crew_environment_add(struct crew_environment *environment,
                                         const char *variable);

// The number of the member that has rank 0; SIZE_MAX: no member is in the cluster.
size_t crew_environment_master(const struct crew_spec *spec);

#endif
