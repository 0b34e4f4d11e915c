// takings: finished work of a client that leaves is copied to this one (run/driver/server/handovers.h), and served from here on.
//
// A copy that is complete belongs to the estate, and is in its ledger: a server that is started again hears of it, too. One that is not goes
// with the session. Thread: that of the loop.
#ifndef RUN_CLIENT_TAKINGS_H
#define RUN_CLIENT_TAKINGS_H

#include "run/client/copies.h"
#include "run/client/estate.h"

struct takings;

struct takings_calls {
    // The answer to an order; the text is lent.
    void (*answer)(void *owner, const Weft__ClientTaken *taken);
    // The server broke the rules, or there is no memory, with this thread's sentence.
    void (*broken)(void *owner, weft_err code);
};

struct takings_options {
    struct copies *copies;  // stays the caller's, as the others
    struct estate *estate;
    const char *tmp;
    const struct takings_calls *calls;
    void *owner;
};

struct takings *takings_new(const struct takings_options *options);  // NULL with a sentence
void takings_free(struct takings *takings);  // before the copies; NULL is fine

// An order of the server.
void takings_take(struct takings *takings, const struct frame *frame);

#endif
