// The life of an agent: frames in, frames out, and an ear for the silence of its launcher.

#include "launch/far/host_agent_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/far/host_agent.h"
#include "sys/file/file.h"
#include "sys/file/place.h"
#include "sys/machine/machine.h"
#include "sys/process/process.h"
#include "sys/time/clock.h"

enum {
    UNSENT_FULL_BYTES = 1 << 20,
    UNSENT_RESUME_BYTES = 256 << 10,
    LAST_WORDS_MS = 2000,  // for unsent frames when the agent ends by itself
};

// ---- Out -------------------------------------------------------------------------------------------------

void host_agent_leave(struct host_agent *agent)
{
    agent->is_ending = true;
    if (agent->loop)
        loop_stop(agent->loop);
}

// A member is not read while much of what others have written waits.
static void note_unsent(struct host_agent *agent)
{
    const size_t unsent = host_agent_unsent(agent);
    const bool was_full = agent->is_full;
    agent->is_full = unsent > (was_full ? UNSENT_RESUME_BYTES : UNSENT_FULL_BYTES);
    if (agent->is_full != was_full)
        host_agent_watch_all(agent);
}

void host_agent_say(struct host_agent *agent, Weft__FrameType type, const ProtobufCMessage *message)
{
    if (message_append(host_agent_out(agent), type, message))
        host_agent_leave(agent);
}

void host_agent_fail(struct host_agent *agent, weft_err err)
{
    Weft__AgentFailed failed = WEFT__AGENT_FAILED__INIT;
    failed.code = message_code(err);
    failed.text = (char *)err_text();
    host_agent_say(agent, WEFT__FRAME_TYPE__FRAME_AGENT_FAILED, &failed.base);
    if (agent->stream.place)
        fprintf(stderr, "weft: %s\n", err_text());
    agent->failure = err;
    err_clear();
    host_agent_leave(agent);
}

static void turn_ended(void *owner)
{
    struct host_agent *agent = owner;
    if (agent->is_ending)
        return;
    if (host_agent_unsent(agent) > 0)
        host_agent_flush(agent);
    note_unsent(agent);
}

// ---- In --------------------------------------------------------------------------------------------------

// For what members keep until they are started again.
static weft_err make_journal(const struct host_agent *agent)
{
    struct buf path = {0};
    buf_format(&path, "%s/" LAUNCH_JOURNAL_NAME, agent->directory.path);
    const weft_err err =
        path.has_failed ? err_no_memory("for a path") : place_make_directory(buf_text(&path));
    buf_fini(&path);
    return err;
}

static void greet(struct host_agent *agent, const Weft__AgentHello *hello)
{
    Weft__AgentWelcome welcome = WEFT__AGENT_WELCOME__INIT;
    char host[MACHINE_NAME_BYTES_MAX];
    char interface[INTERFACE_NAME_BYTES] = "";
    struct buf address = {0};
    weft_err err = far_check_version("the launcher", hello->wire_version, hello->version);
    if (!err)
        err = make_journal(agent);
    if (!err)
        err = host_agent_find_address(agent, &address, interface);
    if (!err)
        err = host_agent_name_launcher(agent);
    if (!err)
        err = host_agent_keep_environment(hello);
    if (!err && *hello->token)
        err = host_agent_write_token(agent, hello->token);
    if (!err && hello->member_count > 0) {
        agent->members = calloc(hello->member_count, sizeof *agent->members);
        err = agent->members ? WEFT_OK : err_no_memory("for the members");
    }
    machine_host_name(host);
    welcome.wire_version = FAR_WIRE_VERSION;
    welcome.version = (char *)weft_version();
    welcome.host = host;
    welcome.address = (char *)buf_text(&address);
    welcome.directory = agent->directory.path;
    welcome.pid = (uint32_t)getpid();
    welcome.interface = interface;
    if (err) {
        host_agent_fail(agent, err);
    } else {
        agent->member_count = hello->member_count;
        agent->is_greeted = true;
        nursery_extend_leash(agent->nursery, FAR_LEASH_MS);
        if (hello->silence_ms)
            agent->silence_ms = hello->silence_ms;
        host_agent_say(agent, WEFT__FRAME_TYPE__FRAME_AGENT_WELCOME, &welcome.base);
    }
    buf_fini(&address);
}

// A hello comes first, and once.
static void obey(struct host_agent *agent, Weft__FrameType type, const ProtobufCMessage *message)
{
    if (agent->is_greeted == (type == WEFT__FRAME_TYPE__FRAME_AGENT_HELLO)) {
        host_agent_fail(agent,
                        err_set(WEFT_DATA_LOSS, "the launcher does not greet first, and once"));
        return;
    }
    switch (type) {
    case WEFT__FRAME_TYPE__FRAME_AGENT_HELLO:
        greet(agent, (const Weft__AgentHello *)message);
        break;
    case WEFT__FRAME_TYPE__FRAME_AGENT_RESERVE:
        host_agent_reserve(agent, (const Weft__AgentReserve *)message);
        break;
    case WEFT__FRAME_TYPE__FRAME_AGENT_FILE:
        host_agent_take_file(agent, (const Weft__AgentFile *)message);
        break;
    case WEFT__FRAME_TYPE__FRAME_AGENT_PIECE:
        host_agent_take_piece(agent, (const Weft__AgentPiece *)message);
        break;
    case WEFT__FRAME_TYPE__FRAME_AGENT_START:
        host_agent_start(agent, (const Weft__AgentStart *)message);
        break;
    case WEFT__FRAME_TYPE__FRAME_AGENT_SIGNAL:
        host_agent_signal(agent, (const Weft__AgentSignal *)message);
        break;
    case WEFT__FRAME_TYPE__FRAME_AGENT_CREDIT:
        host_agent_credit(agent, (const Weft__AgentCredit *)message);
        break;
    case WEFT__FRAME_TYPE__FRAME_AGENT_STOP:
        host_agent_leave(agent);
        break;
    default:  // a heartbeat
        break;
    }
}

