// One connection of a host, from the moment the door has proven the other side: its session, calls in, answers out.

#include <stdlib.h>

#include "host/server_state.h"
#include "wire/call.h"

enum { ANSWERS_FRAME_BYTES = 1 << 20 };

// ---- Coming and going -------------------------------------------------------------------------------------

static void leave_session(struct host_connection *connection)
{
    struct session *session = connection->session;
    if (session && session->connection == connection) {
        session->connection = NULL;
        session->lost_ms = host_server_now_ms(connection->server);
        session_drop_questions(session);
    }
    connection->session = NULL;
}

void host_connection_drop(struct host_connection *connection)
{
    leave_session(connection);
    if (!connection->guest) {
        host_local_stir(connection);
        return;
    }
    guest_free(connection->guest);
    buf_fini(&connection->held);
    list_take_out(&connection->in_server);
    free(connection);
}

// ---- The session ---------------------------------------------------------------------------------------------

// The same member in an earlier life: it is known to be dead now.
static weft_err end_earlier_lives(struct host_server *server, const struct hello *hello)
{
    weft_err err = WEFT_OK;
    struct session *session;
    while (!err && (session = host_find_other_life(server->host, hello->member,
                                                   hello->incarnation)) != NULL) {
        if (session->connection)
            host_connection_drop(session->connection);
        err = host_end_session(server->host, session);
    }
    return err;
}

static struct host_memory memory_of(const struct hello *hello)
{
    return (struct host_memory){
        .epoch = hello->epoch,
        .life = hello->life,
        .mark = hello->life_mark,
        .session_number = hello->session_number,
        .changes = hello->changes,
        .answers = hello->answers_received,
    };
}

// The client that asked puts this host's name and address before the sentence.
static weft_err refuse_to_resume(const struct host_server *server, const struct hello *hello)
{
    const bool is_member = server->options.member[0] != 0;
    const struct host_memory memory = memory_of(hello);
    const weft_err lost = host_check_stranger(server->host, &memory);
    if (lost)
        return lost;
    if (hello->epoch != host_epoch(server->host))
        return err_set(WEFT_ABORTED,
                       "it was started again without a journal: its content is lost\n"
                       "  try: begin again; with %s it would keep its content",
                       is_member ? "WEFT_JOURNAL" : "weft host --journal DIR");
    return err_set(WEFT_ABORTED, "it took this program for lost: its leases were given to others");
}

weft_err host_connection_find_session(struct host_server *server, const struct hello *hello,
                                      struct session **session)
{
    *session = host_find_session(server->host, hello->session);
    if (*session) {
        const struct host_memory memory = memory_of(hello);
        struct host_connection *old = (*session)->connection;
        if (old)
            host_connection_drop(old);
        return host_check_memory(server->host, *session, &memory);
    }
    if (hello->resumes)
        return refuse_to_resume(server, hello);
    const weft_err err = end_earlier_lives(server, hello);
    if (err)
        return err;
    struct session_name name = {.member = hello->member, .incarnation = hello->incarnation};
    memcpy(name.id, hello->session, SESSION_ID_BYTES);
    return host_open_session(server->host, &name, session);
}

struct hello_welcome host_connection_join(struct host_connection *connection,
                                          struct session *session, const struct hello *hello,
                                          pid_t pid)
{
    struct host_server *server = connection->server;
    session_acknowledge(session, hello->answers_received);
    session_rewind(session);
    session->connection = connection;
    session->peer_pid = pid;
    connection->session = session;
    if (hello->member[0])
        host_server_met(server, hello->member);
    struct hello_welcome welcome = {
        .epoch = host_epoch(server->host),
        .applied = session->applied,
        .session_number = session->number,
    };
    welcome.life = host_life(server->host, &welcome.life_mark);
    return welcome;
}

// ---- At the door ---------------------------------------------------------------------------------------------

static void refuse(struct host_server *server, struct guest *guest, const struct hello *hello,
                   weft_err code)
{
    if (code == WEFT_DATA_LOSS)
        host_server_say(server, "refused %s: %s",
                        hello->member[0] ? hello->member : guest_peer(guest), err_text());
    door_refuse(guest, code);
}

static void on_frame(void *owner, const struct frame *frame);
static void on_end(void *owner);
static void on_drained(void *owner);

