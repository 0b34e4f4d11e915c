// interrupt: how a program gets a call back that waits for another machine, before its deadline.
//
// A program in C is ended by Ctrl-C. One in Python catches it, and only between two steps of the interpreter: a call
// that waits has to ask now and then whether its caller still wants it. An interrupted call ends as at its deadline, so
// nothing is lost or done twice. Without a function, which is the rule, none of this costs anything.
#ifndef SYS_THREAD_INTERRUPT_H
#define SYS_THREAD_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

// Called by the thread that waits. Once it has returned true, it must do so until the call of the program returns.
typedef bool interrupt_fn(void);

// NULL: none. Set it before the first call that waits.
void interrupt_set(interrupt_fn *is_wanted);

// The same for the calling thread alone, which then does not ask the function of the process: for a thread that its owner stops.
typedef bool interrupt_own_fn(void *owner);
void interrupt_set_own(interrupt_own_fn *is_wanted, void *owner);

// Whether a wait until the deadline (clock_now_ns; UINT64_MAX: none) is to end now. Short waits end by themselves: with
// these a call finds out what became of it.
bool interrupt_ends(uint64_t deadline_ns);

// When to wake up for a look: at the deadline, or sooner if there is a function.
uint64_t interrupt_slice(uint64_t deadline_ns);

// clock_sleep_ms in slices.
void interrupt_sleep_ms(uint32_t milliseconds);

#endif
