// Spinning: when it pays, and when it is left out.

#include "sys/thread/spin.h"

#include <stdlib.h>
#include <sys/resource.h>

#include "sys/machine/machine.h"
#include "sys/thread/thread.h"
#include "sys/time/clock.h"

uint32_t spin_default_us(void)
{
    if (machine_core_count() < 2)
        return 0;
    const char *given = getenv("WEFT_SPIN_US");
    if (!given || !given[0])
        return SPIN_US_DEFAULT;
    char *end = NULL;
    const unsigned long value = strtoul(given, &end, 10);
    if (*end || given[0] < '0' || given[0] > '9')
        return SPIN_US_DEFAULT;
    return value > SPIN_US_MAX ? SPIN_US_MAX : (uint32_t)value;
}

void spin_set(struct spin *spin, uint32_t microseconds)
{
    const uint32_t limit = microseconds > SPIN_US_MAX ? SPIN_US_MAX : microseconds;
    *spin = (struct spin){.limit_ns = (uint64_t)limit * 1000};
}

static long count_preemptions(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

bool spin_begin(struct spin *spin)
{
    if (spin->limit_ns == 0)
        return false;
    if (spin->skips > 0) {
        spin->skips--;
        return false;
    }
    spin->preemptions = count_preemptions();
    spin->deadline_ns = clock_now_ns() + spin->limit_ns;
    return true;
}

bool spin_goes_on(const struct spin *spin)
{
    thread_yield();
    return clock_now_ns() < spin->deadline_ns;
}

void spin_end(struct spin *spin, bool has_found)
{
    if (has_found && count_preemptions() == spin->preemptions) {
        spin->skips_before = 0;
        return;
    }
    const uint32_t twice = spin->skips_before ? 2 * spin->skips_before : 1;
    spin->skips = spin->skips_before = twice < SPIN_SKIPS_MAX ? twice : SPIN_SKIPS_MAX;
}
