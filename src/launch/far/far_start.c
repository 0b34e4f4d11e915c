// The files that a member needs to start, and its output: files are sent to its host first, each once; its output comes as far as
// there is credit for it.

#include <stdlib.h>
#include <string.h>

#include "launch/far/far_state.h"
#include "sys/file/file.h"
#include "sys/time/clock.h"

enum { UNSENT_MAX = 256 << 10 };

// ---- Files -------------------------------------------------------------------------------------------------

static weft_err read_file(const char *path, struct far_file *file)
{
    struct file_stat stat;
    int fd = -1;
    weft_err err = file_stat(path, &stat);
    if (!err && stat.kind == FILE_MISSING)
        err = err_set(WEFT_NOT_FOUND, "%s, which is to be sent to the hosts, does not exist", path);
    else if (!err && stat.kind != FILE_REGULAR)
        err = err_set(WEFT_INVALID_ARGUMENT, "%s is not a plain file, and cannot be sent to hosts",
                      path);
    if (!err)
        err = file_open(path, &fd);
    if (!err)
        err = far_hash_file(fd, path, file->hash, &file->size);
    if (fd >= 0)
        file_close(fd);
    file->is_executable = stat.is_executable;
    return err;
}

// The number of the file, which is new to the run when it is asked for the first time.
static weft_err find_file(struct far *far, const struct launch_file *wanted, size_t *number)
{
    struct far_file file = {0};
    for (size_t i = 0; i < far->files.count; i++)
        if (strcmp(far->files.items[i].target, wanted->target) == 0) {
            *number = i;
            return WEFT_OK;
        }
    if (!far_is_target(wanted->target))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "a file cannot be %s on a host: it has to be below the directory of the run",
                       wanted->target);
    if (far->files.count >= FAR_FILES_MAX)
        return err_set(WEFT_RESOURCE_EXHAUSTED, "more than %d files cannot be sent", FAR_FILES_MAX);
    weft_err err = WEFT_OK;
    if (wanted->is_archive) {  // it may be large, and hosts do not wait for long
        file = (struct far_file){.size = wanted->size, .is_archive = true};
        memcpy(file.hash, wanted->hash, sizeof file.hash);
    } else {
        err = read_file(wanted->path, &file);
    }
    if (err)
        return err;
    file.path = strdup(wanted->path);
    file.target = strdup(wanted->target);
    *number = far->files.count;
    if (file.path && file.target && VEC_PUSH(&far->files, file))
        return WEFT_OK;
    free(file.path);
    free(file.target);
    return err_no_memory("for a file");
}

static weft_err note_files(struct far_host *host)
{
    while (host->files.count < host->far->files.count)
        if (!VEC_PUSH(&host->files, FAR_UNSENT))
            return err_no_memory("for a file");
    return WEFT_OK;
}

// The agent takes one file at a time.
static void offer_next_file(struct far_host *host)
{
    const struct far *far = host->far;
    if (host->sending || host->state != FAR_READY)
        return;
    for (size_t i = 0; i < host->files.count; i++) {
        const struct far_file *file = &far->files.items[i];
        Weft__AgentFile message = WEFT__AGENT_FILE__INIT;
        if (host->files.items[i] != FAR_UNSENT)
            continue;
        host->files.items[i] = FAR_SENT;
        host->sending = i + 1;
        host->sent = 0;
        message.number = (uint32_t)i;
        message.hash = message_bytes((weft_bytes){(const char *)file->hash, sizeof file->hash});
        message.size = file->size;
        message.target = file->target;
        message.is_executable = file->is_executable;
        message.is_archive = file->is_archive;
        far_say(host, WEFT__FRAME_TYPE__FRAME_AGENT_FILE, &message.base);
        return;
    }
}

void far_send_pieces(struct far_host *host)
{
    static char block[FAR_PIECE_BYTES_MAX];  // there is one thread, and nothing stays here
    while (host->sending && host->fd >= 0 && far_unsent(host) < UNSENT_MAX) {
        const struct far_file *file = &host->far->files.items[host->sending - 1];
        Weft__AgentPiece piece = WEFT__AGENT_PIECE__INIT;
        const uint64_t left = file->size - host->sent;
        size_t got = 0;
        if (left > 0 &&
            file_read_at(host->fd, file->path, block,
                         left < sizeof block ? (size_t)left : sizeof block, host->sent, &got))
            err_clear();
        // A file that has become shorter ends with bytes that do not give its hash.
        if (left > 0 && got == 0)
            block[got++] = 0;
        if (got > 0) {
            piece.number = (uint32_t)(host->sending - 1);
            piece.data = message_bytes((weft_bytes){block, got});
            if (message_append(far_out(host), WEFT__FRAME_TYPE__FRAME_AGENT_PIECE, &piece.base))
                err_clear();
        }
        host->sent += got;
        if (host->sent >= file->size) {
            file_close(host->fd);
            host->fd = -1;
        }
    }
}

// ---- Starts ------------------------------------------------------------------------------------------------

