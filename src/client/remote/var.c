// Variables as a program sees them: 64-bit integers by value, all others as bytes.

#include <stdlib.h>

#include "client/item/item.h"
#include "client/remote/call.h"
#include "client/remote/ops.h"

struct weft_var {
    struct remote remote;       // first
    _Atomic(uint64_t) version;  // that a watch gave last
    bool is_int64;              // one of them: what the calls by value are for
};

enum { VAR_BYTES_MAX = 28 << 20 };  // as its host allows

// ---- Opening -----------------------------------------------------------------------------------------------

static weft_err write_attributes(struct buf *out, const weft_tensor *type)
{
    if ((unsigned)type->dtype > UINT8_MAX || type->rank < 0 || type->rank > TUPLE_RANK_MAX ||
        (type->rank && !type->dims))
        return err_set(WEFT_INVALID_ARGUMENT, "a variable cannot have dtype %d and rank %d",
                       (int)type->dtype, (int)type->rank);
    struct ops_var_attributes attributes = {.dtype = (uint8_t)type->dtype,
                                            .rank = (uint8_t)type->rank};
    if (type->rank)
        memcpy(attributes.dims, type->dims, (size_t)type->rank * sizeof *type->dims);
    ops_var_attributes_encode(out, &attributes);
    return out->has_failed ? err_no_memory("for a type") : WEFT_OK;
}

// The value of a new variable: the given one, or zeros.
static weft_err write_initial(struct buf *out, const weft_tensor *type)
{
    uint64_t count;
    size_t size = type->size;
    if (!type->data &&
        (!tuple_count_elements((unsigned)type->rank, type->dims, &count) ||
         __builtin_mul_overflow(count, tuple_dtype_size((uint8_t)type->dtype), &size)))
        return err_set(WEFT_INVALID_ARGUMENT, "its dimensions are not a shape");
    if (size > VAR_BYTES_MAX)
        return err_set(WEFT_INVALID_ARGUMENT, "a variable has at most %u bytes, not %zu",
                       VAR_BYTES_MAX, size);
    if (size && !buf_reserve(out, size))
        return err_no_memory("for a value of %zu bytes", size);
    if (size && type->data)
        memcpy(out->data, type->data, size);
    else if (size)
        memset(out->data, 0, size);
    out->size = size;
    return WEFT_OK;
}

weft_var *weft_var_open_as_sized(weft_cluster *cluster, const char *path,
                                 const weft_var_options *options, size_t options_size)
{
    weft_var_options all;
    struct buf attributes = {0};
    weft_var *var = calloc(1, sizeof *var);
    if (!var) {
        err_no_memory("for a variable");
        return NULL;
    }
    weft_err err = sized_take(&all, sizeof all, options, options_size, "weft_var_options");
    if (!all.type.dtype)
        all.type.dtype = WEFT_DTYPE_INT64;
    var->is_int64 = all.type.dtype == WEFT_DTYPE_INT64 && all.type.rank == 0;
    var->remote.timeout_ms = all.timeout_ms;
    var->remote.is_bare = all.is_unset;
    var->remote.has_initial = !all.is_unset;
    if (!err)
        err = write_attributes(&attributes, &all.type);
    if (!err && !all.is_unset)
        err = write_initial(&var->remote.initial, &all.type);
    err = member_keep_error(cluster, err_wrap(err, "%s", path));
    if (err)
        err = no_handle_keep(err);
    else
        err = remote_open(cluster, path, CALL_KIND_VAR, buf_bytes(&attributes), &var->remote);
    buf_fini(&attributes);
    if (!err)
        return var;
    weft_var_free(var);
    return NULL;
}

weft_var *weft_var_open(weft_cluster *cluster, const char *path)
{
    return weft_var_open_as(cluster, path, NULL);
}

void weft_var_free(weft_var *var)
{
    if (!var)
        return;
    remote_fini(&var->remote);
    free(var);
}

void weft_var_set_timeout(weft_var *var, uint32_t timeout_ms)
{
    if (var)
        var->remote.timeout_ms = timeout_ms;
}

weft_err weft_var_remove(weft_var *var)
{
    return var ? remote_remove(&var->remote) : member_no_handle();
}

weft_err weft_var_error(const weft_var *var)
{
    return var ? var->remote.failure : member_no_handle();
}

// ---- Answers -----------------------------------------------------------------------------------------------

static weft_err keep(weft_var *var, weft_err err)
{
    return remote_keep_error(&var->remote, err);
}

