// doctor: whether members can be started from here, found out by trying: files are written and read, each
// host is reached, and one member is started there. Or whether files of an HDFS can be read and written from here, and whether a YARN has
// containers.
// Thread: the only one of the process, because of sys/process/nursery.h.
#ifndef CREW_DOCTOR_H
#define CREW_DOCTOR_H

#include "base/err.h"

struct doctor_finding {
    const char *check;   // "state", or the name of a host
    weft_err err;        // WEFT_OK: it is fine
    const char *text;    // the result, or the fault: one line
    const char *advice;  // the remedy; "" when there is none
};

struct doctor_options {
    const char *on;       // the URL of a launcher, or hdfs:// or yarn://...; NULL: this machine
    const char *ssh;      // the command that reaches a host; NULL: WEFT_SSH, or ssh
    uint32_t timeout_ms;  // for each host; 0: 30 s
    void (*found)(void *owner, const struct doctor_finding *finding);  // after each check, in order
    void *owner;
};

// All checks, also after one that failed. The result is that of the first that did; its sentence was reported, and is no
// error of this thread any more. INVALID_ARGUMENT with a sentence: the URL is none, and nothing was checked.
MUST_CHECK weft_err doctor_examine(const struct doctor_options *options, weft_err *worst);

#endif
