// resource: what all kinds of shared things have in common, and the port that a kind implements.
//
// A kind is pure state: calls come in through apply, answers go out through session.h, time and the
// end of sessions come in through the host. Nothing here reads a clock, draws a number or does I/O, and
// no answer may depend on an address or on the order of a table: a journal is replayed by doing the
// same calls again.
// A new kind also needs: its number in wire/call.h, its line in the array in registry.c.
#ifndef RESOURCE_RESOURCE_H
#define RESOURCE_RESOURCE_H

#include "base/list.h"
#include "wire/call.h"

struct host;
struct host_saver;
struct pack_reader;
struct session;

struct resource {
    const struct resource_kind *kind;
    struct host *host;
    uint64_t uid;     // unique among all resources of all hosts, ever
    weft_bytes key;   // by which the registry finds it: kind, container, 0, name
    weft_bytes name;  // inside key
    char *key_memory;
    uint32_t handle_count;  // sessions' handles that point here
    bool is_removed;        // no longer found; freed with its last handle
};

// A call that is not answered yet. A kind puts it first into a struct of its own.
struct wait {
    struct session *session;
    struct resource *resource;
    uint64_t sequence;
    struct link in_session;
};

// What a session has of a resource and loses when it ends: a lease, a key of its own. As struct wait.
struct holding {
    struct session *session;
    struct resource *resource;
    uint64_t
        order;  // in which a session that ends loses those of one resource: the kind's, and the
                // same after a snapshot
    struct link in_session;
};

struct resource_kind {
    enum call_kind number;
    const char *name;  // "queue", as people read it

    // Makes one from the attributes of an OPEN, only its own part filled; NULL with a sentence and its
    // code: INVALID_ARGUMENT for attributes that make no sense.
    struct resource *(*make)(weft_bytes attributes, weft_err *err);

    // OPEN with attributes of one that exists: INVALID_ARGUMENT with a sentence where they differ. A kind
    // may take them on when no call has given any yet.
    weft_err (*match)(struct resource *resource, weft_bytes attributes);

    // Does the call and answers it, now or later.
    void (*apply)(struct resource *resource, struct session *session, const struct call *call);

    // Takes a wait back: the elements that it had gathered return, it is answered with the code and freed.
    void (*cancel)(struct wait *wait, weft_err code, const char *why);

    // The session of a holding has ended: gives it back, drops it. NULL: the kind has none.
    void (*release)(struct holding *holding);

    // Whether it is as it was made, without limits and never used: then it goes with its last handle. NULL: the kind
    // keeps all.
    bool (*is_blank)(const struct resource *resource);

    // No member is left that could change anything: watches end. NULL: the kind has none.
    void (*writers_gone)(struct resource *resource);

    // The next moment at which expire has something to do, UINT64_MAX: none. NULL: the kind has no time.
    uint64_t (*next_deadline)(const struct resource *resource);

    // Everything that is due at now_ms happens. Each event is journalled by host_note first and replayed by
    // replay, because a journal knows no clock.
    void (*expire)(struct resource *resource, uint64_t now_ms);
    weft_err (*replay)(struct resource *resource, weft_bytes note);

    // Its attributes, as OPEN has them.
    void (*describe)(const struct resource *resource, struct buf *attributes);

    // All the rest of its state in parts of at most a few MiB, each handed to host_save_part; load gets
    // them back one by one, in a resource that make has just made: DATA_LOSS if that is none. Deadlines
    // are saved as durations and begin anew, sessions by their number.
    weft_err (*save)(const struct resource *resource, struct host_saver *saver);
    weft_err (*load)(struct resource *resource, struct pack_reader *part);

    // Its content in a few words, on one line, for people: "3 elements, 1 of them taken".
    void (*tell)(const struct resource *resource, struct buf *text);

    void (*free)(struct resource *resource);  // no wait and no holding is left
};

extern const struct resource_kind queue_kind, var_kind, kv_kind, barrier_kind;

#endif
