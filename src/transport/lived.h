// lived: a clock of the time that this process has lived, in milliseconds.
//
// Time in which it stood still, stopped or suspended with its machine, does not count: what others sent in the meantime
// must be read before anything of theirs is taken for late. To be read at least every LIVED_STANDSTILL_MS.
#ifndef TRANSPORT_LIVED_H
#define TRANSPORT_LIVED_H

#include "sys/time/clock.h"

enum { LIVED_STANDSTILL_MS = 500 };

struct lived {
    uint64_t clock_ms;  // of the machine when it was last read
    uint64_t now_ms;
};

static inline void lived_start(struct lived *lived)
{
    lived->clock_ms = clock_now_ns() / 1000000;
    lived->now_ms = 1;  // 0 is "never"
}

// The time now, without moving the clock. Until it is moved, it passes by LIVED_STANDSTILL_MS at most.
static inline uint64_t lived_peek_ms(const struct lived *lived)
{
    const uint64_t passed_ms = clock_now_ns() / 1000000 - lived->clock_ms;
    return lived->now_ms + (passed_ms < LIVED_STANDSTILL_MS ? passed_ms : LIVED_STANDSTILL_MS);
}

static inline uint64_t lived_now_ms(struct lived *lived)
{
    const uint64_t clock_ms = clock_now_ns() / 1000000;
    const uint64_t passed_ms = clock_ms - lived->clock_ms;
    lived->clock_ms = clock_ms;
    lived->now_ms += passed_ms < LIVED_STANDSTILL_MS ? passed_ms : LIVED_STANDSTILL_MS;
    return lived->now_ms;
}

#endif
