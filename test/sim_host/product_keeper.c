// client/keeper.c in the simulated world.
#include "sim_host/replace.h"

#include "client/keeper.c"
