// The nursery's own life: it waits for requests and for the ends of processes, and outlives its owner just
// long enough to kill the processes that are left.
//
//   START    vfork, a session of its own, exec; a pipe that closes on exec shows whether that went well
//   KILL     the command and its living descendants
//   SIGNAL   any other signal, to the command's process group
//   an end   of a command: the rest of its session is killed, then its owner is notified
//            of anything else: an orphan that fell to us as the subreaper; only buried
//   LEASH    more time for the owner, which has to come again before it is over
//   socket   closed, or the leash is over: all our children are killed, until we have none. Orphans of those become our
//            children, so that no process gets away, however it was forked

#include "sys/process/nursery_state.h"

#include "base/vec.h"
#include "sys/machine/kin.h"
#include "sys/process/signals.h"
#include "sys/time/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECOND_LOOK_MS = 1000 };

enum { SOCKET = STDERR_FILENO + 1 };  // where the socket is kept; everything above is closed

// A command that has not ended.
struct ward {
    uint64_t number;
    pid_t pid;
    int status;
};

struct inside {
    int signals;  // readable when a child has ended
    VEC(struct ward) wards;
    uint32_t leash_ms;  // 0: none
    uint64_t extended_ns;
};

// Everything that the child needs between vfork and exec, where it must not allocate.
struct launch {
    const char *directory;
    char **arguments, **environment;
    char **shell_arguments;  // the same after "sh" and the path, for a script without a first line
    const int *fds;
    pid_t parent;
    int failure;  // where to write a report; closed by exec
};

// ---- The processes below us -------------------------------------------------------------------------

static void kill_descendants(pid_t top)
{
    struct kin list = {0};
    kin_list_descendants(top, &list);
    for (size_t i = 0; i < list.pids.count; i++)
        kill(list.pids.items[i], SIGKILL);
    VEC_FINI(&list.pids);
}

static bool is_ward(const struct inside *inside, pid_t pid)
{
    for (size_t i = 0; i < inside->wards.count; i++)
        if (inside->wards.items[i].pid == pid)
            return true;
    return false;
}

// Kills what a command that has ended, but is not buried yet (so its number is still its own), has
// left: now our children, or below these.
static void kill_session(const struct inside *inside, pid_t session)
{
    kill(-session, SIGKILL);
    struct kin orphans = {0};
    kin_list_children(getpid(), &orphans);
    for (size_t i = 0; i < orphans.pids.count; i++) {
        struct kin_stat stat;
        const pid_t pid = orphans.pids.items[i];
        if (pid == session || is_ward(inside, pid))
            continue;
        kin_list_children(pid, &orphans);
        if (kin_read_stat(pid, &stat) && stat.session == session)
            kill(pid, SIGKILL);
    }
    VEC_FINI(&orphans.pids);
}

static void kill_everybody(void)
{
    for (;;) {
        struct kin children = {0};
        kin_list_children(getpid(), &children);
        for (size_t i = 0; i < children.pids.count; i++)
            kill(children.pids.items[i], SIGKILL);
        VEC_FINI(&children.pids);
        if (waitpid(-1, NULL, 0) < 0 && errno == ECHILD)
            return;
    }
}

// ---- Starting a command -------------------------------------------------------------------------------

static void set_launch_signals(void)
{
    const struct sigaction default_action = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++)
        sigaction(number, &default_action, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

// What a script's first line asks for: "#!/usr/bin/python4 -u" has /usr/bin/python4.
static void read_interpreter(const char *path, char *interpreter, size_t size)
{
    char line[256];
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd >= 0 ? read(fd, line, sizeof line - 1) : 0;
    line[got > 0 ? got : 0] = 0;
    if (strncmp(line, "#!", 2) != 0)
        return;
    const char *from = line + 2 + strspn(line + 2, " \t");
    snprintf(interpreter, size, "%.*s", (int)strcspn(from, " \t\n"), from);
}

// Executes one candidate; on return *report says why not. False: the next one may be tried.
static bool try_program(const struct launch *launch, const char *path,
                        struct nursery_report *report)
{
    execve(path, launch->arguments, launch->environment);
    if (errno == ENOEXEC) {
        launch->shell_arguments[1] = (char *)path;
        execve("/bin/sh", launch->shell_arguments, launch->environment);
    }
    const int number = errno;
    struct stat status;
    const bool is_there = stat(path, &status) == 0;
    if (!is_there && report->value == EACCES)
        return false;  // the candidate before was at least there
    report->value = number;
    report->fault = NURSERY_FAULT_PROGRAM;
    snprintf(report->path, sizeof report->path, "%s", path);
    if (is_there && S_ISDIR(status.st_mode))
        report->fault = NURSERY_FAULT_IS_DIRECTORY;
    if (is_there && number == ENOENT) {
        report->fault = NURSERY_FAULT_INTERPRETER;
        read_interpreter(path, report->interpreter, sizeof report->interpreter);
        return true;
    }
    return number != ENOENT && number != ENOTDIR && number != EACCES;
}

static const char *find_path_variable(char **environment)
{
    for (; *environment; environment++)
        if (strncmp(*environment, "PATH=", 5) == 0)
            return *environment + 5;
    return "/bin:/usr/bin";
}

// As execvp does, but by the PATH of the environment that the command will have.
static void execute(const struct launch *launch, struct nursery_report *report)
{
    const char *name = launch->arguments[0];
    report->value = ENOENT;
    report->fault = NURSERY_FAULT_PROGRAM;
    if (strchr(name, '/') || !*name) {
        try_program(launch, name, report);
        return;
    }
    char candidate[PATH_MAX];
    const char *at = find_path_variable(launch->environment);
    for (bool has_more = true, is_final = false; has_more && !is_final;) {
        const int length = (int)strcspn(at, ":");
        const int size = snprintf(candidate, sizeof candidate, "%.*s%s%s", length, at,
                                  length > 0 ? "/" : "./", name);
        if (size < (int)sizeof candidate)
            is_final = try_program(launch, candidate, report);
        has_more = at[length] == ':';
        at += length + 1;
    }
}

static _Noreturn void run_launch(const struct launch *launch)
{
    struct nursery_report report = {.kind = NURSERY_FAILED};
    set_launch_signals();
    errno = ESRCH;
    if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != launch->parent ||
        dup2(launch->fds[NURSERY_IN], STDIN_FILENO) < 0 ||
        dup2(launch->fds[NURSERY_OUT], STDOUT_FILENO) < 0 ||
        dup2(launch->fds[NURSERY_ERR], STDERR_FILENO) < 0) {
        report.fault = NURSERY_FAULT_SYSTEM;
        report.value = errno;
    } else if (*launch->directory && chdir(launch->directory) != 0) {
        report.fault = NURSERY_FAULT_DIRECTORY;
        report.value = errno;
    } else {
        execute(launch, &report);
    }
    (void)!write(launch->failure, &report, sizeof report);
    _exit(127);
}

