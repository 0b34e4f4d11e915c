// cluster.h: programs that work together, a part of <weft/weft.h>.
//
// Programs on one or many machines find each other by TF_CONFIG and share resources by path:
// "/files/0/names" is the resource `names` on member 0 of the role `files`, which hosts it. Any member
// may use it. Opening a resource creates it if it does not exist: at once on the member that hosts it, otherwise
// with the first call that uses it.
//
// Every call accepts NULL for a handle. It then fails with the message of the call that returned NULL. The
// cluster keeps its first failure and weft_leave reports it, so short programs check once. A failed
// weft_join counts, too. These are not failures: the end of a queue or a watch, a deadline, a missing key,
// a value or version other than the expected one.
//
// A member that restarts without its journal has lost the resources it hosted. Calls to them return ABORTED
// and the message names the member. The old handle keeps failing; open the resource again.
//
// Any thread may use a handle; only one thread at a time may use an item. Free a handle when none of its
// calls is running. A watch keeps its position in the handle, so each watching thread needs its own handle.
#ifndef WEFT_CLUSTER_H
#define WEFT_CLUSTER_H

#include <weft/weft.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_cluster weft_cluster;
typedef struct weft_queue weft_queue;
typedef struct weft_var weft_var;
typedef struct weft_kv weft_kv;
typedef struct weft_kv_walk weft_kv_walk;
typedef struct weft_barrier weft_barrier;
typedef struct weft_call weft_call;  // a call that was started

// ---- Members ------------------------------------------------------------------------------------

typedef struct weft_join_options {
    const char *config;   // the text of TF_CONFIG; NULL: of the environment
    const char *journal;  // where to keep hosted resources; NULL: WEFT_JOURNAL, or in memory only
    const char *token_file;  // the secret that members share; NULL: WEFT_TOKEN, or the user's own
    uint32_t patience_ms;  // how long a member may be out of reach; 0: WEFT_PATIENCE, or 60 seconds
    const char
        *at;  // "HOST[:PORT][#TOKEN]": as weft_connect, instead of a cluster; NULL: a cluster
} weft_join_options;

// Joins the cluster; NULL on failure. Other members may start later: a call waits for the member it needs.
WEFT_API weft_cluster *weft_join_sized(const weft_join_options *options, size_t options_size);
static inline weft_cluster *weft_join(const weft_join_options *options)
{
    return weft_join_sized(options, sizeof(weft_join_options));
}

// Uses the resources of a host (the command `weft host`) without being a member. Paths are names there, "jobs"
// or "/jobs". `address` is "HOST[:PORT][#TOKEN]"; NULL: WEFT_AT, or localhost. The default port is 18125. The token
// comes from the address, from WEFT_TOKEN, or is the user's own.
// Neither this call nor opening a handle connects. The first call that uses a handle does, and fails when no host
// answers: after 5 seconds for a host never reached before, after a minute for one that may be restarting. Later
// calls then fail without waiting. The host does not wait for this program when it ends.
// Returns NULL when the address is not valid or the token cannot be read.
WEFT_API weft_cluster *weft_connect(const char *address);

// Waits until all members that use this member's resources have left or are lost, then leaves the cluster. Frees
// it and the handles that were not freed. Prints the first failure on standard error and returns the exit code
// for the program: 0 if there was no failure. NULL: prints why weft_join failed.
WEFT_API int weft_leave(weft_cluster *cluster);

WEFT_API bool weft_member_is(const weft_cluster *cluster, const char *role);
WEFT_API const char *weft_member_role(const weft_cluster *cluster);  // "" for NULL
WEFT_API uint32_t weft_member_index(const weft_cluster *cluster);
WEFT_API uint32_t weft_member_count(const weft_cluster *cluster, const char *role);

// ---- Types --------------------------------------------------------------------------------------

