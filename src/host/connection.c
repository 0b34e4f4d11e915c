// One connection of a host: the hello, then calls in and answers out.

#include <stdio.h>
#include <stdlib.h>

#include "host/server_state.h"
#include "sys/file/file.h"
#include "sys/secure/tls.h"
#include "wire/call.h"

enum { ANSWERS_FRAME_BYTES = 1 << 20 };

// ---- Coming and going -------------------------------------------------------------------------------------

static void take_data(void *owner, weft_bytes bytes);
static void take_end(void *owner, weft_err code);
static void take_drained(void *owner);

void host_connection_accept(void *owner, int fd)
{
    static const struct loop_stream_calls calls = {take_data, take_end, take_drained};
    struct host_server *server = owner;
    const bool is_admitted = host_server_admit(server);
    struct host_connection *connection = is_admitted ? calloc(1, sizeof *connection) : NULL;
    struct hello_server *hello = connection ? calloc(1, sizeof *hello) : NULL;
    if (!hello) {
        free(connection);
        file_close(fd);
        return;
    }
    connection->hello = hello;
    const bool needs_tls = !net_is_local_stream(fd);
    struct tls *tls = needs_tls ? tls_new(true, &server->token) : NULL;
    uint8_t nonce[HELLO_NONCE_BYTES];
    secret_random(nonce, sizeof nonce);
    connection->server = server;
    connection->pid = net_peer_pid(fd);
    net_name_peer(fd, connection->peer, sizeof connection->peer);
    connection->since_ms = host_server_now_ms(server);
    connection->parser.payload_bytes_max = HELLO_FRAME_BYTES_MAX;
    hello_server_init(hello, &server->token, nonce, server->options.member);
    connection->stream = loop_stream_new(server->loop, fd, &calls, connection);
    if (!connection->stream || (needs_tls && !tls)) {
        if (connection->stream)
            loop_stream_free(connection->stream);
        tls_free(tls);
        host_server_say_refused(server, connection->peer);  // as without OpenSSL
        free(hello);
        free(connection);
        return;
    }
    if (tls)
        loop_stream_secure(connection->stream, tls);
    list_append(&server->connections, &connection->in_server);
    server->connection_count++;
    server->stranger_count++;
}

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
    const bool is_stranger = !connection->session;
    leave_session(connection);
    if (!connection->stream) {
        host_local_stir(connection);
        return;
    }
    connection->server->connection_count--;
    connection->server->stranger_count -= is_stranger;
    loop_stream_free(connection->stream);
    frame_parser_fini(&connection->parser);
    buf_fini(&connection->held);
    list_take_out(&connection->in_server);
    free(connection->hello);
    free(connection);
}

// ---- The hello -----------------------------------------------------------------------------------------------

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

// Who asks puts our name and address before it.
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

static void refuse(struct host_connection *connection, weft_err code)
{
    char sentence[ERR_TEXT_BYTES_MAX];
    const char *member = connection->hello->hello.member;
    snprintf(sentence, sizeof sentence, "%s", err_text());
    if (code == WEFT_DATA_LOSS)
        host_server_say(connection->server, "refused %s: %s", member[0] ? member : connection->peer,
                        sentence);
    if (hello_server_refuse(connection->hello, code, sentence, loop_stream_out(connection->stream)))
        err_clear();
    connection->is_closing = true;
    loop_stream_flush(connection->stream);
    err_clear();
}

