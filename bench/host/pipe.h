// One producer, two blocking consumers, each a process: what is the same whoever carries the elements.
//
//   pipe_X PORTS WINDOW SECONDS [acks] [here]
//
// PORTS are free ones, with commas between them: as many as X wants. At most WINDOW elements are on their
// way that no consumer has counted; with "acks", that the broker has not acknowledged. A producer that
// may not send waits for the oldest acknowledgement; without any to wait for it yields its core, in
// all programs alike. Prints elements per second, counted by the consumers after a warm-up.
#ifndef BENCH_HOST_PIPE_H
#define BENCH_HOST_PIPE_H

#include <stdbool.h>
#include <stdint.h>

enum { PIPE_CONSUMERS = 2, PIPE_PORTS_MAX = 4, PIPE_ELEMENT_BYTES = 100 };

struct pipe_setup {
    uint16_t ports[PIPE_PORTS_MAX];
    uint32_t window;
    double seconds;
    bool counts_acks, is_here;
};
extern struct pipe_setup pipe_setup;
extern const char pipe_element[PIPE_ELEMENT_BYTES];

// What each program has of its own. All fail by pipe_fail.
void carrier_prepare(void);                // before there are processes
void carrier_open_producer(void);          // in the first of them
void carrier_push(void);                   // starts one push
bool carrier_settle(void);                 // waits for the oldest push; false: nobody acknowledges
void carrier_open_consumer(int consumer);  // in a process of its own
void carrier_consume(void);                // one element, waiting for it

// For the carriers.
void pipe_start(void (*run)(int number), int number);  // one more process
_Noreturn void pipe_fail(const char *what);

#endif