// TensorFlow's DataType, with its numbers.
typedef enum weft_dtype {
    WEFT_DTYPE_FLOAT = 1,
    WEFT_DTYPE_DOUBLE = 2,
    WEFT_DTYPE_INT32 = 3,
    WEFT_DTYPE_UINT8 = 4,
    WEFT_DTYPE_INT16 = 5,
    WEFT_DTYPE_INT8 = 6,
    WEFT_DTYPE_BYTES = 7,  // which TensorFlow calls a string
    WEFT_DTYPE_COMPLEX64 = 8,
    WEFT_DTYPE_INT64 = 9,
    WEFT_DTYPE_BOOL = 10,
    WEFT_DTYPE_BFLOAT16 = 14,
    WEFT_DTYPE_UINT16 = 17,
    WEFT_DTYPE_COMPLEX128 = 18,
    WEFT_DTYPE_HALF = 19,
    WEFT_DTYPE_UINT32 = 22,
    WEFT_DTYPE_UINT64 = 23,
} weft_dtype;

// One value or an array of them. `data` has the numbers one after the other, the last dimension the
// fastest; of a single WEFT_DTYPE_BYTES its bytes, of an array of them all lengths as varints, then all bytes.
typedef struct weft_tensor {
    weft_dtype dtype;
    int32_t rank;         // 0: one value. Where types are declared, -1: any shape
    const int64_t *dims;  // `rank` of them. Where types are declared, -1: any
    const void *data;
    size_t size;  // of the data, in bytes
} weft_tensor;

// ---- Queues -------------------------------------------------------------------------------------

typedef struct weft_queue_options {
    int64_t capacity;          // elements; 0 or less: no limit
    uint64_t capacity_bytes;   // 0: no limit
    uint32_t deliveries_max;   // then an element goes to the queue NAME.dead; 0: no limit
    uint32_t lease_ms;         // an element that is not done by then goes to another; 0: no limit
    uint32_t timeout_ms;       // for each call by this handle: DEADLINE_EXCEEDED; 0: no limit
    const weft_tensor *types;  // of the components of an element; NULL: it is a text
    size_t type_count;
} weft_queue_options;

// An element that was taken. A zero follows the data and is not counted in the size. If the element has
// several components, the data is the first one's; weft_item_components returns all of them.
typedef struct weft_item {
    const char *data;
    size_t size;
    uint32_t delivery;  // 1 for the first taker; a taker that left politely is not counted
    bool has_failed_;   // for the functions below
    bool is_tuple_, is_popped_;
    uint32_t slot_;
    uint64_t queue_, id_;
    char *memory_;
} weft_item;

typedef struct weft_queue_state {
    uint64_t size, bytes;                // stored
    uint64_t pushed_count;               // ever
    uint64_t leased_count;               // taken and not done
    uint32_t pusher_count, taker_count;  // waiting calls
    bool is_closed;
} weft_queue_state;

// NULL on failure. INVALID_ARGUMENT, here or from the first call, when the queue exists with other limits or
// types. Options that are NULL or all zero accept any queue; the first call with other options decides its
// limits and types.
WEFT_API weft_queue *weft_queue_open_sized(weft_cluster *cluster, const char *path,
                                           const weft_queue_options *options, size_t options_size);
static inline weft_queue *weft_queue_open(weft_cluster *cluster, const char *path,
                                          const weft_queue_options *options)
{
    return weft_queue_open_sized(cluster, path, options, sizeof(weft_queue_options));
}
WEFT_API void weft_queue_free(weft_queue *queue);  // this handle; the queue stays

// Appends an element of up to 62,913,536 bytes; waits while the queue is full. If the queue has seen the key
// before, it returns OK and does nothing, also when the queue is closed. An empty key means no key. A queue remembers
// its last 1,000,000 keys, fewer when they exceed 64 MiB together; after that a key counts again. CANCELLED: the queue
// is closed. INVALID_ARGUMENT: the data does not match the queue's types, or is too large.
WEFT_API weft_err weft_push(weft_queue *queue, weft_bytes data, weft_bytes key);
WEFT_API weft_err weft_push_tuple(weft_queue *queue, const weft_tensor *components, size_t count,
                                  weft_bytes key);

