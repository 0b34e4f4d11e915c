// Fetching over a link, beside a bare pump over the same one: link serve ADDRESS FILE, and on the other machine link get ADDRESS SIZE.
//
// The first serves FILE at ADDRESS:18126, and its bytes by a bare TCP connection at port 18127. The second gets SIZE bytes of it both ways, and prints the rates in megabits per
// second, and the ratio. bench/links runs both in network namespaces whose link is limited.
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/file/file.h"
#include "sys/loop/loop.h"
#include "sys/time/clock.h"
#include "transport/fetch_client.h"
#include "transport/fetch_files.h"
#include "transport/hub.h"

enum { FETCH_PORT = 18126, PUMP_PORT = 18127, STRETCH = 1 << 20 };

static const struct secret token = {.bytes = "0123456789abcdef", .size = 16};

static void die(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, err_text());
    exit(1);
}

static struct sockaddr_in place(const char *address)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(PUMP_PORT)};
    if (inet_pton(AF_INET, address, &at.sin_addr) != 1)
        die("ADDRESS");
    return at;
}

static void pump_out(const char *address, int fd, uint64_t size)
{
    const struct sockaddr_in at = place(address);
    const int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (const struct sockaddr *)&at, sizeof at) || listen(listener, 1))
        die("listen");
    for (;;) {
        const int to = accept(listener, NULL, NULL);
        off_t offset = 0;
        while (offset < (off_t)size && sendfile(to, fd, &offset, size - (uint64_t)offset) > 0)
            continue;
        close(to);
    }
}

static double pump_in(const char *address, uint64_t size)
{
    static char chunk[256 << 10];
    const struct sockaddr_in at = place(address);
    const int from = socket(AF_INET, SOCK_STREAM, 0);
    const uint64_t since = clock_now_ns();
    if (connect(from, (const struct sockaddr *)&at, sizeof at))
        die("connect");
    for (uint64_t done = 0; done < size;) {
        const ssize_t got = recv(from, chunk, sizeof chunk, 0);
        if (got <= 0)
            die("the pump broke");
        done += (uint64_t)got;
    }
    close(from);
    return (double)(clock_now_ns() - since) / 1e9;
}

static weft_err refuse(void *owner, struct hub_peer *peer, const struct hello *hello)
{
    (void)owner, (void)peer, (void)hello;
    return err_set(WEFT_UNIMPLEMENTED, "files only");
}

static void serve(const char *address, const char *path)
{
    static const struct hub_calls calls = {.joined = refuse};
    struct net_address at = {.port = FETCH_PORT};
    struct net_listener listener;
    struct file_stat status;
    int fd;
    snprintf(at.host, sizeof at.host, "%s", address);
    if (file_open(path, &fd) || file_stat_fd(fd, path, &status) || net_listen(&at, &listener))
        die("serve");
    const pid_t child = fork();
    if (child == 0)
        pump_out(address, fd, status.size);
    struct loop *loop = loop_new(NULL, NULL);
    struct fetch_files *files = fetch_files_new();
    const struct fetch_file file = {.id = 7, .fd = fd, .size = status.size, .name = "file"};
    const struct hub_options options = {.loop = loop,
                                        .listener = &listener,
                                        .token = &token,
                                        .name = "",
                                        .calls = &calls,
                                        .files = files};
    if (fetch_files_add(files, &file) || !hub_new(&options))
        die("serve");
    loop_run(loop);
}

struct fetching {
    struct loop *loop;
    uint64_t left;
};

static void on_done(void *owner, weft_err code)
{
    struct fetching *fetching = owner;
    if (code)
        die("fetch");
    if (--fetching->left == 0)
        loop_stop(fetching->loop);
}

static double get(const char *address, uint64_t size)
{
    struct fetching fetching = {loop_new(NULL, NULL), 0};
    struct fetch_client_options options = {
        .loop = fetching.loop, .address = {.port = FETCH_PORT}, .token = &token, .name = "bench"};
    int fd;
    snprintf(options.address.host, sizeof options.address.host, "%s", address);
    if (file_create_nameless("/var/tmp", &fd))
        die("nameless");
    const uint64_t since = clock_now_ns();
    struct fetch_client *client = fetch_client_new(&options);
    for (uint64_t at = 0; at < size; at += STRETCH, fetching.left++) {
        const struct fetch_wanted wanted = {.file = 7,
                                            .offset = at,
                                            .size = size - at < STRETCH ? size - at : STRETCH,
                                            .fd = fd,
                                            .to_offset = at,
                                            .done = on_done,
                                            .owner = &fetching};
        if (fetch_client_get(client, &wanted))
            die("get");
    }
    loop_run(fetching.loop);
    const double seconds = (double)(clock_now_ns() - since) / 1e9;
    fetch_client_free(client);
    close(fd);
    return seconds;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    if (argc == 4 && strcmp(argv[1], "serve") == 0)
        serve(argv[2], argv[3]);
    if (argc != 4 || strcmp(argv[1], "get") != 0)
        die("usage: link serve ADDRESS FILE | link get ADDRESS SIZE");
    const uint64_t size = strtoull(argv[3], NULL, 10);
    const double pump = pump_in(argv[2], size), fetch = get(argv[2], size);
    printf("%8.0f %8.0f %8.2f\n", (double)size * 8 / 1e6 / pump, (double)size * 8 / 1e6 / fetch,
           pump / fetch);
    return 0;
}
