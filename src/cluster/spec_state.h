// What the files of spec share among themselves.
#ifndef CLUSTER_SPEC_STATE_H
#define CLUSTER_SPEC_STATE_H

#include "cluster/spec.h"

#define CLUSTER_EVALUATOR "evaluator"

// Fails with `code` and a sentence that says what there is instead, when there is no such member.
MUST_CHECK weft_err cluster_spec_missing_member(weft_err code, const struct cluster_spec *spec,
                                                const char *role, uint32_t index);

// Sets who we are without a look at the cluster.
MUST_CHECK weft_err cluster_spec_note_me(struct cluster_spec *spec, const char *role,
                                         uint32_t index);

#endif
