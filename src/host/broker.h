// broker: a host that is not a member: queues, variables and maps for all programs that have its token.
#ifndef HOST_BROKER_H
#define HOST_BROKER_H

#include <stdbool.h>

#include "base/err.h"

struct broker_options {
    const char *listen;      // ADDRESS[:PORT]; NULL: localhost:18125
    const char *journal;     // a directory; NULL: all is in memory
    const char *port_file;   // where its port is written when it is ready; NULL: nowhere
    const char *token_file;  // NULL: see broker_run
    bool json, is_quiet;
};

// Hosts until SIGINT, SIGTERM or SIGHUP, and returns why it could not, or had to end. The token is that of the file, else of
// WEFT_TOKEN; without either the user's own on a loopback address, and one made for this run on any other.
// Standard output has one line: a command that uses this host. Only there a token that was made shows.
MUST_CHECK weft_err broker_run(const struct broker_options *options);

#endif
