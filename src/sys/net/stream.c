// Streams: the blocking half of a connection, as a worker uses it.

#include "sys/net/stream.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

weft_err stream_send(int fd, const void *head, size_t head_size, const void *body, size_t body_size)
{
    struct iovec parts[2] = {{(void *)head, head_size}, {(void *)body, body_size}};
    size_t at = 0;
    while (at < 2) {
        if (parts[at].iov_len == 0) {
            at++;
            continue;
        }
        const struct msghdr message = {.msg_iov = parts + at, .msg_iovlen = 2 - at};
        const ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return err_errno("cannot send to the other side");
        for (size_t left = (size_t)sent; left > 0;) {
            const size_t taken = left < parts[at].iov_len ? left : parts[at].iov_len;
            parts[at].iov_base = (char *)parts[at].iov_base + taken;
            parts[at].iov_len -= taken;
            left -= taken;
            at += parts[at].iov_len == 0;
        }
    }
    return WEFT_OK;
}

weft_err stream_receive(int fd, void *data, size_t size, size_t *got)
{
    *got = 0;
    while (*got < size) {
        const ssize_t taken = recv(fd, (char *)data + *got, size - *got, 0);
        if (taken < 0 && errno == EINTR)
            continue;
        if (taken < 0)
            return err_errno("cannot receive from the other side");
        if (taken == 0)
            break;
        *got += (size_t)taken;
    }
    return WEFT_OK;
}
