// What fetching costs, beside bare pumps over the same sockets: fetch [DIRECTORY [MiB [ROUNDS]]]. bench/fetches builds and runs it.
//
// Each round measures, one after the other, and ratios are those of one round:
//   pumps        send and recv of a buffer, nothing else; over TCP, a Unix socket, and through TLS (ours on both sides)
//   file pumps   the same with pread before and pwrite after it: from a file to a nameless file of the same file system, as fetching does
//   fetch        fetching a file into a nameless file by the Unix socket and through TLS: with requests, credits, and checksums on both sides
// So "fetch / file pump" is what the protocol costs, and "fetch / pump" also what the two files cost. Two processes; DIRECTORY (.) has both files.
// CPU is that of both processes, for the machine may have other work.
//
//   cc -O3 -D_GNU_SOURCE -std=gnu17 -Isrc -Iinclude bench/fetch.c build/internal/libweft_internal.a -lpthread -lm -lssl -lcrypto
//      -luv -lprotobuf-c -llz4 -o /tmp/fetch
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/file/file.h"
#include "sys/loop/loop.h"
#include "sys/secure/tls.h"
#include "sys/time/clock.h"
#include "transport/fetch_client.h"
#include "transport/fetch_files.h"
#include "transport/hub.h"

enum { CHUNK = 256 << 10, STRETCH = 16 << 20, ROUNDS_MAX = 99 };
enum column { TCP, UNIX, TLS, TCP_FILES, UNIX_FILES, TLS_FILES, FETCH_UNIX, FETCH_TLS, COLUMNS };

static const char *const names[COLUMNS] = {"TCP pump",      "Unix pump",      "TLS pump",
                                           "TCP file pump", "Unix file pump", "TLS file pump",
                                           "fetch by Unix", "fetch by TLS"};

struct cost {
    double wall, cpu;
};
static const struct secret token = {.bytes = "0123456789abcdef", .size = 16};
static const char *directory = ".";
static uint64_t total = (uint64_t)1024 << 20;
static int source_fd;
static char chunk[CHUNK];

static void die(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, err_text());
    exit(1);
}

// ---- Bare pumps ---------------------------------------------------------------------------------------------

static void make_pair(bool is_unix, int fds[2])
{
    if (is_unix) {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
            die("socketpair");
        return;
    }
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof at;
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&at, size) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&at, &size))
        die("listen");
    fds[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fds[0], (struct sockaddr *)&at, size))
        die("connect");
    fds[1] = accept(listener, NULL, NULL);
    close(listener);
}

static void send_all(int fd, const void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t sent = send(fd, (const char *)data + done, size - done, MSG_NOSIGNAL);
        if (sent <= 0)
            _exit(1);
        done += (size_t)sent;
    }
}

static void flush_tls(struct tls *tls, int fd)
{
    while (tls_unsent(tls).size) {
        const weft_bytes bytes = tls_unsent(tls);
        send_all(fd, bytes.data, bytes.size);
        tls_sent(tls, bytes.size);
    }
}

// Feeds until the handshake is done.
static void shake_hands(struct tls *tls, int fd, struct buf *plain)
{
    flush_tls(tls, fd);
    while (!tls_is_ready(tls)) {
        const ssize_t got = recv(fd, chunk, sizeof chunk, 0);
        if (got <= 0 || tls_feed(tls, (weft_bytes){chunk, (size_t)got}, plain))
            die("handshake");
        flush_tls(tls, fd);
    }
}

static bool has_tls(enum column column)
{
    return column == TLS || column == TLS_FILES;
}

static bool has_files(enum column column)
{
    return column >= TCP_FILES;
}

static void pump_out(enum column column, int fd)
{
    struct buf plain = {0};
    struct tls *tls = has_tls(column) ? tls_new(true, &token) : NULL;
    if (tls)
        shake_hands(tls, fd, &plain);
    for (uint64_t done = 0; done < total; done += CHUNK) {
        if (has_files(column) && pread(source_fd, chunk, CHUNK, (off_t)done) != CHUNK)
            _exit(1);
        if (tls) {
            if (tls_seal(tls, (weft_bytes){chunk, CHUNK}))
                _exit(1);
            flush_tls(tls, fd);
        } else {
            send_all(fd, chunk, CHUNK);
        }
    }
}

static void pump_in(enum column column, int fd, int to_fd)
{
    struct buf plain = {0};
    struct tls *tls = has_tls(column) ? tls_new(false, &token) : NULL;
    if (tls)
        shake_hands(tls, fd, &plain);
    uint64_t done = plain.size;
    while (done < total) {
        const ssize_t got = recv(fd, chunk, sizeof chunk, 0);
        if (got <= 0)
            die("the pump broke");
        size_t size = (size_t)got;
        if (tls) {
            plain.size = 0;
            if (tls_feed(tls, (weft_bytes){chunk, size}, &plain))
                die("tls_feed");
            size = plain.size;
        }
        if (has_files(column) &&
            pwrite(to_fd, tls ? plain.data : chunk, size, (off_t)done) != (ssize_t)size)
            die("write");
        done += size;
    }
    buf_fini(&plain);
    tls_free(tls);
}

