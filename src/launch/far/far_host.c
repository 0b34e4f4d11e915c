// One host: the command that leads there, the copy of the program, the session with the agent, and how all of it ends.
//
//   IDLE -> CONNECTING -> (COPYING ->) GREETING -> READY -> LEAVING -> GONE
//              |  ^                                  |
//              v  | a passing failure                +-> GONE: its members are lost
//            RESTING
//
// A shell on the host may print whatever it likes before it runs our script (.bashrc), so everything before the mark is
// noise. The mark is drawn for each run: no text of a host can have it.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/far/far_state.h"
#include "sys/file/file.h"
#include "sys/process/process.h"
#include "sys/secure/secret.h"
#include "sys/time/clock.h"

enum {
    READ_BYTES = 64 << 10,
    NOISE_BYTES_MAX = 4 << 20,
    ERRORS_BYTES_MAX = 4096,
    TRIES_MAX = 6,
    REST_FIRST_MS = 200,
    REST_JITTER_MS = 400,
    COPY_UNSENT_MAX = 256 << 10,
};

// $1: the hash of the program, $2: its size, $3: the mark. In one line and without single quotes, for every shell of a user.
// Where there is no home to write to, the directory is in /tmp: it must be ours then. Programs of earlier versions go
// when a new one comes. A host that lost its power may have kept the name of a copy and not its content, so its size is looked at.
// Of several copies that come at once the first one stays, because an agent may run from it already.
static const char script[] =
    "umask 077; d=${XDG_CACHE_HOME:-${HOME:-/dev/null}/.cache}/weft/bin; "
    "if ! mkdir -p \"$d\" 2>/dev/null || [ ! -w \"$d\" ]; then "
    "d=${TMPDIR:-/tmp}/weft-$(id -u); mkdir -m 700 \"$d\" 2>/dev/null; "
    "if [ -h \"$d\" ] || [ ! -O \"$d\" ]; then "
    "echo \"weft: there is no directory for the program: HOME cannot be written to, nor $d\" >&2; exit 97; fi; fi; "
    "p=$d/weft-$1; if [ ! -x \"$p\" ] || [ $(wc -c <\"$p\") != \"$2\" ]; then rm -f \"$p\"; t=$p.$$; echo \"$3 want\"; "
    "if head -c \"$2\" >\"$t\" && s=$(sha256sum <\"$t\") && [ \"${s%% *}\" = \"$1\" ] && chmod 700 \"$t\" && "
    "{ ln \"$t\" \"$p\" 2>/dev/null || [ -x \"$p\" ] || mv -f \"$t\" \"$p\"; }; "
    "then rm -f \"$t\"; find \"$d\" -name \"weft-*\" -mtime +30 -exec rm -f {} +; "
    "else rm -f \"$t\"; echo \"weft: the program did not arrive whole in $d\" >&2; exit 97; fi; fi; "
    "echo \"$3 have\"; exec \"$p\" agent";

// ---- The end ---------------------------------------------------------------------------------------------

void far_drop_connection(struct far_host *host)
{
    struct loop_watch **const watches[] = {&host->readable, &host->errors_readable, &host->ended,
                                           &host->writable};
    for (size_t i = 0; i < sizeof watches / sizeof *watches; i++) {
        loop_watch_free(*watches[i]);
        *watches[i] = NULL;
    }
    if (host->guest)
        guest_free(host->guest);
    host->guest = NULL;
    if (host->child.nursery)
        outlet_close(&host->out);
    child_end(&host->child);
    frame_parser_fini(&host->parser);
    host->parser = (struct frame_parser){.payload_bytes_max = FAR_FRAME_BYTES_MAX};
    host->greeting.size = 0;
    host->noise_bytes = 0;
    if (host->fd >= 0)
        file_close(host->fd);
    host->fd = -1;
    host->sending = 0;
}

