// The clock: nanoseconds since some moment, never going back.
#ifndef SYS_TIME_CLOCK_H
#define SYS_TIME_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Sleeps; a signal may end it early.
static inline void clock_sleep_ms(uint32_t milliseconds)
{
    const struct timespec pause = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
    nanosleep(&pause, NULL);
}

// Seconds of the calendar, since 1970: for people, never to measure by.
static inline int64_t clock_calendar_s(void)
{
    return (int64_t)time(NULL);
}

#endif
