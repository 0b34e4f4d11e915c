// bell: a descriptor that becomes readable once something has happened, and stays so until it is hushed. For programs that
// wait in a loop of their own. Thread: any.
#ifndef SYS_THREAD_BELL_H
#define SYS_THREAD_BELL_H

#include "base/err.h"

struct bell {
    int fd;
};

MUST_CHECK weft_err bell_init(struct bell *bell);
void bell_fini(struct bell *bell);
void bell_ring(const struct bell *bell);
void bell_hush(const struct bell *bell);

#endif
