// yarn: the launcher of containers of YARN: yarn://HOST[:PORT][/QUEUE]. This process is the application master.
#ifndef LAUNCH_YARN_YARN_H
#define LAUNCH_YARN_YARN_H

#include "launch/launch.h"

extern const struct launcher launch_yarn;

#endif
