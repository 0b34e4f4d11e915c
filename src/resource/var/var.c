// var: one value that members share: read, set, added to, compared and swapped, watched.
//
// Its calls are in wire/ops/var.h.
//
// The version counts how often the value has changed: 0 before the first. What leaves all bytes as they
// are (an add of 0, a set to the same) succeeds, counts nothing and wakes no watcher, so a version that is
// the same means a value that is the same. Values are compared by their bytes: -0.0 is not 0.0.
//
// With ONCE a change counts once for its item, whatever delivery of it asks: again it is SEEN, with
// version and value as they are. What failed or MISSED has not counted.
//
// KEYED, of VAR_ADD alone, is the same for whatever the caller names by a key, a text before the operand. The
// last of them are remembered (seen_keys.h); ONCE, which knows that items are numbered, remembers all.

#include <stdlib.h>

#include "base/bytes.h"
#include "resource/host.h"
#include "resource/var/number.h"
#include "resource/var/var_state.h"
#include "wire/ops/var.h"

struct var_watch {
    struct wait wait;
    struct link in_var;
    uint64_t known;
};

static struct var *var_of(struct resource *resource)
{
    return (struct var *)resource;
}

// ---- Its type ------------------------------------------------------------------------------------------

// Types that are of use as one value, as an array, or both.
static bool can_be(uint8_t dtype, unsigned rank)
{
    switch (dtype) {
    case TUPLE_INT32:
    case TUPLE_BOOL:
    case TUPLE_STRING:
        return rank == 0;
    case TUPLE_FLOAT:
        return rank > 0;
    case TUPLE_INT64:
    case TUPLE_DOUBLE:
        return true;
    default:
        return false;
    }
}

static weft_err check_type(struct var *var)
{
    uint64_t count, bytes = 0;
    char type[TUPLE_TYPE_BYTES];
    tuple_write_type(type, var->dtype, var->rank, var->dims);
    if (!can_be(var->dtype, var->rank))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "a var is an int32, int64, double, bool or string, or an array of float, "
                       "double or int64, not %s",
                       type);
    if (!tuple_count_elements(var->rank, var->dims, &count) ||
        __builtin_mul_overflow(count, tuple_dtype_size(var->dtype), &bytes) ||
        bytes > VAR_BYTES_MAX)
        return err_set(WEFT_INVALID_ARGUMENT, "%s is not a shape of at most %u bytes", type,
                       VAR_BYTES_MAX);
    var->element_count = count;
    var->size = bytes;
    return WEFT_OK;
}

static weft_err read_attributes(weft_bytes bytes, struct var *var)
{
    struct ops_var_attributes attributes;
    const bool is_whole = ops_var_attributes_decode(bytes, &attributes);
    if (attributes.rank > TUPLE_RANK_MAX)
        return err_set(WEFT_INVALID_ARGUMENT, "the rank of a var is at most %u, not %u",
                       TUPLE_RANK_MAX, attributes.rank);
    if (!is_whole)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "the attributes of a var are its dtype, rank and dimensions");
    var->dtype = attributes.dtype;
    var->rank = attributes.rank;
    memcpy(var->dims, attributes.dims, sizeof var->dims);
    return check_type(var);
}

static struct resource *var_make(weft_bytes attributes, weft_err *err)
{
    struct var *var = calloc(1, sizeof *var);
    *err = var ? read_attributes(attributes, var) : err_no_memory("for a var");
    if (*err) {
        free(var);
        return NULL;
    }
    list_init(&var->watches);
    seen_keys_init(&var->keys);
    return &var->resource;
}

static weft_err var_match(struct resource *resource, weft_bytes attributes)
{
    const struct var *var = (const struct var *)resource;
    struct var wanted = {.resource = {0}};
    const weft_err err = read_attributes(attributes, &wanted);
    if (err)
        return err;
    if (wanted.dtype == var->dtype && wanted.rank == var->rank &&
        memcmp(wanted.dims, var->dims, sizeof var->dims) == 0)
        return WEFT_OK;
    char is[TUPLE_TYPE_BYTES], asked[TUPLE_TYPE_BYTES];
    tuple_write_type(is, var->dtype, var->rank, var->dims);
    tuple_write_type(asked, wanted.dtype, wanted.rank, wanted.dims);
    return err_set(WEFT_INVALID_ARGUMENT, "the variable '%.*s' is %s, not %s",
                   (int)resource->name.size, resource->name.data, is, asked);
}

