// cluster.h: programs that work together, a part of <weft/weft.h>.
//
// Programs on one or many machines find each other by TF_CONFIG and share resources by path:
// "/files/0/names" is the resource `names` on member 0 of the role `files`, which hosts it. Any member
// may use it. The first to open a resource makes it: a member what it hosts itself at once, anything else when
// it is first used.
//
// All calls take NULL for a handle and fail then, with the sentence of the call that made no handle. The
// first failure stays with the cluster and is told by weft_leave, also that of weft_join: short programs check once. What a program asked for is no failure: the end of a queue or a
// watch, a deadline, a key that is not there, a value or version that was another.
//
// A member that comes again without its journal has lost what it hosted: calls are ABORTED and name it.
// The handle stays so; open the resource again.
//
// Handles may be used from any thread, an item by one at a time; free a handle when no call of it is under
// way. A watch keeps in its handle where it is: a thread that watches wants a handle of its own.
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
typedef struct weft_call weft_call;  // a call under way

// ---- Members ------------------------------------------------------------------------------------

typedef struct weft_join_options {
    const char *config;      // the text of TF_CONFIG; NULL: of the environment
    const char *journal;     // where to keep what this member hosts; NULL: WEFT_JOURNAL, or nowhere
    const char *token_file;  // the secret that members share; NULL: WEFT_TOKEN, or the user's own
    uint32_t patience_ms;  // how long a member may be out of reach; 0: WEFT_PATIENCE, or 60 seconds
    const char
        *at;  // "HOST[:PORT][#TOKEN]": as weft_connect, instead of a cluster; NULL: a cluster
} weft_join_options;

// Joins the cluster; NULL on failure. Others need not be there yet: whoever is needed is waited for.
WEFT_API weft_cluster *weft_join_sized(const weft_join_options *options, size_t options_size);
static inline weft_cluster *weft_join(const weft_join_options *options)
{
    return weft_join_sized(options, sizeof(weft_join_options));
}

// Uses what a host (the command `weft host`) holds at an address, without being a member: paths are names
// there, "jobs" or "/jobs". NULL: WEFT_AT, or localhost; the port is 18125 if none is given. Nobody waits for this
// program. Nothing is connected yet, nor by opening a handle: the first call that uses one does that, and fails if nobody
// is there.
// It waits 5 seconds for a host that was not met yet, a minute for one that is being restarted; calls after one that has
// waited in vain do not wait again. The token is that of the address, of WEFT_TOKEN, or the user's own. NULL is
// returned for an address that is none, or when the token cannot be read.
WEFT_API weft_cluster *weft_connect(const char *address);

// Leaves it, once all who use what this member hosts have left or are lost, and frees it, with the handles
// that were not freed. Says the first failure on standard error and returns the exit code of the program: 0 if there
// was none. NULL: says why weft_join has failed.
WEFT_API int weft_leave(weft_cluster *cluster);

WEFT_API bool weft_is(const weft_cluster *cluster, const char *role);
WEFT_API const char *weft_role(const weft_cluster *cluster);  // "" for NULL
WEFT_API uint32_t weft_index(const weft_cluster *cluster);
WEFT_API uint32_t weft_member_count(const weft_cluster *cluster, const char *role);

// ---- Types --------------------------------------------------------------------------------------

// TensorFlow's DataType, with its numbers.
typedef enum weft_dtype {
    WEFT_FLOAT = 1,
    WEFT_DOUBLE = 2,
    WEFT_INT32 = 3,
    WEFT_UINT8 = 4,
    WEFT_INT16 = 5,
    WEFT_INT8 = 6,
    WEFT_BYTES = 7,  // which TensorFlow calls a string
    WEFT_COMPLEX64 = 8,
    WEFT_INT64 = 9,
    WEFT_BOOL = 10,
    WEFT_BFLOAT16 = 14,
    WEFT_UINT16 = 17,
    WEFT_COMPLEX128 = 18,
    WEFT_HALF = 19,
    WEFT_UINT32 = 22,
    WEFT_UINT64 = 23,
} weft_dtype;

// One value or an array of them. `data` has the numbers one after the other, the last dimension the
// fastest; of a single WEFT_BYTES its bytes, of an array of them all lengths as varints, then all bytes.
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

// What was taken. The data has a zero behind it that is not counted; of an element of several components
// it is the first one's, and weft_item_components has them all.
typedef struct weft_item {
    const char *data;
    size_t size;
    uint32_t delivery;  // which try this is, from 1: one that ended with a goodbye does not count
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
    uint32_t pusher_count, taker_count;  // who wait
    bool is_closed;
} weft_queue_state;

