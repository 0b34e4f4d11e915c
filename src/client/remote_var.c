// Variables as a program sees them: 64-bit integers by value, all others as bytes.

#include <stdlib.h>

#include "client/item.h"
#include "client/remote_call.h"
#include "wire/pack.h"

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
        return err_set(WEFT_INVALID_ARGUMENT, "dtype %d of rank %d is no variable",
                       (int)type->dtype, (int)type->rank);
    pack_write_u8(out, (uint8_t)type->dtype);
    pack_write_u8(out, (uint8_t)type->rank);
    buf_append(out, type->dims, (size_t)type->rank * sizeof *type->dims);
    return out->has_failed ? err_no_memory("for a type") : WEFT_OK;
}

// The value of a new variable: what was given, or zeros.
static weft_err write_initial(struct buf *out, const weft_tensor *type)
{
    uint64_t count;
    size_t size = type->size;
    if (!type->data &&
        (!tuple_count_elements((unsigned)type->rank, type->dims, &count) ||
         __builtin_mul_overflow(count, tuple_dtype_size((uint8_t)type->dtype), &size)))
        return err_set(WEFT_INVALID_ARGUMENT, "its dimensions are no shape");
    if (size > VAR_BYTES_MAX)
        return err_set(WEFT_INVALID_ARGUMENT, "a variable has at most %u bytes, not %zu",
                       VAR_BYTES_MAX, size);
    if (!buf_reserve(out, size))
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
        all.type.dtype = WEFT_INT64;
    var->is_int64 = all.type.dtype == WEFT_INT64 && all.type.rank == 0;
    var->remote.timeout_ms = all.timeout_ms;
    var->remote.is_bare = all.is_unset;
    var->remote.has_initial = !all.is_unset;
    if (!err)
        err = write_attributes(&attributes, &all.type);
    if (!err && !all.is_unset)
        err = write_initial(&var->remote.initial, &all.type);
    err = member_keep_error(cluster, err_wrap(err, "%s", path));
    if (!err)
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
static weft_err read_answer(const struct peer_call *call, uint64_t *version, weft_bytes *value)
{
    struct pack_reader reader = {buf_bytes(&call->answer), false};
    *version = pack_read_u64(&reader);
    *value = reader.rest;
    return reader.has_failed ? err_set(WEFT_DATA_LOSS, "the answer of a variable is cut") : WEFT_OK;
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
    char name[CALL_ITEM_BYTES];
    if (once_per && once_per->has_failed_)  // it comes again, and would not count then
        return err_set(WEFT_ABORTED, "%s: the item that this is for has failed", var->remote.path);
    if (once_per) {
        const struct call_item item = item_name(once_per);
        pack_put_item(name, &item);
    }
    const weft_bytes parts[] = {{name, sizeof name}, operand};
    return once_per ? remote_start(&var->remote, op, CALL_FLAG_ONCE, parts, 2, call)
                    : remote_start(&var->remote, op, 0, parts + 1, 1, call);
}

static weft_err change(weft_var *var, uint8_t op, weft_item *once_per, weft_bytes operand,
                       void *now)
{
    struct peer_call call = {0};
    uint64_t version;
    weft_bytes value = weft_none();
    weft_err err = start_change(var, op, once_per, operand, &call);
    if (!err)
        err = keep(var, remote_finish(&var->remote, &call, var->remote.timeout_ms));
    if (!err && op != CALL_VAR_SET)
        err = read_answer(&call, &version, &value);
    if (!err && now)
        err = copy_value(var, value, now, operand.size, NULL);
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
    const uint32_t size = (uint32_t)expected.size;
    const weft_bytes parts[] = {{(const char *)&size, sizeof size}, expected, value};
    struct peer_call call = {0};
    uint64_t version;
    weft_bytes is = weft_none();
    weft_err err = expected.size > VAR_BYTES_MAX
                       ? keep(var, err_set(WEFT_INVALID_ARGUMENT, "%s: %zu bytes are expected",
                                           var->remote.path, expected.size))
                       : remote_ask(&var->remote, CALL_VAR_SWAP, 0, parts, 3, &call);
    if (!err)
        err = read_answer(&call, &version, &is);
    if (!err && now)
        err = copy_value(var, is, now, sizeof *now, NULL);
    if (!err && call.flags & ANSWER_FLAG_MISSED)
        err = err_set(WEFT_FAILED_PRECONDITION, "%s is not what was expected", var->remote.path);
    peer_call_fini(&call);
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
    struct peer_call call = {0};
    uint64_t version;
    weft_bytes is;
    weft_err err = remote_ask(&var->remote, CALL_VAR_READ, 0, NULL, 0, &call);
    if (!err)
        err = read_answer(&call, &version, &is);
    if (!err)
        err = copy_value(var, is, value, size, got);
    peer_call_fini(&call);
    return err;
}

bool weft_var_watch(weft_var *var, void *value, size_t size, size_t *got)
{
    if (!var || (!value && size)) {
        member_no_handle();
        return false;
    }
    struct peer_call call = {0};
    uint64_t version = var->version;
    weft_bytes is;
    const weft_bytes part = {(const char *)&version, sizeof version};
    weft_err err = remote_ask(&var->remote, CALL_VAR_WATCH, 0, &part, 1, &call);
    if (!err)
        err = read_answer(&call, &version, &is);
    if (!err)
        err = copy_value(var, is, value, size, got);
    if (!err)
        var->version = version;
    peer_call_fini(&call);
    var->remote.failure = err;
    return !err;
}

// ---- 64-bit integers by value --------------------------------------------------------------------------------

static weft_err check_int64(weft_var *var)
{
    if (!var)
        return member_no_handle();
    return var->is_int64 ? WEFT_OK
                         : keep(var, err_set(WEFT_INVALID_ARGUMENT,
                                             "%s was opened as something else than an int64",
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

bool weft_watch(weft_var *var, int64_t *value)
{
    const weft_err err = check_int64(var);
    if (err && var)
        var->remote.failure = err;
    return !err && weft_var_watch(var, value, sizeof *value, NULL);
}
