// copier: never writes where it could get stuck. It waits in poll() for room or for the order to
// stop, then moves what goes without blocking: pages by splice() into a pipe, MSG_DONTWAIT into a
// socket, small writes to a terminal. Descriptor flags are shared with other processes, so O_NONBLOCK
// is not an option. A file never makes it wait: it gets large writes, each where its position stands,
// which is its end if it was opened for appending.

#include "sys/file/copier.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/file/file.h"
#include "sys/thread/thread.h"

enum {
    PIPE_BYTES = 1 << 20,     // a pipe that holds more makes fewer switches between the two ends
    CHUNK_BYTES = 256 << 10,  // for what cannot be spliced; fits the second cache
    GENTLE_BYTES = 4 << 10,   // a terminal with room takes this much without blocking
    FORGET_BYTES = 32 << 20,  // so much was copied: its disk space and its memory are given back
    STACK_BYTES = 256 << 10,
};

enum target { TARGET_PIPE, TARGET_SOCKET, TARGET_TERMINAL, TARGET_FILE };

struct copier {
    struct copier_spec spec;
    enum target target;
    int stop_fd;  // readable when the thread must end
    struct thread thread;
    char *chunk;         // CHUNK_BYTES of the thread's
    uint64_t forgotten;  // the thread's: emptied up to here

    struct mutex mutex;  // guards what follows
    struct condition changed;
    uint64_t final_size;  // set by the owner
    uint64_t out;         // copied
    bool is_idle, has_stopped, reader_left;
    weft_err code;
    char text[256];
};

static enum target look_at_target(int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return TARGET_TERMINAL;
    if (S_ISFIFO(status.st_mode)) {
        fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES);
        return TARGET_PIPE;
    }
    return S_ISSOCK(status.st_mode)  ? TARGET_SOCKET
           : S_ISREG(status.st_mode) ? TARGET_FILE
                                     : TARGET_TERMINAL;
}

// ---- The thread ----------------------------------------------------------------------------------------

// A write to a file is not torn: other writers get in between lines, not into them.
static size_t whole_lines(const char *data, size_t size)
{
    const char *end = memrchr(data, '\n', size);
    return end ? (size_t)(end + 1 - data) : size;
}

static ssize_t send_chunk(struct copier *copier, uint64_t offset, size_t size)
{
    char *data = copier->chunk;
    const size_t limit = copier->target == TARGET_TERMINAL ? GENTLE_BYTES : CHUNK_BYTES;
    const ssize_t got = pread(copier->spec.from, data, size < limit ? size : limit, (off_t)offset);
    if (got <= 0) {
        errno = got == 0 ? EIO : errno;  // the owner called it final, and it is not there
        return -1;
    }
    if (copier->target == TARGET_FILE && (size_t)got < size)
        return write(copier->spec.to, data, whole_lines(data, (size_t)got));
    if (copier->target == TARGET_SOCKET)
        return send(copier->spec.to, data, (size_t)got, MSG_DONTWAIT | MSG_NOSIGNAL);
    return write(copier->spec.to, data, (size_t)got);
}

// Moves some of the bytes from `offset`; how many, or -1 with errno.
static ssize_t move_some(struct copier *copier, uint64_t offset, uint64_t size)
{
    const size_t wanted = size < PIPE_BYTES ? (size_t)size : PIPE_BYTES;
    if (copier->target == TARGET_PIPE) {
        off_t at = (off_t)offset;
        const ssize_t moved =
            splice(copier->spec.from, &at, copier->spec.to, NULL, wanted, SPLICE_F_NONBLOCK);
        if (moved > 0 || (moved < 0 && errno != EINVAL))
            return moved;
        copier->target = TARGET_TERMINAL;  // a file system that cannot splice
    }
    return send_chunk(copier, offset, wanted);
}

// Waits for room in the target; false when the order to stop came.
static bool wait_for_room(struct copier *copier)
{
    struct pollfd fds[] = {{.fd = copier->stop_fd, .events = POLLIN},
                           {.fd = copier->spec.to, .events = POLLOUT}};
    while (poll(fds, 2, -1) < 0)
        if (errno != EINTR)
            return false;
    return !(fds[0].revents & POLLIN);
}

static void note_failure(struct copier *copier, int number)
{
    if (number == EPIPE) {
        copier->reader_left = true;
        return;
    }
    errno = number;
    copier->code = file_cannot_write(copier->spec.to_name);
    snprintf(copier->text, sizeof copier->text, "%s", err_text());
}

// The disk need not hold the answer twice. A pipe points at the pages that went into it, and so may whatever
// its reader does with them, so that only a file's may be emptied.
static void forget_copied(struct copier *copier, uint64_t out)
{
    const uint64_t end = out - out % FILE_BLOCK_BYTES;
    file_forget(copier->spec.from, copier->forgotten, end - copier->forgotten);
    copier->forgotten = end;
}