// NULL on failure. INVALID_ARGUMENT, here or of the first call, when it exists with other limits or types;
// options that are NULL or all zero take it as it is, and where nobody has said yet what it is to be, the
// first who does decides.
WEFT_API weft_queue *weft_queue_open_sized(weft_cluster *cluster, const char *path,
                                           const weft_queue_options *options, size_t options_size);
static inline weft_queue *weft_queue_open(weft_cluster *cluster, const char *path,
                                          const weft_queue_options *options)
{
    return weft_queue_open_sized(cluster, path, options, sizeof(weft_queue_options));
}
WEFT_API void weft_queue_free(weft_queue *queue);  // this handle; the queue stays

// Puts data in, up to 62,913,536 bytes, waiting while the queue is full. A key that was seen before: OK, and
// nothing happens, also when it is closed; an empty key is none. A queue remembers its last 1,000,000 keys, fewer
// when they have more than 64 MiB together: an older one counts again. CANCELLED: closed. INVALID_ARGUMENT: not of
// its types, or too large.
WEFT_API weft_err weft_push(weft_queue *queue, weft_bytes data, weft_bytes key);
WEFT_API weft_err weft_push_tuple(weft_queue *queue, const weft_tensor *components, size_t count,
                                  weft_bytes key);

// Puts them in one behind the other, with nothing of anybody else's between them.
WEFT_API weft_err weft_push_many(weft_queue *queue, const weft_bytes *data, size_t count);

// Takes the first element, waiting while there is none. It is leased: weft_done ends that, and whoever dies
// before loses it to another. False: the queue is closed, drained, and no lease is out; or it failed,
// which sticks: weft_queue_error.
WEFT_API bool weft_take(weft_queue *queue, weft_item *item);
WEFT_API weft_err weft_queue_error(const weft_queue *queue);  // OUT_OF_RANGE at its end

// How many components the element has; up to `max` of them are written, aligned, valid as long as the item.
WEFT_API size_t weft_item_components(const weft_item *item, weft_tensor *components, size_t max);

// The element could not be dealt with: weft_done will give it back, and calls that carry it do nothing.
WEFT_API void weft_item_fail(weft_item *item);

// The element is dealt with. If it was failed, or a call that carried it, it is given back instead, and
// ABORTED returned; ABORTED too when the lease had ended. That is a failure of the program only if the element
// has gone to NAME.dead by it. Frees the data in every case.
WEFT_API weft_err weft_done(weft_queue *queue, weft_item *item);

// Somebody else shall have it, after a while if delay_ms is not 0. Frees the data.
WEFT_API weft_err weft_give_back(weft_queue *queue, weft_item *item, uint32_t delay_ms);

// The lease ends so long from now; 0: only with this member.
WEFT_API weft_err weft_extend(weft_queue *queue, weft_item *item, uint32_t lease_ms);

// Takes an element for good: when this returns, no one else gets it, though this process dies. weft_item_free
// frees its data.
WEFT_API weft_err weft_pop(weft_queue *queue, weft_item *item);

// Takes `count` of them at once, which others cannot come between. With `up_to`, what is left of a closed
// queue will do; *taken says how many. INVALID_ARGUMENT: its types leave a shape open.
WEFT_API weft_err weft_pop_many(weft_queue *queue, weft_item *items, uint32_t count, bool up_to,
                                uint32_t *taken);
WEFT_API void weft_item_free(weft_item *item);

// Copies of the first stored elements, at most `max`, taking none; *count says how many. `delivery` is how
// often each was taken so far. weft_item_free frees each.
WEFT_API weft_err weft_queue_peek(weft_queue *queue, weft_item *items, uint32_t max,
                                  uint32_t *count);

// Nothing can be put in any more, once what waits to be put in is. CANCELLED: it was closed before, which is
// no failure. weft_queue_cancel closes it at once, and what waits to be put in fails. What is stored can
// be taken.
WEFT_API weft_err weft_queue_close(weft_queue *queue);
WEFT_API weft_err weft_queue_cancel(weft_queue *queue);

WEFT_API weft_err weft_queue_look(weft_queue *queue, weft_queue_state *state);

// Removes the queue, for everyone, with all that is in it. Who waits at it is ABORTED; calls by handles that
// were open are NOT_FOUND from then on, and whoever opens it anew makes another. The same of the other kinds:
// weft_var_remove, weft_kv_remove_all, weft_barrier_remove.
WEFT_API weft_err weft_queue_remove(weft_queue *queue);

