// remote_ops: what can be done with a resource by its handle: under the public calls of include/weft/cluster.h, and for
// the command line, which has no program's handle but a struct remote. Failures stick to the cluster as those of
// remote_ask do, unless it says otherwise.
#ifndef CLIENT_REMOTE_OPS_H
#define CLIENT_REMOTE_OPS_H

#include "client/member.h"

// ---- Barriers ----------------------------------------------------------------------------------------------------

// The attributes of one for so many; 0: of one that somebody else makes.
void remote_barrier_describe(struct buf *attributes, uint32_t count);

// For how many it is.
MUST_CHECK weft_err remote_barrier_count(struct remote *barrier, uint32_t *count);

MUST_CHECK weft_err remote_barrier_wait(struct remote *barrier, uint32_t timeout_ms,
                                        uint64_t *generation);

#endif
