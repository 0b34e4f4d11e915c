// workdir: the keeper is a child that holds the reading end of a pipe whose writing end is ours alone. The
// kernel closes that end whatever ends us. The keeper makes the directory and removes it.

#include "sys/file/workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "sys/file/file.h"

enum {
    // Commands that are being killed may still write: some tries, a second in all.
    KEEPER_TRIES = 20,
    KEEPER_PAUSE_NS = 50 * 1000 * 1000,
    COPY_BYTES = 64 << 10,
};

static weft_err no_memory(void)
{
    return err_no_memory("for the name of a directory");
}

char *workdir_absolute(const char *path)
{
    struct buf absolute = {0};
    char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
    if (path[0] != '/' && !here) {
        err_errno("cannot find the working directory");
        return NULL;
    }
    buf_format(&absolute, "%s%s%s", here ? here : "", here ? "/" : "", path);
    char *copy = absolute.has_failed ? NULL : strdup(buf_text(&absolute));
    if (!copy)
        no_memory();
    free(here);
    buf_fini(&absolute);
    return copy;
}

// ---- The keeper ----------------------------------------------------------------------------------------

// Lets go of everything but the pipe: no process shall wait for the keeper because it holds its pipe.
static void forget_descriptors(int kept)
{
    const long most = sysconf(_SC_OPEN_MAX);
    if (dup2(kept, 0) < 0)
        _exit(1);
    if (close_range(1, ~0U, 0) == 0)
        return;
    for (int fd = 1; fd < (most > 0 && most < 65536 ? (int)most : 65536); fd++)
        close(fd);
}

// What the keeper says of its beginning: the number of an error, or 0 and the path of the directory that it made.
struct beginning {
    int error;
    char path[PATH_MAX];
};

// Makes the directory itself: made by its owner, one that is killed before the keeper is there would leave it.
static bool begin(char *path, int report)
{
    struct beginning beginning = {0};
    if (setsid() < 0 || chdir("/") != 0 || !mkdtemp(path))
        beginning.error = errno;
    else
        snprintf(beginning.path, sizeof beginning.path, "%s", path);
    // Shorter than what a pipe takes at once. An owner that is gone already is seen by the other pipe.
    (void)!write(report, &beginning, sizeof beginning);
    return beginning.error == 0;
}

static _Noreturn void keep(char *path, int report, int alive)
{
    char byte;
    const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    if (!begin(path, report))
        _exit(1);
    forget_descriptors(alive);
    while (read(0, &byte, 1) < 0 && errno == EINTR)
        ;
    for (int i = 0; i < KEEPER_TRIES && file_remove_tree(path) != WEFT_OK; i++)
        nanosleep(&(struct timespec){.tv_nsec = KEEPER_PAUSE_NS}, NULL);
    _exit(0);
}

static bool read_beginning(int fd, struct beginning *beginning)
{
    ssize_t got;
    do {
        got = read(fd, beginning, sizeof *beginning);
    } while (got < 0 && errno == EINTR);
    return got == sizeof *beginning;
}

static weft_err await_directory(struct workdir *workdir, int report, const char *tmp)
{
    struct beginning beginning;
    if (!read_beginning(report, &beginning))
        return err_set(
            WEFT_UNAVAILABLE,
            "the process that makes a directory for the commands has ended; was it killed? try again");
    errno = beginning.error;
    if (errno != 0) {
        struct err_kept why;
        const weft_err err = err_errno("cannot make a directory for the commands in %s", tmp);
        err_keep(&why);
        return err_set(err, "%s\n  try: --tmp DIR with a directory that you may write to",
                       why.text);
    }
    workdir->path = strdup(beginning.path);
    return workdir->path ? WEFT_OK : no_memory();
}

static weft_err start_keeper(struct workdir *workdir, char *path, const char *tmp)
{
    int alive[2], report[2];
    if (pipe2(alive, O_CLOEXEC) != 0)
        return err_errno("cannot make a pipe");
    workdir->alive = alive[1];
    if (pipe2(report, O_CLOEXEC) != 0) {
        close(alive[0]);
        return err_errno("cannot make a pipe");
    }
    workdir->keeper = fork();
    if (workdir->keeper == 0) {
        close(alive[1]);
        keep(path, report[1], alive[0]);
    }
    weft_err err = workdir->keeper > 0 ? WEFT_OK : err_errno("cannot start a process");
    close(alive[0]);
    close(report[1]);
    if (!err)
        err = await_directory(workdir, report[0], tmp);
    close(report[0]);
    return err;
}

// ---- Life ----------------------------------------------------------------------------------------------

weft_err workdir_open(struct workdir *workdir, const char *tmp)
{
    *workdir = (struct workdir){.alive = -1};
    struct buf name = {0};
    buf_format(&name, "%s/weft-work-XXXXXX", tmp);
    char *path = name.has_failed ? NULL : workdir_absolute(buf_text(&name));
    buf_fini(&name);
    if (!path)
        return no_memory();
    const weft_err err = start_keeper(workdir, path, tmp);
    free(path);
    return err;
}

void workdir_close(struct workdir *workdir)
{
    // The keeper tries again what fails here.
    if (workdir->path && file_remove_tree(workdir->path) != WEFT_OK)
        err_clear();
    if (workdir->alive >= 0)
        close(workdir->alive);
    if (workdir->keeper > 0)
        while (waitpid(workdir->keeper, NULL, 0) < 0 && errno == EINTR)
            ;
    free(workdir->path);
    *workdir = (struct workdir){.alive = -1};
}

// ---- What lies in it -------------------------------------------------------------------------------------

static weft_err copy_bytes(int from, const char *path, int to, const char *target)
{
    char *block = malloc(COPY_BYTES);
    weft_err err = block ? WEFT_OK : no_memory();
    uint64_t offset = 0;
    for (size_t got = 1; !err && got > 0; offset += got) {
        err = file_read_at(from, path, block, COPY_BYTES, offset, &got);
        if (!err && got > 0)
            err = file_write_at(to, target, block, got, offset);
    }
    free(block);
    return err;
}

static weft_err copy_program(const char *path, const char *target)
{
    int from, to;
    weft_err err = file_open(path, &from);
    if (err)
        return err;
    err = file_create(target, &to);
    if (!err) {
        err = copy_bytes(from, path, to, target);
        if (!err && fchmod(to, 0755) != 0)
            err = err_errno("cannot make %s executable", target);
        file_close(to);
    }
    file_close(from);
    return err;
}

static weft_err put(const char *path, const char *target, bool as_program)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return err_errno("cannot look at %s", path);
    if (as_program && S_ISREG(status.st_mode) && (status.st_mode & 0111) == 0)
        return copy_program(path, target);
    return symlink(path, target) == 0 ? WEFT_OK : err_errno("cannot link %s", path);
}

weft_err workdir_add(struct workdir *workdir, const char *path, const char *name, bool as_program)
{
    struct buf target = {0};
    struct stat status;
    buf_format(&target, "%s/%s", workdir->path, name);
    char *absolute = workdir_absolute(path);
    weft_err err = absolute && !target.has_failed ? WEFT_OK : no_memory();
    if (!err && (!*name || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0))
        err = err_set(WEFT_INVALID_ARGUMENT, "%s cannot be called %s there", path, name);
    if (!err && lstat(buf_text(&target), &status) == 0)
        err = err_set(WEFT_ALREADY_EXISTS, "%s: another file is called %s already", path, name);
    if (!err)
        err = put(absolute, buf_text(&target), as_program);
    free(absolute);
    buf_fini(&target);
    return err;
}