void far_lose(struct far_host *host, weft_err err, const char *why)
{
    struct far *far = host->far;
    if (host->state == FAR_GONE)
        return;
    const bool is_news = host->state != FAR_LEAVING;
    host->state = FAR_GONE;
    host->why = strdup(why);
    far_drop_connection(host);
    if (is_news)
        far_lose_members(host, err);
    if (far->is_closing)
        loop_stop(far->options.loop);
    else
        far_connect_more(far);
}

void far_renew_host(struct far_host *host)
{
    far_drop_connection(host);
    host->files.count = 0;
    host->tries = 0;
    // Its members still name their old place until they have been moved.
    char *const old[] = {host->address, host->directory, host->interface};
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (old[i] && !VEC_PUSH(&host->far->retired, old[i]))
            err_clear();  // out of memory: it stays with us
    free(host->why);
    host->address = host->directory = host->interface = host->why = NULL;
    host->generation++;
    host->is_charged = false;
    host->state = FAR_IDLE;
}

static void lose_silent(struct far_host *host)
{
    char why[128];
    snprintf(why, sizeof why, "its agent has not been heard for %d s", FAR_SILENCE_MS / 1000);
    far_lose(host, err_set(WEFT_UNAVAILABLE, "%s: %s", host->name, why), why);
}

// A peer that breaks the rules is not spoken to any more.
static void lose_broken(struct far_host *host)
{
    struct err_kept kept;
    err_keep(&kept);
    far_lose(host, err_set(WEFT_DATA_LOSS, "%s: %s", host->name, kept.text), kept.text);
}

// ---- Out -------------------------------------------------------------------------------------------------

static void copy_program(struct far_host *host)
{
    struct far *far = host->far;
    while (host->state == FAR_COPYING && host->sent < far->program_bytes &&
           outlet_unsent(&host->out) < COPY_UNSENT_MAX) {
        size_t got = 0;
        char *room = buf_reserve(&host->out.unsent, READ_BYTES);
        if (!room ||
            file_read_at(far->program_fd, far->program, room, READ_BYTES, host->sent, &got) ||
            got == 0)
            break;
        host->out.unsent.size += got;
        host->sent += got;
    }
}

static void flush_again(void *owner)
{
    far_flush(owner);
}

void far_flush(struct far_host *host)
{
    if (host->guest) {
        far_send_pieces(host);
        loop_stream_flush(guest_stream(host->guest));
        return;
    }
    if (!host->child.nursery || host->child.in < 0)
        return;
    for (;;) {
        const uint64_t sent = host->sent;
        copy_program(host);
        far_send_pieces(host);
        // A command that does not read any more is about to end: that is reported then.
        if (outlet_flush(&host->out, host->name)) {
            err_clear();
            return;
        }
        if (outlet_unsent(&host->out) > 0 || host->sent == sent)
            break;
    }
    const bool waits = outlet_unsent(&host->out) > 0;
    if (waits && !host->writable)
        host->writable =
            loop_watch_new(host->far->options.loop, host->out.ready, flush_again, host);
    if (!waits && host->writable) {
        loop_watch_free(host->writable);
        host->writable = NULL;
    }
}

void far_say(struct far_host *host, Weft__FrameType type, const ProtobufCMessage *message)
{
    if (!far_is_connected(host))
        return;
    if (message_append(far_out(host), type, message))
        lose_broken(host);
    else
        far_flush(host);
}

void far_greet(struct far_host *host)
{
    static const char *const usual[] = {"PATH",    "HOME",  "LANG",  "USER",
                                        "LOGNAME", "SHELL", "TMPDIR"};
    enum { USUAL = sizeof usual / sizeof *usual, KEEP_MAX = USUAL + 16 };
    const struct far *far = host->far;
    Weft__AgentHello hello = WEFT__AGENT_HELLO__INIT;
    const char *keep[KEEP_MAX];
    size_t count = 0;
    for (; count < USUAL; count++)
        keep[count] = usual[count];
    for (size_t i = 0; far->route->keep && far->route->keep[i] && count < KEEP_MAX; i++)
        keep[count++] = far->route->keep[i];
    hello.wire_version = FAR_WIRE_VERSION;
    hello.version = (char *)weft_version();
    hello.member_count = (uint32_t)far->options.count;
    hello.token = far->token;
    hello.keep = (char **)keep;
    hello.n_keep = count;
    hello.silence_ms = FAR_AGENT_SILENCE_MS;
    host->state = FAR_GREETING;
    far_say(host, WEFT__FRAME_TYPE__FRAME_AGENT_HELLO, &hello.base);
}