static void adopt(struct host_server *server, struct guest *guest, const struct hello *hello,
                  struct session *session)
{
    static const struct guest_calls calls = {
        .frame = on_frame, .ended = on_end, .drained = on_drained};
    struct host_connection *connection = calloc(1, sizeof *connection);
    if (!connection) {
        door_refuse(guest, err_no_memory("for a connection"));
        return;
    }
    connection->server = server;
    connection->guest = guest;
    connection->stream = guest_stream(guest);
    connection->since_ms = host_server_now_ms(server);
    list_append(&server->connections, &connection->in_server);
    const struct hello_welcome welcome =
        host_connection_join(connection, session, hello, guest_pid(guest));
    // The welcome goes with what the journal says of the session: at the end of the turn.
    door_welcome(guest, &welcome, &calls, connection);
    if (!session->in_stirred.next)
        list_append(host_stirred(server->host), &session->in_stirred);
}

static void on_proven(void *owner, struct guest *guest, const struct hello *hello)
{
    struct host_server *server = owner;
    struct session *session;
    host_set_time(server->host, host_server_now_ms(server));
    if (hello->purpose != HELLO_FOR_CALLS) {
        door_refuse(guest,
                    err_set(WEFT_INVALID_ARGUMENT,
                            "it hosts queues and variables, and is not the server of a job"));
        return;
    }
    const weft_err err = server->is_journal_stuck
                             ? host_server_refuse_stuck(server)
                             : host_connection_find_session(server, hello, &session);
    if (err)
        refuse(server, guest, hello, err);
    else
        adopt(server, guest, hello, session);
}

static void on_refused(void *owner, const char *peer)
{
    host_server_say_refused(owner, peer);
}

static uint64_t now_ms(void *owner)
{
    return host_server_now_ms(owner);
}

const struct door_calls host_door_calls = {on_proven, on_refused, now_ms};

// ---- Calls -----------------------------------------------------------------------------------------------------

// Calls are applied as long as there is room for their answers, which are kept until the client acknowledges
// them. Calls that find no room wait here. The acknowledgement in a frame counts at once, also when the
// frame's calls have to wait: it may be the one that makes room. An element may be nearly as large as the room,
// and a frame may have been sent before its sender knew of the last answers: neither is a reason to drop the
// client. A client that acknowledges nothing for a while is dropped: when it connects again, its hello says which
// answers it has.

static bool has_room(const struct host_connection *connection)
{
    const struct session *session = connection->session;
    return session->answers.size - session->kept_from <= HOST_ANSWERS_BYTES_MAX &&
           loop_stream_unsent(connection->stream) <= HOST_UNSENT_BYTES_MAX;
}

// Applies calls while there is room; the remaining ones stay in *calls.
static weft_err do_calls(struct host_connection *connection, uint64_t answered, weft_bytes *calls)
{
    weft_err err = WEFT_OK;
    while (!err && calls->size && has_room(connection)) {
        struct call call;
        err = call_next(calls, &call);
        if (!err)
            err = host_call(connection->server->host, connection->session, &call, answered);
    }
    return err;
}

// Calls that wait for room: the header before their bytes in `held`.
struct held_calls {
    uint64_t answered;
    size_t size;
};

static weft_err hold(struct host_connection *connection, uint64_t answered, weft_bytes calls)
{
    struct buf *held = &connection->held;
    if (held->size + calls.size > HOST_HELD_BYTES_MAX)
        return err_set(WEFT_RESOURCE_EXHAUSTED, "it asks for more than it takes");
    if (!held->size)
        connection->held_ms = host_server_now_ms(connection->server);
    const struct held_calls head = {answered, calls.size};
    buf_append(held, &head, sizeof head);
    buf_append(held, calls.data, calls.size);
    return held->has_failed ? err_no_memory("for the calls of a client") : WEFT_OK;
}

// Applies held calls while there is room.
static weft_err go_on(struct host_connection *connection)
{
    struct buf held = connection->held;
    weft_err err = WEFT_OK;
    bool has_moved = false;
    connection->held = (struct buf){0};
    for (size_t at = 0; !err && at < held.size;) {
        struct held_calls head;
        memcpy(&head, held.data + at, sizeof head);
        weft_bytes calls = {held.data + at + sizeof head, head.size};
        if (!connection->held.size)
            err = do_calls(connection, head.answered, &calls);
        has_moved |= calls.size < head.size;
        if (!err && calls.size)
            err = hold(connection, head.answered, calls);
        at += sizeof head + head.size;
    }
    buf_fini(&held);
    if (has_moved)
        connection->held_ms = host_server_now_ms(connection->server);
    return err;
}

