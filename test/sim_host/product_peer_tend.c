// cluster/peer_tend.c in the simulated world.
#include "sim_host/replace.h"

#include "cluster/peer_tend.c"