// Copies up to `end`; the mutex is not held. Returns 0 or errno; *out moves on.
static int copy_until(struct copier *copier, uint64_t *out, uint64_t end)
{
    while (*out < end) {
        if (!wait_for_room(copier))
            return ECANCELED;
        const ssize_t moved = move_some(copier, *out, end - *out);
        if (moved > 0)
            *out += (uint64_t)moved;
        else if (moved == 0)
            return EIO;
        else if (errno != EAGAIN && errno != EINTR)
            return errno;
        if (copier->target == TARGET_FILE && *out - copier->forgotten >= FORGET_BYTES)
            forget_copied(copier, *out);
    }
    return 0;
}

static void copier_run(void *argument)
{
    struct copier *copier = argument;
    mutex_lock(&copier->mutex);
    while (!copier->has_stopped) {
        if (copier->out == copier->final_size || copier->reader_left || copier->code) {
            copier->is_idle = true;
            condition_broadcast(&copier->changed);
            mutex_unlock(&copier->mutex);
            if (copier->spec.halted)
                copier->spec.halted(copier->spec.owner);
            mutex_lock(&copier->mutex);
            while (!copier->has_stopped && copier->is_idle)
                condition_wait(&copier->changed, &copier->mutex);
            continue;
        }
        uint64_t out = copier->out;
        const uint64_t end = copier->final_size;
        mutex_unlock(&copier->mutex);
        const int number = copy_until(copier, &out, end);
        mutex_lock(&copier->mutex);
        copier->out = out;
        if (number && number != ECANCELED)
            note_failure(copier, number);
    }
    mutex_unlock(&copier->mutex);
}

// ---- The owner -----------------------------------------------------------------------------------------

static weft_err start(struct copier *copier)
{
    copier->chunk = malloc(CHUNK_BYTES);
    if (!copier->chunk)
        return err_no_memory("to copy to %s", copier->spec.to_name);
    copier->stop_fd = eventfd(0, EFD_CLOEXEC);
    if (copier->stop_fd < 0)
        return err_errno("cannot copy to %s", copier->spec.to_name);
    return err_wrap(thread_start(&copier->thread, copier_run, copier, STACK_BYTES),
                    "cannot copy to %s", copier->spec.to_name);
}

static void release(struct copier *copier)
{
    condition_fini(&copier->changed);
    mutex_fini(&copier->mutex);
    file_close(copier->stop_fd);
    free(copier->chunk);
    free(copier);
}

struct copier *copier_new(const struct copier_spec *spec)
{
    struct copier *copier = calloc(1, sizeof *copier);
    if (!copier) {
        err_no_memory("to copy to %s", spec->to_name);
        return NULL;
    }
    copier->spec = *spec;
    copier->is_idle = true;
    copier->stop_fd = -1;
    copier->target = look_at_target(spec->to);
    mutex_init(&copier->mutex);
    condition_init(&copier->changed);
    if (start(copier) == WEFT_OK)
        return copier;
    release(copier);
    return NULL;
}

void copier_extend(struct copier *copier, uint64_t size)
{
    mutex_lock(&copier->mutex);
    ASSERT(size >= copier->final_size);
    const bool has_work = size > copier->final_size && !copier->reader_left && !copier->code;
    copier->final_size = size;
    if (has_work) {
        copier->is_idle = false;
        condition_broadcast(&copier->changed);
    }
    mutex_unlock(&copier->mutex);
}

weft_err copier_wait(struct copier *copier)
{
    mutex_lock(&copier->mutex);
    while (!copier->is_idle)
        condition_wait(&copier->changed, &copier->mutex);
    mutex_unlock(&copier->mutex);
    return copier_error(copier);
}

// The readers' view of a struct that is const to them: only the lock changes.
static void lock(const struct copier *copier)
{
    mutex_lock((struct mutex *)&copier->mutex);
}

static void unlock(const struct copier *copier)
{
    mutex_unlock((struct mutex *)&copier->mutex);
}

weft_err copier_error(const struct copier *copier)
{
    lock(copier);
    const weft_err code = copier->code;
    unlock(copier);
    return code ? err_set(code, "%s", copier->text) : WEFT_OK;
}

bool copier_reader_left(const struct copier *copier)
{
    lock(copier);
    const bool has_left = copier->reader_left;
    unlock(copier);
    return has_left;
}

bool copier_is_idle(const struct copier *copier)
{
    lock(copier);
    const bool is_idle = copier->is_idle;
    unlock(copier);
    return is_idle;
}

uint64_t copier_bytes_out(const struct copier *copier)
{
    lock(copier);
    const uint64_t out = copier->out;
    unlock(copier);
    return out;
}

void copier_free(struct copier *copier)
{
    if (!copier)
        return;
    mutex_lock(&copier->mutex);
    copier->has_stopped = true;
    condition_broadcast(&copier->changed);
    mutex_unlock(&copier->mutex);
    const uint64_t one = 1;
    (void)!write(copier->stop_fd, &one, sizeof one);
    thread_join(&copier->thread);
    release(copier);
}
