// host_repair: a damaged journal of a host is cut at its damage, once somebody has seen what that means.
#ifndef HOST_REPAIR_H
#define HOST_REPAIR_H

#include <stdbool.h>

#include "base/err.h"

struct host_repair_options {
    const char *journal;  // the directory
    bool is_agreed;       // nobody is asked
    bool json, is_quiet;
};

// Shows on standard output (with json: as an object on standard error) what is kept, what is lost and what the
// host will hold; asks, if there is a terminal; repairs. OK: the journal is sound at the end.
MUST_CHECK weft_err host_repair(const struct host_repair_options *options);

#endif
