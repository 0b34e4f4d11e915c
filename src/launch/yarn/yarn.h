// yarn: the launcher of containers of YARN: yarn://HOST[:PORT][/QUEUE]. This process is the application master,
// or has one started that looks after the run on its own (launch/keep.h).
#ifndef LAUNCH_YARN_YARN_H
#define LAUNCH_YARN_YARN_H

#include "launch/launch.h"

extern const struct launcher launch_yarn;
extern const struct keeper yarn_keeper;

#endif