// Appends all of them as one block: no element of another producer comes between them.
WEFT_API weft_err weft_push_many(weft_queue *queue, const weft_bytes *data, size_t count);

// Takes the first element; waits while the queue is empty. The element is leased to this member until
// weft_done. If the member dies before, another one gets the element. Returns false at the end of the queue: it
// is closed, empty, and no lease is held. Also false after a failure, which stays: see weft_queue_error.
WEFT_API bool weft_take_sized(weft_queue *queue, weft_item *item, size_t item_size);
static inline bool weft_take(weft_queue *queue, weft_item *item)
{
    return weft_take_sized(queue, item, sizeof(weft_item));
}
WEFT_API weft_err weft_queue_error(const weft_queue *queue);  // OUT_OF_RANGE: end of queue

// Takes without waiting for an element, only for the answer of the host. CANCELLED: there is none now. OUT_OF_RANGE:
// the queue is at its end. Neither is a failure of the program.
WEFT_API weft_err weft_take_now_sized(weft_queue *queue, weft_item *item, size_t item_size);
static inline weft_err weft_take_now(weft_queue *queue, weft_item *item)
{
    return weft_take_now_sized(queue, item, sizeof(weft_item));
}

// A descriptor for a program with a loop of its own, for poll, epoll and the like. It is readable while weft_take_now may
// return something else than CANCELLED: take until it returns that, then wait again. It may be readable although there is no
// element; at the end of the queue and after a failure it stays readable. The first call starts a thread that waits for
// the host. Do not read or close the descriptor. It is valid until weft_queue_free. -1 on failure.
WEFT_API int weft_queue_descriptor(weft_queue *queue);

// Returns the number of components of the element and writes up to `max` of them. They are aligned, and valid as
// long as the item.
WEFT_API size_t weft_item_components(const weft_item *item, weft_tensor *components, size_t max);

// Marks the element as failed: weft_done gives it back, and calls that take the item do nothing.
WEFT_API void weft_item_fail(weft_item *item);

// Ends the lease: the element is finished and leaves the queue. If it was marked as failed, or a call that took
// the item failed, it goes back to the queue and the result is ABORTED; also ABORTED when the lease had ended
// before. weft_leave reports that as a failure only if the element went to NAME.dead. Always frees the data.
WEFT_API weft_err weft_done(weft_queue *queue, weft_item *item);

// Gives the element back for another member, available again after delay_ms. Frees the data.
WEFT_API weft_err weft_give_back(weft_queue *queue, weft_item *item, uint32_t delay_ms);

// Sets the lease to end lease_ms from now; 0: when this member leaves or is lost.
WEFT_API weft_err weft_extend(weft_queue *queue, weft_item *item, uint32_t lease_ms);

// Takes an element without a lease: after this returns, no other member gets it, even if this process dies.
// weft_item_free frees its data.
WEFT_API weft_err weft_pop_sized(weft_queue *queue, weft_item *item, size_t item_size);
static inline weft_err weft_pop(weft_queue *queue, weft_item *item)
{
    return weft_pop_sized(queue, item, sizeof(weft_item));
}

// Takes `count` consecutive elements; waits until the queue has that many. With `up_to`, a closed queue may give
// fewer. *taken is the number taken. INVALID_ARGUMENT: the queue's types leave a shape open.
WEFT_API weft_err weft_pop_many_sized(weft_queue *queue, weft_item *items, size_t item_size,
                                      uint32_t count, bool up_to, uint32_t *taken);
static inline weft_err weft_pop_many(weft_queue *queue, weft_item *items, uint32_t count,
                                     bool up_to, uint32_t *taken)
{
    return weft_pop_many_sized(queue, items, sizeof(weft_item), count, up_to, taken);
}
WEFT_API void weft_item_free(weft_item *item);

