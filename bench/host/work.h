// One client of a broker: what is the same whoever the broker is.
//
//   work_X push|step PORTS WINDOW SECONDS [kept]
//
// push: pushes for SECONDS with WINDOW of them unacknowledged, then takes them for as long, each
// acknowledged after it was taken. Prints both rates. step: takes an element, adds one number elsewhere,
// and only then the element is done; prints the rate. "kept": nothing is acknowledged before it is on disk.
#ifndef BENCH_HOST_WORK_H
#define BENCH_HOST_WORK_H

#include <stdbool.h>
#include <stdint.h>

enum { WORK_PORTS_MAX = 2, WORK_ELEMENT_BYTES = 100 };

struct work_setup {
    uint16_t ports[WORK_PORTS_MAX];
    uint32_t window;
    double seconds;
    bool is_kept, is_step;
};
extern struct work_setup work_setup;
extern const char work_element[WORK_ELEMENT_BYTES];

// What each program has of its own. All fail by work_fail.
void broker_open(void);
void broker_push(void);           // starts one push
void broker_settle(void);         // waits for the oldest push
void broker_open_takes(void);     // from here on elements are taken
void broker_take(bool adds_one);  // one element, to the end
void broker_close(void);          // what is left to acknowledge; end of what broker_open started

_Noreturn void work_fail(const char *what);

#endif
