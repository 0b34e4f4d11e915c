// Points in time for people: always UTC, so that texts of two machines can be compared.

#include "sys/time/calendar.h"

#include <time.h>

void calendar_write(int64_t seconds, char text[CALENDAR_TEXT_BYTES])
{
    const time_t time = (time_t)seconds;
    struct tm parts;
    if (!gmtime_r(&time, &parts) ||
        strftime(text, CALENDAR_TEXT_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        text[0] = 0;
}
