// client: the life of a process that lends this machine to a server: it joins, works until the job ends, and ends with it.
#ifndef RUN_CLIENT_CLIENT_H
#define RUN_CLIENT_CLIENT_H

#include "base/err.h"

struct client_options {
    const char *at;          // HOST[:PORT][#TOKEN]; without a token WEFT_TOKEN, or the user's own
    const char *token_file;  // NULL: none
    uint32_t slots;          // 0: the cores it may use
    uint64_t memory_bytes;   // of all processes of the client; 0: half of the free memory
    const char *tmp;         // NULL: as weft run
    uint32_t
        grace_ms;  // when it is asked to end: to hand its finished work over; 0: it ends at once
    bool stays;    // waits for the next job at the same address
    bool is_quiet, json;
};

enum { CLIENT_GRACE_MS = 30000 };  // the default

// Joins and works. OK: the job has ended, well or not, or the user has ended this client; *exit_code is then that of the
// process: 0 also when the user has ended it and all its finished work was handed over. A failure has this thread's sentence: UNAUTHENTICATED: another token; FAILED_PRECONDITION: another version;
// UNIMPLEMENTED: another architecture, or no server; UNAVAILABLE: the server is out of reach.
MUST_CHECK weft_err client_run(const struct client_options *options, int *exit_code);

#endif
