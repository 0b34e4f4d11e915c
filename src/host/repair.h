// host_repair: a damaged journal of a host is cut at its damage, once the user has seen the consequences.
#ifndef HOST_REPAIR_H
#define HOST_REPAIR_H

#include <stdbool.h>

#include "base/err.h"

struct host_repair_options {
    const char *journal;  // the directory
    bool is_agreed;       // the user is not asked
    bool json, is_quiet;
};

// Shows on standard output (with json: as an object on standard error) which records are kept, which are lost and what the
// host will hold; asks, if there is a terminal; repairs. OK: the journal is sound at the end.
MUST_CHECK weft_err host_repair(const struct host_repair_options *options);

#endif
