// app/host_connection.c in the simulated world.
#include "sim_host/replace.h"

#include "app/host_connection.c"
