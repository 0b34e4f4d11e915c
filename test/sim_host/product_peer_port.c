// cluster/peer_port.c in the simulated world.
#include "sim_host/replace.h"

#include "cluster/peer_port.c"
