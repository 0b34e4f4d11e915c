// client/remote_queue.c in the simulated world.
#include "sim_host/replace.h"

#include "client/remote_queue.c"
