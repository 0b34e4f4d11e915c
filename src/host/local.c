// Calls of the process that hosts.

#include "host/local.h"

#include <stdlib.h>

#include "host/server_state.h"
#include "sys/time/clock.h"

struct host_local {
    struct host_connection connection;  // first; has no stream
    struct condition stirred;           // of the server's lock
};

struct host_local *host_local_new(struct host_server *server)
{
    struct host_local *local = calloc(1, sizeof *local);
    if (!local) {
        err_no_memory("for a link to the local host");
        return NULL;
    }
    local->connection.server = server;
    condition_init(&local->stirred);
    return local;
}

void host_local_free(struct host_local *local)
{
    if (!local)
        return;
    condition_fini(&local->stirred);
    free(local);
}

void host_local_stir(struct host_connection *connection)
{
    condition_broadcast(&((struct host_local *)connection)->stirred);
}

static weft_err open_session(void *owner, const struct hello *hello, struct hello_welcome *welcome)
{
    struct host_local *local = owner;
    struct host_server *server = local->connection.server;
    struct session *session;
    mutex_lock(&server->lock);
    host_set_time(server->host, host_server_now_ms(server));
    const weft_err err = server->is_broken ? host_server_refuse_broken(server)
                                           : host_connection_find_session(server, hello, &session);
    if (!err)
        *welcome = host_connection_join(&local->connection, session, hello, 0);
    mutex_unlock(&server->lock);
    return err;
}

static void close_session(void *owner)
{
    struct host_local *local = owner;
    struct host_server *server = local->connection.server;
    mutex_lock(&server->lock);
    host_connection_drop(&local->connection);
    mutex_unlock(&server->lock);
}

// ---- Calls -----------------------------------------------------------------------------------------------

static weft_err do_calls(struct host_local *local, uint64_t answered, weft_bytes calls)
{
    weft_err err = WEFT_OK;
    while (calls.size && !err) {
        struct call call;
        err = call_next(&calls, &call);
        if (!err)
            err = host_call(local->connection.server->host, local->connection.session, &call,
                            answered);
    }
    return err;
}

// Answers of these calls to other clients: we send them where their connections take it, else the loop does.
static void tell_others(struct host_local *local)
{
    struct host_server *server = local->connection.server;
    struct link *stirred = host_stirred(server->host);
    bool is_for_loop = !host_server_is_committed(server);
    for (struct link *at = stirred->next, *next; at != stirred && !is_for_loop; at = next) {
        next = at->next;
        struct session *session = LIST_ITEM(at, struct session, in_stirred);
        struct host_connection *connection = session->connection;
        if (connection == &local->connection || !connection)
            list_take_out(&session->in_stirred);
        else if (host_connection_push(connection))
            list_take_out(&session->in_stirred);
        else
            is_for_loop = true;
    }
    if (is_for_loop)
        loop_wake(server->loop);
}

static void fetch(struct host_local *local, struct buf *answers)
{
    struct session *session = local->connection.session;
    const weft_bytes unsent = session_unsent(session);
    if (unsent.size == 0 || !host_server_is_committed(local->connection.server))
        return;
    if (!buf_reserve(answers, unsent.size)) {
        answers->has_failed = false;  // they stay, and are fetched the next time
        return;
    }
    buf_append(answers, unsent.data, unsent.size);
    session_sent(session, unsent.size);
}

static weft_err refuse_ended(void)
{
    return err_set(WEFT_ABORTED,
                   "this member was taken for lost by itself: another of the same name "
                   "has called it");
}

static weft_err exchange(void *owner, const struct peer_batch *batch, struct buf *answers)
{
    struct host_local *local = owner;
    struct host_server *server = local->connection.server;
    weft_err err = WEFT_OK;
    mutex_lock(&server->lock);
    if (server->is_broken) {
        err = host_server_refuse_broken(server);
    } else if (local->connection.session) {
        host_set_time(server->host, host_server_now_ms(server));
        err = do_calls(local, batch->answered, batch->calls);
        if (!err)
            err = do_calls(local, batch->answered, batch->asks);
        tell_others(local);
        fetch(local, answers);
    } else {
        err = refuse_ended();
    }
    mutex_unlock(&server->lock);
    return err;
}

// ---- Waiting ---------------------------------------------------------------------------------------------

static bool has_something(const struct host_local *local)
{
    const struct session *session = local->connection.session;
    return !session || local->connection.server->is_broken ||
           (session_unsent(session).size > 0 && host_server_is_committed(local->connection.server));
}

static void wait_for_answers(void *owner, const _Atomic(uint64_t) *fetched, uint64_t before,
                             uint64_t deadline_ns)
{
    struct host_local *local = owner;
    struct host_server *server = local->connection.server;
    mutex_lock(&server->lock);
    while (!has_something(local) && *fetched == before && clock_now_ns() < deadline_ns)
        condition_wait_until(&local->stirred, &server->lock, deadline_ns);
    mutex_unlock(&server->lock);
}

static void poke(void *owner)
{
    struct host_local *local = owner;
    struct host_server *server = local->connection.server;
    mutex_lock(&server->lock);
    condition_broadcast(&local->stirred);
    mutex_unlock(&server->lock);
}

const struct peer_port host_local_port = {
    .open = open_session,
    .close = close_session,
    .exchange = exchange,
    .wait = wait_for_answers,
    .poke = poke,
};
