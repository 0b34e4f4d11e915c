// Processes: starting a worker without fork's copy, and learning how it ended without SIGCHLD.
//
// vfork lends the child our memory until it executes: nothing is copied however large the program is,
// and the child can leave its errno in a variable. In return the child may only make system calls:
// no allocation, no locks. All signals are blocked during that time, or a handler would run in the child.

#include "sys/process/process.h"

#include "sys/process/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LOOK_MS = 10,
    COPY_DESCRIPTORS_MAX = 1 << 16
};  // closed one by one where the kernel cannot close them all

extern char **environ;

struct child {
    const struct process_spec *spec;
    const char *program;
    char **environment;
    pid_t parent;
    volatile int number;  // errno of what failed in the child; 0: it executes
};

// Valgrind runs a program inside its own, which is what the kernel then calls /proc/self/exe. It corrects what we read of
// that name, but executes it as it is. And it warns of the calls of newer kernels, which we can do without.
static bool is_in_valgrind(void)
{
    const char *preloaded = getenv("LD_PRELOAD");
    return preloaded && strstr(preloaded, "/vgpreload_");
}

static int open_pidfd(pid_t pid)
{
    return is_in_valgrind() ? -1
                            : (int)syscall(SYS_pidfd_open, pid, 0);  // closed on exec by itself
}

// Handlers belong to the parent's code; signals meant for the whole terminal are the parent's to
// answer.
static void set_child_signals(void)
{
    const struct sigaction default_action = {.sa_handler = SIG_DFL};
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    for (int number = 1; number < NSIG; number++)
        sigaction(number, &default_action, NULL);
    for (const int *number = signals_to_end; *number; number++)
        sigaction(*number, &ignore, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool set_child_descriptors(const struct process_spec *spec)
{
    const int null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return false;
    if (null > STDERR_FILENO)
        close(null);
    for (size_t i = 0; i < spec->inherit_count; i++)
        if (fcntl(spec->inherit[i], F_SETFD, 0) != 0)
            return false;
    return true;
}

// The signal is tied to the parent thread's life, but a parent that died before it was asked for
// cannot send it any more.
static bool tie_to_parent(pid_t parent)
{
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent;
}

static _Noreturn void run_child(struct child *child)
{
    errno = 0;
    set_child_signals();
    if (tie_to_parent(child->parent) && set_child_descriptors(child->spec) &&
        (!child->spec->directory || chdir(child->spec->directory) == 0))
        execve(child->program, (char *const *)child->spec->arguments, child->environment);
    child->number = errno ? errno : ESRCH;
    _exit(127);
}

static __attribute__((noinline)) pid_t start_child(struct child *child)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t pid = vfork();
    if (pid == 0)
        run_child(child);
    const int number = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = number;
    return pid;
}

// Whether a variable of ours ("NAME=value") is one that the changes set or remove.
static bool is_changed(const char *variable, const char *const *changes)
{
    const size_t length = strcspn(variable, "=");
    for (; *changes; changes++)
        if (strncmp(*changes, variable, length) == 0 && strcspn(*changes, "=") == length)
            return true;
    return false;
}

// Our environment with these changes; the strings are borrowed.
static char **make_environment(const char *const *changes)
{
    static const char *const none[] = {NULL};
    size_t count = 0, more = 0, kept = 0;
    changes = changes ? changes : none;
    while (environ && environ[count])
        count++;
    while (changes[more])
        more++;
    char **list = malloc((count + more + 1) * sizeof *list);
    if (!list)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (!is_changed(environ[i], changes))
            list[kept++] = environ[i];
    for (size_t i = 0; i < more; i++)
        if (strchr(changes[i], '='))
            list[kept++] = (char *)changes[i];
    list[kept] = NULL;
    return list;
}

// A process that could not be started. Containers and chroots that lack what every system has are named: "no such file"
// would send the reader to look for the program.
static weft_err refuse_start(const char *name)
{
    const int number = errno;
    static const char *const needed[] = {"/dev/null", PROCESS_SELF};
    for (size_t i = 0; number == ENOENT && i < sizeof needed / sizeof *needed; i++)
        if (access(needed[i], F_OK) != 0)
            return err_set(WEFT_FAILED_PRECONDITION,
                           "cannot start %s: there is no %s here\n  this container or chroot lacks "
                           "/dev or /proc\n  try: mount --rbind /dev DIR/dev; mount -t proc proc "
                           "DIR/proc",
                           name, needed[i]);
    errno = number;
    return err_errno("cannot start %s", name);
}

weft_err process_spawn(const struct process_spec *spec, struct process *process)
{
    ASSERT(spec->inherit_count <= PROCESS_INHERIT_MAX);
    *process = (struct process){.pidfd = -1};
    // Where vfork is really a fork (under ThreadSanitizer, say) the child cannot leave us its errno.
    if (access(spec->program, X_OK) != 0)
        return refuse_start(spec->arguments[0]);
    if (spec->directory && access(spec->directory, X_OK) != 0)
        return err_errno("cannot start %s in %s", spec->arguments[0], spec->directory);
    char *real_name = is_in_valgrind() ? realpath(spec->program, NULL) : NULL;
    struct child child = {.spec = spec,
                          .program = real_name ? real_name : spec->program,
                          .environment = make_environment(spec->environment),
                          .parent = getpid()};
    if (!child.environment) {
        free(real_name);
        return err_no_memory("to start a process");
    }
    const pid_t pid = start_child(&child);
    const int number = pid < 0 ? errno : child.number;
    free(child.environment);
    free(real_name);
    if (number != 0) {
        if (pid > 0)
            waitpid(pid, NULL, 0);
        errno = number;
        return refuse_start(spec->arguments[0]);
    }
    process->pid = pid;
    process->pidfd = open_pidfd(pid);
    return WEFT_OK;
}

static _Noreturn void run_copy(int (*body)(void *), void *owner, pid_t parent)
{
    set_child_signals();
    if (!tie_to_parent(parent))
        _exit(127);
    // Sockets and locks are let go when we let go of them, not when the copy ends.
    if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0) != 0)
        for (int fd = STDERR_FILENO + 1; fd < COPY_DESCRIPTORS_MAX; fd++)
            close(fd);
    _exit(body(owner) & 0xff);
}

