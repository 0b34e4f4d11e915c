// worker_process: starting a worker, talking to it, and learning of its end.
//
// The end has two messengers: the socket (closed by the kernel with the process) and the pidfd (in
// case a program that user code started still holds the socket). After the first of them we read the
// rest of the socket, kill the process and wait for it.

#include "run/driver/agent/worker_process.h"

#include "sys/file/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static void end(struct worker_process *worker)
{
    if (worker->is_ending || !worker->is_open)
        return;
    worker->is_ending = true;
    // The watch goes before its descriptor. A process that is just being started may hold a copy of that
    // for a moment: the kernel would keep reporting it, and the next worker's has the same number.
    loop_watch_free(worker->watch);
    worker->watch = NULL;
    process_kill(&worker->process);
    struct process_exit exit;
    process_wait(&worker->process, &exit);
    // Only now is nothing more to come.
    if (worker->stream && worker->code == WEFT_OK)
        loop_stream_drain(worker->stream);
    if (worker->is_open)
        worker->calls.lost(worker->owner, &exit, worker->code);
}

static void take_bytes(void *owner, weft_bytes bytes)
{
    struct worker_process *worker = owner;
    if (worker->code != WEFT_OK || !worker->is_open)
        return;
    struct frame frame = {0};
    bool has_frame = true;
    worker->code = frame_parser_feed(&worker->parser, bytes.data, bytes.size);
    while (worker->code == WEFT_OK && worker->is_open) {
        worker->code = frame_parser_next(&worker->parser, &frame, &has_frame);
        if (worker->code != WEFT_OK || !has_frame)
            break;
        worker->calls.frame(worker->owner, &frame);
    }
    if (worker->code != WEFT_OK)
        end(worker);
}

static void take_end(void *owner, weft_err code)
{
    struct worker_process *worker = owner;
    worker->code = worker->code == WEFT_OK ? code : worker->code;
    end(worker);
}

static void take_exit(void *owner)
{
    end(owner);
}

// What the environment of a worker has more and less than ours.
struct changes {
    char worker[64];
    struct buf libraries, path;
    const char *list[5];
};

static weft_err list_changes(struct changes *changes, const struct worker_program *program,
                             int socket_fd, int page_fd)
{
    const char *const before = getenv("LD_LIBRARY_PATH");
    size_t count = 0;
    snprintf(changes->worker, sizeof changes->worker, WORKER_VARIABLE "=%d:%d", socket_fd, page_fd);
    changes->list[count++] = changes->worker;
    if (program)
        changes->list[count++] = "WEFT_TOKEN";
    if (program && program->libraries) {
        buf_format(&changes->libraries, WORKER_LIBRARIES_VARIABLE "=%s", program->libraries);
        buf_format(&changes->path, "LD_LIBRARY_PATH=%s%s%s", program->libraries,
                   before && *before ? ":" : "", before ? before : "");
        changes->list[count++] = buf_text(&changes->libraries);
        changes->list[count++] = buf_text(&changes->path);
    }
    changes->list[count] = NULL;
    return changes->libraries.has_failed || changes->path.has_failed
               ? err_no_memory("to start a worker")
               : WEFT_OK;
}

static weft_err spawn(struct worker_process *worker, int socket_fd, int page_fd,
                      const struct worker_process_spec *asked)
{
    const struct worker_program *program = asked->program;
    const bool is_other = program && program->path;
    const char *const arguments[] = {is_other ? program->path : program_invocation_name, NULL};
    struct changes changes = {0};
    struct process_spec spec = {
        .program = is_other ? program->path : PROCESS_SELF,
        .arguments = arguments,
        .environment = changes.list,
        .directory = program ? program->directory : NULL,
        .inherit = {socket_fd, page_fd},
        .inherit_count = 2,
    };
    if (asked->output_fd >= 0)
        spec.inherit[spec.inherit_count++] = asked->output_fd;
    weft_err code = list_changes(&changes, program, socket_fd, page_fd);
    if (code == WEFT_OK)
        code = process_spawn(&spec, &worker->process);
    buf_fini(&changes.libraries);
    buf_fini(&changes.path);
    return code;
}

