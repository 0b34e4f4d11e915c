// wait_limit: when a thread stops waiting for the other end of a pipe, which may never come.
#ifndef SYS_FILE_WAIT_LIMIT_H
#define SYS_FILE_WAIT_LIMIT_H

#include <stdint.h>

struct wait_limit {
    uint64_t deadline_ns;  // of clock_now_ns(), then it is DEADLINE_EXCEEDED; 0: none
    int stop_fd;           // once this can be read, such as a bell, it is CANCELLED; 0: none
};

#endif