// All answers of a variable are its version and its value.
static weft_err read_answer(const struct peer_call *call, struct ops_var_answer *answer)
{
    return ops_var_answer_decode(buf_bytes(&call->answer), answer)
               ? WEFT_OK
               : err_set(WEFT_DATA_LOSS, "the answer of a variable is cut");
}

void remote_value_fini(struct remote_value *value)
{
    peer_call_fini(&value->call);
}

static weft_err ask(struct remote *var, const struct ops_call *op, struct remote_value *is)
{
    struct ops_var_answer answer = {0};
    weft_err err = remote_ask(var, op, &is->call);
    if (!err)
        err = read_answer(&is->call, &answer);
    is->version = answer.version;
    is->value = answer.value;
    is->was_seen = is->call.flags & ANSWER_FLAG_SEEN;
    is->has_missed = is->call.flags & ANSWER_FLAG_MISSED;
    return err;
}

weft_err remote_var_read(struct remote *var, struct remote_value *is)
{
    struct ops_call op;
    ops_var_read_make(&op);
    return ask(var, &op, is);
}

weft_err remote_var_change(struct remote *var, const struct ops_var_change *change,
                           struct remote_value *is)
{
    struct ops_call op;
    ops_var_change_make(&op, change);
    return ask(var, &op, is);
}

weft_err remote_var_watch(struct remote *var, uint64_t known, struct remote_value *is)
{
    struct ops_call op;
    ops_var_watch_make(&op, &(struct ops_var_watch){known});
    return ask(var, &op, is);
}

weft_err remote_var_type(struct remote *var, struct ops_var_attributes *type)
{
    const weft_err err = remote_make(var);
    if (err)
        return err;
    return ops_var_attributes_decode(buf_bytes(&var->found), type)
               ? WEFT_OK
               : err_set(WEFT_DATA_LOSS, "the answer of a variable is cut");
}

static weft_err copy_value(const weft_var *var, weft_bytes from, void *value, size_t size,
                           size_t *got)
{
    if (got)
        *got = from.size;
    if (from.size > size)
        return err_set(WEFT_INVALID_ARGUMENT, "%s has %zu bytes, and there is room for %zu",
                       var->remote.path, from.size, size);
    if (from.size)
        memcpy(value, from.data, from.size);
    return WEFT_OK;
}

// ---- Changing ----------------------------------------------------------------------------------------------

static weft_err start_change(weft_var *var, uint8_t op, const weft_item *once_per,
                             weft_bytes operand, struct peer_call *call)
{
    struct ops_call made;
    struct ops_var_change change = {.op = op, .is_once = once_per != NULL, .value = operand};
    if (once_per && once_per->has_failed_)  // it comes again, and would not count then
        return err_set(WEFT_ABORTED, "%s: the item that this is for has failed", var->remote.path);
    if (once_per)
        change.item = item_name(once_per);
    ops_var_change_make(&made, &change);
    return remote_start(&var->remote, &made, call);
}

static weft_err change(weft_var *var, uint8_t op, weft_item *once_per, weft_bytes operand,
                       void *now)
{
    struct peer_call call = {0};
    struct ops_var_answer is = {0};
    weft_err err = start_change(var, op, once_per, operand, &call);
    if (!err)
        err = keep(var, remote_finish(&var->remote, &call, var->remote.timeout_ms));
    if (!err && op != CALL_VAR_SET)
        err = read_answer(&call, &is);
    if (!err && now)
        err = copy_value(var, is.value, now, operand.size, NULL);
    if (err && once_per)
        once_per->has_failed_ = true;
    peer_call_fini(&call);
    return err;
}

weft_err weft_var_write(weft_var *var, const void *value, size_t size)
{
    return var && (value || !size)
               ? change(var, CALL_VAR_SET, NULL, (weft_bytes){value, size}, NULL)
               : member_no_handle();
}

weft_err weft_var_accumulate(weft_var *var, weft_var_op op, const void *operand, size_t size,
                             weft_item *once_per, void *now)
{
    static const uint8_t ops[] = {[WEFT_VAR_ADD] = CALL_VAR_ADD,
                                  [WEFT_VAR_MIN] = CALL_VAR_MIN,
                                  [WEFT_VAR_MAX] = CALL_VAR_MAX};
    if (!var || (!operand && size))
        return member_no_handle();
    if ((unsigned)op >= sizeof ops || !ops[op])
        return keep(var, err_set(WEFT_INVALID_ARGUMENT, "%s: there is no operation %d",
                                 var->remote.path, (int)op));
    return change(var, ops[op], once_per, (weft_bytes){operand, size}, now);
}