void host_agent_take_bytes(struct host_agent *agent, weft_bytes bytes)
{
    agent->heard_ns = clock_now_ns();
    agent->is_suspect = false;
    weft_err err = frame_parser_feed(&agent->parser, bytes.data, bytes.size);
    for (bool has_frame = true; !err && has_frame && !agent->is_ending;) {
        struct frame frame = {0};
        ProtobufCMessage *message = NULL;
        err = frame_parser_next(&agent->parser, &frame, &has_frame);
        if (err || !has_frame)
            break;
        err = far_read_frame(&frame, FAR_LAUNCHER, agent->member_count, &message);
        if (!err)
            obey(agent, frame.type, message);
        message_free(message);
    }
    if (err)
        host_agent_fail(agent, err);
}

// A process that was stopped finds its clock far ahead and bytes that wait: it looks a second time.
static void tick(void *owner)
{
    struct host_agent *agent = owner;
    const uint64_t now_ns = clock_now_ns();
    if (agent->is_greeted && now_ns - agent->beat_ns >= (uint64_t)FAR_BEAT_MS * 1000000) {
        agent->beat_ns = now_ns;
        nursery_extend_leash(agent->nursery, FAR_LEASH_MS);
        host_agent_say(agent, WEFT__FRAME_TYPE__FRAME_AGENT_BEAT, NULL);
    }
    if (now_ns - agent->heard_ns < (uint64_t)agent->silence_ms * 1000000)
        return;
    if (agent->is_suspect)
        host_agent_leave(agent);
    agent->is_suspect = true;
}

// ---- The life --------------------------------------------------------------------------------------------

// In this order: processes are forked before there is anything that they should not hold.
static weft_err set_up(struct host_agent *agent, const struct host_agent_options *options)
{
    const char *given = getenv("TMPDIR"), *tmp = given && *given ? given : "/tmp";
    weft_err err = host_agent_open_stream(agent, options);
    if (!err)
        err = workdir_open(&agent->directory, tmp);
    if (err)
        return err;
    agent->nursery = nursery_new();
    agent->loop = agent->nursery ? loop_new(host_agent_archive_woken, agent) : NULL;
    if (!agent->loop)
        return WEFT_RESOURCE_EXHAUSTED;
    host_agent_tidy(agent, tmp);
    loop_set_turn(agent->loop, (struct loop_turn){.ended = turn_ended}, agent);
    process_allow_descriptors();
    agent->tick = loop_timer_new(agent->loop, FAR_TICK_MS, FAR_TICK_MS, tick, agent);
    return agent->tick ? host_agent_begin_stream(agent) : WEFT_RESOURCE_EXHAUSTED;
}

// The unsent frames may have the reason why the agent ends; its reader may have gone.
static void say_last_words(struct host_agent *agent)
{
    const uint64_t until_ns = clock_now_ns() + (uint64_t)LAST_WORDS_MS * 1000000;
    host_agent_flush(agent);
    while (host_agent_unsent(agent) > 0 && clock_now_ns() < until_ns) {
        clock_sleep_ms(1);
        host_agent_flush(agent);
    }
    err_clear();
}

static void tear_down(struct host_agent *agent)
{
    host_agent_end_members(agent);
    host_agent_drop_intake(agent);
    host_agent_end_archives(agent);
    nursery_free(agent->nursery);
    if (agent->lock >= 0)
        file_close(agent->lock);
    workdir_close(&agent->directory);
    host_agent_close_stream(agent);  // last: the launcher sees that nothing is left
    if (agent->loop)
        loop_free(agent->loop);
    frame_parser_fini(&agent->parser);
}

int host_agent_run(const struct host_agent_options *options)
{
    struct host_agent agent = {
        .silence_ms = FAR_GREETING_MS,
        .heard_ns = clock_now_ns(),
        .intake = {.fd = -1},
        .lock = -1,
        .directory = {.alive = -1},
        .parser = {.payload_bytes_max = FAR_FRAME_BYTES_MAX},
    };
    const weft_err err = set_up(&agent, options);
    // The processes that it has forked have another name, so that they outlive it to end its members and remove its files.
    process_set_name("weft-agent");
    if (err)
        host_agent_fail(&agent, err);
    else
        loop_run(agent.loop);
    say_last_words(&agent);
    tear_down(&agent);
    return agent.failure ? err_exit_code(agent.failure) : 0;
}
