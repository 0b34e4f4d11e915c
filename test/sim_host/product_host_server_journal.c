// app/host_server_journal.c in the simulated world.
#include "sim_host/replace.h"

#include "app/host_server_journal.c"