// Copies the first stored elements, at most `max`, without taking them; *count is the number copied. `delivery` is
// how often each one was taken so far. weft_item_free frees each.
WEFT_API weft_err weft_queue_peek_sized(weft_queue *queue, weft_item *items, size_t item_size,
                                        uint32_t max, uint32_t *count);
static inline weft_err weft_queue_peek(weft_queue *queue, weft_item *items, uint32_t max,
                                       uint32_t *count)
{
    return weft_queue_peek_sized(queue, items, sizeof(weft_item), max, count);
}

// Closes the queue for everyone: later pushes fail, pushes that already wait are still done. CANCELLED: it was
// closed before, which is not a failure. weft_queue_cancel closes it at once, and waiting pushes fail. Stored
// elements can still be taken.
WEFT_API weft_err weft_queue_close(weft_queue *queue);
WEFT_API weft_err weft_queue_cancel(weft_queue *queue);

WEFT_API weft_err weft_queue_look_sized(weft_queue *queue, weft_queue_state *state,
                                        size_t state_size);
static inline weft_err weft_queue_look(weft_queue *queue, weft_queue_state *state)
{
    return weft_queue_look_sized(queue, state, sizeof(weft_queue_state));
}

// Removes the queue and its elements, for everyone. Calls that wait at it return ABORTED. Later calls by handles
// that were open return NOT_FOUND; opening the path again creates a new queue. weft_var_remove,
// weft_kv_remove_all and weft_barrier_remove do the same for the other kinds.
WEFT_API weft_err weft_queue_remove(weft_queue *queue);

// ---- Calls in flight ----------------------------------------------------------------------------

// Start a call without waiting for its answer. Many may be in flight; the host does them in the order they
// were started. NULL on failure. Wait for each call once, before you free its handle; that also frees the call. Keep
// an item that a call takes in place until then.
WEFT_API weft_call *weft_push_start(weft_queue *queue, weft_bytes data, weft_bytes key);
WEFT_API weft_call *weft_take_start(weft_queue *queue);
WEFT_API weft_call *weft_done_start(weft_queue *queue, weft_item *item);  // frees the item
WEFT_API weft_call *weft_var_add_start(weft_var *var, int64_t delta, weft_item *once_per);

// Returns whether the answer has arrived; does not wait.
WEFT_API bool weft_call_is_done(weft_call *call);

// Waits for the end of the call and frees it. timeout_ms 0: no limit. DEADLINE_EXCEEDED: the call was withdrawn.
WEFT_API weft_err weft_call_wait(weft_call *call, uint32_t timeout_ms);

// The same for weft_take_start. OUT_OF_RANGE: the queue is at its end.
WEFT_API weft_err weft_call_item_sized(weft_call *call, uint32_t timeout_ms, weft_item *item,
                                       size_t item_size);
static inline weft_err weft_call_item(weft_call *call, uint32_t timeout_ms, weft_item *item)
{
    return weft_call_item_sized(call, timeout_ms, item, sizeof(weft_item));
}

// ---- Variables of 64-bit integers ---------------------------------------------------------------

// Opens the variable; a new one is 0. NULL on failure.
WEFT_API weft_var *weft_var_open(weft_cluster *cluster, const char *path);
WEFT_API void weft_var_free(weft_var *var);
WEFT_API void weft_var_set_timeout(weft_var *var, uint32_t timeout_ms);  // of each call; 0: none
WEFT_API weft_err weft_var_remove(weft_var *var);                        // as weft_queue_remove

WEFT_API weft_err weft_var_get(weft_var *var, int64_t *value);
WEFT_API weft_err weft_var_set(weft_var *var, int64_t value);

// Adds atomically; *now (may be NULL) is the new value. With an item, it adds once per item, however often the item
// is delivered. FAILED_PRECONDITION: the sum would overflow; the variable is unchanged.
WEFT_API weft_err weft_var_add(weft_var *var, int64_t delta, weft_item *once_per, int64_t *now);