weft_err process_fork(int (*body)(void *), void *owner, struct process *process)
{
    *process = (struct process){.pidfd = -1};
    const pid_t parent = getpid();
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t pid = fork();
    if (pid == 0)
        run_copy(body, owner, parent);
    const int number = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = number;
    if (pid < 0)
        return err_errno("cannot fork");
    process->pid = pid;
    process->pidfd = open_pidfd(pid);
    return WEFT_OK;
}

static bool has_ended(const struct process *process)
{
    struct pollfd end = {.fd = process->pidfd, .events = POLLIN};
    return process->pid == 0 || (process->pidfd >= 0 && poll(&end, 1, 0) > 0);
}

// A process that is killed closes its descriptors a while before its end can be seen. Its memory goes first, and the
// program that it runs with that.
static bool is_ending(const struct process *process)
{
    char path[48], program[8];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)process->pid);
    return has_ended(process) ||
           (readlink(path, program, sizeof program) < 0 && (errno == ENOENT || errno == ESRCH));
}

weft_err process_open_file(const struct process *process, uint32_t number, int *fd)
{
    char path[48];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d/fd/%u", (int)process->pid, number);
    // Without waiting: it could be a FIFO.
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*fd >= 0 && fstat(*fd, &status) == 0 && S_ISREG(status.st_mode))
        return WEFT_OK;
    const bool is_open = *fd >= 0;
    const weft_err err = is_open ? err_set(WEFT_INVALID_ARGUMENT, "%s is not a file", path)
                                 : err_errno("cannot open %s", path);
    if (is_open)
        close(*fd);
    *fd = -1;
    return is_ending(process) ? err_set(WEFT_UNAVAILABLE, "the process has ended") : err;
}