static weft_err swap(weft_var *var, weft_bytes expected, weft_bytes value, int64_t *now)
{
    const struct ops_var_change change = {
        .op = CALL_VAR_SWAP, .expected = expected, .value = value};
    struct remote_value is = {0};
    weft_err err = expected.size > VAR_BYTES_MAX
                       ? keep(var, err_set(WEFT_INVALID_ARGUMENT, "%s: %zu bytes are expected",
                                           var->remote.path, expected.size))
                       : remote_var_change(&var->remote, &change, &is);
    if (!err && now)
        err = copy_value(var, is.value, now, sizeof *now, NULL);
    if (!err && is.has_missed)
        err = err_set(WEFT_FAILED_PRECONDITION, "%s does not have the expected value",
                      var->remote.path);
    remote_value_fini(&is);
    return err;
}

weft_err weft_var_compare_write(weft_var *var, weft_bytes expected, weft_bytes value)
{
    return var ? swap(var, expected, value, NULL) : member_no_handle();
}

// ---- Reading -----------------------------------------------------------------------------------------------

weft_err weft_var_read(weft_var *var, void *value, size_t size, size_t *got)
{
    if (!var || (!value && size))
        return member_no_handle();
    struct remote_value is = {0};
    weft_err err = remote_var_read(&var->remote, &is);
    if (!err)
        err = copy_value(var, is.value, value, size, got);
    remote_value_fini(&is);
    return err;
}

bool weft_var_read_next(weft_var *var, void *value, size_t size, size_t *got)
{
    if (!var || (!value && size)) {
        member_no_handle();
        return false;
    }
    struct remote_value is = {0};
    weft_err err = remote_var_watch(&var->remote, var->version, &is);
    if (!err)
        err = copy_value(var, is.value, value, size, got);
    if (!err)
        var->version = is.version;
    remote_value_fini(&is);
    var->remote.failure = err;
    return !err;
}

// ---- 64-bit integers by value --------------------------------------------------------------------------------

static weft_err check_int64(weft_var *var)
{
    if (!var)
        return member_no_handle();
    return var->is_int64 ? WEFT_OK
                         : keep(var, err_set(WEFT_INVALID_ARGUMENT, "%s was not opened as an int64",
                                             var->remote.path));
}

static weft_err change_int64(weft_var *var, uint8_t op, weft_item *once_per, int64_t operand,
                             int64_t *now)
{
    const weft_err err = check_int64(var);
    if (err && once_per)
        once_per->has_failed_ = true;
    const weft_bytes bytes = {(const char *)&operand, sizeof operand};
    return err ? err : change(var, op, once_per, bytes, now);
}

weft_err weft_var_add(weft_var *var, int64_t delta, weft_item *once_per, int64_t *now)
{
    return change_int64(var, CALL_VAR_ADD, once_per, delta, now);
}

weft_call *weft_var_add_start(weft_var *var, int64_t delta, weft_item *once_per)
{
    const weft_err err = check_int64(var);
    weft_call *call = err ? NULL : remote_call_new(&var->remote);
    if (!call) {
        weft_item_fail(once_per);
        return NULL;
    }
    call->once_per = once_per;
    const weft_bytes operand = {(const char *)&delta, sizeof delta};
    return remote_call_started(call,
                               start_change(var, CALL_VAR_ADD, once_per, operand, &call->call));
}

weft_err weft_var_min(weft_var *var, int64_t value, int64_t *now)
{
    return change_int64(var, CALL_VAR_MIN, NULL, value, now);
}

weft_err weft_var_max(weft_var *var, int64_t value, int64_t *now)
{
    return change_int64(var, CALL_VAR_MAX, NULL, value, now);
}

weft_err weft_var_set(weft_var *var, int64_t value)
{
    return change_int64(var, CALL_VAR_SET, NULL, value, NULL);
}

weft_err weft_var_get(weft_var *var, int64_t *value)
{
    const weft_err err = check_int64(var);
    return err ? err : weft_var_read(var, value, sizeof *value, NULL);
}

weft_err weft_var_swap(weft_var *var, int64_t expected, int64_t value, int64_t *now)
{
    const weft_err err = check_int64(var);
    const weft_bytes from = {(const char *)&expected, sizeof expected};
    return err ? err : swap(var, from, (weft_bytes){(const char *)&value, sizeof value}, now);
}

bool weft_var_next(weft_var *var, int64_t *value)
{
    const weft_err err = check_int64(var);
    if (err && var)
        var->remote.failure = err;
    return !err && weft_var_read_next(var, value, sizeof *value, NULL);
}
