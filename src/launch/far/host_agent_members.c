// The members of an agent: each is the only member of a launcher local: of its own, which holds its ports, starts and
// watches it as it would for a run on this machine. Its reports become frames.
//
// A stream without credit is paused, and so are all while the launcher does not take the frames that wait already.

#include <stdlib.h>
#include <string.h>

#include "launch/far/host_agent_state.h"
#include "launch/local/local.h"

static const Weft__FrameType started_type = WEFT__FRAME_TYPE__FRAME_AGENT_STARTED;

static void watch_streams(struct host_agent_member *member)
{
    for (unsigned i = 0; i < 2 && member->is_running; i++)
        launch_pause(member->launch, 0, i == 0 ? CHILD_OUT : CHILD_ERR,
                     member->agent->is_full || member->credit[i] <= 0);
}

void host_agent_watch_all(struct host_agent *agent)
{
    for (uint32_t i = 0; i < agent->member_count; i++)
        if (agent->members[i])
            watch_streams(agent->members[i]);
}

// ---- Reports ---------------------------------------------------------------------------------------------

static void placed(void *owner)
{
    (void)owner;  // the answer is made by host_agent_reserve
}

static void started(void *owner, size_t number, pid_t pid)
{
    struct host_agent_member *member = owner;
    Weft__AgentStarted message = WEFT__AGENT_STARTED__INIT;
    (void)number;
    member->is_running = true;
    member->credit[0] = member->credit[1] = FAR_WINDOW_BYTES;
    message.member = member->number;
    message.pid = (uint32_t)pid;
    host_agent_say(member->agent, started_type, &message.base);
    watch_streams(member);
}

static void output(void *owner, size_t number, unsigned which, weft_bytes bytes)
{
    struct host_agent_member *member = owner;
    const bool is_error = which == CHILD_ERR;
    (void)number;
    for (size_t at = 0; at < bytes.size; at += FAR_OUTPUT_BYTES_MAX) {
        const size_t left = bytes.size - at;
        const size_t size = left < FAR_OUTPUT_BYTES_MAX ? left : FAR_OUTPUT_BYTES_MAX;
        Weft__AgentOutput message = WEFT__AGENT_OUTPUT__INIT;
        message.member = member->number;
        message.is_error = is_error;
        message.data = message_bytes((weft_bytes){bytes.data + at, size});
        host_agent_say(member->agent, WEFT__FRAME_TYPE__FRAME_AGENT_OUTPUT, &message.base);
    }
    member->credit[is_error] -= (int64_t)bytes.size;
    watch_streams(member);
}

static void ended(void *owner, size_t number, const struct launch_exit *exit)
{
    struct host_agent_member *member = owner;
    Weft__AgentEnded message = WEFT__AGENT_ENDED__INIT;
    (void)number;
    member->is_running = false;
    message.member = member->number;
    message.is_known = exit->process.is_known;
    message.was_signalled = exit->process.is_known && exit->process.was_signalled;
    message.number = exit->process.is_known ? (uint32_t)exit->process.number : 0;
    message.lived_ns = exit->lived_ns;
    host_agent_say(member->agent, WEFT__FRAME_TYPE__FRAME_AGENT_ENDED, &message.base);
}

static const struct launch_calls calls = {
    .placed = placed,
    .started = started,
    .output = output,
    .ended = ended,
};

// ---- Requests --------------------------------------------------------------------------------------------

static void refuse_start(struct host_agent *agent, uint32_t number, weft_err err)
{
    Weft__AgentStarted message = WEFT__AGENT_STARTED__INIT;
    message.member = number;
    message.code = message_code(err);
    message.text = (char *)err_text();
    host_agent_say(agent, started_type, &message.base);
    err_clear();
}

static weft_err make_member(struct host_agent *agent, uint32_t number, uint32_t port_count,
                            struct host_agent_member **made)
{
    struct host_agent_member *member = calloc(1, sizeof *member);
    if (!member)
        return err_no_memory("for a member");
    *member = (struct host_agent_member){
        .agent = agent,
        .number = number,
        .want = {.name = "", .port_count = port_count},
    };
    const struct launch_options options = {
        .loop = agent->loop,
        .nursery = agent->nursery,
        .wants = &member->want,
        .count = 1,
        .calls = &calls,
        .owner = member,
    };
    const weft_err err = launch_open(&launch_local, &member->launch, &options);
    if (err) {
        free(member);
        return err;
    }
    agent->members[number] = *made = member;
    return WEFT_OK;
}

