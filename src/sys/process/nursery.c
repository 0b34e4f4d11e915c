// The nursery as its owner sees it: a socket to ask by, and for each command three pipes and a fourth on
// which the nursery reports, so that threads need not share the answers.

#include "sys/process/nursery.h"

#include "base/buf.h"
#include "sys/process/command.h"
#include "sys/process/nursery_state.h"
#include "sys/thread/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// Pipes of 1 MiB carry twice what the usual 64 KiB do, for fewer changes between processes. A user may
// have 64 MiB in pipes before the system hands out tiny ones: of that we take half.
enum { PIPE_BYTES = 1 << 20, LARGE_PIPES_MAX = 32 };

// How long a process that is killed may take to be seen as ended, and to close its socket after another descriptor.
enum { ENDING_MS = 5000, CLOSING_MS = 20 };

struct nursery {
    pid_t pid;
    int socket;
    struct mutex lock;  // one request at a time
    _Atomic uint64_t last_number;
    _Atomic int large_pipe_count;
};

struct nursery *nursery_new(void)
{
    int sockets[2];
    struct nursery *nursery = calloc(1, sizeof *nursery);
    if (!nursery) {
        (void)err_no_memory("for commands");
        return NULL;
    }
    if (process_make_socket_pair(sockets) != WEFT_OK) {
        free(nursery);
        return NULL;
    }
    nursery->pid = fork();
    if (nursery->pid == 0)
        nursery_inside_run(sockets[1]);
    close(sockets[1]);
    if (nursery->pid < 0) {
        (void)err_errno("cannot start the process that starts commands");
        close(sockets[0]);
        free(nursery);
        return NULL;
    }
    nursery->socket = sockets[0];
    mutex_init(&nursery->lock);
    struct sigaction on_pipe;
    if (sigaction(SIGPIPE, NULL, &on_pipe) == 0 && on_pipe.sa_handler == SIG_DFL)
        signal(SIGPIPE, SIG_IGN);
    return nursery;
}

void nursery_stop(struct nursery *nursery)
{
    shutdown(nursery->socket, SHUT_RDWR);
    if (nursery->pid > 0)
        while (waitpid(nursery->pid, NULL, 0) < 0 && errno == EINTR) {
        }
    nursery->pid = 0;
}

void nursery_free(struct nursery *nursery)
{
    if (!nursery)
        return;
    nursery_stop(nursery);
    close(nursery->socket);
    mutex_fini(&nursery->lock);
    free(nursery);
}