// ---- Calls under way ----------------------------------------------------------------------------

// Start a call without waiting for its answer: many may be under way, and are done in this order. NULL on
// failure. Each is waited for once, before its handle is freed; that frees it. An item that a call carries
// stays where it is until then.
WEFT_API weft_call *weft_push_start(weft_queue *queue, weft_bytes data, weft_bytes key);
WEFT_API weft_call *weft_take_start(weft_queue *queue);
WEFT_API weft_call *weft_done_start(weft_queue *queue, weft_item *item);  // frees the item
WEFT_API weft_call *weft_var_add_start(weft_var *var, int64_t delta, weft_item *once_per);

// Whether its answer is there; does not wait.
WEFT_API bool weft_call_is_done(weft_call *call);

// Waits for the end of the call and frees it. timeout_ms 0: no limit; DEADLINE_EXCEEDED: it was taken back.
WEFT_API weft_err weft_call_wait(weft_call *call, uint32_t timeout_ms);

// The same for weft_take_start. OUT_OF_RANGE: the queue is at its end.
WEFT_API weft_err weft_call_item(weft_call *call, uint32_t timeout_ms, weft_item *item);

// ---- Variables of 64-bit integers ---------------------------------------------------------------

// Opens the variable; whoever is first sets it to 0. NULL on failure.
WEFT_API weft_var *weft_var_open(weft_cluster *cluster, const char *path);
WEFT_API void weft_var_free(weft_var *var);
WEFT_API void weft_var_set_timeout(weft_var *var, uint32_t timeout_ms);  // of each call; 0: none
WEFT_API weft_err weft_var_remove(weft_var *var);                        // as weft_queue_remove

WEFT_API weft_err weft_var_get(weft_var *var, int64_t *value);
WEFT_API weft_err weft_var_set(weft_var *var, int64_t value);

// Adds, atomically; *now (NULL: not wanted) is the new value. With an item it counts once for the item,
// however often that was delivered. FAILED_PRECONDITION: it would overflow, and stays as it is.
WEFT_API weft_err weft_var_add(weft_var *var, int64_t delta, weft_item *once_per, int64_t *now);

// Sets it if it is `expected`; *now is what it is then. FAILED_PRECONDITION: it was something else.
WEFT_API weft_err weft_var_swap(weft_var *var, int64_t expected, int64_t value, int64_t *now);
WEFT_API weft_err weft_var_min(weft_var *var, int64_t value, int64_t *now);
WEFT_API weft_err weft_var_max(weft_var *var, int64_t value, int64_t *now);

// Waits for the next value; the first call gives the present one. False: all who could change it have left
// or are lost, and the last value was given; or it failed: weft_var_error.
WEFT_API bool weft_watch(weft_var *var, int64_t *value);
WEFT_API weft_err weft_var_error(const weft_var *var);

// ---- Variables of any type ----------------------------------------------------------------------

// An int32, int64, double, bool (a byte, 0 or 1) or bytes; or an array of float, double or int64.
typedef struct weft_var_options {
    weft_tensor
        type;  // dtype 0: one WEFT_INT64. With data, whoever is first sets it to that; else to 0
    bool is_unset;        // nobody sets it: reading is FAILED_PRECONDITION until someone writes
    uint32_t timeout_ms;  // for each call by this handle; 0: no limit
} weft_var_options;

// NULL on failure. INVALID_ARGUMENT, here or of the first call, when it exists with another type. The calls above
// are for one WEFT_INT64 only, those below for all.
WEFT_API weft_var *weft_var_open_as_sized(weft_cluster *cluster, const char *path,
                                          const weft_var_options *options, size_t options_size);
static inline weft_var *weft_var_open_as(weft_cluster *cluster, const char *path,
                                         const weft_var_options *options)
{
    return weft_var_open_as_sized(cluster, path, options, sizeof(weft_var_options));
}

// Copies the value; *got (NULL: not wanted) is its size. INVALID_ARGUMENT: it is more than `size`, nothing is
// copied, and *got says how much it is.
WEFT_API weft_err weft_var_read(weft_var *var, void *value, size_t size, size_t *got);
WEFT_API weft_err weft_var_write(weft_var *var, const void *value, size_t size);

typedef enum weft_var_op { WEFT_VAR_ADD = 1, WEFT_VAR_MIN, WEFT_VAR_MAX } weft_var_op;