static void var_describe(const struct resource *resource, struct buf *attributes)
{
    const struct var *var = (const struct var *)resource;
    struct ops_var_attributes own = {.dtype = var->dtype, .rank = var->rank};
    memcpy(own.dims, var->dims, sizeof own.dims);
    ops_var_attributes_encode(attributes, &own);
}

// ---- Answers -------------------------------------------------------------------------------------------

static void answer(struct session *session, uint64_t sequence, uint8_t flags,
                   const struct ops_var_answer *answer)
{
    char *to = session_begin_answer(session, sequence, flags, ops_var_answer_size(answer));
    if (to)
        ops_var_answer_put(to, answer);
}

static void answer_value(const struct var *var, struct session *session, uint64_t sequence,
                         uint8_t flags)
{
    answer(session, sequence, flags,
           &(struct ops_var_answer){var->version, buf_bytes(&var->value)});
}

static void answer_version(const struct var *var, struct session *session, uint64_t sequence)
{
    answer(session, sequence, 0, &(struct ops_var_answer){var->version, weft_none()});
}

static weft_err refuse_missing(const struct var *var)
{
    const weft_bytes name = var->resource.name;
    return err_set(WEFT_FAILED_PRECONDITION,
                   "the variable '%.*s' has no value yet: set or create it first", (int)name.size,
                   name.data);
}

static void drop_watch(struct var_watch *watch)
{
    host_end_watch(watch->wait.resource->host, watch->wait.session);
    session_drop_wait(&watch->wait);
    list_take_out(&watch->in_var);
    free(watch);
}

static void wake_watches(struct var *var)
{
    for (struct link *at = var->watches.next, *next; at != &var->watches; at = next) {
        next = at->next;
        struct var_watch *watch = LIST_ITEM(at, struct var_watch, in_var);
        if (var->version <= watch->known)
            continue;
        answer_value(var, watch->wait.session, watch->wait.sequence, 0);
        drop_watch(watch);
    }
}

// ---- Changes -------------------------------------------------------------------------------------------

static weft_err check_value(const struct var *var, weft_bytes value)
{
    const bool is_bytes = var->dtype == TUPLE_STRING;
    bool is_sound = is_bytes ? value.size <= VAR_BYTES_MAX : value.size == var->size;
    if (is_sound && var->dtype == TUPLE_BOOL)
        is_sound = value.data[0] == 0 || value.data[0] == 1;
    if (is_sound)
        return WEFT_OK;
    char type[TUPLE_TYPE_BYTES];
    const weft_bytes name = var->resource.name;
    tuple_write_type(type, var->dtype, var->rank, var->dims);
    return err_set(WEFT_INVALID_ARGUMENT,
                   "the variable '%.*s' is %s of %s%zu bytes%s, and %zu came", (int)name.size,
                   name.data, type, is_bytes ? "at most " : "",
                   is_bytes ? (size_t)VAR_BYTES_MAX : var->size,
                   var->dtype == TUPLE_BOOL ? ", 0 or 1" : "", value.size);
}

static weft_err make_next(struct var *var, weft_bytes value)
{
    const weft_err err = check_value(var, value);
    if (err)
        return err;
    var->next.size = 0;
    buf_append(&var->next, value.data, value.size);
    if (!var->next.has_failed)
        return WEFT_OK;
    buf_fini(&var->next);
    return err_no_memory("for a value of %zu bytes", value.size);
}

static const char *verb_of(uint8_t op)
{
    return op == CALL_VAR_ADD ? "add" : op == CALL_VAR_MIN ? "min" : "max";
}

static weft_err combine(struct var *var, uint8_t op, weft_bytes operand)
{
    const weft_bytes name = var->resource.name;
    if (!var_number_is_one(var->dtype))
        return err_set(WEFT_INVALID_ARGUMENT, "the variable '%.*s' is a %s, and %s is of numbers",
                       (int)name.size, name.data, tuple_dtype_name(var->dtype), verb_of(op));
    const weft_err err = make_next(var, operand);
    if (err)
        return err;
    if (!var->has_value)
        return refuse_missing(var);
    return err_wrap(var_number_combine(var->dtype, op, var->next.data, var->value.data,
                                       operand.data, var->element_count),
                    "the variable '%.*s'", (int)name.size, name.data);
}

static weft_err swap(struct var *var, const struct ops_var_change *change, enum ops_var_cut cut,
                     bool *has_missed)
{
    if (cut == OPS_VAR_CUT_EXPECTED)
        return err_set(WEFT_INVALID_ARGUMENT, "VAR_SWAP is cut before the value that is expected");
    weft_err err = check_value(var, change->expected);
    if (!err)
        err = make_next(var, change->value);
    if (!err && !var->has_value)
        err = refuse_missing(var);
    *has_missed = !err && !bytes_equal(change->expected, buf_bytes(&var->value));
    return err;
}