void host_agent_reserve(struct host_agent *agent, const Weft__AgentReserve *request)
{
    struct host_agent_member *member = agent->members[request->member];
    Weft__AgentReserved message = WEFT__AGENT_RESERVED__INIT;
    uint32_t ports[FAR_PORTS_MAX];
    if (member) {
        host_agent_fail(agent, err_set(WEFT_DATA_LOSS, "a member's ports are asked for twice"));
        return;
    }
    weft_err err = make_member(agent, request->member, request->count, &member);
    if (!err)
        err = launch_place_all(member->launch);
    message.member = request->member;
    message.code = err ? message_code(err) : 0;
    message.text = err ? (char *)err_text() : (char *)"";
    if (!err) {
        const struct launch_place place = launch_get_place(member->launch, 0);
        for (uint32_t i = 0; i < request->count; i++)
            ports[i] = place.ports[i];
        message.ports = ports;
        message.n_ports = request->count;
    }
    host_agent_say(agent, WEFT__FRAME_TYPE__FRAME_AGENT_RESERVED, &message.base);
    err_clear();
}

// Relative to the directory of the run, unless it is absolute.
static void append_directory(struct buf *path, const struct host_agent *agent,
                             const char *directory)
{
    if (*directory != '/')
        buf_append_text(path, agent->directory.path);
    if (*directory && *directory != '/')
        buf_append_text(path, "/");
    buf_append_text(path, directory);
}

static weft_err start_member(struct host_agent_member *member, const Weft__AgentStart *request,
                             const char *directory, const struct buf *archive)
{
    size_t extra = 0, at = 0;
    for (size_t i = 0; i < archive->size; i++)
        extra += !archive->data[i];
    const char **words =
        calloc(request->n_arguments + request->n_environment + extra + 2, sizeof *words);
    if (!words)
        return err_no_memory("to start a member");
    const char **variables = words + request->n_arguments + 1;
    for (size_t i = 0; i < request->n_arguments; i++)
        words[i] = request->arguments[i];
    for (size_t i = 0; i < request->n_environment; i++)
        variables[at++] = request->environment[i];
    for (size_t i = 0; i < archive->size; i += strlen(archive->data + i) + 1)
        variables[at++] = archive->data + i;
    const struct launch_start start = {
        .arguments = words,
        .environment = variables,
        .directory = directory,
        .input = NURSERY_INPUT_NONE,
        .script = *request->script ? request->script : NULL,
    };
    const weft_err err = launch_start_member(member->launch, 0, &start);
    free(words);
    return err;
}

void host_agent_start(struct host_agent *agent, const Weft__AgentStart *request)
{
    struct host_agent_member *member = agent->members[request->member];
    struct buf directory = {0};
    if (!member || member->is_running) {
        host_agent_fail(agent, err_set(WEFT_DATA_LOSS, "a member is started that cannot be"));
        return;
    }
    struct buf archive = {0};
    weft_err err = WEFT_OK;
    if (request->archive)
        err = host_agent_append_archive(agent, request->archive - 1, request->environment,
                                        request->n_environment, &archive);
    append_directory(&directory, agent, request->directory);
    if (!err)
        err = start_member(member, request, buf_text(&directory), &archive);
    if (err)
        refuse_start(agent, request->member, err);
    buf_fini(&archive);
    buf_fini(&directory);
}

void host_agent_signal(struct host_agent *agent, const Weft__AgentSignal *request)
{
    struct host_agent_member *member = agent->members[request->member];
    if (member && member->is_running)
        launch_signal(member->launch, 0, (int)request->signal);
}

void host_agent_credit(struct host_agent *agent, const Weft__AgentCredit *request)
{
    struct host_agent_member *member = agent->members[request->member];
    if (!member)
        return;
    member->credit[request->is_error] += request->bytes;
    watch_streams(member);
}

void host_agent_end_members(struct host_agent *agent)
{
    for (uint32_t i = 0; i < agent->member_count; i++) {
        if (!agent->members[i])
            continue;
        agent->members[i]->is_running = false;
        launch_close(agent->members[i]->launch);
        free(agent->members[i]);
    }
    free(agent->members);
    agent->members = NULL;
    agent->member_count = 0;
}
