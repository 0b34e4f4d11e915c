// app/host_local.c in the simulated world.
#include "sim_host/replace.h"

#include "app/host_local.c"
