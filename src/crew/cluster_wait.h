// cluster_wait: the end of a cluster in the background.
#ifndef CREW_CLUSTER_WAIT_H
#define CREW_CLUSTER_WAIT_H

#include "base/buf.h"
#include "base/err.h"

// Waits until the cluster has ended, for at most timeout_ms (0: forever), and gives the exit code of its run. `talk`: for
// each member that has failed the last lines of its log. NOT_FOUND: there is no such cluster; DEADLINE_EXCEEDED: it has not
// ended in that time; UNAVAILABLE: the process that supervised it was killed, and the members with it; CANCELLED: a person has killed it by
// the means of its launcher. With `on`, the URL of a launcher, `name` is an id there.
MUST_CHECK weft_err cluster_wait(const char *name, const char *on, uint32_t timeout_ms,
                                 struct buf *talk, int *exit_code);

#endif
