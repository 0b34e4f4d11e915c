// Spinning: looking again and again for a little while before going to sleep.
//
// Waking a thread on a halted core takes 20 us and more, so a thread whose answer comes sooner gains by
// not sleeping. Where it gains nothing it harms: it takes a core from the threads that would answer. So a spin
// that found nothing, or during which another thread had the core, is followed by skipping the next
// 1, 2, 4 .. 1024 ones. Between two looks the core is offered to threads that wait for one. Starts zeroed: never spins. Thread: one owner.
#ifndef SYS_THREAD_SPIN_H
#define SYS_THREAD_SPIN_H

#include <stdbool.h>
#include <stdint.h>

enum { SPIN_US_DEFAULT = 50, SPIN_US_MAX = 200, SPIN_SKIPS_MAX = 1024 };

struct spin {
    uint64_t limit_ns;      // 0: never
    uint32_t skips;         // spins to be left out still
    uint32_t skips_before;  // how many were left out the last time
    uint64_t deadline_ns;   // of the one under way
    long preemptions;       // of this thread when it began
};

// WEFT_SPIN_US (0..200), else 50: one call at a time over TLS was as fast from 40 on, and at 20
// hardly faster than asleep. Always 0 where there is only one core.
uint32_t spin_default_us(void);

void spin_set(struct spin *spin, uint32_t microseconds);  // more than 200 counts as 200

// Whether to spin now. Then: look, and while nothing is found and spin_goes_on(), look again; at last
// spin_end().
bool spin_begin(struct spin *spin);
bool spin_goes_on(const struct spin *spin);
void spin_end(struct spin *spin, bool has_found);

#endif
