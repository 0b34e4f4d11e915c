// The stream of an agent: standard input and output, where a command leads to it; or a connection to the launcher, with TLS and a token
// that both sides prove (transport/door.h).
//
// A connection is made once. Until the launcher has welcomed it, it is tried again; when it has ended, the agent ends.

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/far/host_agent_state.h"
#include "sys/file/file.h"
#include "sys/time/clock.h"
#include "wire/hadoop/token_file.h"

enum {
    READ_BYTES = 64 << 10,
    DIAL_MS = 5000,     // one try
    REST_MS = 200,      // until the next one
    TRYING_MS = 30000,  // all of them
    TOKEN_FILE_BYTES_MAX = 1 << 20,
};

static const char launcher[] = "the launcher";

// ---- The token -----------------------------------------------------------------------------------------------

static weft_err read_secret_of(const struct token_file *file, const char *path,
                               struct secret *token)
{
    char text[SECRET_TEXT_BYTES];
    const struct hadoop_secret *secret = token_file_find_secret(file, HOST_AGENT_SECRET);
    if (!secret || secret->value.size >= sizeof text)
        return err_set(WEFT_FAILED_PRECONDITION, "%s has no secret of the name " HOST_AGENT_SECRET,
                       path);
    memcpy(text, secret->value.data, secret->value.size);
    text[secret->value.size] = 0;
    return secret_read(text, token);
}

static weft_err load_token(const char *path, struct secret *token)
{
    struct buf bytes = {0};
    struct token_file file = {0};
    int fd = -1;
    weft_err err = file_open(path, &fd);
    if (!err)
        err = file_read_all(fd, path, TOKEN_FILE_BYTES_MAX, &bytes);
    if (fd >= 0)
        file_close(fd);
    if (!err && bytes.size >= 4 && memcmp(bytes.data, "HDTS", 4) == 0) {
        err = err_wrap(token_file_read(buf_bytes(&bytes), &file), "%s", path);
        if (!err)
            err = read_secret_of(&file, path, token);
        token_file_fini(&file);
    } else if (!err) {
        err = secret_load(path, token);
    }
    buf_fini(&bytes);
    return err;
}

// ---- A connection --------------------------------------------------------------------------------------------

static void dial_again(void *owner);

static void stop_timers(struct host_agent_stream *stream)
{
    loop_timer_free(stream->rest);
    loop_timer_free(stream->limit);
    stream->rest = stream->limit = NULL;
}

static void note_failed_dial(struct host_agent *agent, weft_err err, bool is_final)
{
    struct host_agent_stream *stream = &agent->stream;
    struct err_kept kept;
    char text[NET_ADDRESS_TEXT_BYTES];
    err_keep(&kept);
    stop_timers(stream);
    dial_free(stream->dial);
    stream->dial = NULL;
    if (!is_final && clock_now_ns() - stream->begun_ns < (uint64_t)TRYING_MS * 1000000) {
        err_clear();
        stream->rest = loop_timer_new(agent->loop, REST_MS, 0, dial_again, agent);
        return;
    }
    net_write_address(&stream->address, text);
    host_agent_fail(agent,
                    err_set(err, "the agent cannot reach its launcher at %s: %s", text, kept.text));
}

static void welcomed(void *owner, const struct hello_welcome *welcome)
{
    struct host_agent *agent = owner;
    (void)welcome;
    stop_timers(&agent->stream);
    agent->heard_ns = clock_now_ns();
}

static void data_came(void *owner, weft_bytes bytes)
{
    host_agent_take_bytes(owner, bytes);
}

static void connection_ended(void *owner, weft_err err, bool is_proven)
{
    struct host_agent *agent = owner;
    if (dial_is_welcomed(agent->stream.dial))
        host_agent_leave(agent);
    else
        note_failed_dial(agent, err, is_proven || err == WEFT_UNAUTHENTICATED);
}

static void dial_over(void *owner)
{
    note_failed_dial(
        owner, err_set(WEFT_UNAVAILABLE, "it does not answer within %d s", DIAL_MS / 1000), false);
}

