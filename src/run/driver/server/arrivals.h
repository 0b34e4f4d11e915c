// arrivals: text of the answer that clients have made comes to the server, and goes to its place from there (drafts.h).
//
// A piece that arrived whole is safe whatever becomes of its client. Thread: that of the loop.
#ifndef RUN_DRIVER_ARRIVALS_H
#define RUN_DRIVER_ARRIVALS_H

#include "run/driver/answer/drafts.h"
#include "run/driver/server/clients.h"
#include "run/driver/server/holdings.h"

struct arrivals;

// A piece that a worker has committed.
struct arrival {
    uint32_t worker;  // its number in events
    uint32_t piece;
    struct holding at;       // the client's
    struct output_piece as;  // its size, records and checksum
};

struct arrivals_calls {
    // It is here; the draft is this file, open as long as the arrivals.
    void (*arrived)(void *owner, const struct arrival *arrival, const struct draft *draft);
    // It cannot be fetched, with this thread's sentence; UNAVAILABLE: the client is gone; DATA_LOSS: it is not what the worker
    // has made.
    void (*failed)(void *owner, const struct arrival *arrival, weft_err code);
};

// `tmp` is where pieces lie on their way. NULL with a sentence.
struct arrivals *arrivals_new(struct clients *clients, struct loop *loop, const char *tmp,
                              const struct arrivals_calls *calls, void *owner);
void arrivals_free(struct arrivals *arrivals);  // after the clients; NULL is fine

// Begins to fetch a piece.
MUST_CHECK weft_err arrivals_fetch(struct arrivals *arrivals, const struct arrival *arrival);

#endif