// Combines it with an operand of its type, arrays element by element, all or nothing; as weft_var_add.
// `now` (NULL: not wanted) has room for `size` bytes, too.
WEFT_API weft_err weft_var_accumulate(weft_var *var, weft_var_op op, const void *operand,
                                      size_t size, weft_item *once_per, void *now);

// Writes it if its bytes are the expected ones. FAILED_PRECONDITION: they are not.
WEFT_API weft_err weft_var_compare_write(weft_var *var, weft_bytes expected, weft_bytes value);

// weft_watch for any type. A value that is more than `size` ends it: weft_var_error is INVALID_ARGUMENT.
WEFT_API bool weft_var_watch(weft_var *var, void *value, size_t size, size_t *got);

// ---- Keys and values ----------------------------------------------------------------------------

// A small sorted map, for settings and for who is where: keys of 1 to 1024 bytes, values up to 1 MiB.
WEFT_API weft_kv *weft_kv_open(weft_cluster *cluster, const char *path);
WEFT_API void weft_kv_free(weft_kv *kv);
WEFT_API void weft_kv_set_timeout(weft_kv *kv, uint32_t timeout_ms);  // of each call; 0: none
WEFT_API weft_err weft_kv_remove_all(weft_kv *kv);  // the map itself, as weft_queue_remove

typedef enum weft_kv_what {
    WEFT_KV_PUT = 1,
    WEFT_KV_REMOVED,
    WEFT_KV_RESET,  // too much was missed: forget all keys, those there are follow
} weft_kv_what;

typedef struct weft_kv_entry {
    weft_bytes key, value;
    uint64_t version;  // which change of the kv put (or removed) it: grows
    weft_kv_what what;
    bool is_owned;  // by a member, and goes with it; a watch does not tell
    char *memory_;
} weft_kv_entry;

// NOT_FOUND: there is no such key. weft_kv_entry_free frees what was got.
WEFT_API weft_err weft_kv_get(weft_kv *kv, weft_bytes key, weft_kv_entry *entry);
WEFT_API void weft_kv_entry_free(weft_kv_entry *entry);

typedef struct weft_kv_options {
    bool is_owned;     // weft_kv_put: the key goes when this member leaves or is lost
    bool has_version;  // only if the key has this version; 0: only if it is not there
    uint64_t version;
} weft_kv_options;

// Puts and removes a key; *version (NULL: not wanted) is the new one. FAILED_PRECONDITION: it did not have
// the version of the options, and *version is what it has. Removing what is not there is OK.
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

// The keys from `from` up to and without `to`, in bytewise order; an empty `to`: to the last. It is read
// in pieces: what changes meanwhile may be in it or not. NULL on failure.
WEFT_API weft_kv_walk *weft_kv_range(weft_kv *kv, weft_bytes from, weft_bytes to);

// All keys with this prefix, then what changes under it, for ever: each key as it is then, not all that was
// in between.
WEFT_API weft_kv_walk *weft_kv_watch(weft_kv *kv, weft_bytes prefix);

// The next entry, borrowed until the next call; of a watch it waits. False: there are no more, or all who
// could change them have left; or it failed. A deadline does not end a watch: ask again. Belongs to one
// thread, and is freed before its kv.
WEFT_API bool weft_kv_next(weft_kv_walk *walk, weft_kv_entry *entry);
WEFT_API weft_err weft_kv_walk_error(const weft_kv_walk *walk);  // OK or OUT_OF_RANGE at the end
WEFT_API void weft_kv_walk_free(weft_kv_walk *walk);

// ---- Barriers -----------------------------------------------------------------------------------

// A place where `count` calls wait for each other; all have to say the same count, 0: as it is. NULL on
// failure.
WEFT_API weft_barrier *weft_barrier_open(weft_cluster *cluster, const char *path, uint32_t count);
WEFT_API void weft_barrier_free(weft_barrier *barrier);
WEFT_API weft_err weft_barrier_remove(weft_barrier *barrier);  // as weft_queue_remove

// Returns when `count` calls wait; *generation (NULL: not wanted) is 1 for the first of them, then 2, ...
// timeout_ms 0: no limit. DEADLINE_EXCEEDED: it has stepped out, and is missing.
WEFT_API weft_err weft_barrier_wait(weft_barrier *barrier, uint32_t timeout_ms,
                                    uint64_t *generation);

#ifdef __cplusplus
}
#endif
#endif
