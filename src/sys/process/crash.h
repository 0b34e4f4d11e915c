// Crashes of user code: noting which thread it was before the process dies of it.
//
// A worker's threads share one fate, but only one of them is to blame. The handler of a fault leaves a
// note in memory that the driver shares; then the process ends as it would have. (An exit() called by
// user code leaves none: the driver then tries the suspects one at a time.)
#ifndef SYS_PROCESS_CRASH_H
#define SYS_PROCESS_CRASH_H

#include <stdatomic.h>
#include <stdint.h>

// Installs the handlers of the process. Once, before threads start.
void crash_install(void);

// From now on a crash of this thread writes its signal to *note, also when
// its stack has run over. NULL: no note.
void crash_watch_thread(_Atomic int32_t *note);

#endif
