// clients: the processes that have joined a server, each in the place of a worker; frames to them, and bytes that are fetched from them.
//
// A client that joins takes the first place that waits for a worker (far_agent.h). One that is silent for too long, breaks the
// rules or is dropped is lost, with all files that it holds. Thread: that of the loop.
#ifndef RUN_DRIVER_CLIENTS_H
#define RUN_DRIVER_CLIENTS_H

#include "run/driver/agent/far_agent.h"
#include "run/talk/crowd.h"
#include "run/talk/summary.h"
#include "transport/entrance.h"
#include "transport/fetch_client.h"

struct clients;
struct fetch_files;

enum { CLIENTS_MAX = 10240 };

struct clients_calls {
    // A client has come or gone; to be shown.
    void (*changed)(void *owner, const struct crowd_change *change);
    // A sentence for people about other processes at the port.
    void (*say)(void *owner, const char *sentence);
    // The client in that place does not answer, or answers again.
    void (*silent)(void *owner, const struct far_agent *far, bool is_silent);
};

struct clients_options {
    struct loop *loop;
    const struct entrance *entrance;
    struct fetch_files *files;  // that clients may fetch
    const struct clients_calls *calls;
    void *owner;
};

// Begins to let clients in. NULL with a sentence. The things that the options name outlive it.
struct clients *clients_new(const struct clients_options *options);
void clients_free(struct clients *clients);  // without any call; NULL is fine

// The code of the job and which run it is, borrowed: before the first client joins.
void clients_set_job(struct clients *clients, const Weft__CodePackage *package, weft_bytes run);

struct far_agent *clients_place(struct clients *clients, uint32_t place);  // below CLIENTS_MAX
// The place of the client with that number; NULL: it is gone.
struct far_agent *clients_find(const struct clients *clients, uint32_t holder);
uint32_t clients_count(const struct clients *clients);  // that have joined now

// A task ended well at the client with that number. `is_again`: it had ended well before, and the result was lost.
void clients_note_task(struct clients *clients, uint32_t holder, uint64_t bytes_in, bool is_again);
// The work of every client that has ever joined, in the order in which they came. The list is the caller's, to be freed.
struct summary_client *clients_sum_up(struct clients *clients, size_t *count);

// Fills in where the client with that number serves its files, "" if it is gone; the text is lent until it is.
void clients_fill_place(const struct clients *clients, uint32_t holder, Weft__FarFile *far);
const char *clients_name(const struct clients *clients, uint32_t holder);

// The client is not wanted any more: it gets the reason, and its place reports the loss later.
void clients_drop(struct clients *clients, uint32_t holder, const char *why);

// Fetches a stretch of a file that a client holds; its end comes in any case, UNAVAILABLE when the client goes before.
MUST_CHECK weft_err clients_fetch(struct clients *clients, uint32_t holder,
                                  const struct fetch_wanted *wanted);

uint64_t clients_relayed_bytes(const struct clients *clients);  // passed on between clients

// The job is over: all clients get the reason, and none is let in any more.
void clients_end(struct clients *clients, weft_err code, const char *text);
// Whether the clients that are still here have heard it.
bool clients_have_heard(const struct clients *clients);

#endif