// *report: NURSERY_STARTED, or why not.
static __attribute__((noinline)) void start_process(struct launch *launch,
                                                    struct nursery_report *report)
{
    int failure[2];
    *report = (struct nursery_report){.kind = NURSERY_FAILED, .fault = NURSERY_FAULT_SYSTEM};
    if (pipe2(failure, O_CLOEXEC) != 0) {
        report->value = errno;
        return;
    }
    launch->failure = failure[1];
    launch->parent = getpid();
    const pid_t pid = vfork();
    if (pid == 0)
        run_launch(launch);
    if (pid < 0)
        report->value = errno;
    close(failure[1]);
    if (pid > 0 && read(failure[0], report, sizeof *report) <= 0) {
        report->kind = NURSERY_STARTED;
        report->value = pid;
    }
    close(failure[0]);
}

static char **point_at_strings(char **at, uint32_t count, char **text)
{
    for (uint32_t i = 0; i < count; i++, at++) {
        *at = *text;
        *text += strlen(*text) + 1;
    }
    *at = NULL;
    return at + 1;
}

// The body has a zero after it, and as many strings as the request says.
static void start_command(struct inside *inside, const struct nursery_request *request, char *body,
                          const int *fds)
{
    const size_t arguments = request->argument_count, environment = request->environment_count;
    char **pointers = calloc(2 * arguments + environment + 4, sizeof *pointers);
    struct ward *ward = VEC_NEXT(&inside->wards);
    struct nursery_report report = {.kind = NURSERY_FAILED, .value = ENOMEM};
    if (pointers && ward) {
        struct launch launch = {.directory = body, .fds = fds, .arguments = pointers};
        char *text = body + strlen(body) + 1;
        launch.environment = point_at_strings(pointers, request->argument_count, &text);
        launch.shell_arguments =
            point_at_strings(launch.environment, request->environment_count, &text);
        launch.shell_arguments[0] = (char *)"sh";
        memcpy(launch.shell_arguments + 2, pointers + 1, arguments * sizeof *pointers);
        start_process(&launch, &report);
    }
    // Only now, so that the owner hears of the start before it hears of the end.
    (void)!write(fds[NURSERY_STATUS], &report, sizeof report);
    if (report.kind == NURSERY_STARTED) {
        *ward = (struct ward){request->number, report.value, fds[NURSERY_STATUS]};
        inside->wards.count++;
    } else {
        close(fds[NURSERY_STATUS]);
    }
    free(pointers);
}

// ---- Requests and ends --------------------------------------------------------------------------------

