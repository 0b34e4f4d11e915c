// The floor for one request on its way: echo unix|tcp ASK ANSWER SECONDS SERVER_CORE CLIENT_CORE
//
// A server that waits in epoll, reads ASK bytes and writes ANSWER bytes, and a client that writes and
// then waits in read; two processes, each bound to its core, and nobody spins. Prints exchanges per second and the median time of
// one in microseconds.

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGE_BYTES_MAX = 1 << 16, SAMPLES_MAX = 1 << 22 };

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void set_no_delay(int fd)
{
    const int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

static void connect_by_tcp(int fds[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&address, &size))
        fail("listen");
    fds[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fds[0], (struct sockaddr *)&address, size))
        fail("connect");
    fds[1] = accept(listener, NULL, NULL);
    if (fds[1] < 0)
        fail("accept");
    set_no_delay(fds[0]);
    set_no_delay(fds[1]);
    close(listener);
}

static void serve(int fd, size_t ask_bytes, size_t answer_bytes)
{
    static char message[MESSAGE_BYTES_MAX];
    const int poll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    if (poll < 0 || epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event))
        fail("epoll");
    for (size_t got = 0;;) {
        if (epoll_wait(poll, &event, 1, -1) < 1)
            fail("epoll_wait");
        const ssize_t size = recv(fd, message, sizeof message, MSG_DONTWAIT);
        if (size <= 0)
            exit(0);
        got += (size_t)size;
        for (; got >= ask_bytes; got -= ask_bytes)
            if (send(fd, message, answer_bytes, MSG_NOSIGNAL) != (ssize_t)answer_bytes)
                exit(0);
    }
}

static void exchange(int fd, size_t ask_bytes, size_t answer_bytes)
{
    static char message[MESSAGE_BYTES_MAX];
    if (send(fd, message, ask_bytes, MSG_NOSIGNAL) != (ssize_t)ask_bytes)
        fail("send");
    for (size_t got = 0; got < answer_bytes;) {
        const ssize_t size = recv(fd, message, sizeof message, 0);
        if (size <= 0)
            fail("recv");
        got += (size_t)size;
    }
}

static void bind_to(const char *core)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET((size_t)atol(core), &cores);
    if (sched_setaffinity(0, sizeof cores, &cores))
        fail("sched_setaffinity");
}

static int compare(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void measure(int fd, size_t ask_bytes, size_t answer_bytes, double seconds)
{
    static uint32_t samples[SAMPLES_MAX];
    const uint64_t start = now_ns(), end = start + (uint64_t)(seconds * 1e9);
    uint64_t before = start;
    size_t count = 0;
    while (before < end && count < SAMPLES_MAX) {
        exchange(fd, ask_bytes, answer_bytes);
        const uint64_t after = now_ns();
        samples[count++] = (uint32_t)(after - before);
        before = after;
    }
    qsort(samples, count, sizeof *samples, compare);
    printf("%.0f %.1f\n", (double)count / ((double)(before - start) / 1e9),
           (double)samples[count / 2] / 1e3);
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fprintf(stderr, "usage: echo unix|tcp ASK ANSWER SECONDS SERVER_CORE CLIENT_CORE\n");
        return 2;
    }
    const size_t ask_bytes = (size_t)atol(argv[2]), answer_bytes = (size_t)atol(argv[3]);
    int fds[2];
    if (strcmp(argv[1], "tcp") == 0)
        connect_by_tcp(fds);
    else if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
        fail("socketpair");
    const pid_t child = fork();
    if (child < 0)
        fail("fork");
    close(fds[child == 0 ? 0 : 1]);
    bind_to(argv[child == 0 ? 5 : 6]);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve(fds[1], ask_bytes, answer_bytes);
    }
    measure(fds[0], ask_bytes, answer_bytes, atof(argv[4]));
    close(fds[0]);
    waitpid(child, NULL, 0);
    return 0;
}