// Makes var->next, or says why not.
static weft_err work_out(struct var *var, const struct ops_var_change *change, enum ops_var_cut cut,
                         bool *has_missed)
{
    if (change->op == CALL_VAR_SWAP)
        return swap(var, change, cut, has_missed);
    if (change->op == CALL_VAR_SET || change->op == CALL_VAR_CREATE)
        return make_next(var, change->value);
    return combine(var, change->op, change->value);
}

// Cannot fail: an item that was marked has counted.
static void take_next(struct var *var)
{
    if (var->has_value && bytes_equal(buf_bytes(&var->value), buf_bytes(&var->next)))
        return;
    const struct buf old = var->value;
    var->value = var->next;
    var->next = old;
    var->has_value = true;
    var->version++;
}

// Looks at the item of a call that counts once. True: the call continues.
static bool begin_once(struct var *var, struct session *session, const struct call *call,
                       const struct call_item *item, enum ops_var_cut cut)
{
    if (cut == OPS_VAR_CUT_ITEM) {
        session_fail(session, call->sequence, WEFT_INVALID_ARGUMENT,
                     "%s is cut before the item it counts for", call_op_name(call->op));
        return false;
    }
    if (!item_set_has(&var->counted, item->queue, item->id))
        return true;
    answer_value(var, session, call->sequence, ANSWER_FLAG_SEEN);
    return false;
}

// The same of a key.
static bool begin_keyed(struct var *var, struct session *session, const struct call *call,
                        weft_bytes key, enum ops_var_cut cut)
{
    if (cut == OPS_VAR_CUT_KEY || key.size == 0 || key.size > CALL_NAME_BYTES_MAX) {
        session_fail(session, call->sequence, WEFT_INVALID_ARGUMENT,
                     "the key of an addition has 1 to %u bytes", CALL_NAME_BYTES_MAX);
        return false;
    }
    if (!seen_keys_have(&var->keys, key))
        return true;
    answer_value(var, session, call->sequence, ANSWER_FLAG_SEEN);
    return false;
}

static weft_err remember_key(struct var *var, weft_bytes key)
{
    if (!seen_keys_add(&var->keys, key, host_seed(var->resource.host)))
        return err_no_memory("for a key");
    seen_keys_trim(&var->keys);
    return WEFT_OK;
}

// What nearly all changes are: a number added to a number. False: nothing happened, and the long way says why.
static bool add_at_once(struct var *var, struct session *session, const struct call *call)
{
    int64_t now, more;
    if (call->op != CALL_VAR_ADD || call->flags || var->dtype != TUPLE_INT64 || var->rank ||
        !var->has_value || call->payload.size != sizeof more)
        return false;
    memcpy(&now, var->value.data, sizeof now);
    memcpy(&more, call->payload.data, sizeof more);
    if (__builtin_add_overflow(now, more, &now))
        return false;
    memcpy(var->value.data, &now, sizeof now);
    var->version += more != 0;
    answer_value(var, session, call->sequence, 0);
    wake_watches(var);
    return true;
}

static void change(struct var *var, struct session *session, const struct call *call)
{
    if (add_at_once(var, session, call))
        return;
    struct ops_var_change wish;
    const enum ops_var_cut cut = ops_var_change_decode(call, &wish);
    if ((wish.is_once && !begin_once(var, session, call, &wish.item, cut)) ||
        (wish.is_keyed && !begin_keyed(var, session, call, wish.key, cut)))
        return;
    bool has_missed = false;
    weft_err err = work_out(var, &wish, cut, &has_missed);
    if (!err && has_missed) {
        answer_value(var, session, call->sequence, ANSWER_FLAG_MISSED);
        return;
    }
    if (!err && wish.is_once)
        err = item_set_add(&var->counted, wish.item.queue, wish.item.id);
    if (!err && wish.is_keyed)
        err = remember_key(var, wish.key);
    if (err) {
        session_fail_by_err(session, call->sequence, err);
        return;
    }
    take_next(var);
    if (call->op == CALL_VAR_SET)
        answer_version(var, session, call->sequence);
    else
        answer_value(var, session, call->sequence, 0);
    wake_watches(var);
}

static void create(struct var *var, struct session *session, const struct call *call)
{
    const weft_err err = var->has_value ? check_value(var, call->payload) : WEFT_OK;
    if (err)
        session_fail_by_err(session, call->sequence, err);
    else if (var->has_value)
        answer_value(var, session, call->sequence, ANSWER_FLAG_SEEN);
    else
        change(var, session, call);
}

