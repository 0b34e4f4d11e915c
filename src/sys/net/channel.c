// Channels: a socket that never blocks, TLS inside where there is any, and one place to wait.

#include "sys/net/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "sys/secure/tls.h"
#include "sys/thread/interrupt.h"
#include "sys/thread/spin.h"
#include "sys/time/clock.h"

enum {
    NS_PER_MS = 1000000,
    NS_PER_S = 1000000000,
    RECEIVE_BYTES = 64 << 10,
    SEAL_BYTES_MAX = 256 << 10,    // of one call of channel_send with TLS
    UNSENT_BYTES_MAX = 256 << 10,  // of sealed bytes: beyond that the caller waits
};

struct channel {
    int fd;
    bool is_local;
    struct tls *tls;    // NULL: plain
    struct buf early;   // came with the end of the handshake
    struct buf cipher;  // what TLS reads from
    struct spin spin;
};

static weft_err gone(void)
{
    if (errno == ECONNRESET || errno == EPIPE)
        return err_set(WEFT_UNAVAILABLE, "the other side has closed the connection");
    err_errno("the connection broke");
    return WEFT_UNAVAILABLE;
}

// ---- Sending --------------------------------------------------------------------------------------

static weft_err send_some(struct channel *channel, weft_bytes bytes, size_t *sent)
{
    *sent = 0;
    while (*sent < bytes.size) {
        const ssize_t taken =
            send(channel->fd, bytes.data + *sent, bytes.size - *sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (taken < 0 && errno == EINTR)
            continue;
        if (taken < 0)
            return errno == EAGAIN ? WEFT_OK : gone();
        *sent += (size_t)taken;
    }
    return WEFT_OK;
}

static bool has_unsent(const struct channel *channel)
{
    return channel_unsent_bytes(channel) > 0;
}

// What TLS has sealed and the network did not take before.
static weft_err send_sealed(struct channel *channel)
{
    size_t sent = 0;
    if (!has_unsent(channel))
        return WEFT_OK;
    const weft_err code = send_some(channel, tls_unsent(channel->tls), &sent);
    tls_sent(channel->tls, sent);
    return code;
}

weft_err channel_send(struct channel *channel, weft_bytes bytes, size_t *sent)
{
    if (!channel->tls)
        return send_some(channel, bytes, sent);
    *sent = 0;
    weft_err code = send_sealed(channel);
    if (code != WEFT_OK || bytes.size == 0 || tls_waiting_bytes(channel->tls) >= UNSENT_BYTES_MAX)
        return code;
    bytes.size = bytes.size < SEAL_BYTES_MAX ? bytes.size : SEAL_BYTES_MAX;
    code = tls_seal(channel->tls, bytes);
    if (code == WEFT_OK)
        code = send_sealed(channel);
    if (code == WEFT_OK)
        *sent = bytes.size;
    return code;
}

// ---- Receiving ------------------------------------------------------------------------------------

// One read, appended; *received is 0 when nothing is there, or has come in time.
static weft_err receive_with(struct channel *channel, struct buf *in, size_t *received, int flags)
{
    *received = 0;
    char *room = buf_reserve(in, RECEIVE_BYTES);
    if (!room)
        return err_no_memory("for received bytes");
    ssize_t got;
    do {
        got = recv(channel->fd, room, RECEIVE_BYTES, flags);
    } while (got < 0 && errno == EINTR && flags & MSG_DONTWAIT);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? WEFT_OK : gone();
    if (got == 0)
        return err_set(WEFT_UNAVAILABLE, "the other side has closed the connection");
    in->size += (size_t)got;
    *received = (size_t)got;
    return WEFT_OK;
}

static weft_err receive_some(struct channel *channel, struct buf *in, size_t *received)
{
    return receive_with(channel, in, received, MSG_DONTWAIT);
}

// A record may arrive in part, and a handshake's message holds nothing for the caller: 0 is not the end.
static weft_err receive_sealed(struct channel *channel, struct buf *in)
{
    size_t received = 0;
    channel->cipher.size = 0;
    // A peer that closed the connection may have sent the reason: it is read before a failure to send counts.
    const weft_err unsent = send_sealed(channel);
    weft_err code = receive_some(channel, &channel->cipher, &received);
    if (code == WEFT_OK && received > 0)
        code = tls_feed(channel->tls, buf_bytes(&channel->cipher), in);
    return code == WEFT_OK && received == 0 ? unsent : code;
}

weft_err channel_receive(struct channel *channel, struct buf *in, size_t *received)
{
    if (!channel->tls)
        return receive_some(channel, in, received);
    const size_t before = in->size;
    *received = 0;
    if (channel->early.size > 0) {
        buf_append(in, channel->early.data, channel->early.size);
        buf_fini(&channel->early);
        if (in->has_failed)
            return err_no_memory("for received bytes");
        *received = in->size - before;
        return WEFT_OK;
    }
    const weft_err code = receive_sealed(channel, in);
    *received = in->size - before;
    // What came before the error is handed out first; TLS remembers its errors, the kernel its own.
    return *received > 0 ? WEFT_OK : code;
}

// ---- Waiting --------------------------------------------------------------------------------------

static bool is_ready(struct pollfd fds[2], nfds_t count)
{
    return poll(fds, count, 0) > 0;
}

static bool spin_for_event(struct channel *channel, struct pollfd fds[2], nfds_t count)
{
    if (!spin_begin(&channel->spin))
        return false;
    bool has_found = is_ready(fds, count);
    while (!has_found && spin_goes_on(&channel->spin))
        has_found = is_ready(fds, count);
    spin_end(&channel->spin, has_found);
    return has_found;
}

// Sleeps; *timed_out says whether the deadline came first.
static weft_err sleep_for_event(struct pollfd fds[2], nfds_t count, uint64_t deadline_ns,
                                bool *timed_out)
{
    struct timespec left, *limit = NULL;
    const uint64_t until_ns = interrupt_slice(deadline_ns);
    if (until_ns != UINT64_MAX) {
        const uint64_t now = clock_now_ns();
        const uint64_t ns = until_ns > now ? until_ns - now : 0;
        left = (struct timespec){(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
        limit = &left;
    }
    const int ready = ppoll(fds, count, limit, NULL);
    if (ready < 0 && errno != EINTR)
        return err_errno("cannot wait for the other side");
    // At the end of a slice the caller looks again.
    *timed_out = ready <= 0 && (until_ns == deadline_ns ? ready == 0 : interrupt_ends(deadline_ns));
    return WEFT_OK;
}

weft_err channel_wait(struct channel *channel, bool wants_to_send, int wake_fd,
                      uint64_t deadline_ns, bool *timed_out)
{
    *timed_out = false;
    for (;;) {
        weft_err code = send_sealed(channel);
        if (code != WEFT_OK || channel->early.size > 0)
            return code;
        const bool sends = wants_to_send || has_unsent(channel);
        struct pollfd fds[2] = {
            {.fd = channel->fd, .events = (short)(POLLIN | (sends ? POLLOUT : 0))},
            {.fd = wake_fd, .events = POLLIN},
        };
        const nfds_t count = wake_fd >= 0 ? 2 : 1;
        if (!spin_for_event(channel, fds, count))
            code = sleep_for_event(fds, count, deadline_ns, timed_out);
        // Only room for sealed bytes that the caller knows nothing of: send them, and wait on.
        const bool is_for_us = !wants_to_send && fds[0].revents == POLLOUT && fds[1].revents == 0;
        if (code != WEFT_OK || *timed_out || !is_for_us)
            return code;
    }
}

weft_err channel_watch(struct channel *channel, bool wants_to_send, uint64_t deadline_ns,
                       bool *timed_out)
{
    struct pollfd fds[2] = {
        {.fd = channel->fd, .events = (short)(POLLIN | (wants_to_send ? POLLOUT : 0))}};
    *timed_out = false;
    return spin_for_event(channel, fds, 1) ? WEFT_OK
                                           : sleep_for_event(fds, 1, deadline_ns, timed_out);
}

weft_err channel_await(struct channel *channel, struct buf *in, size_t *received)
{
    bool timed_out;
    struct pollfd fds[2] = {{.fd = channel->fd, .events = POLLIN}};
    *received = 0;
    if (channel->tls)
        return channel_watch(channel, false, clock_now_ns() + CHANNEL_NAP_MS * (uint64_t)NS_PER_MS,
                             &timed_out);
    const bool is_there = spin_for_event(channel, fds, 1);
    return receive_with(channel, in, received, is_there ? MSG_DONTWAIT : 0);
}

size_t channel_unsent_bytes(const struct channel *channel)
{
    return channel->tls ? tls_unsent(channel->tls).size : 0;
}

// ---- From beginning to end ------------------------------------------------------------------------

static weft_err handshake(struct channel *channel, uint64_t deadline_ns)
{
    weft_err code = WEFT_OK;
    while (code == WEFT_OK && (!tls_is_ready(channel->tls) || has_unsent(channel))) {
        bool timed_out = false;
        code = channel_wait(channel, false, -1, deadline_ns, &timed_out);
        if (code == WEFT_OK && timed_out)
            return err_set(WEFT_UNAVAILABLE, "it took the connection, but did not answer in time");
        if (code == WEFT_OK)
            code = receive_sealed(channel, &channel->early);
        if (code == WEFT_OK)
            code = send_sealed(channel);  // our last word has no answer to wait for
    }
    return code;
}

static weft_err secure(struct channel *channel, const struct secret *token, uint64_t deadline_ns)
{
    channel->tls = tls_new(false, token);
    if (!channel->tls)
        return WEFT_RESOURCE_EXHAUSTED;
    return handshake(channel, deadline_ns);
}

// For channel_await; all others say that they do not want to wait.
static void let_block(int fd)
{
    const struct timeval nap = {.tv_usec = CHANNEL_NAP_MS * 1000};
    const int flags = fcntl(fd, F_GETFL);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &nap, sizeof nap);
    fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
}

weft_err channel_open(const struct net_address *address, const struct secret *token,
                      uint32_t timeout_ms, struct channel **channel)
{
    const uint64_t deadline_ns = clock_now_ns() + (uint64_t)timeout_ms * NS_PER_MS;
    char text[NET_ADDRESS_TEXT_BYTES];
    int fd = -1;
    weft_err code = net_connect(address, timeout_ms, &fd);
    if (code != WEFT_OK)
        return code;
    struct channel *opened = calloc(1, sizeof *opened);
    if (!opened) {
        close(fd);
        return err_no_memory("for a connection");
    }
    opened->fd = fd;
    let_block(fd);
    opened->is_local = net_is_local_stream(fd);
    spin_set(&opened->spin, spin_default_us());
    if (!opened->is_local)
        code = secure(opened, token, deadline_ns);
    if (code != WEFT_OK) {
        net_write_address(address, text);
        channel_close(opened);
        return err_wrap(code, "cannot talk to %s", text);
    }
    *channel = opened;
    return WEFT_OK;
}

void channel_close(struct channel *channel)
{
    if (!channel)
        return;
    tls_free(channel->tls);
    buf_fini(&channel->early);
    buf_fini(&channel->cipher);
    close(channel->fd);
    free(channel);
}

bool channel_is_secure(const struct channel *channel)
{
    return channel->tls != NULL;
}

bool channel_is_local(const struct channel *channel)
{
    return channel->is_local;
}

void channel_set_spin(struct channel *channel, uint32_t microseconds)
{
    spin_set(&channel->spin, microseconds);
}