static bool has_ended(const struct nursery *nursery)
{
    siginfo_t end = {0};
    return waitid(P_PID, (id_t)nursery->pid, &end, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           end.si_pid == nursery->pid;
}

// Its descriptors are closed one after the other, a while before its end can be seen.
static bool is_ending(const struct nursery *nursery)
{
    struct pollfd socket = {.fd = nursery->socket, .events = POLLRDHUP};
    return poll(&socket, 1, 0) > 0 && (socket.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

void nursery_follow(const struct nursery *nursery)
{
    const bool is_stopped = nursery->pid <= 0;  // by us
    for (int tries = 0; !is_stopped && tries < (is_ending(nursery) ? ENDING_MS : CLOSING_MS);
         tries++) {
        if (has_ended(nursery))
            kill(getpid(), SIGKILL);
        poll(NULL, 0, 1);
    }
}

static weft_err refuse_gone(void)
{
    return err_set(WEFT_UNAVAILABLE,
                   "the process that starts commands has ended; was it killed? try again");
}

// ---- Starting -----------------------------------------------------------------------------------------

struct ends {
    int ours[NURSERY_FD_COUNT], theirs[NURSERY_FD_COUNT];
};

static void close_ends(int *fds)
{
    for (int i = 0; i < NURSERY_FD_COUNT; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
        fds[i] = -1;
    }
}

// The system may refuse: then the pipe stays as it is.
static void enlarge_pipe(struct nursery *nursery, int fd)
{
    if (atomic_fetch_add(&nursery->large_pipe_count, 1) < LARGE_PIPES_MAX)
        (void)fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES);
}

// Two ends for one descriptor of the command: [0] reads, [1] writes.
static bool make_pair(int which, enum nursery_input input, int fds[2])
{
    fds[0] = fds[1] = -1;
    if (which != NURSERY_IN || input == NURSERY_INPUT_PIPE)
        return pipe2(fds, O_CLOEXEC) == 0;
    // A process without a standard input has nothing to share.
    if (input == NURSERY_INPUT_OURS)
        fds[0] = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (fds[0] < 0)
        fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return fds[0] >= 0;
}

static weft_err make_pipes(struct nursery *nursery, enum nursery_input input, struct ends *ends)
{
    memset(ends, -1, sizeof *ends);
    for (int i = 0; i < NURSERY_FD_COUNT; i++) {
        int fds[2];
        if (!make_pair(i, input, fds)) {
            const weft_err code = err_errno("cannot make pipes for a command");
            close_ends(ends->ours);
            close_ends(ends->theirs);
            return code;
        }
        const int our_side = i == NURSERY_IN ? 1 : 0;
        ends->ours[i] = fds[our_side];
        ends->theirs[i] = fds[1 - our_side];
        if (i != NURSERY_STATUS && fds[our_side] >= 0)
            fcntl(fds[our_side], F_SETFL, O_NONBLOCK);
    }
    enlarge_pipe(nursery, ends->ours[NURSERY_IN]);
    enlarge_pipe(nursery, ends->ours[NURSERY_OUT]);
    return WEFT_OK;
}

static uint32_t append_strings(struct buf *body, const char *const *strings)
{
    uint32_t count = 0;
    for (; *strings; strings++, count++)
        buf_append(body, *strings, strlen(*strings) + 1);
    return count;
}

static bool send_whole(int socket, const char *data, size_t size)
{
    while (size > 0) {
        const ssize_t sent = send(socket, data, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return false;
        data += sent;
        size -= (size_t)sent;
    }
    return true;
}

// The descriptors travel with the request itself; a stream keeps them together.
static bool send_request(struct nursery *nursery, const struct nursery_request *request,
                         const int *fds, const struct buf *body)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(NURSERY_FD_COUNT * sizeof(int))];
    } control = {0};
    struct iovec place = {.iov_base = (void *)request, .iov_len = sizeof *request};
    struct msghdr message = {.msg_iov = &place, .msg_iovlen = 1};
    if (fds) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(NURSERY_FD_COUNT * sizeof(int));
        memcpy(CMSG_DATA(header), fds, NURSERY_FD_COUNT * sizeof(int));
    }
    mutex_lock(&nursery->lock);
    ssize_t sent;
    do {
        sent = sendmsg(nursery->socket, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    const bool is_sent =
        sent == sizeof *request && (!body || send_whole(nursery->socket, body->data, body->size));
    mutex_unlock(&nursery->lock);
    return is_sent;
}

// Small enough to go whole or not at all. A nursery that does not take it has other requests before it.
void nursery_extend_leash(const struct nursery *nursery, uint32_t leash_ms)
{
    const struct nursery_request request = {.kind = NURSERY_LEASH, .leash_ms = leash_ms};
    (void)!send(nursery->socket, &request, sizeof request, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static weft_err refuse_interpreter(const char *name, const struct nursery_report *report)
{
    const char *interpreter = report->interpreter;
    const size_t length = strlen(interpreter);
    if (length == 0)
        return err_set(
            WEFT_NOT_FOUND,
            "cannot start %s: its loader does not exist; was it built for another system?", name);
    if (interpreter[length - 1] == '\r')
        return err_set(WEFT_NOT_FOUND,
                       "cannot start %s: its first line ends with a carriage return, so there is "
                       "no interpreter of that name; try: sed -i 's/\\r$//' %s",
                       name, report->path);
    return err_set(WEFT_NOT_FOUND,
                   "cannot start %s: its first line asks for %s, which does not exist", name,
                   interpreter);
}

// A script that lies here is often named without the "./" that it needs.
static weft_err refuse_missing(const char *name, const char *directory)
{
    if (strchr(name, '/'))
        return err_set(WEFT_NOT_FOUND, "cannot start %s: there is no such file", name);
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory ? directory : ".", name);
    if (*name && access(path, F_OK) == 0)
        return err_set(WEFT_NOT_FOUND,
                       "cannot start %s: there is no such program in PATH; try: ./%s", name, name);
    return err_set(WEFT_NOT_FOUND, "cannot start %s: there is no such program in PATH", name);
}

static weft_err refuse_directory(const char *name)
{
    return err_set(WEFT_PERMISSION_DENIED, "cannot start %s: it is a directory", name);
}

static weft_err refuse_unexecutable(const char *name, const char *path)
{
    return err_set(WEFT_PERMISSION_DENIED,
                   "cannot start %s: it is not executable; try: chmod +x %s", name, path);
}

weft_err nursery_find(const char *name)
{
    struct stat status;
    char *path;
    if (!strchr(name, '/') && !getenv("PATH"))
        return WEFT_OK;  // the nursery has a default for it
    if (command_find(name, &path) == WEFT_OK) {
        free(path);
        return WEFT_OK;
    }
    if (!strchr(name, '/') || stat(name, &status) != 0)
        return refuse_missing(name, NULL);
    if (S_ISDIR(status.st_mode))
        return refuse_directory(name);
    return refuse_unexecutable(name, name);
}

static weft_err refuse_start(const struct nursery_spec *spec, const struct nursery_report *report)
{
    const char *name = spec->arguments[0];
    errno = report->value;
    switch ((enum nursery_fault)report->fault) {
    case NURSERY_FAULT_DIRECTORY:
        return err_errno("cannot start %s in the directory %s", name, spec->directory);
    case NURSERY_FAULT_IS_DIRECTORY:
        return refuse_directory(name);
    case NURSERY_FAULT_INTERPRETER:
        return refuse_interpreter(name, report);
    case NURSERY_FAULT_PROGRAM:
        if (errno == EACCES)
            return refuse_unexecutable(name, report->path);
        if (errno == ENOENT)
            return refuse_missing(name, spec->directory);
        break;
    case NURSERY_FAULT_SYSTEM:
        break;
    }
    return err_errno("cannot start %s", name);
}

static bool read_report(int fd, struct nursery_report *report)
{
    ssize_t got;
    do {
        got = read(fd, report, sizeof *report);
    } while (got < 0 && errno == EINTR);
    return got == sizeof *report;
}

static weft_err await_start(const struct nursery_spec *spec, struct child *child)
{
    struct nursery_report report;
    if (!read_report(child->status, &report))
        return refuse_gone();
    if (report.kind == NURSERY_FAILED)
        return refuse_start(spec, &report);
    child->pid = report.value;
    return WEFT_OK;
}

static void close_pipes(struct child *child)
{
    int *const fds[] = {&child->in, &child->out, &child->err, &child->status};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
    atomic_fetch_sub(&child->nursery->large_pipe_count, 2);
    child->nursery = NULL;
}

static weft_err ask_for_start(const struct nursery_spec *spec, struct child *child,
                              const int *theirs)
{
    struct buf body = {0};
    struct nursery_request request = {.kind = NURSERY_START, .number = child->number};
    buf_append(&body, spec->directory ? spec->directory : "",
               spec->directory ? strlen(spec->directory) + 1 : 1);
    request.argument_count = append_strings(&body, spec->arguments);
    request.environment_count =
        append_strings(&body, spec->environment ? spec->environment : (const char *const *)environ);
    request.body_bytes = (uint32_t)body.size;
    weft_err code = WEFT_OK;
    if (body.has_failed || body.size > NURSERY_BODY_BYTES_MAX)
        code = err_set(WEFT_RESOURCE_EXHAUSTED,
                       "cannot start %s: its arguments and environment are %zu bytes, too many",
                       spec->arguments[0], body.size);
    else if (!send_request(child->nursery, &request, theirs, &body))
        code = refuse_gone();
    buf_fini(&body);
    return code;
}

weft_err nursery_start(struct nursery *nursery, const struct nursery_spec *spec,
                       struct child *child)
{
    struct ends ends;
    *child = (struct child){.in = -1, .out = -1, .err = -1, .status = -1};
    ASSERT(spec->arguments && spec->arguments[0]);
    const weft_err made = make_pipes(nursery, spec->input, &ends);
    if (made)
        return made;
    child->nursery = nursery;
    child->number = atomic_fetch_add(&nursery->last_number, 1) + 1;
    child->in = ends.ours[NURSERY_IN];
    child->out = ends.ours[NURSERY_OUT];
    child->err = ends.ours[NURSERY_ERR];
    child->status = ends.ours[NURSERY_STATUS];
    weft_err code = ask_for_start(spec, child, ends.theirs);
    close_ends(ends.theirs);
    if (!code)
        code = await_start(spec, child);
    if (code)
        close_pipes(child);
    return code;
}

// ---- Its pipes ------------------------------------------------------------------------------------------

void child_close_in(struct child *child)
{
    if (child->in >= 0)
        close(child->in);
    child->in = -1;
}

unsigned child_wait_ready(const struct child *child, unsigned wanted, int timeout_ms)
{
    struct pollfd events[] = {
        {.fd = wanted & CHILD_IN ? child->in : -1, .events = POLLOUT},
        {.fd = wanted & CHILD_OUT ? child->out : -1, .events = POLLIN},
        {.fd = wanted & CHILD_ERR ? child->err : -1, .events = POLLIN},
        {.fd = wanted & CHILD_END ? child->status : -1, .events = POLLIN},
    };
    bool is_waiting = false;
    for (int i = 0; i < 4; i++)
        is_waiting |= events[i].fd >= 0;
    if ((wanted & CHILD_END) && child->has_ended)
        return CHILD_END;
    int count = 0;
    if (is_waiting)
        do {
            count = poll(events, 4, timeout_ms);
        } while (count < 0 && errno == EINTR && timeout_ms < 0);
    unsigned ready = 0;
    for (unsigned i = 0; count > 0 && i < 4; i++)
        ready |= events[i].revents ? 1U << i : 0;
    return ready;
}

// The meaning of a call that returned -1.
static weft_err judge_failure(const char *what, bool *is_closed)
{
    *is_closed = errno == EPIPE;
    if (errno == EAGAIN || errno == EINTR || errno == EPIPE)
        return WEFT_OK;
    return err_errno("cannot %s a command", what);
}

weft_err child_read(struct child *child, unsigned which, void *data, size_t size, size_t *got,
                    bool *has_ended)
{
    int *const fd = which == CHILD_OUT ? &child->out : &child->err;
    *got = 0;
    *has_ended = *fd < 0;
    if (*fd < 0)
        return WEFT_OK;
    const ssize_t count = read(*fd, data, size);
    if (count < 0)
        return judge_failure("read from", has_ended);
    *got = (size_t)count;
    if (count == 0 && size > 0) {
        *has_ended = true;
        close(*fd);
        *fd = -1;
    }
    return WEFT_OK;
}

// By write or, where the pages may be lent, by vmsplice.
static weft_err give(struct child *child, const void *data, size_t size, bool is_lent, size_t *put,
                     bool *has_ended)
{
    *put = 0;
    *has_ended = child->in < 0;
    if (child->in < 0 || size == 0)
        return WEFT_OK;
    const struct iovec pages = {(void *)(uintptr_t)data, size};
    const ssize_t count =
        is_lent ? vmsplice(child->in, &pages, 1, SPLICE_F_NONBLOCK) : write(child->in, data, size);
    if (count >= 0) {
        *put = (size_t)count;
        return WEFT_OK;
    }
    const weft_err code = judge_failure("write to", has_ended);
    if (*has_ended)
        child_close_in(child);
    return code;
}

weft_err child_write(struct child *child, const void *data, size_t size, size_t *put,
                     bool *has_ended)
{
    return give(child, data, size, false, put, has_ended);
}

weft_err child_lend(struct child *child, const void *data, size_t size, size_t *put,
                    bool *has_ended)
{
    return give(child, data, size, true, put, has_ended);
}

// ---- Its end ----------------------------------------------------------------------------------------------

static void note_end(struct child *child)
{
    struct nursery_report report;
    child->has_ended = true;
    if (!read_report(child->status, &report))
        return;  // the nursery itself is gone: how the command ended is unknown
    const int status = report.value;
    child->exit.is_known = true;
    child->exit.was_signalled = WIFSIGNALED(status);
    child->exit.number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

bool child_wait(struct child *child, int timeout_ms, struct process_exit *exit)
{
    if (!child->has_ended && child_wait_ready(child, CHILD_END, timeout_ms) & CHILD_END)
        note_end(child);
    *exit = child->exit;
    return child->has_ended;
}

void child_signal(struct child *child, int number)
{
    const bool is_kill = number == SIGKILL;
    const struct nursery_request request = {
        .kind = is_kill ? NURSERY_KILL : NURSERY_SIGNAL, .number = child->number, .signal = number};
    // Without a nursery there is no process left to signal.
    if (child->nursery && !child->has_ended)
        (void)send_request(child->nursery, &request, NULL, NULL);
}

void child_end(struct child *child)
{
    if (!child->nursery)
        return;
    struct process_exit exit;
    const struct nursery_request request = {.kind = NURSERY_KILL, .number = child->number};
    if (!child->has_ended && send_request(child->nursery, &request, NULL, NULL))
        child_wait(child, -1, &exit);
    close_pipes(child);
}
