// command: fork and exec, because only a forked child can ask to be ended with its parent.

#include "sys/process/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"

static bool is_program(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

// The next directory of PATH with the name in `to`; an empty one is the current directory.
static const char *next_candidate(const char *at, const char *name, struct buf *to)
{
    const size_t length = strcspn(at, ":");
    to->size = 0;
    buf_append(to, at, length);
    buf_append_text(to, length ? "/" : "./");
    buf_append_text(to, name);
    return at[length] ? at + length + 1 : NULL;
}

weft_err command_find(const char *name, char **path)
{
    struct buf candidate = {0};
    const char *at = getenv("PATH");
    *path = NULL;
    if (strchr(name, '/')) {
        *path = is_program(name) ? strdup(name) : NULL;
        at = NULL;
    }
    while (at && !*path) {
        at = next_candidate(at, name, &candidate);
        if (is_program(buf_text(&candidate)))
            *path = strdup(buf_text(&candidate));
    }
    buf_fini(&candidate);
    return *path ? WEFT_OK : err_set(WEFT_NOT_FOUND, "there is no program %s", name);
}

static _Noreturn void become_child(const char *path, char *const *arguments, int output,
                                   pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    const int nothing = open("/dev/null", O_RDONLY);
    if (getppid() == parent && nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 &&
        dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0)
        execv(path, arguments);
    _exit(127);
}

weft_err command_run(const char *path, char *const *arguments, int output, int *exit_code)
{
    int status;
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0)
        become_child(path, arguments, output >= 0 ? output : STDERR_FILENO, parent);
    if (child < 0)
        return err_errno("cannot start %s", path);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return err_errno("cannot wait for %s", path);
    *exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return WEFT_OK;
}

weft_err command_become(const char *path, char *const *arguments)
{
    execv(path, arguments);
    return err_errno("cannot run %s", path);
}

weft_err command_own_path(char **path)
{
    *path = realpath("/proc/self/exe", NULL);
    return *path ? WEFT_OK : err_errno("cannot find this program");
}