// False: the owner is gone. Takes as many descriptors as came.
static bool receive_request(struct nursery_request *request, int *fds)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(NURSERY_FD_COUNT * sizeof(int))];
    } control = {0};
    struct iovec place = {.iov_base = request, .iov_len = sizeof *request};
    struct msghdr message = {.msg_iov = &place,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    for (int i = 0; i < NURSERY_FD_COUNT; i++)
        fds[i] = -1;
    const ssize_t got = recvmsg(SOCKET, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
    const struct cmsghdr *header = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (header && header->cmsg_type == SCM_RIGHTS)
        memcpy(fds, CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
    return got == sizeof *request;
}

static bool serve_start(struct inside *inside, const struct nursery_request *request,
                        const int *fds)
{
    char *body =
        request->body_bytes <= NURSERY_BODY_BYTES_MAX ? malloc(request->body_bytes + 1) : NULL;
    bool is_whole = body != NULL;
    if (is_whole && request->body_bytes > 0)
        is_whole = recv(SOCKET, body, request->body_bytes, MSG_WAITALL) == request->body_bytes;
    // Without all descriptors (we may hold no more of them) its status pipe just closes.
    const bool has_all = fds[NURSERY_STATUS] >= 0;
    if (is_whole && has_all) {
        body[request->body_bytes] = 0;
        start_command(inside, request, body, fds);
    }
    for (int i = 0; i < NURSERY_FD_COUNT; i++)
        if (fds[i] >= 0 && (i != NURSERY_STATUS || !is_whole))
            close(fds[i]);
    free(body);
    return is_whole;
}

// False: the owner is gone.
static bool serve_request(struct inside *inside)
{
    struct nursery_request request;
    int fds[NURSERY_FD_COUNT];
    if (!receive_request(&request, fds))
        return false;
    if (request.kind == NURSERY_START)
        return serve_start(inside, &request, fds);
    if (request.kind == NURSERY_LEASH) {
        inside->leash_ms = request.leash_ms;
        inside->extended_ns = clock_now_ns();
        return true;
    }
    for (size_t i = 0; i < inside->wards.count; i++) {
        if (inside->wards.items[i].number != request.number)
            continue;
        if (request.kind == NURSERY_SIGNAL)
            kill(-inside->wards.items[i].pid, request.signal);
        else
            kill_descendants(inside->wards.items[i].pid);
    }
    return true;
}

static void end_ward(struct inside *inside, size_t index)
{
    const struct ward ward = inside->wards.items[index];
    kill_session(inside, ward.pid);
    struct nursery_report report = {.kind = NURSERY_ENDED};
    int status = 0;
    waitpid(ward.pid, &status, 0);
    report.value = status;
    (void)!write(ward.status, &report, sizeof report);
    close(ward.status);
    inside->wards.items[index] = inside->wards.items[--inside->wards.count];
}

static void bury(struct inside *inside)
{
    struct signalfd_siginfo ignored;
    while (read(inside->signals, &ignored, sizeof ignored) > 0) {
    }
    for (;;) {
        siginfo_t ended = {0};
        if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0)
            return;
        size_t index = 0;
        while (index < inside->wards.count && inside->wards.items[index].pid != ended.si_pid)
            index++;
        if (index < inside->wards.count)
            end_ward(inside, index);
        else
            waitpid(ended.si_pid, NULL, 0);
    }
}

// ---- Its life -----------------------------------------------------------------------------------------

static void close_from(unsigned first)
{
    if (close_range(first, ~0U, 0) == 0)
        return;
    for (int fd = (int)first; fd < 65536; fd++)
        close(fd);
}

// Holds nothing of its owner's but the socket, and no signal but SIGKILL ends it.
static bool settle(struct inside *inside, int socket)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    set_launch_signals();
    for (const int *number = signals_to_end; *number; number++)
        sigaction(*number, &ignore, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
    sigaction(SIGQUIT, &ignore, NULL);
    setsid();
    prctl(PR_SET_NAME, "weft-nursery");
    const int null = open("/dev/null", O_RDWR);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (dup2(null, fd) < 0)
            return false;
    if (dup2(socket, SOCKET) < 0)
        return false;
    close_from(SOCKET + 1);
    fcntl(SOCKET, F_SETFD, FD_CLOEXEC);
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    inside->signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
    return inside->signals >= 0 && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

// How long may pass before the next request; -1: any time.
static int find_patience_ms(const struct inside *inside)
{
    const uint64_t age_ms = (clock_now_ns() - inside->extended_ns) / 1000000;
    if (inside->leash_ms == 0)
        return -1;
    return age_ms < inside->leash_ms ? (int)(inside->leash_ms - age_ms) : SECOND_LOOK_MS;
}

// This process may itself have been stopped, with its owner, and waits once more then: an owner that is there makes itself heard.
static bool is_leash_over(const struct inside *inside, bool *is_suspect)
{
    const bool is_late = inside->leash_ms > 0 && clock_now_ns() - inside->extended_ns >=
                                                     (uint64_t)inside->leash_ms * 1000000;
    const bool is_over = is_late && *is_suspect;
    *is_suspect = is_late;
    return is_over;
}

_Noreturn void nursery_inside_run(int socket)
{
    struct inside inside = {0};
    bool is_suspect = false;
    if (!settle(&inside, socket))
        _exit(1);
    for (bool has_owner = true; has_owner;) {
        struct pollfd events[] = {{.fd = SOCKET, .events = POLLIN},
                                  {.fd = inside.signals, .events = POLLIN}};
        const int count = poll(events, 2, find_patience_ms(&inside));
        if (count < 0 && errno != EINTR)
            break;
        if (count == 0 && is_leash_over(&inside, &is_suspect))
            break;
        if (events[1].revents)
            bury(&inside);
        if (events[0].revents)
            has_owner = serve_request(&inside);
    }
    kill_everybody();
    _exit(0);
}
