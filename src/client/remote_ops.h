// remote_ops: what can be done with a resource by its handle: under the public calls of include/weft/cluster.h, and for
// the command line, which has no program's handle but a struct remote. Failures stick to the cluster as those of
// remote_ask do, unless it says otherwise.
#ifndef CLIENT_REMOTE_OPS_H
#define CLIENT_REMOTE_OPS_H

#include "client/member.h"
#include "wire/ops/kv.h"
#include "wire/ops/var.h"

// What a variable or a key is, as an answer has it; starts zeroed.
struct remote_value {
    struct peer_call call;  // has the memory
    uint64_t version;
    weft_bytes value;
    bool is_owned;    // of a key
    bool was_seen;    // nothing had to be done
    bool has_missed;  // it is not what was expected: this is what it is
};

void remote_value_fini(struct remote_value *value);

// ---- Variables ---------------------------------------------------------------------------------------------------

// Its type; the host is asked for it now, if it was not yet.
MUST_CHECK weft_err remote_var_type(struct remote *var, struct ops_var_attributes *type);

MUST_CHECK weft_err remote_var_read(struct remote *var, struct remote_value *is);
MUST_CHECK weft_err remote_var_change(struct remote *var, const struct ops_var_change *change,
                                      struct remote_value *is);

// Once its version is beyond the one that is known.
MUST_CHECK weft_err remote_var_watch(struct remote *var, uint64_t known, struct remote_value *is);

// ---- Keys and values ---------------------------------------------------------------------------------------------

// NOT_FOUND: there is no such key. Whether a failure sticks is left to the caller.
MUST_CHECK weft_err remote_kv_get(struct remote *kv, weft_bytes key, struct remote_value *is);

// The version it made; `was_seen`: what was to be removed was not there.
MUST_CHECK weft_err remote_kv_change(struct remote *kv, const struct ops_kv_change *change,
                                     struct remote_value *is);

// As weft_kv_range and weft_kv_watch, which have the rest of what can be done with a walk.
weft_kv_walk *remote_kv_range(struct remote *kv, weft_bytes from, weft_bytes to);
weft_kv_walk *remote_kv_range_of_prefix(struct remote *kv, weft_bytes prefix);
weft_kv_walk *remote_kv_watch(struct remote *kv, weft_bytes prefix);

// Whether the next entry of a walk is here: weft_kv_next does not ask the host for it.
bool remote_kv_has_next(const weft_kv_walk *walk);

// ---- Barriers ----------------------------------------------------------------------------------------------------

// The attributes of one for so many; 0: of one that somebody else makes.
void remote_barrier_describe(struct buf *attributes, uint32_t count);

// For how many it is.
MUST_CHECK weft_err remote_barrier_count(struct remote *barrier, uint32_t *count);

MUST_CHECK weft_err remote_barrier_wait(struct remote *barrier, uint32_t timeout_ms,
                                        uint64_t *generation);

#endif