// ---- In --------------------------------------------------------------------------------------------------

static void welcome(struct far_host *host, const Weft__AgentWelcome *message)
{
    if (far_check_version(host->name, message->wire_version, message->version)) {
        struct err_kept kept;
        err_keep(&kept);
        far_lose(host, WEFT_FAILED_PRECONDITION, kept.text);
        return;
    }
    host->address = strdup(message->address);
    host->directory = strdup(message->directory);
    host->interface = *message->interface ? strdup(message->interface) : NULL;
    if (!host->address || !host->directory || (*message->interface && !host->interface)) {
        (void)err_no_memory("for a host");
        lose_broken(host);
        return;
    }
    host->state = FAR_READY;
    far_connect_more(host->far);
    if (host->state == FAR_READY)
        far_reserve(host);
}

// A frame of an agent. False: not now, or it breaks the rules.
static bool take_frame(struct far_host *host, Weft__FrameType type, const ProtobufCMessage *message)
{
    const bool is_welcome = type == WEFT__FRAME_TYPE__FRAME_AGENT_WELCOME;
    if (type == WEFT__FRAME_TYPE__FRAME_AGENT_FAILED) {
        const Weft__AgentFailed *failed = (const Weft__AgentFailed *)message;
        far_lose(host, far_set_error(failed->code, failed->text), failed->text);
        return true;
    }
    if (is_welcome != (host->state == FAR_GREETING))
        return host->state == FAR_LEAVING;
    if (is_welcome)
        welcome(host, (const Weft__AgentWelcome *)message);
    else if (type != WEFT__FRAME_TYPE__FRAME_AGENT_BEAT)
        return far_take_message(host, type, message);
    return true;
}

void far_take_frames(struct far_host *host, weft_bytes bytes)
{
    weft_err err = frame_parser_feed(&host->parser, bytes.data, bytes.size);
    for (bool has_frame = true; !err && has_frame;) {
        struct frame frame = {0};
        ProtobufCMessage *message = NULL;
        err = frame_parser_next(&host->parser, &frame, &has_frame);
        if (err || !has_frame)
            break;
        err = far_read_frame(&frame, FAR_AGENT, (uint32_t)host->far->options.count, &message);
        if (!err && !take_frame(host, frame.type, message))
            err = err_set(WEFT_DATA_LOSS, "its agent says what it may not say now (frame %d)",
                          (int)frame.type);
        message_free(message);
        if (host->state == FAR_GONE)
            return;
    }
    if (err)
        lose_broken(host);
}

// Looks for the mark, and keeps only what may be its beginning. What follows "MARK have" are frames.
static void take_greeting(struct far_host *host, weft_bytes bytes)
{
    struct buf *text = &host->greeting;
    const size_t mark_size = strlen(host->far->mark);
    buf_append(text, bytes.data, bytes.size);
    host->noise_bytes += bytes.size;
    while (text->size > 0 && host->state != FAR_GREETING) {
        char *mark = memmem(text->data, text->size, host->far->mark, mark_size);
        char *line_end = mark ? memchr(mark, '\n', (size_t)(text->data + text->size - mark)) : NULL;
        if (!line_end) {
            const size_t kept = mark ? text->size - (size_t)(mark - text->data) : mark_size;
            if (text->size > kept) {
                memmove(text->data, text->data + text->size - kept, kept);
                text->size = kept;
            }
            break;
        }
        *line_end = 0;
        const bool has_it = strcmp(mark + mark_size, " have") == 0;
        const size_t used = (size_t)(line_end + 1 - text->data);
        memmove(text->data, text->data + used, text->size - used);
        text->size -= used;
        if (has_it) {
            far_greet(host);
        } else {
            host->state = FAR_COPYING;
            host->sent = 0;
            far_flush(host);
        }
    }
    if (text->has_failed || host->noise_bytes > NOISE_BYTES_MAX) {
        (void)err_set(WEFT_DATA_LOSS,
                      "it prints without an end instead of starting the agent\n"
                      "  try: ssh %s true, which should print nothing",
                      host->name);
        lose_broken(host);
    } else if (host->state == FAR_GREETING && text->size > 0) {
        far_take_frames(host, buf_bytes(text));
        text->size = 0;
    }
}

