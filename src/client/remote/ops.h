// ops: the calls on a resource by its handle: under the public calls of include/weft/cluster.h, and for
// the command line, which has no program's handle but a struct remote. Failures stick to the cluster as those of
// remote_ask do, unless it says otherwise.
#ifndef CLIENT_REMOTE_OPS_H
#define CLIENT_REMOTE_OPS_H

#include "client/member.h"
#include "wire/ops/kv.h"
#include "wire/ops/queue.h"
#include "wire/ops/var.h"

// What a variable or a key is, as an answer has it; starts zeroed.
struct remote_value {
    struct peer_call call;  // has the memory
    uint64_t version;
    weft_bytes value;
    bool is_owned;    // of a key
    bool was_seen;    // nothing had to be done
    bool has_missed;  // it did not have the expected value: this is its value
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

// The version it made; `was_seen`: the key to be removed was not there.
MUST_CHECK weft_err remote_kv_change(struct remote *kv, const struct ops_kv_change *change,
                                     struct remote_value *is);

// As weft_kv_range and weft_kv_watch, which have the rest of what can be done with a walk.
weft_kv_walk *remote_kv_range(struct remote *kv, weft_bytes from, weft_bytes to);
weft_kv_walk *remote_kv_range_of_prefix(struct remote *kv, weft_bytes prefix);
weft_kv_walk *remote_kv_watch(struct remote *kv, weft_bytes prefix);

// Whether the next entry of a walk is here: weft_kv_next does not ask the host for it.
bool remote_kv_has_next(const weft_kv_walk *walk);

// ---- Queues ------------------------------------------------------------------------------------------------------

// The attributes of a queue with these options; none, when all are 0. INVALID_ARGUMENT: types that are none.
MUST_CHECK weft_err remote_queue_describe(struct buf *attributes,
                                          const weft_queue_options *options);

// How often it hands an element out, once it is open; 0: no limit.
uint32_t remote_queue_deliveries_max(const struct remote *queue);

// Its content and the calls that wait at it.
MUST_CHECK weft_err remote_queue_state(struct remote *queue, weft_queue_state *state);

// Elements that are pushed together; starts zeroed.
struct remote_batch {
    uint32_t count;
    struct buf entries;
};

void remote_batch_add(struct remote_batch *batch, weft_bytes element);
void remote_batch_fini(struct remote_batch *batch);

// Start to push: the element is copied. remote_finish returns the result.
MUST_CHECK weft_err remote_queue_start_push(struct remote *queue, const struct ops_queue_push *push,
                                            struct peer_call *call);
MUST_CHECK weft_err remote_queue_start_batch(struct remote *queue, const struct remote_batch *batch,
                                             struct peer_call *call);

// The same, and waits for it.
MUST_CHECK weft_err remote_queue_push_batch(struct remote *queue, const struct remote_batch *batch,
                                            struct peer_call *call);

// Starts to take one element, under a lease that ends then; 0: with us.
MUST_CHECK weft_err remote_queue_start_take(struct remote *queue, uint32_t lease_ms,
                                            struct peer_call *call);
MUST_CHECK weft_err remote_queue_start_settling(struct remote *queue,
                                                const struct ops_queue_settle *settle,
                                                struct peer_call *call);

// Gives back an element that was not begun; a failure is not reported.
void remote_queue_tell_unbegun(struct remote *queue, const struct call_item *item);

// The first elements, which stay there; starts zeroed.
struct remote_peek {
    struct peer_call call;  // has the memory
    bool with_notes;
    weft_bytes rest;
};

struct remote_peeked {
    struct ops_queue_stored stored;
    bool has_note;
    struct ops_queue_note note;
};

MUST_CHECK weft_err remote_queue_peek(struct remote *queue, const struct ops_queue_peek *wish,
                                      struct remote_peek *peek);

// OUT_OF_RANGE, without a sentence: there are no more.
MUST_CHECK weft_err remote_peek_next(struct remote_peek *peek, struct remote_peeked *next);
void remote_peek_fini(struct remote_peek *peek);

// CANCELLED: it was closed before. Whether a failure sticks is left to the caller.
MUST_CHECK weft_err remote_queue_close(struct remote *queue, bool cancels_pending);

// Dead letters get another chance: `count` of them, 0: all.
MUST_CHECK weft_err remote_queue_retry(struct remote *queue, uint64_t count, uint64_t *moved);

// ---- Barriers ----------------------------------------------------------------------------------------------------

// The attributes of one for `count` calls; 0: of one that another caller makes.
void remote_barrier_describe(struct buf *attributes, uint32_t count);

// For how many it is.
MUST_CHECK weft_err remote_barrier_count(struct remote *barrier, uint32_t *count);

MUST_CHECK weft_err remote_barrier_wait(struct remote *barrier, uint32_t timeout_ms,
                                        uint64_t *generation);

#endif
