// A link between two network namespaces that is slow and long, for kernels without netem: delay NAMESPACE NAMESPACE MBITS DELAY_MS [LOST_PERCENT].
//
// Makes a tun device d0 in each namespace, and passes packets from one to the other: at most MBITS megabits of them in a second, each DELAY_MS later, in each direction. A
// queue of 20 ms stands before the limit, as in a router; the packets that do not fit are dropped, and TCP slows down. LOST_PERCENT of all packets are dropped as well.
// Prints "ready" when the devices are there, and runs until it is killed.
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { PACKET_BYTES = 9216, PACKETS = 4096, QUEUE_MS = 20 };

struct packet {
    uint64_t due_ns;
    size_t size;
    char bytes[PACKET_BYTES];
};

// One direction: a ring of packets on their way.
struct way {
    int from, to;
    uint64_t free_ns;  // when the limit has let all of them pass
    struct packet *packets;
    size_t first, count;
};

static uint64_t rate, delay_ns;
static double lost_percent;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int open_device(const char *namespace)
{
    char path[256];
    struct ifreq request = {.ifr_name = "d0", .ifr_flags = IFF_TUN | IFF_NO_PI};
    snprintf(path, sizeof path, "/run/netns/%s", namespace);
    const int into = open(path, O_RDONLY);
    if (into < 0 || setns(into, CLONE_NEWNET))
        die(path);
    close(into);
    const int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &request))
        die("/dev/net/tun");
    return fd;
}

static void take(struct way *way)
{
    char spare[PACKET_BYTES];
    for (;;) {
        struct packet *packet = &way->packets[(way->first + way->count) % PACKETS];
        const ssize_t got = read(way->from, spare, sizeof spare);
        if (got <= 0)
            return;
        const uint64_t now = now_ns();
        if (way->free_ns < now)
            way->free_ns = now;
        if (drand48() * 100 < lost_percent)
            continue;
        if (way->count == PACKETS || way->free_ns - now > QUEUE_MS * UINT64_C(1000000))
            continue;
        way->free_ns += (uint64_t)got * 8000 / rate;
        packet->due_ns = way->free_ns + delay_ns;
        packet->size = (size_t)got;
        memcpy(packet->bytes, spare, (size_t)got);
        way->count++;
    }
}

// Returns when the next packet is due; UINT64_MAX: none is on its way.
static uint64_t give(struct way *way)
{
    while (way->count && way->packets[way->first].due_ns <= now_ns()) {
        const struct packet *packet = &way->packets[way->first];
        if (write(way->to, packet->bytes, packet->size) < 0 && errno != EAGAIN && errno != EIO)
            die("write");
        way->first = (way->first + 1) % PACKETS;
        way->count--;
    }
    return way->count ? way->packets[way->first].due_ns : UINT64_MAX;
}

int main(int count, char **words)
{
    if (count < 5 || count > 6 || (rate = strtoull(words[3], NULL, 10)) == 0) {
        fprintf(stderr, "usage: delay NAMESPACE NAMESPACE MBITS DELAY_MS [LOST_PERCENT]\n");
        return 2;
    }
    delay_ns = (uint64_t)(strtod(words[4], NULL) * 1e6);
    lost_percent = count > 5 ? strtod(words[5], NULL) : 0;
    const int fds[2] = {open_device(words[1]), open_device(words[2])};
    struct way ways[2] = {{.from = fds[0], .to = fds[1]}, {.from = fds[1], .to = fds[0]}};
    for (int i = 0; i < 2; i++)
        if (!(ways[i].packets = calloc(PACKETS, sizeof *ways[i].packets)))
            die("memory");
    puts("ready");
    fflush(stdout);
    for (;;) {
        const uint64_t first = give(&ways[0]), second = give(&ways[1]), now = now_ns();
        const uint64_t due = first < second ? first : second;
        const uint64_t wait_ns = due == UINT64_MAX ? 1000000000 : due > now ? due - now : 0;
        struct timespec wait = {(time_t)(wait_ns / 1000000000), (long)(wait_ns % 1000000000)};
        struct pollfd polled[2] = {{fds[0], POLLIN, 0}, {fds[1], POLLIN, 0}};
        ppoll(polled, 2, &wait, NULL);
        take(&ways[0]);
        take(&ways[1]);
    }
}
