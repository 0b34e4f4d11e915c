// Variables of 64-bit integers as a program sees them.

#include <stdlib.h>

#include "app/member.h"

struct weft_var {
    struct remote remote;
    uint64_t version;  // that weft_watch gave last
};

weft_var *weft_var_open(weft_cluster *cluster, const char *path)
{
    weft_var *var = calloc(1, sizeof *var);
    if (!var) {
        err_set(WEFT_RESOURCE_EXHAUSTED, "no memory for a variable");
        return NULL;
    }
    const weft_err err = remote_open(cluster, path, CALL_KIND_VAR, weft_none(), &var->remote);
    if (!err)
        return var;
    weft_var_free(var);
    return NULL;
}

void weft_var_free(weft_var *var)
{
    if (!var)
        return;
    remote_fini(&var->remote);
    free(var);
}

weft_err weft_var_error(const weft_var *var)
{
    return var ? var->remote.failure : member_no_handle();
}

// Reads what all answers of a variable have: its version and its value.
static weft_err read_answer(const struct peer_call *call, uint64_t *version, int64_t *value)
{
    struct call_reader reader = {buf_bytes(&call->answer), false};
    *version = call_read_u64(&reader);
    const int64_t now = (int64_t)call_read_u64(&reader);
    if (reader.has_failed)
        return err_set(WEFT_DATA_LOSS, "the answer of a variable is cut");
    if (value)
        *value = now;
    return WEFT_OK;
}

static weft_err change(weft_var *var, uint8_t op, weft_item *once_per, int64_t operand,
                       int64_t *now)
{
    if (!var)
        return member_no_handle();
    struct buf payload = {0};
    struct peer_call call = {0};
    uint64_t version;
    if (once_per) {
        const struct call_item name = {once_per->queue_, once_per->id_, once_per->slot_,
                                       once_per->delivery};
        call_write_item(&payload, &name);
    }
    call_write_u64(&payload, (uint64_t)operand);
    const weft_bytes part = buf_bytes(&payload);
    weft_err err = remote_ask(&var->remote, op, once_per ? CALL_FLAG_ONCE : 0, &part, 1, &call);
    if (!err && op != CALL_VAR_SET)
        err = read_answer(&call, &version, now);
    if (err && once_per)
        once_per->has_failed_ = true;
    peer_call_fini(&call);
    buf_fini(&payload);
    return err;
}

weft_err weft_var_add(weft_var *var, int64_t delta, weft_item *once_per, int64_t *now)
{
    return change(var, CALL_VAR_ADD, once_per, delta, now);
}

weft_err weft_var_min(weft_var *var, int64_t value, int64_t *now)
{
    return change(var, CALL_VAR_MIN, NULL, value, now);
}

weft_err weft_var_max(weft_var *var, int64_t value, int64_t *now)
{
    return change(var, CALL_VAR_MAX, NULL, value, now);
}

weft_err weft_var_set(weft_var *var, int64_t value)
{
    return change(var, CALL_VAR_SET, NULL, value, NULL);
}

weft_err weft_var_get(weft_var *var, int64_t *value)
{
    if (!var)
        return member_no_handle();
    struct peer_call call = {0};
    uint64_t version;
    weft_err err = remote_ask(&var->remote, CALL_VAR_READ, 0, NULL, 0, &call);
    if (!err)
        err = read_answer(&call, &version, value);
    peer_call_fini(&call);
    return err;
}

weft_err weft_var_swap(weft_var *var, int64_t expected, int64_t value, int64_t *now)
{
    if (!var)
        return member_no_handle();
    const uint32_t size = sizeof expected;
    const weft_bytes parts[] = {{(const char *)&size, sizeof size},
                                {(const char *)&expected, sizeof expected},
                                {(const char *)&value, sizeof value}};
    struct peer_call call = {0};
    uint64_t version;
    int64_t is = 0;
    weft_err err = remote_ask(&var->remote, CALL_VAR_SWAP, 0, parts, 3, &call);
    if (!err)
        err = read_answer(&call, &version, &is);
    if (!err && now)
        *now = is;
    if (!err && call.flags & ANSWER_FLAG_MISSED)
        err = err_set(WEFT_FAILED_PRECONDITION, "%s is %lld, not %lld", var->remote.path,
                      (long long)is, (long long)expected);
    peer_call_fini(&call);
    return err;
}

bool weft_watch(weft_var *var, int64_t *value)
{
    if (!var) {
        member_no_handle();
        return false;
    }
    struct peer_call call = {0};
    const weft_bytes part = {(const char *)&var->version, sizeof var->version};
    weft_err err = remote_ask(&var->remote, CALL_VAR_WATCH, 0, &part, 1, &call);
    if (!err)
        err = read_answer(&call, &var->version, value);
    peer_call_fini(&call);
    var->remote.failure = err;
    return !err;
}
