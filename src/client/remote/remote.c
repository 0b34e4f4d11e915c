// Resources on other members: opened by path, asked by their handle.

#include <stdio.h>
#include <stdlib.h>

#include "client/keeper.h"
#include "client/member.h"
#include "sys/time/clock.h"
#include "wire/ops/host.h"
#include "wire/ops/var.h"

static const uint64_t ns_per_ms = 1000000;

static uint64_t deadline_after(uint32_t timeout_ms)
{
    return timeout_ms ? clock_now_ns() + timeout_ms * ns_per_ms : UINT64_MAX;
}

uint64_t remote_deadline_ns(const struct remote *remote)
{
    return deadline_after(remote->timeout_ms);
}

// The first to open it gives a variable its value.
static weft_err create_var(struct remote *remote, uint64_t deadline_ns)
{
    const int64_t zero = 0;
    const weft_bytes none = {(const char *)&zero, sizeof zero};
    struct ops_call op;
    ops_var_change_make(&op, &(struct ops_var_change){
                                 .op = CALL_VAR_CREATE,
                                 .value = remote->has_initial ? buf_bytes(&remote->initial) : none,
                             });
    struct peer_ask ask;
    peer_ask_init(&ask, &op, remote->handle, remote->life);
    struct peer_call call = {0};
    const weft_err err = peer_ask(remote->peer, &ask, &call, deadline_ns);
    peer_call_fini(&call);
    if (!err)
        buf_fini(&remote->initial);
    return err;
}

// The host's description of a resource: its permanent name, the host's epoch, and the attributes.
static weft_err read_description(struct remote *remote, weft_bytes answer)
{
    struct ops_opened opened;
    if (!ops_opened_decode(answer, &opened))
        return err_set(WEFT_DATA_LOSS, "the answer is cut");
    remote->uid = opened.uid;
    remote->found.size = 0;
    buf_append(&remote->found, opened.attributes.data, opened.attributes.size);
    return WEFT_OK;
}

static weft_err open_at_host(struct remote *remote, uint64_t deadline_ns)
{
    struct buf payload = {0};
    struct peer_call call = {0};
    weft_err err = peer_new_handle(remote->peer, &remote->handle, &remote->life);
    if (err)
        return err_wrap(err, "cannot open it");
    ops_open_encode(&payload,
                    &(struct ops_open){(uint8_t)remote->kind, weft_text(remote->container),
                                       weft_text(remote->name), buf_bytes(&remote->attributes)});
    struct ops_call op;
    ops_call_init(&op, CALL_OPEN, 0);
    op.first = buf_bytes(&payload);
    struct peer_ask ask;
    peer_ask_init(&ask, &op, remote->handle, remote->life);
    err = peer_ask(remote->peer, &ask, &call, deadline_ns);
    if (!err)
        err = read_description(remote, buf_bytes(&call.answer));
    if (!err && remote->kind == CALL_KIND_VAR && !remote->is_bare)
        err = create_var(remote, deadline_ns);
    remote->is_open = !err;
    if (err)  // it may be open all the same
        peer_release_handle(remote->peer, remote->handle, remote->life);
    peer_call_fini(&call);
    buf_fini(&payload);
    return err_wrap(err, "cannot open it");
}

// A second thread waits for the first, and not for threads that open something else.
static weft_err ensure_open(struct remote *remote, uint64_t deadline_ns)
{
    if (remote->is_open)
        return WEFT_OK;
    mutex_lock(&remote->opening);
    const weft_err err = remote->is_open ? WEFT_OK : open_at_host(remote, deadline_ns);
    mutex_unlock(&remote->opening);
    return err;
}

static weft_err add_to_cluster(struct remote *remote)
{
    weft_cluster *cluster = remote->cluster;
    mutex_lock(&cluster->lock);
    const bool is_added = VEC_PUSH(&cluster->remotes, remote);
    mutex_unlock(&cluster->lock);
    return is_added ? WEFT_OK : err_no_memory("for a handle");
}

static void take_out_of_cluster(const struct remote *remote)
{
    weft_cluster *cluster = remote->cluster;
    mutex_lock(&cluster->lock);
    for (size_t i = 0; i < cluster->remotes.count; i++)
        if (cluster->remotes.items[i] == remote)
            cluster->remotes.items[i] = cluster->remotes.items[--cluster->remotes.count];
    mutex_unlock(&cluster->lock);
}

void remote_free_all(weft_cluster *cluster)
{
    while (cluster->remotes.count) {
        struct remote *remote = cluster->remotes.items[cluster->remotes.count - 1];
        switch (remote->kind) {
        case CALL_KIND_QUEUE:
            weft_queue_free((weft_queue *)remote);
            break;
        case CALL_KIND_VAR:
            weft_var_free((weft_var *)remote);
            break;
        case CALL_KIND_KV:
            weft_kv_free((weft_kv *)remote);
            break;
        case CALL_KIND_BARRIER:
            weft_barrier_free((weft_barrier *)remote);
            break;
        }
    }
}

