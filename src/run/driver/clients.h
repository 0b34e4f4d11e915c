// clients: the processes that have joined a server, each in the place of a worker; frames to them, and bytes that are fetched from them.
//
// A client that joins takes the first place that waits for a worker (far_agent.h). One that is silent for too long, breaks the
// rules or is dropped is lost, with all files that it holds. Thread: that of the loop.
#ifndef RUN_DRIVER_CLIENTS_H
#define RUN_DRIVER_CLIENTS_H

#include "run/driver/far_agent.h"
#include "transport/entrance.h"
#include "transport/fetch_client.h"

struct clients;
struct fetch_files;

enum { CLIENTS_MAX = 1024 };

struct clients_calls {
    // A client has come or gone; to be shown. The sentence is for people.
    void (*changed)(void *owner, const char *sentence);
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

// The code of the job, borrowed: before the first client joins.
void clients_set_package(struct clients *clients, const Weft__CodePackage *package);

struct far_agent *clients_place(struct clients *clients, uint32_t place);  // below CLIENTS_MAX
uint32_t clients_count(const struct clients *clients);                     // that have joined now

// How many have ever joined, and with how many slots.
void clients_sum_up(const struct clients *clients, uint32_t *joined, uint32_t *slots);

// Where the client with that number serves its files; "": it is gone. Lent until it is.
const char *clients_address(const struct clients *clients, uint32_t holder);
const char *clients_name(const struct clients *clients, uint32_t holder);

// The client is not wanted any more: it gets the reason, and its place reports the loss later.
void clients_drop(struct clients *clients, uint32_t holder, const char *why);

// Fetches a stretch of a file that a client holds; its end comes in any case, UNAVAILABLE when the client goes before.
MUST_CHECK weft_err clients_fetch(struct clients *clients, uint32_t holder,
                                  const struct fetch_wanted *wanted);

// The job is over: all clients get the reason, and none is let in any more.
void clients_end(struct clients *clients, weft_err code, const char *text);
// Whether the clients that are still here have heard it.
bool clients_have_heard(const struct clients *clients);

#endif
