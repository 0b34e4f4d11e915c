// census: how much a host holds, for sentences about it.
#ifndef RESOURCE_CENSUS_H
#define RESOURCE_CENSUS_H

#include "resource/host.h"

struct census {
    uint64_t queue_count;    // that hold something
    uint64_t element_count;  // in these, leased ones included
    uint64_t other_count;    // variables, maps and barriers
};

void host_take_census(const struct host *host, struct census *census);

#endif
