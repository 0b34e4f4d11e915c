// The clock: nanoseconds since some moment, never going back.
#ifndef SYS_TIME_CLOCK_H
#define SYS_TIME_CLOCK_H

#include <stdint.h>

uint64_t clock_now_ns(void);

// Sleeps; a signal may end it early.
void clock_sleep_ms(uint32_t milliseconds);

// Seconds of the calendar, since 1970: for people, never to measure by.
int64_t clock_calendar_s(void);

#endif
