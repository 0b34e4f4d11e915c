// The function that a binding or a thread sets, and slices of time in which it is asked.

#include "sys/thread/interrupt.h"

#include <stddef.h>

#include "sys/time/clock.h"

static const uint64_t ns_per_ms = 1000000;
static const uint64_t slice_ns = 50000000;
static const uint64_t short_ns = 120000000;

static interrupt_fn *is_wanted;

static _Thread_local struct {
    interrupt_own_fn *is_wanted;
    void *owner;
} own;

void interrupt_set(interrupt_fn *function)
{
    is_wanted = function;
}

void interrupt_set_own(interrupt_own_fn *function, void *owner)
{
    own.is_wanted = function;
    own.owner = owner;
}

static bool has_function(void)
{
    return own.is_wanted || is_wanted;
}

static bool is_now_wanted(void)
{
    return own.is_wanted ? own.is_wanted(own.owner) : is_wanted();
}

bool interrupt_ends(uint64_t deadline_ns)
{
    if (!has_function())
        return false;
    const uint64_t now_ns = clock_now_ns();
    return deadline_ns > now_ns && deadline_ns - now_ns > short_ns && is_now_wanted();
}

uint64_t interrupt_slice(uint64_t deadline_ns)
{
    if (!has_function())
        return deadline_ns;
    const uint64_t next_ns = clock_now_ns() + slice_ns;
    return next_ns < deadline_ns ? next_ns : deadline_ns;
}

void interrupt_sleep_ms(uint32_t milliseconds)
{
    const uint64_t until_ns = clock_now_ns() + milliseconds * ns_per_ms;
    for (uint64_t now_ns = clock_now_ns(); has_function() && now_ns < until_ns;
         now_ns = clock_now_ns()) {
        if (is_now_wanted())
            return;
        const uint64_t left_ns = interrupt_slice(until_ns) - now_ns;
        clock_sleep_ms((uint32_t)(left_ns / ns_per_ms) + 1);
    }
    if (!has_function())
        clock_sleep_ms(milliseconds);
}
