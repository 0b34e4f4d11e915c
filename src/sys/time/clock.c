// The kernel's clocks. Not inline, so that a simulator can put another clock in the place of this file.

#include "sys/time/clock.h"

#include <time.h>

uint64_t clock_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void clock_sleep_ms(uint32_t milliseconds)
{
    const struct timespec pause = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
    nanosleep(&pause, NULL);
}

int64_t clock_calendar_s(void)
{
    return (int64_t)time(NULL);
}
