// item_print: the items of a queue, written one after the other to standard output.
//
// An item is leased while it is written and done once it is: a process that ends in between, or whose reader has gone,
// leaves it to another instead of losing it. Many are under way at a time, both ways, so that a host with a
// journal brings many of them to its disk at once. While no process reads the output, all items go back to
// the queue, for others, but one that is written by half.
#ifndef CLIENT_ITEM_PRINT_H
#define CLIENT_ITEM_PRINT_H

#include "client/member.h"

struct item_print_options {
    uint64_t wanted;  // UINT64_MAX: all there are
    char separator;   // after each
    bool has_timeout;
    uint32_t timeout_ms;  // for each
    bool until_empty;     // none is waited for
    bool is_quiet;        // says nothing of waiting for a queue that nothing was pushed to
};

// Until as many were written as are wanted; *printed says how many were. OUT_OF_RANGE: the queue is closed and
// drained, or empty if that is the end. DEADLINE_EXCEEDED: no other came in time. All written items are done then.
MUST_CHECK weft_err item_print_run(const struct item_print_options *options, struct remote *queue,
                                   uint64_t *printed);

#endif
