// app/host_server.c in the simulated world.
#include "sim_host/replace.h"

#include "app/host_server.c"
