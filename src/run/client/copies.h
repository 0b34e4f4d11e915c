// copies: files of other clients, as far as they were fetched: each is a nameless file here, with holes, in which bytes have the offsets that they have
// in the original. So the worker reads it as if it were its own, through /proc/PID/fd. Thread: that of the loop.
#ifndef RUN_CLIENT_COPIES_H
#define RUN_CLIENT_COPIES_H

#include "run/client/served.h"
#include "transport/fetch_client.h"
#include "wire/messages.h"

struct copies;

struct copies_options {
    struct loop *loop;
    const struct secret *token;  // stays the caller's
    const char *name;            // of this client, for others; likewise
    const char *tmp;             // likewise
    uint64_t epoch;              // our number; an address may be that of two clients of one router
    struct net_address
        relay;  // of the server, which passes bytes on from clients that cannot be reached
    const struct served *served;  // files of our own need no copy; likewise
    struct fetch_client *server;  // for its files; likewise
};

// A file that can be read here.
struct copy {
    int fd;
    char path[48];              // for other processes
    struct fetch_client *from;  // NULL: it is our own, and all of it is here
    uint64_t file;
};

struct copies *copies_new(const struct copies_options *options);  // NULL with a sentence
void copies_free(struct copies *copies);                          // NULL is fine

// Finds or makes the copy of a file; nothing is fetched yet. Lives as long as the copies.
MUST_CHECK weft_err copies_open(struct copies *copies, const Weft__FarFile *far,
                                struct copy **copy);

// Fetches a stretch to its place; `done` comes later. To be called only where `from` is set.
MUST_CHECK weft_err copy_fetch(struct copies *copies, struct copy *copy, uint64_t offset,
                               uint64_t size, fetch_done_fn *done, void *owner);
// Fetches a stretch of another client's file into a file of the caller's, which stays that. `wanted` is that of the caller but for `path`.
MUST_CHECK weft_err copies_fetch(struct copies *copies, const Weft__FarFile *far,
                                 const struct fetch_wanted *wanted);
// Forgets all requests of an owner: their end does not come.
void copies_forget(struct copies *copies, const void *owner);
// Gives the disk of a stretch back; of our own files nothing.
void copy_release(struct copy *copy, uint64_t offset, uint64_t size);

uint64_t copies_fetched_bytes(const struct copies *copies);  // from other clients
uint64_t copies_lent_bytes(const struct copies *copies);     // from the server
uint64_t copies_relayed_bytes(
    const struct copies *copies);  // from other clients, through the server

#endif