static weft_err take_calls(struct host_connection *connection, weft_bytes payload)
{
    uint64_t answered;
    weft_bytes calls = payload;
    if (!call_take_frame_head(&calls, &answered))
        return err_set(WEFT_DATA_LOSS, "a frame of calls is cut");
    session_acknowledge(connection->session, answered);
    const bool may_go_on = connection->held.size && has_room(connection);
    weft_err err = may_go_on ? go_on(connection) : WEFT_OK;
    if (!err && !connection->held.size)
        err = do_calls(connection, answered, &calls);
    if (!err && calls.size)
        err = hold(connection, answered, calls);
    return err;
}

static void say_refused(struct host_connection *connection)
{
    const char *member = connection->session->member;
    host_server_say_refused(connection->server, member[0] ? member : guest_peer(connection->guest));
}

void host_connection_go_on(struct host_connection *connection, uint64_t now_ms)
{
    if (!connection->held.size)
        return;
    weft_err err = has_room(connection) ? go_on(connection) : WEFT_OK;
    if (!err && connection->held.size && now_ms - connection->held_ms >= HOST_HELD_MS &&
        loop_stream_unsent(connection->stream) == 0)
        err = err_set(
            WEFT_RESOURCE_EXHAUSTED,
            "it sends more calls, and does not confirm the answers: it hangs, or is not weft");
    if (!err)
        return;
    say_refused(connection);
    host_connection_drop(connection);
}

static void on_frame(void *owner, const struct frame *frame)
{
    struct host_connection *connection = owner;
    struct host_server *server = connection->server;
    weft_err err = WEFT_OK;
    host_set_time(server->host, host_server_now_ms(server));
    if (frame->type == WEFT__FRAME_TYPE__FRAME_CALLS)
        err = take_calls(connection, frame->payload);
    else
        err = err_set(
            WEFT_DATA_LOSS,
            "it sent something other than a call (a frame of type %d): another version, or not weft",
            (int)frame->type);
    if (!err)
        return;
    say_refused(connection);
    host_connection_drop(connection);
}

static void on_end(void *owner)
{
    host_connection_drop(owner);
}

// ---- Answers ---------------------------------------------------------------------------------------------------

// False: out of memory.
static bool frame_answers(struct host_connection *connection)
{
    struct session *session = connection->session;
    struct buf *out = loop_stream_out(connection->stream);
    for (;;) {
        const weft_bytes unsent = session_unsent(session);
        if (unsent.size == 0)
            break;
        const size_t size = call_size_of_batch(unsent, ANSWERS_FRAME_BYTES);
        uint8_t head[FRAME_HEADER_BYTES];
        frame_encode_header(head, WEFT__FRAME_TYPE__FRAME_ANSWERS, size);
        buf_append(out, head, sizeof head);
        buf_append(out, unsent.data, size);
        session_sent(session, size);
    }
    return !out->has_failed && !session->answers.has_failed;
}

bool host_connection_push(struct host_connection *connection)
{
    if (!connection->guest) {
        host_local_stir(connection);
        return true;
    }
    return frame_answers(connection) && loop_stream_push(connection->stream);
}

void host_connection_send(struct host_connection *connection)
{
    if (!connection->guest) {
        host_local_stir(connection);
        return;
    }
    if (!frame_answers(connection)) {
        host_connection_drop(connection);
        return;
    }
    loop_stream_flush(connection->stream);
    const bool is_full = loop_stream_unsent(connection->stream) > HOST_UNSENT_BYTES_MAX;
    if (is_full && !connection->is_paused) {
        connection->is_paused = true;
        loop_stream_pause(connection->stream, true);
    }
}

static void on_drained(void *owner)
{
    struct host_connection *connection = owner;
    connection->since_ms = host_server_now_ms(connection->server);
    if (connection->is_paused) {
        connection->is_paused = false;
        loop_stream_pause(connection->stream, false);
    }
}
