// Kin: the descendants of a process, as /proc shows them. Processes come and go during the search, and some may be missed: a caller
// that must have them all asks again.
#ifndef SYS_MACHINE_KIN_H
#define SYS_MACHINE_KIN_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/vec.h"

struct kin {
    VEC(pid_t) pids;  // zeroed before its first use; VEC_FINI
};

struct kin_stat {
    pid_t parent, session;
    bool is_running;  // or ready to run: it waits for nothing
};

// False: there is no such process.
bool kin_read_stat(pid_t pid, struct kin_stat *found);

// Append the processes found; those that find no memory are missed.
void kin_list_children(pid_t parent, struct kin *list);
void kin_list_descendants(pid_t top, struct kin *list);  // `top` itself first

#endif
