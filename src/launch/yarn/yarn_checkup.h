// yarn_checkup: whether containers of a YARN can be had from here: what its resource managers report.
#ifndef LAUNCH_YARN_YARN_CHECKUP_H
#define LAUNCH_YARN_YARN_CHECKUP_H

#include "base/err.h"

// Called after each check, in order. `text` is the result; of a failure it is err_text(), with what to do in its second line.
typedef void yarn_checkup_fn(void *owner, const char *check, weft_err err, const char *text);

struct yarn_checkup {
    const char *url;      // yarn://..., with the queue to look at
    uint32_t timeout_ms;  // of questions to web servers
    yarn_checkup_fn *found;
    void *owner;
};

// Checks the configuration, each resource manager by its address, the queue, the limits of containers ("container") and the node
// managers with their labels ("nodes"). Checks that need what an earlier one has not found are left out. Nothing is started; an
// application number is used up. False: no resource manager is active. Thread: one.
bool yarn_checkup(const struct yarn_checkup *checkup);

#endif
