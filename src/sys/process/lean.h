// lean: the static command, weft-lean, which is copied to machines that have nothing installed.
#ifndef SYS_PROCESS_LEAN_H
#define SYS_PROCESS_LEAN_H

#include "base/err.h"

// Finds it: the file that the environment's WEFT_LEAN names; else beside the running program or in ../lib/weft from there, as `make`
// and `make install` leave them; else the running program itself, if that is static. Links in the program's own path are
// followed first. NOT_FOUND names the places. The caller frees *path.
MUST_CHECK weft_err lean_find(char **path);

#endif
