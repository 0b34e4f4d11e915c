// local: the launcher of this machine. Every member is a child of the nursery.
#ifndef LAUNCH_LOCAL_LOCAL_H
#define LAUNCH_LOCAL_LOCAL_H

#include "launch/launch.h"

extern const struct launcher launch_local;

#endif