// CPU seconds of this process and of the children that were waited for.
static double cpu_now(void)
{
    double seconds = 0;
    const int of[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
    for (int i = 0; i < 2; i++) {
        struct rusage used;
        getrusage(of[i], &used);
        seconds += (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                   (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    }
    return seconds;
}

static struct cost run_pump(enum column column)
{
    const double cpu = cpu_now();
    int fds[2], to_fd = -1;
    make_pair(column == UNIX || column == UNIX_FILES, fds);
    if (has_files(column) && file_create_nameless(directory, &to_fd))
        die("nameless");
    const uint64_t since = clock_now_ns();
    const pid_t child = fork();
    if (child == 0) {
        pump_out(column, fds[0]);
        _exit(0);
    }
    pump_in(column, fds[1], to_fd);
    const double seconds = (double)(clock_now_ns() - since) / 1e9;
    waitpid(child, NULL, 0);
    close(fds[0]);
    close(fds[1]);
    if (to_fd >= 0)
        close(to_fd);
    return (struct cost){seconds, cpu_now() - cpu};
}

// ---- Fetching -----------------------------------------------------------------------------------------------

static weft_err refuse(void *owner, struct hub_peer *peer, const struct hello *hello)
{
    (void)owner, (void)peer, (void)hello;
    return err_set(WEFT_UNIMPLEMENTED, "files only");
}

static void serve(const struct net_listener *listener)
{
    static const struct hub_calls calls = {.joined = refuse};
    struct loop *loop = loop_new(NULL, NULL);
    struct fetch_files *files = fetch_files_new();
    if (fetch_files_add(files, &(struct fetch_file){.id = 7, .fd = source_fd, .size = total}))
        die("add");
    const struct hub_options options = {.loop = loop,
                                        .listener = listener,
                                        .token = &token,
                                        .name = "",
                                        .calls = &calls,
                                        .files = files};
    if (!hub_new(&options))
        die("hub");
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

static struct cost run_fetch(bool is_secret)
{
    const double cpu = cpu_now();
    struct net_listener listener;
    int to_fd;
    if (net_listen(&(struct net_address){.host = ""}, &listener) ||
        file_create_nameless(directory, &to_fd))
        die("listen");
    const pid_t child = fork();
    if (child == 0) {
        serve(&listener);
        _exit(0);
    }
    struct fetching fetching = {loop_new(NULL, NULL), 0};
    struct fetch_client_options options = {.loop = fetching.loop,
                                           .address = {.port = listener.port},
                                           .token = &token,
                                           .name = "bench"};
    // The Unix socket has the name of the everyday loopback address; another one goes by TCP.
    strcpy(options.address.host, is_secret ? "127.0.0.9" : "127.0.0.1");
    const uint64_t since = clock_now_ns();
    struct fetch_client *client = fetch_client_new(&options);
    for (uint64_t at = 0; at < total; at += STRETCH, fetching.left++)
        if (fetch_client_get(client, &(struct fetch_wanted){.file = 7,
                                                            .offset = at,
                                                            .size = STRETCH,
                                                            .fd = to_fd,
                                                            .to_offset = at,
                                                            .done = on_done,
                                                            .owner = &fetching}))
            die("get");
    loop_run(fetching.loop);
    const double seconds = (double)(clock_now_ns() - since) / 1e9;
    fetch_client_free(client);
    loop_free(fetching.loop);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    net_listener_close(&listener);
    close(to_fd);
    return (struct cost){seconds, cpu_now() - cpu};
}

// ---- Rounds -------------------------------------------------------------------------------------------------

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

static struct cost costs[COLUMNS][ROUNDS_MAX];
static int rounds = 5;

static double middle(enum column at, bool is_cpu)
{
    double values[ROUNDS_MAX];
    for (int i = 0; i < rounds; i++)
        values[i] = is_cpu ? costs[at][i].cpu : costs[at][i].wall;
    return median(values, rounds);
}

static void show_ratio(enum column what, enum column of, int wanted)
{
    double walls[ROUNDS_MAX], cpus[ROUNDS_MAX];
    for (int i = 0; i < rounds; i++) {
        walls[i] = 100 * costs[of][i].wall / costs[what][i].wall;
        cpus[i] = 100 * costs[of][i].cpu / costs[what][i].cpu;
    }
    const double wall = median(walls, rounds), cpu = median(cpus, rounds);
    printf("%-14s / %-14s  %3.0f %% of its rate (%.0f to %.0f), %3.0f %% by CPU (%.0f to %.0f)",
           names[what], names[of], wall, walls[0], walls[rounds - 1], cpu, cpus[0],
           cpus[rounds - 1]);
    printf(wanted ? "   to be reached: %d %%\n" : "\n", wanted);
}

int main(int argc, char **argv)
{
    directory = argc > 1 ? argv[1] : directory;
    total = argc > 2 ? strtoull(argv[2], NULL, 10) << 20 : total;
    rounds = argc > 3 ? atoi(argv[3]) : rounds;
    if (total % STRETCH || rounds < 1 || rounds > ROUNDS_MAX ||
        file_create_nameless(directory, &source_fd))
        die("usage: fetch [DIRECTORY [MiB, a multiple of 16 [ROUNDS]]]");
    for (uint64_t at = 0; at < total; at += CHUNK) {
        secret_random(chunk, 4096);
        if (pwrite(source_fd, chunk, CHUNK, (off_t)at) != CHUNK)
            die("write");
    }
    for (int i = 0; i < rounds; i++)
        for (enum column at = 0; at < COLUMNS; at++)
            costs[at][i] = at >= FETCH_UNIX ? run_fetch(at == FETCH_TLS) : run_pump(at);
    printf("%-14s %10s %16s\n", "", "GB/s", "CPU s of a GB");
    for (enum column at = 0; at < COLUMNS; at++)
        printf("%-14s %10.2f %16.2f\n", names[at], (double)total / 1e9 / middle(at, false),
               middle(at, true) / ((double)total / 1e9));
    show_ratio(FETCH_UNIX, UNIX_FILES, 0);
    show_ratio(FETCH_UNIX, TCP_FILES, 60);
    show_ratio(FETCH_TLS, TLS_FILES, 70);
    show_ratio(FETCH_UNIX, TCP, 0);
    show_ratio(FETCH_TLS, TLS, 0);
    return 0;
}
