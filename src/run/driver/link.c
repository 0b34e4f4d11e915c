// link: starting a worker, talking to it, and learning of its end.
//
// The end has two messengers: the socket (closed by the kernel with the process) and the pidfd (in
// case a program that user code started still holds the socket). Whichever comes first makes us take
// what is left in the socket, kill and wait.

#include "run/driver/link.h"

#include "sys/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static void end(struct link *link)
{
    if (link->is_ending || !link->is_open)
        return;
    link->is_ending = true;
    // The watch goes before its descriptor. A process that is just being started may hold a copy of that
    // for a moment: the kernel would go on telling of it, and the next worker's has the same number.
    loop_watch_free(link->watch);
    link->watch = NULL;
    process_kill(&link->process);
    struct process_exit exit;
    process_wait(&link->process, &exit);
    // Only now is nothing more to come.
    if (link->stream && link->code == WEFT_OK)
        loop_stream_drain(link->stream);
    if (link->is_open)
        link->calls.lost(link->owner, &exit, link->code);
}

static void take_bytes(void *owner, weft_bytes bytes)
{
    struct link *link = owner;
    if (link->code != WEFT_OK || !link->is_open)
        return;
    struct frame frame = {0};
    bool has_frame = true;
    link->code = frame_parser_feed(&link->parser, bytes.data, bytes.size);
    while (link->code == WEFT_OK && link->is_open) {
        link->code = frame_parser_next(&link->parser, &frame, &has_frame);
        if (link->code != WEFT_OK || !has_frame)
            break;
        link->calls.frame(link->owner, &frame);
    }
    if (link->code != WEFT_OK)
        end(link);
}

static void take_end(void *owner, weft_err code)
{
    struct link *link = owner;
    link->code = link->code == WEFT_OK ? code : link->code;
    end(link);
}

static void take_exit(void *owner)
{
    end(owner);
}

static weft_err spawn(struct link *link, int socket_fd, int page_fd, int output_fd)
{
    char variable[64];
    snprintf(variable, sizeof variable, LINK_VARIABLE "=%d:%d", socket_fd, page_fd);
    const char *const arguments[] = {program_invocation_name, NULL};
    struct process_spec spec = {
        .program = PROCESS_SELF,
        .arguments = arguments,
        .environment = variable,
        .inherit = {socket_fd, page_fd},
        .inherit_count = 2,
    };
    if (output_fd >= 0)
        spec.inherit[spec.inherit_count++] = output_fd;
    return process_spawn(&spec, &link->process);
}

static weft_err watch(struct link *link, int socket_fd)
{
    static const struct loop_stream_calls stream_calls = {.data = take_bytes, .ended = take_end};
    link->stream = loop_stream_new(link->loop, socket_fd, &stream_calls, link);
    if (link->stream && link->process.pidfd >= 0)
        link->watch = loop_watch_new(link->loop, link->process.pidfd, take_exit, link);
    const bool is_watched = link->stream && (link->watch || link->process.pidfd < 0);
    return is_watched ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
}

weft_err link_open(struct link *link, struct loop *loop, int output_fd,
                   const struct link_calls *calls, void *owner)
{
    int sockets[2] = {-1, -1}, page_fd = -1;
    *link = (struct link){
        .loop = loop, .process = {.pidfd = -1}, .calls = *calls, .owner = owner, .is_open = true};
    weft_err code = process_make_shared(sizeof *link->page, &page_fd, (void **)(void *)&link->page);
    if (code == WEFT_OK)
        code = process_make_socket_pair(sockets);
    if (code == WEFT_OK)
        code = spawn(link, sockets[1], page_fd, output_fd);
    if (page_fd >= 0)
        file_close(page_fd);
    if (sockets[1] >= 0)
        file_close(sockets[1]);
    if (code == WEFT_OK)
        code = watch(link, sockets[0]);
    else if (sockets[0] >= 0)
        file_close(sockets[0]);
    if (code != WEFT_OK)
        link_close(link);
    return code;
}

weft_err link_send(struct link *link, Weft__FrameType type, const ProtobufCMessage *message)
{
    const weft_err code = message_append(loop_stream_out(link->stream), type, message);
    if (code == WEFT_OK)
        loop_stream_flush(link->stream);
    return code;
}

void link_kill(struct link *link)
{
    if (link->is_open)
        process_kill(&link->process);
}

void link_close(struct link *link)
{
    if (!link->is_open)
        return;
    link->is_open = false;
    loop_watch_free(link->watch);
    loop_stream_free(link->stream);
    process_kill(&link->process);
    struct process_exit exit;
    process_wait(&link->process, &exit);
    frame_parser_fini(&link->parser);
    process_unmap_shared(link->page, sizeof *link->page);
    link->page = NULL;
    link->watch = NULL;
    link->stream = NULL;
}

bool link_find_in_environment(int *socket_fd, int *page_fd)
{
    const char *text = getenv(LINK_VARIABLE);
    char rest = 0;
    if (!text || sscanf(text, "%d:%d%c", socket_fd, page_fd, &rest) != 2)
        return false;
    unsetenv(LINK_VARIABLE);
    process_set_name("weft-worker");  // it was executed under the name "exe"
    // Programs that user code starts must not hold the worker's end of the connection open.
    process_close_on_exec(*socket_fd);
    process_close_on_exec(*page_fd);
    return true;
}
