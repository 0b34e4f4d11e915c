// workdir: the keeper is a child that holds the reading end of a pipe whose writing end is ours alone. The
// kernel closes that end whatever ends us.

#include "sys/file/workdir.h"

#include <errno.h>
#include <fcntl.h>
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

static _Noreturn void keep(const char *path, int alive)
{
    char byte;
    setsid();
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    if (chdir("/") != 0)
        _exit(1);
    forget_descriptors(alive);
    while (read(0, &byte, 1) < 0 && errno == EINTR)
        ;
    for (int i = 0; i < KEEPER_TRIES && file_remove_tree(path) != WEFT_OK; i++)
        nanosleep(&(struct timespec){.tv_nsec = KEEPER_PAUSE_NS}, NULL);
    _exit(0);
}

static weft_err start_keeper(struct workdir *workdir)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_errno("cannot make a pipe");
    workdir->keeper = fork();
    if (workdir->keeper == 0) {
        close(ends[1]);
        keep(workdir->path, ends[0]);
    }
    const weft_err err = workdir->keeper > 0 ? WEFT_OK : err_errno("cannot start a process");
    close(ends[0]);
    workdir->alive = ends[1];
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
    if (!mkdtemp(path)) {
        const weft_err err = err_errno("cannot make a directory for the commands in %s", tmp);
        char text[ERR_TEXT_BYTES_MAX];
        snprintf(text, sizeof text, "%s", err_text());
        free(path);
        return err_set(err, "%s\n  try: --tmp DIR with a directory that you may write to", text);
    }
    workdir->path = path;
    return start_keeper(workdir);
}

void workdir_close(struct workdir *workdir)
{
    if (!workdir->path)
        return;
    // The keeper tries again what fails here.
    if (file_remove_tree(workdir->path) != WEFT_OK)
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
