// A host and the world: members that come and go, work that is due, the end.

#include "host/server.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"
#include "host/server_state.h"
#include "sys/thread/spin.h"

enum { TICK_MS = 100, TICKS_PER_SECOND = 10, SENTENCE_BYTES = 2048 };

uint64_t host_server_now_ms(struct host_server *server)
{
    return lived_now_ms(&server->lived);
}

void host_server_say(struct host_server *server, const char *format, ...)
{
    if (!server->options.say)
        return;
    char sentence[SENTENCE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    server->options.say(server->options.owner, sentence);
}

void host_server_say_refused(struct host_server *server, const char *peer)
{
    char sentence[SENTENCE_BYTES];
    if (refusals_describe(&server->refusals, host_server_now_ms(server), peer, sentence,
                          sizeof sentence))
        host_server_say(server, "%s", sentence);
    err_clear();
}

struct host *host_server_host(struct host_server *server)
{
    return server->host;
}

// ---- The end of a turn --------------------------------------------------------------------------------------

static bool is_used(struct host_server *server)
{
    // A host without resources need not wait for members that may come.
    return host_resource_count(server->host) > 0 && host_has_users(server->host, NULL);
}

static void tell_if_idle(struct host_server *server)
{
    if (!server->is_leaving || server->has_told_idle || is_used(server))
        return;
    server->has_told_idle = true;
    if (server->options.idle)
        server->options.idle(server->options.owner);
}

static void begin_turn(void *owner)
{
    struct host_server *server = owner;
    mutex_lock(&server->lock);
}

static void tell_all(struct host_server *server)
{
    struct link *stirred = host_stirred(server->host);
    while (!list_is_empty(stirred)) {
        struct session *session = LIST_ITEM(stirred->next, struct session, in_stirred);
        list_take_out(&session->in_stirred);
        if (session->connection)
            host_connection_send(session->connection);
    }
    tell_if_idle(server);
}

static void close_connections(struct host_server *server)
{
    while (!list_is_empty(&server->connections))
        host_connection_drop(
            LIST_ITEM(server->connections.next, struct host_connection, in_server));
}

static void close_all(struct host_server *server)
{
    close_connections(server);
    door_free(server->door);
    server->door = NULL;
    if (server->tick)
        loop_timer_free(server->tick);
    server->tick = NULL;
}

// After a disk has failed once, this process does not use it again: it cannot know which of the written bytes
// are on the disk, and the kernel's cache may differ from the disk. A process that opens the journal anew finds out.
static void give_up(struct host_server *server)
{
    const weft_err code = host_server_describe_broken(server->stuck_code);
    server->is_broken = true;
    snprintf(server->broken_text, sizeof server->broken_text, "%s", err_text());
    close_all(server);
    struct session *session = NULL;
    while ((session = host_next_session(server->host, session)) != NULL)
        if (session->connection)
            host_local_stir(session->connection);  // the others were dropped
    if (server->options.broken)
        server->options.broken(server->options.owner, code);
    err_clear();
}

static void end_turn(void *owner)
{
    struct host_server *server = owner;
    if (!server->is_broken && host_server_commit(server))
        tell_all(server);
    else if (!server->is_broken && journal_has_failed(server->journal))
        give_up(server);
    else if (!server->is_broken)
        // Clients would wait without a reason; they connect again, and the refusal has it.
        close_connections(server);
    err_clear();
    mutex_unlock(&server->lock);
}

// ---- The clock ------------------------------------------------------------------------------------------------

static bool is_lost(const struct host_server *server, const struct session *session,
                    uint64_t now_ms)
{
    return session->has_left || now_ms - session->lost_ms >= server->options.session_ttl_ms ||
           net_process_is_gone(session->peer_pid);
}

static weft_err await(struct host_server *server, const char *member, uint64_t until_ms,
                      bool was_here);

// A member that did not say goodbye may be started again: the resources that it uses stay for a while.
static void end_session(struct host_server *server, struct session *session, uint64_t now_ms)
{
    char member[SESSION_MEMBER_BYTES];
    const bool may_come_back = !session->has_left && session->member[0];
    snprintf(member, sizeof member, "%s", session->member);
    // First, or watches would end.
    if (may_come_back && await(server, member, now_ms + server->options.session_ttl_ms, true))
        err_clear();
    if (host_end_session(server->host, session)) {
        err_clear();  // tried again with the next tick
        host_server_met(server, member);
    } else if (may_come_back) {
        host_server_say(server, "%s is lost: its leases go to others", member);
    }
}

static void end_lost_sessions(struct host_server *server, uint64_t now_ms)
{
    struct session *session = host_next_session(server->host, NULL);
    while (session) {
        struct session *next = host_next_session(server->host, session);
        if (!session->connection && is_lost(server, session, now_ms))
            end_session(server, session, now_ms);
        session = next;
    }
}

// Drops clients that do not read their answers.
static void drop_idlers(struct host_server *server, uint64_t now_ms)
{
    for (struct link *at = server->connections.next, *next; at != &server->connections; at = next) {
        next = at->next;
        struct host_connection *connection = LIST_ITEM(at, struct host_connection, in_server);
        const size_t unsent = loop_stream_unsent(connection->stream);
        if (unsent == 0 || unsent != connection->unsent_before)
            connection->since_ms = now_ms;
        connection->unsent_before = unsent;
        if (now_ms - connection->since_ms >= HOST_STALL_MS)
            host_connection_drop(connection);
    }
}

static void go_on_with_held(struct host_server *server, uint64_t now_ms)
{
    for (struct link *at = server->connections.next, *next; at != &server->connections; at = next) {
        next = at->next;
        host_connection_go_on(LIST_ITEM(at, struct host_connection, in_server), now_ms);
    }
}

static void forget_late_ones(struct host_server *server, uint64_t now_ms)
{
    for (size_t i = 0; i < server->awaited.count;)
        if (now_ms >= server->awaited.items[i].until_ms)
            server->awaited.items[i] = server->awaited.items[--server->awaited.count];
        else
            i++;
    host_expect(server->host, server->awaited.count > 0);
}

static void tick(void *owner)
{
    struct host_server *server = owner;
    const uint64_t now_ms = host_server_now_ms(server);
    host_set_time(server->host, now_ms);
    host_expire(server->host);
    if (!server->is_journal_stuck)  // else no member can come back
        end_lost_sessions(server, now_ms);
    go_on_with_held(server, now_ms);
    if (++server->ticks % TICKS_PER_SECOND == 0) {
        drop_idlers(server, now_ms);
        door_tick(server->door);
        server->is_journal_check_due = true;
    }
    if (server->awaited.count)
        forget_late_ones(server, now_ms);
}

// ---- Members ---------------------------------------------------------------------------------------------------

static weft_err await(struct host_server *server, const char *member, uint64_t until_ms,
                      bool was_here)
{
    struct awaited *awaited = VEC_NEXT(&server->awaited);
    if (!awaited)
        return err_no_memory("for the names of members");
    *awaited = (struct awaited){.until_ms = until_ms, .was_here = was_here};
    snprintf(awaited->member, sizeof awaited->member, "%s", member);
    server->awaited.count++;
    host_expect(server->host, true);
    return WEFT_OK;
}

void host_server_met(struct host_server *server, const char *member)
{
    for (size_t i = 0; i < server->awaited.count; i++)
        if (strcmp(server->awaited.items[i].member, member) == 0)
            server->awaited.items[i--] = server->awaited.items[--server->awaited.count];
    host_expect(server->host, server->awaited.count > 0);
}

static bool has_session(struct host_server *server, const char *member)
{
    struct session *session = NULL;
    while ((session = host_next_session(server->host, session)) != NULL)
        if (strcmp(session->member, member) == 0)
            return true;
    return false;
}

static weft_err await_others(struct host_server *server)
{
    const char *const *names = server->options.expected;
    weft_err err = WEFT_OK;
    for (; names && *names && !err; names++)
        if (!host_has_left(server->host, *names) && !has_session(server, *names))
            err = await(server, *names, server->started_ms + server->options.expect_ms, false);
    return err;
}

void host_server_name_users(struct host_server *server, struct buf *out)
{
    const char *comma = "";
    struct session *session = NULL;
    while ((session = host_next_session(server->host, session)) != NULL) {
        if (!session->member[0] || session->has_left)
            continue;
        buf_format(out, "%s%s", comma, session->member);
        comma = ", ";
    }
    if (server->awaited.count)
        buf_append_text(out, comma);
    host_server_name_awaited(server, out);
}

void host_server_name_awaited(struct host_server *server, struct buf *out)
{
    const char *comma = "";
    for (size_t i = 0; i < server->awaited.count; i++) {
        const struct awaited *awaited = &server->awaited.items[i];
        buf_format(out, "%s%s (%s)", comma, awaited->member,
                   awaited->was_here ? "lost, may come back" : "not come yet");
        comma = ", ";
    }
}

bool host_server_waits_alone(struct host_server *server)
{
    const uint64_t applied_before = server->applied_before;
    const struct session *mine = NULL;
    struct session *session = NULL;
    server->applied_before = UINT64_MAX;
    while ((session = host_next_session(server->host, session)) != NULL) {
        const bool is_mine = strcmp(session->member, server->options.member) == 0;
        if (!is_mine && session->member[0] && !session->has_left)
            return false;
        mine = is_mine ? session : mine;
    }
    if (!mine || mine->wait_count == 0)
        return false;
    server->applied_before = mine->applied;
    return mine->applied == applied_before;
}

void host_server_leave(struct host_server *server)
{
    server->is_leaving = true;
    tell_if_idle(server);
}

// ---- Beginning and end -------------------------------------------------------------------------------------------

static weft_err make_host(struct host_server *server)
{
    struct host_options options = {
        .member = server->options.member,
        .ends_watches = server->options.member[0],
        .log = server->options.journal ? host_server_log : NULL,
        .log_owner = server,
        .gathers_calls = true,
    };
    secret_random(&options.epoch, sizeof options.epoch);
    secret_random(&options.seed, sizeof options.seed);
    options.epoch |= 1;  // 0 says "none" in a hello
    server->host = host_new(&options);
    if (!server->host)
        return err_no_memory("for a host");
    host_set_time(server->host, host_server_now_ms(server));
    return server->options.journal ? host_server_open_journal(server) : WEFT_OK;
}

void host_server_restart_clock(struct host_server *server)
{
    const uint64_t now_ms = host_server_now_ms(server);
    struct session *session = NULL;
    while ((session = host_next_session(server->host, session)) != NULL)
        session->lost_ms = now_ms;
}

static weft_err start_listening(struct host_server *server)
{
    const struct door_options options = {
        .loop = server->loop,
        .listener = server->options.listener,
        .token = &server->token,
        .member = server->options.member,
        .calls = &host_door_calls,
        .owner = server,
    };
    server->door = door_new(&options);
    if (!server->door)
        return WEFT_RESOURCE_EXHAUSTED;
    server->tick = loop_timer_new(server->loop, TICK_MS, TICK_MS, tick, server);
    if (!server->tick)
        return WEFT_RESOURCE_EXHAUSTED;
    loop_set_turn(server->loop, (struct loop_turn){begin_turn, end_turn}, server);
    loop_set_spin(server->loop, spin_default_us());
    return WEFT_OK;
}

static void set_defaults(struct host_server_options *options)
{
    if (options->session_ttl_ms == 0)
        options->session_ttl_ms = HOST_SESSION_TTL_MS;
    if (options->expect_ms == 0)
        options->expect_ms = HOST_EXPECT_MS;
    if (options->rewrite_bytes == 0)
        options->rewrite_bytes = HOST_REWRITE_BYTES;
}

weft_err host_server_new(struct host_server **made, struct loop *loop,
                         const struct host_server_options *options)
{
    struct host_server *server = calloc(1, sizeof *server);
    if (!server)
        return err_no_memory("for a host");
    server->options = *options;
    server->loop = loop;
    server->token = *options->token;
    lived_start(&server->lived);
    list_init(&server->connections);
    mutex_init(&server->lock);
    set_defaults(&server->options);
    weft_err err = make_host(server);
    if (!err) {
        server->started_ms = host_server_now_ms(server);
        host_server_restart_clock(server);  // a journal brought sessions
        err = await_others(server);
    }
    if (!err)
        err = start_listening(server);
    if (err)
        host_server_free(server);
    else
        *made = server;
    return err;
}

void host_server_free(struct host_server *server)
{
    if (!server)
        return;
    loop_set_turn(server->loop, (struct loop_turn){0}, NULL);
    close_all(server);
    if (server->journal)
        host_server_close_journal(server);
    if (server->host)
        host_free(server->host);
    VEC_FINI(&server->awaited);
    secret_clear(&server->token);
    mutex_fini(&server->lock);
    free(server);
}