// Sets it if its value is `expected`; *now is the resulting value. FAILED_PRECONDITION: it had another value.
WEFT_API weft_err weft_var_swap(weft_var *var, int64_t expected, int64_t value, int64_t *now);
WEFT_API weft_err weft_var_min(weft_var *var, int64_t value, int64_t *now);
WEFT_API weft_err weft_var_max(weft_var *var, int64_t value, int64_t *now);

// Waits for the next value; the first call returns the current one. Returns false when no other member can change
// it any more (all have left or are lost) and the last value was returned, or after a failure: see weft_var_error.
WEFT_API bool weft_var_next(weft_var *var, int64_t *value);
WEFT_API weft_err weft_var_error(const weft_var *var);

// ---- Variables of any type ----------------------------------------------------------------------

// An int32, int64, double, bool (a byte, 0 or 1) or bytes; or an array of float, double or int64.
typedef struct weft_var_options {
    weft_tensor
        type;  // dtype 0: one WEFT_DTYPE_INT64. A new variable gets the data, or 0 if there is none
    bool is_unset;  // a new variable has no value: reads are FAILED_PRECONDITION until a write
    uint32_t timeout_ms;  // for each call by this handle; 0: no limit
} weft_var_options;

// NULL on failure. INVALID_ARGUMENT, here or from the first call, when it exists with another type. The calls above
// are for one WEFT_DTYPE_INT64 only, the calls below for all types.
WEFT_API weft_var *weft_var_open_as_sized(weft_cluster *cluster, const char *path,
                                          const weft_var_options *options, size_t options_size);
static inline weft_var *weft_var_open_as(weft_cluster *cluster, const char *path,
                                         const weft_var_options *options)
{
    return weft_var_open_as_sized(cluster, path, options, sizeof(weft_var_options));
}

// Copies the value; *got (may be NULL) is its size. INVALID_ARGUMENT: the value is larger than `size`; nothing is
// copied, and *got is the size needed.
WEFT_API weft_err weft_var_read(weft_var *var, void *value, size_t size, size_t *got);
WEFT_API weft_err weft_var_write(weft_var *var, const void *value, size_t size);

typedef enum weft_var_op { WEFT_VAR_ADD = 1, WEFT_VAR_MIN, WEFT_VAR_MAX } weft_var_op;

// Combines it with an operand of its type, arrays element by element, all or nothing; else as weft_var_add.
// `now` (may be NULL) has room for `size` bytes.
WEFT_API weft_err weft_var_accumulate(weft_var *var, weft_var_op op, const void *operand,
                                      size_t size, weft_item *once_per, void *now);

// Writes the value if the current bytes are the expected ones; otherwise FAILED_PRECONDITION.
WEFT_API weft_err weft_var_compare_write(weft_var *var, weft_bytes expected, weft_bytes value);

// weft_var_next for any type. A value larger than `size` ends the watch: weft_var_error is INVALID_ARGUMENT.
WEFT_API bool weft_var_read_next(weft_var *var, void *value, size_t size, size_t *got);

// ---- Keys and values ----------------------------------------------------------------------------

// A small sorted map, for settings and addresses: keys of 1 to 1024 bytes, values up to 1 MiB.
WEFT_API weft_kv *weft_kv_open(weft_cluster *cluster, const char *path);
WEFT_API void weft_kv_free(weft_kv *kv);
WEFT_API void weft_kv_set_timeout(weft_kv *kv, uint32_t timeout_ms);  // of each call; 0: none
WEFT_API weft_err weft_kv_remove_all(weft_kv *kv);  // the map itself, as weft_queue_remove

typedef enum weft_kv_what {
    WEFT_KV_PUT = 1,
    WEFT_KV_REMOVED,
    WEFT_KV_RESET,  // changes were missed: forget all keys; the present ones follow
} weft_kv_what;

typedef struct weft_kv_entry {
    weft_bytes key, value;
    uint64_t version;  // number of the change that put (or removed) it; grows
    weft_kv_what what;
    bool is_owned;  // by a member: removed when that leaves. Not set by a watch
    char *memory_;
} weft_kv_entry;

