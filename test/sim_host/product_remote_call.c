// app/remote_call.c in the simulated world.
#include "sim_host/replace.h"

#include "app/remote_call.c"
