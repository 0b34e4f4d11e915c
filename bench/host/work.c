// The frame of one client's work: phases and rates. See work.h.

#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STEPS_STORED = 200000 };

struct work_setup work_setup;
const char work_element[WORK_ELEMENT_BYTES] = "an element of a hundred bytes";

void work_fail(const char *what)
{
    fprintf(stderr, "work: %s\n", what);
    exit(1);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

// Pushes for so long, or so many; says how many.
static uint64_t push_all(double seconds, uint64_t count_max)
{
    const double end = now() + seconds;
    uint64_t pushed = 0, settled = 0;
    while (pushed < count_max && now() < end) {
        for (; pushed - settled >= work_setup.window; settled++)
            broker_settle();
        broker_push();
        pushed++;
    }
    for (; settled < pushed; settled++)
        broker_settle();
    return pushed;
}

// Takes for so long, or all there is.
static void print_takes(uint64_t stored, bool adds_one)
{
    const double start = now();
    uint64_t count = 0;
    for (; count < stored && now() < start + work_setup.seconds; count++)
        broker_take(adds_one);
    printf(" %.0f\n", (double)count / (now() - start));
    broker_close();
}

static void run_push(void)
{
    const double start = now();
    const uint64_t count = push_all(work_setup.seconds, UINT64_MAX);
    const double pushed = now();
    broker_open_takes();
    printf("%.0f", (double)count / (pushed - start));
    print_takes(count, false);
}

static void run_steps(void)
{
    const uint64_t stored = push_all(60, STEPS_STORED);
    broker_open_takes();
    print_takes(stored, true);
}

static bool read_setup(int argc, char **argv)
{
    if (argc < 5)
        return false;
    size_t count = 0;
    for (char *port = strtok(argv[2], ","); port && count < WORK_PORTS_MAX;
         port = strtok(NULL, ","))
        work_setup.ports[count++] = (uint16_t)atoi(port);
    work_setup.is_step = strcmp(argv[1], "step") == 0;
    work_setup.window = (uint32_t)atoi(argv[3]);
    work_setup.seconds = atof(argv[4]);
    work_setup.is_kept = argc > 5 && strcmp(argv[5], "kept") == 0;
    return count > 0 && work_setup.window > 0;
}

int main(int argc, char **argv)
{
    if (!read_setup(argc, argv)) {
        fprintf(stderr, "usage: %s push|step PORTS WINDOW SECONDS [kept]\n", argv[0]);
        return 2;
    }
    broker_open();
    if (work_setup.is_step)
        run_steps();
    else
        run_push();
    return 0;
}