static void send_start(struct far_host *host, struct far_member *member)
{
    for (size_t i = 0; i < member->files.count; i++)
        if (host->files.items[member->files.items[i]] != FAR_THERE)
            return;
    buf_append(far_out(host), member->start.data, member->start.size);
    member->start.size = 0;
    far_flush(host);
}

static void refuse_starts(struct far_host *host, size_t file, weft_err err)
{
    const struct far *far = host->far;
    struct err_kept kept;
    err_keep(&kept);
    for (size_t i = 0; i < far->options.count; i++) {
        struct far_member *member = &far->members[i];
        bool needs = false;
        for (size_t k = 0; k < member->files.count; k++)
            needs |= member->files.items[k] == file;
        if (member->host != host || member->state != FAR_STARTING || !needs)
            continue;
        member->state = FAR_PLACED;
        member->start.size = 0;
        far->options.calls->not_started(far->options.owner, i,
                                        err_set(err, "%s: %s", host->name, kept.text));
    }
}

static bool take_file_state(struct far_host *host, const Weft__AgentFileState *state)
{
    const struct far *far = host->far;
    if (state->number + 1 != host->sending || state->number >= host->files.count)
        return false;
    if (!state->is_there && !state->code) {
        const char *path = far->files.items[state->number].path;
        if (host->fd >= 0)
            return false;
        const weft_err err = file_open(path, &host->fd);
        if (err) {
            host->files.items[state->number] = FAR_REFUSED;
            refuse_starts(host, state->number, err);
            return true;
        }
        far_flush(host);
        return true;
    }
    if (host->fd >= 0)
        file_close(host->fd);
    host->fd = -1;
    host->sending = 0;
    host->files.items[state->number] = state->is_there ? FAR_THERE : FAR_REFUSED;
    if (state->code)
        refuse_starts(host, state->number, far_set_error(state->code, state->text));
    for (size_t i = 0; state->is_there && i < far->options.count; i++) {
        struct far_member *member = &far->members[i];
        if (member->host == host && member->state == FAR_STARTING && member->start.size > 0)
            send_start(host, member);
    }
    offer_next_file(host);
    return true;
}

// 1 + the number of the archive among the files of a member; 0: it has none.
static uint32_t find_archive(const struct far *far, const struct far_member *member)
{
    for (size_t i = 0; i < member->files.count; i++)
        if (far->files.items[member->files.items[i]].is_archive)
            return (uint32_t)member->files.items[i] + 1;
    return 0;
}

static weft_err append_start(struct buf *frame, size_t number, const struct launch_start *start,
                             uint32_t archive)
{
    Weft__AgentStart message = WEFT__AGENT_START__INIT;
    message.member = (uint32_t)number;
    message.arguments = (char **)start->arguments;
    while (start->arguments[message.n_arguments])
        message.n_arguments++;
    message.environment = (char **)start->environment;
    while (start->environment[message.n_environment])
        message.n_environment++;
    message.directory = start->directory ? (char *)start->directory : (char *)"";
    message.archive = archive;
    message.script = start->script ? (char *)start->script : (char *)"";
    const weft_err err = message_append(frame, WEFT__FRAME_TYPE__FRAME_AGENT_START, &message.base);
    if (!err && frame->size > FAR_FRAME_BYTES_MAX)
        return err_set(WEFT_RESOURCE_EXHAUSTED, "the arguments and the environment are too large");
    return err;
}

weft_err far_start(struct launch *launch, size_t number, const struct launch_start *start)
{
    struct far *far = (struct far *)launch;
    struct far_member *member = &far->members[number];
    struct far_host *host = member->host;
    weft_err err = WEFT_OK;
    if (!host || host->state != FAR_READY)
        return err_set(WEFT_UNAVAILABLE, "its host %s is lost", host ? host->name : "");
    member->files.count = 0;
    member->start.size = 0;
    for (size_t i = 0; !err && i < start->file_count; i++) {
        size_t file = 0;
        err = find_file(far, &start->files[i], &file);
        if (!err && !VEC_PUSH(&member->files, file))
            err = err_no_memory("for a file");
    }
    if (!err)
        err = note_files(host);
    if (!err)
        err = append_start(&member->start, number, start, find_archive(far, member));
    for (size_t i = 0; !err && i < member->files.count; i++)
        if (host->files.items[member->files.items[i]] == FAR_REFUSED)
            err = err_set(WEFT_DATA_LOSS, "%s could not be sent to %s",
                          far->files.items[member->files.items[i]].path, host->name);
    if (err)
        return err;
    member->state = FAR_STARTING;
    offer_next_file(host);
    send_start(host, member);
    return WEFT_OK;
}

void far_signal(struct launch *launch, size_t number, int signal)
{
    struct far *far = (struct far *)launch;
    struct far_member *member = &far->members[number];
    Weft__AgentSignal message = WEFT__AGENT_SIGNAL__INIT;
    if (!member->host || member->state < FAR_STARTING)
        return;
    // It waits for its files, and is not started any more.
    if (member->start.size > 0) {
        const struct launch_exit end = {.process = {true, true, signal}};
        member->start.size = 0;
        member->state = FAR_PLACED;
        far->options.calls->ended(far->options.owner, number, &end);
        return;
    }
    message.member = (uint32_t)number;
    message.signal = (uint32_t)signal;
    far_say(member->host, WEFT__FRAME_TYPE__FRAME_AGENT_SIGNAL, &message.base);
}