static void dial_again(void *owner)
{
    static const struct dial_calls calls = {
        .welcomed = welcomed, .data = data_came, .ended = connection_ended};
    struct host_agent *agent = owner;
    struct host_agent_stream *stream = &agent->stream;
    struct hello hello = {.purpose = HELLO_FOR_AGENT};
    stop_timers(stream);
    memcpy(hello.member, stream->place, strlen(stream->place) + 1);
    const weft_err err = dial_new(
        &(struct dial_options){
            .loop = agent->loop,
            .route = stream->route,
            .attempt = stream->tries++,
            .token = &stream->token,
            .hello = &hello,
            .calls = &calls,
            .owner = agent,
        },
        &stream->dial);
    if (err) {
        stream->dial = NULL;
        note_failed_dial(agent, err, false);
        return;
    }
    stream->limit = loop_timer_new(agent->loop, DIAL_MS, 0, dial_over, agent);
}

bool host_agent_find_ends(const struct host_agent *agent, char own[INTERFACE_ADDRESS_BYTES],
                          char other[INTERFACE_ADDRESS_BYTES])
{
    const struct host_agent_stream *stream = &agent->stream;
    const size_t size = strlen(stream->address.host);
    if (!stream->route || size >= INTERFACE_ADDRESS_BYTES)
        return false;
    if (interface_find_own(&stream->address, own)) {
        err_clear();
        return false;
    }
    memcpy(other, stream->address.host, size + 1);
    return true;
}

// ---- Standard input and output -------------------------------------------------------------------------------

static void read_input(void *owner)
{
    static char block[READ_BYTES];  // there is one thread, and nothing stays here
    struct host_agent *agent = owner;
    size_t got = 0;
    if (file_read_some(STDIN_FILENO, launcher, block, sizeof block, &got) || got == 0) {
        err_clear();
        host_agent_leave(agent);
        return;
    }
    host_agent_take_bytes(agent, (weft_bytes){block, got});
}

static void flush_again(void *owner)
{
    host_agent_flush(owner);
}

static void flush_output(struct host_agent *agent)
{
    struct host_agent_stream *stream = &agent->stream;
    // A launcher that does not read any more has gone: its side of the other stream ends, too.
    if (outlet_flush(&stream->out, launcher)) {
        err_clear();
        host_agent_leave(agent);
        return;
    }
    const size_t unsent = outlet_unsent(&stream->out);
    if (unsent > 0 && !stream->writable && stream->out.ready >= 0 && agent->loop)
        stream->writable = loop_watch_new(agent->loop, stream->out.ready, flush_again, agent);
    if (unsent == 0 && stream->writable) {
        loop_watch_free(stream->writable);
        stream->writable = NULL;
    }
}

// ---- Either --------------------------------------------------------------------------------------------------

// Without a connection, bytes wait in the outlet, which leads nowhere then.
struct buf *host_agent_out(struct host_agent *agent)
{
    struct host_agent_stream *stream = &agent->stream;
    return stream->dial ? loop_stream_out(dial_stream(stream->dial)) : &stream->out.unsent;
}

size_t host_agent_unsent(const struct host_agent *agent)
{
    const struct host_agent_stream *stream = &agent->stream;
    if (stream->dial)
        return loop_stream_unsent(dial_stream(stream->dial));
    return stream->route ? 0 : outlet_unsent(&stream->out);
}

void host_agent_flush(struct host_agent *agent)
{
    if (agent->stream.dial)
        loop_stream_flush(dial_stream(agent->stream.dial));
    else if (!agent->stream.route)
        flush_output(agent);
}

weft_err host_agent_open_stream(struct host_agent *agent, const struct host_agent_options *options)
{
    struct host_agent_stream *stream = &agent->stream;
    if (!options->join)
        return outlet_open(&stream->out, STDOUT_FILENO);
    stream->place = options->place;
    weft_err err = net_read_address(options->join, 0, &stream->address);
    if (!err)
        err = net_route_open(&stream->address, &stream->route);
    if (!err)
        err = load_token(options->token_file, &stream->token);
    return err_wrap(err, "--join");
}

weft_err host_agent_begin_stream(struct host_agent *agent)
{
    struct host_agent_stream *stream = &agent->stream;
    if (stream->route) {
        stream->begun_ns = clock_now_ns();
        dial_again(agent);
        return WEFT_OK;
    }
    stream->readable = loop_watch_new(agent->loop, STDIN_FILENO, read_input, agent);
    return stream->readable ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
}

void host_agent_close_stream(struct host_agent *agent)
{
    struct host_agent_stream *stream = &agent->stream;
    stop_timers(stream);
    loop_watch_free(stream->readable);
    loop_watch_free(stream->writable);
    dial_free(stream->dial);
    net_route_close(stream->route);
    secret_clear(&stream->token);
    if (!stream->route)
        outlet_close(&stream->out);
    else
        buf_fini(&stream->out.unsent);
    *stream = (struct host_agent_stream){0};
}
