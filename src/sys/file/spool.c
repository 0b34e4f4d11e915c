// spool: copying is plain read and write; a pipe gives at most 64 KiB at a time anyway. It waits in
// poll(), never in read() or open(), so that a deadline holds.

#include "sys/file/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "sys/file/file.h"
#include "sys/time/clock.h"

enum {
    COPY_BYTES = 256 << 10,
    LOOK_BYTES = 16 << 20,  // copied between two looks at the room that is left
    ROOM_BYTES = 1 << 30,
};

static void name_spool(struct spool *spool, int fd, uint64_t size)
{
    spool->fd = fd;
    spool->size = size;
    snprintf(spool->path, sizeof spool->path, "/proc/%ld/fd/%d", (long)getpid(), fd);
}

struct copying {
    int from, to;
    const char *name;
    const struct spool_limits *limits;
    uint64_t size;       // copied so far
    uint64_t look_next;  // at this size the room is looked at
    uint64_t keep_free;
};

// Waits until there is something to read, or an end.
static weft_err wait_for_data(const struct copying *copying)
{
    const uint64_t deadline_ns = copying->limits->wait.deadline_ns;
    const int answer = copying->limits->answer_fd, stop = copying->limits->wait.stop_fd;
    // Of the answer's descriptor only events that come unasked: an error means that its reader has gone.
    struct pollfd ready[] = {{.fd = copying->from, .events = POLLIN},
                             {.fd = answer > 0 ? answer : -1},
                             {.fd = stop > 0 ? stop : -1, .events = POLLIN}};
    for (;;) {
        const uint64_t now = deadline_ns ? clock_now_ns() : 0;
        if (deadline_ns && now >= deadline_ns)
            return err_set(WEFT_DEADLINE_EXCEEDED, "timed out while waiting for the end of %s",
                           copying->name);
        const uint64_t left_ms = deadline_ns ? (deadline_ns - now) / 1000000 + 1 : 0;
        const int got = poll(ready, 3, !deadline_ns ? -1 : left_ms < 60000 ? (int)left_ms : 60000);
        if (got > 0 && ready[2].revents)
            return err_set(WEFT_CANCELLED, "%s is not waited for any more", copying->name);
        if (got > 0 && ready[1].revents)
            return err_set(WEFT_CANCELLED, "the reader of the answer is gone");
        if (got > 0)
            return WEFT_OK;
        if (got < 0 && errno != EINTR)
            return err_errno("cannot wait for %s", copying->name);
    }
}

// Ends the copying before it fills the disk, which other programs need, too.
static weft_err check_room(struct copying *copying)
{
    struct statvfs room;
    if (copying->size < copying->look_next || fstatvfs(copying->to, &room) != 0)
        return WEFT_OK;  // a disk that is full says so itself
    const uint64_t left = (uint64_t)room.f_bavail * room.f_frsize;
    const uint64_t given = copying->limits->room_bytes_left, most = left / 8;
    if (copying->size == 0)
        copying->keep_free = given ? given : most < ROOM_BYTES ? most : ROOM_BYTES;
    copying->look_next = copying->size + LOOK_BYTES;
    if (copying->size == 0 || left >= copying->keep_free)
        return WEFT_OK;
    return err_set(
        WEFT_RESOURCE_EXHAUSTED,
        "%s has no end after %" PRIu64 " MB, and only %" PRIu64
        " MB are left in %s\n  a job begins when its input is complete\n  try: --tmp DIR "
        "on a larger disk; or less input, such as by head -c",
        copying->name, copying->size / 1000000, left / 1000000, copying->limits->tmp);
}

static weft_err copy_all(struct copying *copying)
{
    char *data = malloc(COPY_BYTES);
    weft_err err = data ? WEFT_OK : err_no_memory("to copy %s", copying->name);
    while (!err) {
        err = wait_for_data(copying);
        if (!err)
            err = check_room(copying);
        if (err)
            break;
        const ssize_t got = read(copying->from, data, COPY_BYTES);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got < 0)
            err = err_errno("cannot read %s", copying->name);
        if (got <= 0)
            break;
        err = file_write_at(copying->to, "a temporary file", data, (size_t)got, copying->size);
        copying->size += (uint64_t)got;
    }
    free(data);
    return err;
}

static weft_err copy_to_spool(struct spool *spool, int from, const char *name,
                              const struct spool_limits *limits)
{
    int fd;
    weft_err err = file_create_nameless(limits->tmp, &fd);
    if (err)
        return err_wrap(err, "cannot keep %s", name);
    struct copying copying = {.from = from, .to = fd, .name = name, .limits = limits};
    err = copy_all(&copying);
    if (err) {
        file_close(fd);
        return err == WEFT_DEADLINE_EXCEEDED || err == WEFT_CANCELLED
                   ? err
                   : err_wrap(err, "cannot keep %s in %s", name, limits->tmp);
    }
    name_spool(spool, fd, copying.size);
    return WEFT_OK;
}

// Whether the file has what its size says: those of /proc say 0, and have more; those of /sys say 4096, and have
// less.
static bool is_plain(int fd, const struct stat *status)
{
    char byte;
    if (!S_ISREG(status->st_mode))
        return false;
    return status->st_size > 0 ? !file_is_made_up(fd) : pread(fd, &byte, 1, 0) <= 0;
}

// A plain file is used as it is when it can be opened again (it may be another user's, handed down).
static bool reopen_plain(struct spool *spool, int fd, uint64_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const int again = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (again < 0)
        return false;
    name_spool(spool, again, size);
    return true;
}

weft_err spool_open_stdin(struct spool *spool, const struct spool_limits *limits)
{
    static const char name[] = "standard input";
    struct stat status;
    *spool = (struct spool){.fd = -1};
    const int flags = fcntl(STDIN_FILENO, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_WRONLY)
        return err_set(WEFT_FAILED_PRECONDITION,
                       "%s is closed, there is nothing to read\n  try: weft run JOB - <FILE", name);
    if (fstat(STDIN_FILENO, &status) != 0)
        return err_errno("cannot look at %s", name);
    if (S_ISDIR(status.st_mode))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "%s is a directory\n  try: give the directory as INPUT", name);
    if (is_plain(STDIN_FILENO, &status) && lseek(STDIN_FILENO, 0, SEEK_CUR) == 0 &&
        reopen_plain(spool, STDIN_FILENO, (uint64_t)status.st_size))
        return WEFT_OK;
    return copy_to_spool(spool, STDIN_FILENO, name, limits);
}

weft_err spool_open(struct spool *spool, const char *path, const struct spool_limits *limits)
{
    struct stat status;
    *spool = (struct spool){.fd = -1};
    // Opening a FIFO must not wait for its writer: that is done in poll().
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) != 0) {
        const weft_err err = err_errno("cannot open %s", path);
        file_close(fd);
        return err;
    }
    if (is_plain(fd, &status)) {
        name_spool(spool, fd, (uint64_t)status.st_size);
        return WEFT_OK;
    }
    const weft_err err = copy_to_spool(spool, fd, path, limits);
    file_close(fd);
    return err;
}

void spool_close(struct spool *spool)
{
    file_close(spool->fd);
    spool->fd = -1;
}

bool spool_is_own_name(const char *path)
{
    static const char *const starts[] = {"/dev/stdin",  "/dev/fd/",    "/dev/stdout",
                                         "/dev/stderr", "/proc/self/", "/proc/thread-self/",
                                         "/dev/tty"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(path, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}