struct hello_welcome host_connection_join(struct host_connection *connection,
                                          struct session *session, const struct hello *hello)
{
    struct host_server *server = connection->server;
    session_acknowledge(session, hello->answers_received);
    session_rewind(session);
    session->connection = connection;
    session->peer_pid = connection->pid;
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

static weft_err check_room(struct host_connection *connection)
{
    struct host_server *server = connection->server;
    if (server->connection_count <= server->connections_max)
        return WEFT_OK;
    struct err_kept kept;
    err_set(WEFT_UNAVAILABLE,
            "it has %u connections, as many as its limit of open files allows (ulimit -n)",
            server->connections_max);
    err_keep(&kept);
    host_server_say_refused(server, connection->peer);
    err_put_back(&kept);
    return WEFT_UNAVAILABLE;
}

static void adopt(struct host_connection *connection)
{
    struct host_server *server = connection->server;
    const struct hello *hello = &connection->hello->hello;
    struct session *session;
    weft_err err = check_room(connection);
    if (!err)
        err = server->is_journal_stuck ? host_server_refuse_stuck(server)
                                       : host_connection_find_session(server, hello, &session);
    if (err) {
        refuse(connection, err);
        return;
    }
    const struct hello_welcome welcome = host_connection_join(connection, session, hello);
    server->stranger_count--;
    connection->parser.payload_bytes_max = 0;
    // The welcome goes with what the journal says of the session: at the end of the turn.
    if (hello_server_welcome(connection->hello, &welcome, loop_stream_out(connection->stream)))
        err_clear();
    free(connection->hello);
    connection->hello = NULL;
    if (!session->in_stirred.next)
        list_append(host_stirred(server->host), &session->in_stirred);
}

static bool take_hello(struct host_connection *connection, const struct frame *frame)
{
    const weft_err err =
        hello_server_take(connection->hello, frame, loop_stream_out(connection->stream));
    if (err) {
        host_server_say_refused(connection->server, connection->peer);
        connection->is_closing = true;
    }
    if (!err && connection->hello->state == HELLO_SERVER_PROVEN)
        adopt(connection);
    else
        loop_stream_flush(connection->stream);
    return !connection->is_closing;
}

// ---- Calls -----------------------------------------------------------------------------------------------------

// Calls are done as long as there is room for what they are answered: answers are kept until the other side
// says that it has them. Calls that find no room wait here. What a frame says of answers is heard at once,
// also of one that waits: it may be that which makes room. An element may be nearly as large as the room is,
// and a frame may have been sent before its sender knew of the last answers: neither is a reason to drop
// anybody. Who says nothing for a while is dropped; that is a way to hear it, as a hello says it, too.

static bool has_room(const struct host_connection *connection)
{
    const struct session *session = connection->session;
    return session->answers.size - session->kept_from <= HOST_ANSWERS_BYTES_MAX &&
           loop_stream_unsent(connection->stream) <= HOST_UNSENT_BYTES_MAX;
}

// Does calls while there is room; what is left stays in *calls.
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

// Calls that wait for room: what comes before their bytes in `held`.
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

// Does what was held, as far as it goes.
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
    host_server_say_refused(connection->server, member[0] ? member : connection->peer);
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

static bool take_frame(struct host_connection *connection, const struct frame *frame)
{
    if (!connection->session)
        return take_hello(connection, frame);
    weft_err err = WEFT_OK;
    if (frame->type == WEFT__FRAME_TYPE__FRAME_CALLS)
        err = take_calls(connection, frame->payload);
    else
        err = err_set(
            WEFT_DATA_LOSS,
            "it sent something other than a call (a frame of type %d): another version, or not weft",
            (int)frame->type);
    if (!err)
        return true;
    say_refused(connection);
    return false;
}

// Dropping is for the end: a connection may not go while its own bytes are being read.
static bool take_all_frames(struct host_connection *connection)
{
    for (;;) {
        struct frame frame = {0};
        bool has_frame = false;
        if (frame_parser_next(&connection->parser, &frame, &has_frame)) {
            host_server_say_refused(connection->server, connection->peer);
            return false;
        }
        if (!has_frame)
            return true;
        if (!take_frame(connection, &frame))
            return false;
    }
}

// Before the proof a client says one short thing at a time, and waits for the answer.
static weft_err check_hello_size(const struct host_connection *connection, size_t more)
{
    const size_t held = connection->parser.pending.size - connection->parser.taken;
    return !connection->session && held + more > FRAME_HEADER_BYTES + HELLO_FRAME_BYTES_MAX
               ? err_set(WEFT_DATA_LOSS, "more than %d bytes before the proof",
                         HELLO_FRAME_BYTES_MAX)
               : WEFT_OK;
}

static void take_data(void *owner, weft_bytes bytes)
{
    struct host_connection *connection = owner;
    if (connection->is_closing)
        return;
    host_set_time(connection->server->host, host_server_now_ms(connection->server));
    weft_err err = check_hello_size(connection, bytes.size);
    if (!err)
        err = frame_parser_feed(&connection->parser, bytes.data, bytes.size);
    if (err) {
        host_server_say_refused(connection->server, connection->peer);
        host_connection_drop(connection);
        return;
    }
    if (!take_all_frames(connection) && !connection->is_closing)
        host_connection_drop(connection);
}

static void take_end(void *owner, weft_err code)
{
    struct host_connection *connection = owner;
    if (code && !connection->session)
        host_server_say_refused(connection->server, connection->peer);
    err_clear();
    host_connection_drop(connection);
}

// ---- Answers ---------------------------------------------------------------------------------------------------

// False: memory was refused.
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
    if (!connection->stream) {
        host_local_stir(connection);
        return true;
    }
    return frame_answers(connection) && loop_stream_push(connection->stream);
}

void host_connection_send(struct host_connection *connection)
{
    if (!connection->stream) {
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

static void take_drained(void *owner)
{
    struct host_connection *connection = owner;
    connection->since_ms = host_server_now_ms(connection->server);
    if (connection->is_paused) {
        connection->is_paused = false;
        loop_stream_pause(connection->stream, false);
    }
}
