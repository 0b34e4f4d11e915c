// client/remote_call.c in the simulated world.
#include "sim_host/replace.h"

#include "client/remote_call.c"