static weft_err watch(struct worker_process *worker, int socket_fd)
{
    static const struct loop_stream_calls stream_calls = {.data = take_bytes, .ended = take_end};
    worker->stream = loop_stream_new(worker->loop, socket_fd, &stream_calls, worker);
    if (worker->stream && worker->process.pidfd >= 0)
        worker->watch = loop_watch_new(worker->loop, worker->process.pidfd, take_exit, worker);
    const bool is_watched = worker->stream && (worker->watch || worker->process.pidfd < 0);
    return is_watched ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
}

weft_err worker_process_open(struct worker_process *worker, struct loop *loop,
                             const struct worker_process_spec *spec,
                             const struct worker_process_calls *calls, void *owner)
{
    int sockets[2] = {-1, -1}, page_fd = -1;
    *worker = (struct worker_process){
        .loop = loop, .process = {.pidfd = -1}, .calls = *calls, .owner = owner, .is_open = true};
    weft_err code =
        process_make_shared(sizeof *worker->page, &page_fd, (void **)(void *)&worker->page);
    if (code == WEFT_OK)
        code = process_make_socket_pair(sockets);
    if (code == WEFT_OK)
        code = spawn(worker, sockets[1], page_fd, spec);
    if (page_fd >= 0)
        file_close(page_fd);
    if (sockets[1] >= 0)
        file_close(sockets[1]);
    if (code == WEFT_OK)
        code = watch(worker, sockets[0]);
    else if (sockets[0] >= 0)
        file_close(sockets[0]);
    if (code != WEFT_OK)
        worker_process_close(worker);
    return code;
}

weft_err worker_process_send(struct worker_process *worker, Weft__FrameType type,
                             const ProtobufCMessage *message)
{
    const weft_err code = message_append(loop_stream_out(worker->stream), type, message);
    if (code == WEFT_OK)
        loop_stream_flush(worker->stream);
    return code;
}

weft_err worker_process_send_bytes(struct worker_process *worker, Weft__FrameType type,
                                   weft_bytes payload)
{
    uint8_t header[FRAME_HEADER_BYTES];
    struct buf *out = loop_stream_out(worker->stream);
    const weft_err code = frame_check_size(payload.size);
    if (code != WEFT_OK)
        return code;
    frame_encode_header(header, type, payload.size);
    buf_append(out, header, sizeof header);
    buf_append(out, payload.data, payload.size);
    if (out->has_failed)
        return err_no_memory("for a frame");
    loop_stream_flush(worker->stream);
    return WEFT_OK;
}

void worker_process_kill(struct worker_process *worker)
{
    if (worker->is_open)
        process_kill(&worker->process);
}

void worker_process_close(struct worker_process *worker)
{
    if (!worker->is_open)
        return;
    worker->is_open = false;
    loop_watch_free(worker->watch);
    loop_stream_free(worker->stream);
    process_kill(&worker->process);
    struct process_exit exit;
    process_wait(&worker->process, &exit);
    frame_parser_fini(&worker->parser);
    process_unmap_shared(worker->page, sizeof *worker->page);
    worker->page = NULL;
    worker->watch = NULL;
    worker->stream = NULL;
}

// The loader has read it. Programs that user code starts have libraries of their own.
static void restore_library_path(void)
{
    const char *ours = getenv(WORKER_LIBRARIES_VARIABLE), *path = getenv("LD_LIBRARY_PATH");
    const size_t length = ours ? strlen(ours) : 0;
    if (ours && path && strncmp(path, ours, length) == 0) {
        char *rest = path[length] == ':' ? strdup(path + length + 1) : NULL;
        if (rest)
            setenv("LD_LIBRARY_PATH", rest, 1);
        else
            unsetenv("LD_LIBRARY_PATH");
        free(rest);
    }
    unsetenv(WORKER_LIBRARIES_VARIABLE);
}

bool worker_process_find_own(int *socket_fd, int *page_fd)
{
    const char *text = getenv(WORKER_VARIABLE);
    char rest = 0;
    if (!text || sscanf(text, "%d:%d%c", socket_fd, page_fd, &rest) != 2)
        return false;
    unsetenv(WORKER_VARIABLE);
    restore_library_path();
    process_set_name("weft-worker");  // it was executed under the name "exe"
    // Programs that user code starts must not hold the worker's end of the connection open.
    process_close_on_exec(*socket_fd);
    process_close_on_exec(*page_fd);
    return true;
}