// NOT_FOUND: there is no such key. weft_kv_entry_free frees the entry.
WEFT_API weft_err weft_kv_get_sized(weft_kv *kv, weft_bytes key, weft_kv_entry *entry,
                                    size_t entry_size);
static inline weft_err weft_kv_get(weft_kv *kv, weft_bytes key, weft_kv_entry *entry)
{
    return weft_kv_get_sized(kv, key, entry, sizeof(weft_kv_entry));
}
WEFT_API void weft_kv_entry_free(weft_kv_entry *entry);

typedef struct weft_kv_options {
    bool is_owned;     // weft_kv_put: remove the key when this member leaves or is lost
    bool has_version;  // only if the key has this version; 0: only if it does not exist
    uint64_t version;
} weft_kv_options;

// Puts or removes a key; *version (may be NULL) is the new version. FAILED_PRECONDITION: the key did not have
// the version of the options; *version is the version it has. Removing a missing key is OK.
WEFT_API weft_err weft_kv_put_sized(weft_kv *kv, weft_bytes key, weft_bytes value,
                                    const weft_kv_options *options, size_t options_size,
                                    uint64_t *version);
WEFT_API weft_err weft_kv_remove_sized(weft_kv *kv, weft_bytes key, const weft_kv_options *options,
                                       size_t options_size);
static inline weft_err weft_kv_put(weft_kv *kv, weft_bytes key, weft_bytes value,
                                   const weft_kv_options *options, uint64_t *version)
{
    return weft_kv_put_sized(kv, key, value, options, sizeof(weft_kv_options), version);
}
static inline weft_err weft_kv_remove(weft_kv *kv, weft_bytes key, const weft_kv_options *options)
{
    return weft_kv_remove_sized(kv, key, options, sizeof(weft_kv_options));
}

// Walks the keys from `from` up to, but not including, `to`, in bytewise order; an empty `to`: to the last key.
// The keys are read in pieces, so a change during the walk may be seen or not. NULL on failure.
WEFT_API weft_kv_walk *weft_kv_range(weft_kv *kv, weft_bytes from, weft_bytes to);

// Walks all keys with this prefix, then their changes, without an end. A key that changes several times between two
// calls is returned once, with its latest value.
WEFT_API weft_kv_walk *weft_kv_watch(weft_kv *kv, weft_bytes prefix);

// Returns the next entry, borrowed until the next call; a watch waits for it. Returns false at the end of the range,
// when no other member can change the keys any more, or after a failure. A deadline does not end a watch: call again.
// A walk belongs to one thread; free it before its kv.
WEFT_API bool weft_kv_next_sized(weft_kv_walk *walk, weft_kv_entry *entry, size_t entry_size);
static inline bool weft_kv_next(weft_kv_walk *walk, weft_kv_entry *entry)
{
    return weft_kv_next_sized(walk, entry, sizeof(weft_kv_entry));
}
WEFT_API weft_err weft_kv_walk_error(const weft_kv_walk *walk);  // OK or OUT_OF_RANGE at the end
WEFT_API void weft_kv_walk_free(weft_kv_walk *walk);

// ---- Barriers -----------------------------------------------------------------------------------

// A barrier makes `count` calls wait for each other. Every member passes the same count, or 0 for the existing one.
// NULL on failure.
WEFT_API weft_barrier *weft_barrier_open(weft_cluster *cluster, const char *path, uint32_t count);
WEFT_API void weft_barrier_free(weft_barrier *barrier);
WEFT_API weft_err weft_barrier_remove(weft_barrier *barrier);  // as weft_queue_remove

// Waits until `count` calls wait, then all return; *generation (may be NULL) is 1 the first time, then 2, ...
// timeout_ms 0: no limit. DEADLINE_EXCEEDED: the call has left the barrier, which needs another one.
WEFT_API weft_err weft_barrier_wait(weft_barrier *barrier, uint32_t timeout_ms,
                                    uint64_t *generation);

#ifdef __cplusplus
}
#endif
#endif