// ---- Reports -----------------------------------------------------------------------------------------------

// A window is granted again once half of it was taken, so that credits are few.
static void grant(struct far_member *member, uint32_t number, bool is_error)
{
    Weft__AgentCredit message = WEFT__AGENT_CREDIT__INIT;
    if (member->is_paused[is_error] || member->owed[is_error] < FAR_WINDOW_BYTES / 2 ||
        member->state != FAR_RUNNING)
        return;
    message.member = number;
    message.is_error = is_error;
    message.bytes = member->owed[is_error];
    member->credit[is_error] += member->owed[is_error];
    member->owed[is_error] = 0;
    far_say(member->host, WEFT__FRAME_TYPE__FRAME_AGENT_CREDIT, &message.base);
}

void far_pause(struct launch *launch, size_t number, unsigned which, bool is_paused)
{
    struct far *far = (struct far *)launch;
    struct far_member *member = &far->members[number];
    const bool is_error = which == CHILD_ERR;
    member->is_paused[is_error] = is_paused;
    grant(member, (uint32_t)number, is_error);
}

static bool take_output(struct far_host *host, const Weft__AgentOutput *message)
{
    const struct far *far = host->far;
    struct far_member *member = &far->members[message->member];
    const bool is_error = message->is_error;
    if (member->state != FAR_RUNNING)
        return false;
    member->credit[is_error] -= (int64_t)message->data.len;
    if (member->credit[is_error] < -(int64_t)FAR_EXCESS_BYTES_MAX)
        return false;
    member->owed[is_error] += (uint32_t)message->data.len;
    far->options.calls->output(far->options.owner, message->member,
                               is_error ? CHILD_ERR : CHILD_OUT, message_field(message->data));
    grant(member, message->member, is_error);
    return true;
}

static bool take_started(struct far_host *host, const Weft__AgentStarted *message)
{
    const struct far *far = host->far;
    struct far_member *member = &far->members[message->member];
    if (member->state != FAR_STARTING || member->start.size > 0)
        return false;
    if (message->code) {
        member->state = FAR_PLACED;
        const weft_err err = far_set_error(message->code, message->text);
        far->options.calls->not_started(far->options.owner, message->member,
                                        err_set(err, "%s: %s", host->name, message->text));
        return true;
    }
    member->state = FAR_RUNNING;
    member->started_ns = clock_now_ns();
    for (int i = 0; i < 2; i++) {
        member->credit[i] = FAR_WINDOW_BYTES;
        member->owed[i] = 0;
        member->is_paused[i] = false;
    }
    far->options.calls->started(far->options.owner, message->member, (pid_t)message->pid);
    return true;
}

static bool take_ended(struct far_host *host, const Weft__AgentEnded *message)
{
    const struct far *far = host->far;
    struct far_member *member = &far->members[message->member];
    const struct launch_exit end = {
        .process = {message->is_known, message->was_signalled, (int)message->number},
        .lived_ns = message->lived_ns,
    };
    if (member->state != FAR_RUNNING)
        return false;
    member->state = FAR_PLACED;
    far->options.calls->ended(far->options.owner, message->member, &end);
    return true;
}

bool far_take_message(struct far_host *host, Weft__FrameType type, const ProtobufCMessage *message)
{
    const struct far *far = host->far;
    // All but FILE_STATE begin with the number of a member, which must be one of this host's.
    const uint32_t number = ((const Weft__AgentEnded *)message)->member;
    const bool is_file = type == WEFT__FRAME_TYPE__FRAME_AGENT_FILE_STATE;
    if (!is_file && far->members[number].host != host)
        return false;
    switch (type) {
    case WEFT__FRAME_TYPE__FRAME_AGENT_FILE_STATE:
        return take_file_state(host, (const Weft__AgentFileState *)message);
    case WEFT__FRAME_TYPE__FRAME_AGENT_RESERVED:
        if (far->members[number].state != FAR_RESERVING ||
            (((const Weft__AgentReserved *)message)->code == 0 &&
             ((const Weft__AgentReserved *)message)->n_ports != far->members[number].port_count))
            return false;
        far_reserved(host, (const Weft__AgentReserved *)message);
        return true;
    case WEFT__FRAME_TYPE__FRAME_AGENT_STARTED:
        return take_started(host, (const Weft__AgentStarted *)message);
    case WEFT__FRAME_TYPE__FRAME_AGENT_OUTPUT:
        return take_output(host, (const Weft__AgentOutput *)message);
    case WEFT__FRAME_TYPE__FRAME_AGENT_ENDED:
        return take_ended(host, (const Weft__AgentEnded *)message);
    default:
        return false;
    }
}
