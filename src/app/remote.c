// Resources on other members: opened by path, asked by their handle.

#include <stdio.h>
#include <stdlib.h>

#include "app/member.h"
#include "sys/clock.h"

static const uint64_t ns_per_ms = 1000000;

static uint64_t deadline_after(uint32_t timeout_ms)
{
    return timeout_ms ? clock_now_ns() + timeout_ms * ns_per_ms : UINT64_MAX;
}

// Whoever is first sets a variable to 0.
static weft_err create_var(struct remote *remote)
{
    const int64_t zero = 0;
    const struct peer_ask ask = {
        .op = CALL_VAR_CREATE,
        .handle = remote->handle,
        .life = remote->life,
        .parts = {{(const char *)&zero, sizeof zero}},
    };
    struct peer_call call = {0};
    const weft_err err = peer_ask(remote->peer, &ask, &call, deadline_after(remote->timeout_ms));
    peer_call_fini(&call);
    return err;
}

static weft_err open_at_host(struct remote *remote)
{
    struct buf head = {0};
    struct peer_call call = {0};
    call_write_u8(&head, (uint8_t)remote->kind);
    call_write_text(&head, weft_none());
    call_write_text(&head, weft_text(remote->name));
    remote->life = peer_life(remote->peer);
    remote->handle = peer_next_handle(remote->peer);
    const struct peer_ask ask = {
        .op = CALL_OPEN,
        .handle = remote->handle,
        .life = remote->life,
        .parts = {buf_bytes(&head), buf_bytes(&remote->attributes)},
    };
    weft_err err = peer_ask(remote->peer, &ask, &call, deadline_after(remote->timeout_ms));
    struct call_reader reader = {buf_bytes(&call.answer), false};
    remote->uid = err ? 0 : call_read_u64(&reader);
    if (!err && reader.has_failed)
        err = err_set(WEFT_DATA_LOSS, "the answer is cut");
    if (!err && remote->kind == CALL_KIND_VAR)
        err = create_var(remote);
    remote->is_open = !err;
    peer_call_fini(&call);
    buf_fini(&head);
    return err_wrap(err, "cannot open it");
}

weft_err remote_open(weft_cluster *cluster, const char *path, enum call_kind kind,
                     weft_bytes attributes, struct remote *remote)
{
    if (!cluster)
        return member_no_handle();
    struct resource_path parts;
    remote->cluster = cluster;
    remote->kind = kind;
    remote->path = strdup(path);
    buf_append(&remote->attributes, attributes.data, attributes.size);
    weft_err err = remote->path && !remote->attributes.has_failed
                       ? resource_path_parse(remote->path, &parts)
                       : err_set(WEFT_RESOURCE_EXHAUSTED, "no memory for a path");
    if (!err)
        err = member_find_peer(cluster, parts.role, parts.index, &remote->peer);
    if (!err)
        remote->name = parts.name;
    // What is here is made at once: a member that only hosts never uses it itself.
    if (!err && weft_is(cluster, parts.role) && weft_index(cluster) == parts.index)
        err = open_at_host(remote);
    return member_keep_error(cluster, err_wrap(err, "%s", path));
}

void remote_fini(struct remote *remote)
{
    buf_fini(&remote->attributes);
    free(remote->path);
    remote->path = NULL;
}

weft_err remote_start(struct remote *remote, uint8_t op, uint8_t flags, const weft_bytes *parts,
                      size_t part_count, struct peer_call *call)
{
    weft_err err = WEFT_OK;
    mutex_lock(&remote->cluster->opening);
    if (!remote->is_open)
        err = open_at_host(remote);
    mutex_unlock(&remote->cluster->opening);
    struct peer_ask ask = {
        .op = op, .flags = flags, .handle = remote->handle, .life = remote->life};
    for (size_t i = 0; i < part_count; i++)
        ask.parts[i] = parts[i];
    if (!err)
        err = peer_start(remote->peer, &ask, call);
    return remote_keep_error(remote, err_wrap(err, "%s", remote->path));
}

weft_err remote_finish(struct remote *remote, struct peer_call *call, uint32_t timeout_ms)
{
    weft_err err = peer_finish(remote->peer, call, deadline_after(timeout_ms));
    if (err)
        err = err_wrap(err, "%s", remote->path);
    return err;
}

void remote_tell(struct remote *remote, uint8_t op, const weft_bytes *parts, size_t part_count)
{
    struct peer_ask ask = {.op = op, .handle = remote->handle, .life = remote->life};
    for (size_t i = 0; i < part_count; i++)
        ask.parts[i] = parts[i];
    if (peer_tell(remote->peer, &ask))
        err_clear();
}

weft_err remote_keep_error(struct remote *remote, weft_err err)
{
    // The end of a queue and a deadline that the caller has set are what he asked for.
    if (err == WEFT_OUT_OF_RANGE || err == WEFT_DEADLINE_EXCEEDED)
        return err;
    return member_keep_error(remote->cluster, err);
}

weft_err remote_ask(struct remote *remote, uint8_t op, uint8_t flags, const weft_bytes *parts,
                    size_t part_count, struct peer_call *call)
{
    const weft_err err = remote_start(remote, op, flags, parts, part_count, call);
    return err ? err : remote_keep_error(remote, remote_finish(remote, call, remote->timeout_ms));
}
