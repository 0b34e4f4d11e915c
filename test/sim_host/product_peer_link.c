// cluster/peer_link.c in the simulated world.
#include "sim_host/replace.h"

#include "cluster/peer_link.c"