// One read. False: there is nothing now, or nothing any more.
static bool read_once(struct far_host *host)
{
    static char block[READ_BYTES];  // there is one thread, and nothing stays here
    size_t got = 0;
    bool has_ended = false;
    if (!host->child.nursery)
        return false;
    if (child_read(&host->child, CHILD_OUT, block, sizeof block, &got, &has_ended))
        err_clear();
    if (has_ended) {
        loop_watch_free(host->readable);
        host->readable = NULL;
    }
    if (got == 0)
        return false;
    host->heard_ns = clock_now_ns();
    host->is_suspect = false;
    const weft_bytes bytes = {block, got};
    if (host->state < FAR_GREETING)
        take_greeting(host, bytes);
    else
        far_take_frames(host, bytes);
    return true;
}

static void read_output(void *owner)
{
    read_once(owner);
}

static bool read_errors_once(struct far_host *host)
{
    char block[1024];
    struct buf *errors = &host->errors;
    size_t got = 0;
    bool has_ended = false;
    if (!host->child.nursery ||
        child_read(&host->child, CHILD_ERR, block, sizeof block, &got, &has_ended))
        err_clear();
    if (has_ended) {
        loop_watch_free(host->errors_readable);
        host->errors_readable = NULL;
    }
    buf_append(errors, block, got);
    if (errors->size > ERRORS_BYTES_MAX) {
        memmove(errors->data, errors->data + errors->size - ERRORS_BYTES_MAX, ERRORS_BYTES_MAX);
        errors->size = ERRORS_BYTES_MAX;
    }
    return got > 0;
}

static void read_errors(void *owner)
{
    read_errors_once(owner);
}

// ---- The connection ----------------------------------------------------------------------------------------

static void rest_over(void *owner)
{
    struct far_host *host = owner;
    loop_timer_free(host->rest);
    host->rest = NULL;
    host->state = FAR_IDLE;
    far_connect_more(host->far);
}

// Hosts that refuse many connections at once refuse at random: those that were refused come back at random times.
static void try_again(struct far_host *host, const char *why)
{
    struct far *far = host->far;
    struct buf news = {0};
    uint32_t chance;
    secret_random(&chance, sizeof chance);
    host->state = FAR_RESTING;
    far_drop_connection(host);
    buf_format(&news, "%s (it is tried again)", why);
    if (host->tries > 2)
        far->options.calls->news(far->options.owner, buf_text(&news));
    buf_fini(&news);
    host->rest = loop_timer_new(far->options.loop,
                                (uint64_t)REST_FIRST_MS * host->tries + chance % REST_JITTER_MS, 0,
                                rest_over, host);
}

// The command has ended: its last words are the reason.
static void connection_ended(void *owner)
{
    struct far_host *host = owner;
    const struct far *far = host->far;
    struct process_exit exit;
    bool is_passing = false;
    if (!child_wait(&host->child, 0, &exit))
        return;
    while (read_once(host))
        continue;
    while (read_errors_once(host))
        continue;
    if (host->state == FAR_GONE)
        return;
    const bool was_ready = host->state == FAR_READY;
    const struct far_end end = {&exit, buf_text(&host->errors), host->state >= FAR_COPYING};
    const weft_err err = far->route->explain(far->owner, host->name, &end, &is_passing);
    struct err_kept kept;
    err_keep(&kept);
    if (host->state == FAR_LEAVING)
        far_lose(host, WEFT_OK, "it was asked to end");
    else if (is_passing && !was_ready && host->tries < TRIES_MAX && !far->is_closing)
        try_again(host, kept.text);
    else
        far_lose(host, err, kept.text);
}

