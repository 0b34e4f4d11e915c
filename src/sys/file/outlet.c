// outlet: a pipe that says it can be written takes a page without waiting, so pages are written.

#include "sys/file/outlet.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/file/file.h"

weft_err outlet_open(struct outlet *outlet, int fd)
{
    *outlet = (struct outlet){.fd = fd, .ready = epoll_create1(EPOLL_CLOEXEC)};
    if (outlet->ready < 0)
        return err_errno("cannot watch an output");
    struct epoll_event event = {.events = EPOLLOUT};
    if (epoll_ctl(outlet->ready, EPOLL_CTL_ADD, fd, &event) != 0) {
        // A plain file, which cannot be waited for; or closed, which the first write shows.
        close(outlet->ready);
        outlet->ready = -1;
    }
    return WEFT_OK;
}

void outlet_close(struct outlet *outlet)
{
    if (outlet->ready >= 0)
        close(outlet->ready);
    buf_fini(&outlet->unsent);
    *outlet = (struct outlet){.fd = -1, .ready = -1};
}

size_t outlet_unsent(const struct outlet *outlet)
{
    return outlet->unsent.size - outlet->sent;
}

// How many of the bytes may be written now.
static size_t ask_room(const struct outlet *outlet, size_t wanted)
{
    struct pollfd event = {.fd = outlet->fd, .events = POLLOUT};
    if (outlet->ready < 0)
        return wanted;
    if (poll(&event, 1, 0) <= 0)
        return 0;
    return wanted < PIPE_BUF ? wanted : PIPE_BUF;
}

// Moves the unsent bytes to the beginning, so that the buffer does not grow with the sent ones.
static void forget_sent(struct outlet *outlet)
{
    struct buf *unsent = &outlet->unsent;
    if (outlet->sent == 0)
        return;
    if (outlet->sent < unsent->size)
        memmove(unsent->data, unsent->data + outlet->sent, unsent->size - outlet->sent);
    unsent->size -= outlet->sent;
    outlet->sent = 0;
}

weft_err outlet_flush(struct outlet *outlet, const char *name)
{
    struct buf *unsent = &outlet->unsent;
    weft_err err = unsent->has_failed ? err_no_memory("for %s", name) : WEFT_OK;
    while (!err && outlet->sent < unsent->size) {
        const size_t room = ask_room(outlet, unsent->size - outlet->sent);
        if (room == 0)
            break;
        const ssize_t put = write(outlet->fd, unsent->data + outlet->sent, room);
        if (put >= 0)
            outlet->sent += (size_t)put;
        else if (errno == EAGAIN)
            break;
        else if (errno == EPIPE)
            err = err_set(WEFT_CANCELLED, "the reader of %s is gone", name);
        else if (errno != EINTR)
            err = file_cannot_write(name);
    }
    if (err)
        outlet->sent = unsent->size;
    forget_sent(outlet);
    return err;
}

bool outlet_is_same(int a, int b)
{
    struct stat one, other;
    return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}