// ---- Reading and watching --------------------------------------------------------------------------------

static void read_value(struct var *var, struct session *session, const struct call *call)
{
    if (call->payload.size)
        session_fail(session, call->sequence, WEFT_INVALID_ARGUMENT,
                     "VAR_READ has no operands, and %zu bytes came", call->payload.size);
    else if (var->has_value)
        answer_value(var, session, call->sequence, 0);
    else
        session_fail_by_err(session, call->sequence, refuse_missing(var));
}

static void begin_watch(struct var *var, struct session *session, uint64_t sequence, uint64_t known)
{
    struct var_watch *watch = calloc(1, sizeof *watch);
    if (!watch) {
        session_fail(session, sequence, WEFT_RESOURCE_EXHAUSTED, "no memory for another watch");
        return;
    }
    if (!session_add_wait(session, &var->resource, sequence, &watch->wait)) {
        free(watch);
        return;
    }
    watch->known = known;
    list_append(&var->watches, &watch->in_var);
    host_begin_watch(var->resource.host, session);
}

static void watch(struct var *var, struct session *session, const struct call *call)
{
    struct ops_var_watch wish;
    if (!ops_var_watch_decode(call->payload, &wish))
        session_fail(session, call->sequence, WEFT_INVALID_ARGUMENT,
                     "VAR_WATCH names a version, 8 bytes, and %zu came", call->payload.size);
    else if (var->version > wish.known)
        answer_value(var, session, call->sequence, 0);
    else
        begin_watch(var, session, call->sequence, wish.known);
}

static void end_watch(struct var_watch *watch, weft_err code, const char *why)
{
    const weft_bytes name = watch->wait.resource->name;
    session_fail(watch->wait.session, watch->wait.sequence, code,
                 "the watch of the variable '%.*s' has ended: %s", (int)name.size, name.data, why);
    drop_watch(watch);
}

static void var_cancel(struct wait *wait, weft_err code, const char *why)
{
    end_watch((struct var_watch *)wait, code, why);
}

static void var_writers_gone(struct resource *resource)
{
    struct var *var = var_of(resource);
    while (!list_is_empty(&var->watches))
        end_watch(LIST_ITEM(var->watches.next, struct var_watch, in_var), WEFT_OUT_OF_RANGE,
                  "all members that could write have left");
}

static void var_apply(struct resource *resource, struct session *session, const struct call *call)
{
    struct var *var = var_of(resource);
    const bool can_count_once =
        call->op >= CALL_VAR_SET && call->op <= CALL_VAR_MAX && call->op != CALL_VAR_CREATE;
    const bool is_keyed = call->op == CALL_VAR_ADD && call->flags == CALL_FLAG_KEYED;
    if (!is_keyed && call->flags & ~(can_count_once ? CALL_FLAG_ONCE : 0)) {
        session_fail_unknown(session, call, "variable");
        return;
    }
    switch (call->op) {
    case CALL_VAR_READ:
        read_value(var, session, call);
        return;
    case CALL_VAR_CREATE:
        create(var, session, call);
        return;
    case CALL_VAR_SET:
    case CALL_VAR_ADD:
    case CALL_VAR_MIN:
    case CALL_VAR_MAX:
    case CALL_VAR_SWAP:
        change(var, session, call);
        return;
    case CALL_VAR_WATCH:
        watch(var, session, call);
        return;
    default:
        session_fail_unknown(session, call, "variable");
    }
}

// ---- The kind -------------------------------------------------------------------------------------------

static void var_free(struct resource *resource)
{
    struct var *var = var_of(resource);
    buf_fini(&var->value);
    buf_fini(&var->next);
    item_set_fini(&var->counted);
    seen_keys_fini(&var->keys);
    free(var);
}

static void var_tell(const struct resource *resource, struct buf *text)
{
    const struct var *var = (const struct var *)resource;
    char type[TUPLE_TYPE_BYTES];
    tuple_write_type(type, var->dtype, var->rank, var->dims);
    if (!var->has_value || var->rank)
        buf_format(text, "%s%s", type, var->has_value ? "" : ", no value yet");
    else
        var_number_tell(var->dtype, buf_bytes(&var->value), text);
}

const struct resource_kind var_kind = {
    .number = CALL_KIND_VAR,
    .name = "var",
    .make = var_make,
    .match = var_match,
    .apply = var_apply,
    .cancel = var_cancel,
    .writers_gone = var_writers_gone,
    .describe = var_describe,
    .save = var_save,
    .load = var_load,
    .tell = var_tell,
    .free = var_free,
};
