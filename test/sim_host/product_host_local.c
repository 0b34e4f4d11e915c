// host/local.c in the simulated world.
#include "sim_host/replace.h"

#include "host/local.c"