static weft_err start_command(struct far_host *host)
{
    struct far *far = host->far;
    struct far_command words = {0};
    const char *const arguments[] = {far->program_hash, far->program_size, far->mark, NULL};
    weft_err err = far->route->make_command(far->owner, host->name, script, arguments, &words);
    if (!err)
        err = far_command_end(&words);
    if (!err) {
        const struct nursery_spec spec = {
            .arguments = (const char *const *)words.list.items,
            .input = NURSERY_INPUT_PIPE,
        };
        err = nursery_start(far->options.nursery, &spec, &host->child);
    }
    if (!err && (err = outlet_open(&host->out, host->child.in)))
        child_end(&host->child);
    far_command_fini(&words);
    return err;
}

static void connect_host(struct far_host *host)
{
    struct loop *loop = host->far->options.loop;
    host->state = FAR_CONNECTING;
    host->tries++;
    host->errors.size = 0;
    host->heard_ns = host->begun_ns = clock_now_ns();
    host->is_suspect = false;
    if (host->far->door)
        return;  // it comes by itself
    const weft_err err = start_command(host);
    if (err) {
        struct err_kept kept;
        err_keep(&kept);
        far_lose(host, err, kept.text);
        return;
    }
    host->readable = loop_watch_new(loop, host->child.out, read_output, host);
    host->errors_readable = loop_watch_new(loop, host->child.err, read_errors, host);
    host->ended = loop_watch_new(loop, host->child.status, connection_ended, host);
}

bool far_is_connecting(const struct far_host *host)
{
    return host->state == FAR_CONNECTING || host->state == FAR_COPYING ||
           host->state == FAR_GREETING;
}

static bool is_wanted(const struct far_host *host)
{
    const struct far *far = host->far;
    for (size_t i = 0; i < far->options.count; i++)
        if (far->members[i].host == host)
            return true;
    return false;
}

void far_connect_more(struct far *far)
{
    size_t connecting = 0;
    for (size_t i = 0; i < far->host_count; i++)
        connecting += far_is_connecting(&far->hosts[i]);
    for (size_t i = 0; i < far->host_count && !far->is_closing; i++)
        if (connecting < far->route->connecting_max && far->hosts[i].state == FAR_IDLE &&
            is_wanted(&far->hosts[i])) {
            connecting++;
            connect_host(&far->hosts[i]);
        }
}

// ---- Heartbeats --------------------------------------------------------------------------------------------

// This process may have been stopped for a while: it looks for what has come in the meantime before it judges.
static void check_silence(struct far_host *host, uint64_t now_ns)
{
    const uint64_t limit_ms = host->state < FAR_READY ? FAR_GREETING_MS : FAR_SILENCE_MS;
    if (host->state == FAR_COPYING && outlet_unsent(&host->out) == 0 &&
        host->sent < host->far->program_bytes)
        far_flush(host);
    if (now_ns - host->heard_ns < limit_ms * 1000000)
        return;
    if (host->is_suspect && host->guest)
        far_note_cut(host);
    else if (host->is_suspect)
        lose_silent(host);
    else
        host->is_suspect = true;
}

void far_tick(void *owner)
{
    struct far *far = owner;
    const uint64_t now_ns = clock_now_ns();
    const bool beats = now_ns - far->beat_ns >= (uint64_t)FAR_BEAT_MS * 1000000;
    if (beats)
        far->beat_ns = now_ns;
    if (beats && far->door)
        far_tick_door(far);
    for (size_t i = 0; i < far->host_count; i++) {
        struct far_host *host = &far->hosts[i];
        if (!far_is_connected(host))
            continue;
        if (beats && (host->state == FAR_GREETING || host->state == FAR_READY))
            far_say(host, WEFT__FRAME_TYPE__FRAME_AGENT_BEAT, NULL);
        check_silence(host, now_ns);
    }
}
