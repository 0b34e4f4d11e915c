// app/remote_queue.c in the simulated world.
#include "sim_host/replace.h"

#include "app/remote_queue.c"
