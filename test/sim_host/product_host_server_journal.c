// host/server_journal.c in the simulated world.
#include "sim_host/replace.h"

#include "host/server_journal.c"