void process_signal_parent(int number)
{
    const pid_t parent = getppid();
    if (parent > 1)
        kill(parent, number);
}

static void send_signal(const struct process *process, int number)
{
    if (process->pidfd >= 0)
        syscall(SYS_pidfd_send_signal, process->pidfd, number, NULL, 0);
    else if (process->pid > 0)
        kill(process->pid, number);
}

void process_kill(struct process *process)
{
    send_signal(process, SIGKILL);
}

void process_terminate(struct process *process)
{
    send_signal(process, SIGTERM);
}

bool process_has_ended(const struct process *process, uint32_t timeout_ms)
{
    for (uint32_t waited_ms = 0;; waited_ms += LOOK_MS) {
        siginfo_t end = {0};
        if (process->pid <= 0 ||
            waitid(P_PID, (id_t)process->pid, &end, WEXITED | WNOHANG | WNOWAIT) != 0 ||
            end.si_pid == process->pid)
            return true;
        if (waited_ms >= timeout_ms)
            return false;
        poll(NULL, 0, LOOK_MS);
    }
}

void process_wait(struct process *process, struct process_exit *exit)
{
    *exit = (struct process_exit){0};
    int status = 0;
    pid_t got = -1;
    do {
        got = process->pid > 0 ? waitpid(process->pid, &status, 0) : -1;
    } while (got < 0 && process->pid > 0 && errno == EINTR);
    if (got > 0) {
        exit->is_known = true;
        exit->was_signalled = WIFSIGNALED(status);
        exit->number = exit->was_signalled ? WTERMSIG(status) : WEXITSTATUS(status);
    }
    if (process->pidfd >= 0)
        close(process->pidfd);
    *process = (struct process){.pidfd = -1};
}

// Moves a descriptor out of 0..2, where the child's standard ones will be.
static int move_above_standard(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    const int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int number = errno;
    close(fd);
    errno = number;
    return moved;
}

weft_err process_make_socket_pair(int fds[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        return err_errno("cannot make a pair of sockets");
    fds[0] = move_above_standard(fds[0]);
    fds[1] = move_above_standard(fds[1]);
    if (fds[0] >= 0 && fds[1] >= 0)
        return WEFT_OK;
    const weft_err code = err_errno("cannot make a pair of sockets");
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return code;
}

weft_err process_make_shared(size_t size, int *fd, void **memory)
{
    *fd = move_above_standard(memfd_create("weft", MFD_CLOEXEC));
    if (*fd < 0)
        return err_errno("cannot make shared memory");
    weft_err code = WEFT_OK;
    if (ftruncate(*fd, (off_t)size) != 0)
        code = err_errno("cannot make %zu bytes of shared memory", size);
    else
        code = process_map_shared(*fd, size, memory);
    if (code != WEFT_OK)
        close(*fd);
    return code;
}

weft_err process_map_shared(int fd, size_t size, void **memory)
{
    *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (*memory == MAP_FAILED) {
        *memory = NULL;
        return err_errno("cannot map %zu bytes of shared memory", size);
    }
    return WEFT_OK;
}

void process_unmap_shared(void *memory, size_t size)
{
    if (memory)
        munmap(memory, size);
}

void process_open_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            // Takes the lowest free number, which is this one. Opened the wrong way round: a process that reads
            // or writes it gets the error a closed one gives, instead of losing the answer.
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

void process_set_name(const char *name)
{
    prctl(PR_SET_NAME, name);
}

void process_allow_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

void process_survive_large_files(void)
{
    signal(SIGXFSZ, SIG_IGN);
}

void process_close_on_exec(int fd)
{
    const int flags = fcntl(fd, F_GETFD);
    if (flags >= 0)
        fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
}

void process_keep_on_exec(int fd)
{
    const int flags = fcntl(fd, F_GETFD);
    if (flags >= 0)
        fcntl(fd, F_SETFD, flags & ~FD_CLOEXEC);
}
