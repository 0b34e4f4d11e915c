// calendar: points in time for people.
#ifndef SYS_TIME_CALENDAR_H
#define SYS_TIME_CALENDAR_H

#include <stdint.h>

enum { CALENDAR_TEXT_BYTES = sizeof "2024-06-01T12:00:00Z" };

// Seconds since 1970 as "2024-06-01T12:00:00Z"; "" for a time that does not have a year of four digits.
void calendar_write(int64_t seconds, char text[CALENDAR_TEXT_BYTES]);

#endif