// By the address that a tool or program was given: a name there ("jobs", "/jobs"), or a path whose role is
// the container.
static weft_err find_at_address(struct remote *remote)
{
    weft_cluster *cluster = remote->cluster;
    struct resource_path parts;
    weft_err err = WEFT_OK;
    const bool is_path = remote->path[0] == '/' && strchr(remote->path + 1, '/');
    remote->name = remote->path + (remote->path[0] == '/' && !is_path);
    if (is_path) {
        err = resource_path_parse(remote->path, &parts);
        if (!err) {
            remote->name = parts.name;
            snprintf(remote->container, sizeof remote->container, "%s", parts.role);
        }
    } else {
        err = resource_name_check(remote->name);
    }
    const struct cluster_member member = {.port = cluster->at.port, .host = cluster->at.host};
    return err ? err : member_find_peer_at(cluster, "", &member, &remote->peer);
}

static weft_err find_at_member(struct remote *remote)
{
    struct resource_path parts;
    const weft_err err = resource_path_parse(remote->path, &parts);
    if (err)
        return err;
    remote->name = parts.name;
    weft_err found = member_find_peer(remote->cluster, parts.role, parts.index, &remote->peer);
    // A resource of our own host is made at once: a member that only hosts never uses it itself.
    if (!found && remote->cluster->me[0] && weft_member_is(remote->cluster, parts.role) &&
        weft_member_index(remote->cluster) == parts.index)
        found = ensure_open(remote, deadline_after(remote->timeout_ms));
    return found;
}

weft_err remote_open(weft_cluster *cluster, const char *path, enum call_kind kind,
                     weft_bytes attributes, struct remote *remote)
{
    if (!cluster)
        return member_no_handle();
    if (!path)
        return no_handle_keep(
            member_keep_error(cluster, err_set(WEFT_INVALID_ARGUMENT, "the path is NULL")));
    remote->cluster = cluster;
    mutex_init(&remote->opening);
    remote->kind = kind;
    remote->path = strdup(path);
    buf_append(&remote->attributes, attributes.data, attributes.size);
    weft_err err = WEFT_OK;
    if (!remote->path || remote->attributes.has_failed)
        err = err_no_memory("for a path");
    else
        err = cluster->has_at ? find_at_address(remote) : find_at_member(remote);
    if (!err)
        err = add_to_cluster(remote);
    // Whatever the program then does: its leases at a host stay its own.
    if (!err && cluster->is_looked_after)
        keeper_arm(cluster);
    err = member_keep_error(cluster, *path ? err_wrap(err, "%s", path) : err);
    return err ? no_handle_keep(err) : WEFT_OK;
}

void remote_fini(struct remote *remote)
{
    if (remote->cluster) {
        take_out_of_cluster(remote);
        if (remote->is_open)
            peer_release_handle(remote->peer, remote->handle, remote->life);
        mutex_fini(&remote->opening);
    }
    buf_fini(&remote->attributes);
    buf_fini(&remote->initial);
    buf_fini(&remote->found);
    free(remote->path);
    remote->path = NULL;
}

static weft_err start(struct remote *remote, uint64_t deadline_ns, const struct ops_call *op,
                      bool is_awaited, struct peer_call *call)
{
    weft_err err = ensure_open(remote, deadline_ns);
    struct peer_ask ask;
    peer_ask_init(&ask, op, remote->handle, remote->life);
    ask.is_awaited = is_awaited;
    if (!err)
        err = peer_start(remote->peer, &ask, call);
    return err_wrap(err, "%s", remote->path);
}

weft_err remote_make(struct remote *remote)
{
    const weft_err err = ensure_open(remote, deadline_after(remote->timeout_ms));
    return err_wrap(err, "%s", remote->path);
}

weft_err remote_start(struct remote *remote, const struct ops_call *op, struct peer_call *call)
{
    return remote_keep_error(remote,
                             start(remote, deadline_after(remote->timeout_ms), op, false, call));
}

weft_err remote_finish(struct remote *remote, struct peer_call *call, uint32_t timeout_ms)
{
    weft_err err = peer_finish(remote->peer, call, deadline_after(timeout_ms));
    if (err)
        err = err_wrap(err, "%s", remote->path);
    return err;
}

void remote_tell(struct remote *remote, const struct ops_call *op)
{
    struct peer_ask ask;
    peer_ask_init(&ask, op, remote->handle, remote->life);
    if (peer_tell(remote->peer, &ask))
        err_clear();
}

weft_err remote_keep_error(struct remote *remote, weft_err err)
{
    // The end of a queue and a deadline that the caller has set are expected results.
    if (err == WEFT_OUT_OF_RANGE || err == WEFT_DEADLINE_EXCEEDED)
        return err;
    return member_keep_error(remote->cluster, err);
}

weft_err remote_ask_within(struct remote *remote, uint32_t timeout_ms, const struct ops_call *op,
                           struct peer_call *call)
{
    const uint64_t deadline_ns = deadline_after(timeout_ms);
    const weft_err err = start(remote, deadline_ns, op, true, call);
    return err ? err : err_wrap(peer_finish(remote->peer, call, deadline_ns), "%s", remote->path);
}

weft_err remote_ask(struct remote *remote, const struct ops_call *op, struct peer_call *call)
{
    return remote_keep_error(remote, remote_ask_within(remote, remote->timeout_ms, op, call));
}

weft_err remote_remove(struct remote *remote)
{
    struct ops_call op;
    struct peer_call call = {0};
    ops_remove_make(&op);
    const weft_err err = remote_ask(remote, &op, &call);
    peer_call_fini(&call);
    return err;
}
