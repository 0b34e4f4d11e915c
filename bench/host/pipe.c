// The frame of a pipe: processes, the window, the count. See pipe.h.

#include "pipe.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSES_MAX = 8, DRAIN_SECONDS = 5, READY_SECONDS = 20 };

static const double warm_up_seconds = 0.2;

struct pipe_setup pipe_setup;
const char pipe_element[PIPE_ELEMENT_BYTES] = "an element of a hundred bytes";

// Seen by all processes; a line of the cache for each that is written often.
static struct shared {
    _Alignas(128) _Atomic uint32_t ready;
    struct {
        _Alignas(128) _Atomic uint64_t count;
    } consumed[PIPE_CONSUMERS];
} * shared;

static pid_t processes[PROCESSES_MAX];
static size_t process_count;
static pid_t main_process;

static void end_all(void)
{
    for (size_t i = 0; i < process_count && getpid() == main_process; i++)
        kill(processes[i], SIGKILL);
    while (getpid() == main_process && wait(NULL) > 0)
        ;
}

void pipe_fail(const char *what)
{
    fprintf(stderr, "pipe: %s\n", what);
    if (getpid() != main_process)
        kill(main_process, SIGTERM);
    else
        end_all();
    _exit(1);
}

void pipe_start(void (*run)(int number), int number)
{
    const pid_t child = process_count < PROCESSES_MAX ? fork() : -1;
    if (child < 0)
        pipe_fail("no more processes");
    if (child > 0) {
        processes[process_count++] = child;
        return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    run(number);
    _exit(0);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static uint64_t count_consumed(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < PIPE_CONSUMERS; i++)
        sum += atomic_load_explicit(&shared->consumed[i].count, memory_order_relaxed);
    return sum;
}

static void run_consumer(int consumer)
{
    carrier_open_consumer(consumer);
    atomic_fetch_add(&shared->ready, 1);
    for (uint64_t count = 1;; count++) {
        carrier_consume();
        atomic_store_explicit(&shared->consumed[consumer].count, count, memory_order_relaxed);
    }
}

static void wait_for_consumers(void)
{
    const double end = now() + READY_SECONDS;
    while (atomic_load(&shared->ready) < PIPE_CONSUMERS) {
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        if (now() > end)
            pipe_fail("the consumers do not come");
    }
}

struct producer {
    uint64_t sent, settled;
    bool has_acks;
};

// Sends one, or waits for what keeps it from that.
static void step(struct producer *producer)
{
    const uint64_t unsettled = producer->has_acks ? producer->sent - producer->settled : 0;
    const bool is_full =
        unsettled >= pipe_setup.window ||
        (!pipe_setup.counts_acks && producer->sent - count_consumed() >= pipe_setup.window);
    if (!is_full) {
        carrier_push();
        producer->sent++;
    } else if (unsettled == 0) {
        sched_yield();
    } else if (carrier_settle()) {
        producer->settled++;
    } else {
        producer->has_acks = false;
    }
}

// What is acknowledged may be far ahead of what is consumed: wait as long as there is progress.
static void drain(struct producer *producer)
{
    while (producer->has_acks && producer->settled < producer->sent && carrier_settle())
        producer->settled++;
    uint64_t before = count_consumed();
    for (double since = now(); before < producer->sent && now() < since + DRAIN_SECONDS;) {
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        if (count_consumed() != before)
            since = now();
        before = count_consumed();
    }
    if (count_consumed() != producer->sent)
        pipe_fail("not every element has arrived once");
}

static double measure(void)
{
    struct producer producer = {.has_acks = true};
    const double warm = now() + warm_up_seconds;
    while (now() < warm)
        step(&producer);
    const double start = now();
    const uint64_t before = count_consumed();
    while (now() < start + pipe_setup.seconds)
        step(&producer);
    const double rate = (double)(count_consumed() - before) / (now() - start);
    drain(&producer);
    return rate;
}

static bool read_setup(int argc, char **argv)
{
    if (argc < 4)
        return false;
    size_t count = 0;
    for (char *port = strtok(argv[1], ","); port && count < PIPE_PORTS_MAX;
         port = strtok(NULL, ","))
        pipe_setup.ports[count++] = (uint16_t)atoi(port);
    pipe_setup.window = (uint32_t)atoi(argv[2]);
    pipe_setup.seconds = atof(argv[3]);
    for (int i = 4; i < argc; i++) {
        pipe_setup.counts_acks |= strcmp(argv[i], "acks") == 0;
        pipe_setup.is_here |= strcmp(argv[i], "here") == 0;
    }
    return count > 0 && pipe_setup.window > 0;
}

int main(int argc, char **argv)
{
    if (!read_setup(argc, argv)) {
        fprintf(stderr, "usage: %s PORTS WINDOW SECONDS [acks] [here]\n", argv[0]);
        return 2;
    }
    main_process = getpid();
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        pipe_fail("no memory");
    carrier_prepare();
    for (int i = 0; i < PIPE_CONSUMERS; i++)
        pipe_start(run_consumer, i);
    carrier_open_producer();
    wait_for_consumers();
    printf("%.0f\n", measure());
    end_all();
    return 0;
}
