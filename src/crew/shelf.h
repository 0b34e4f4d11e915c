// shelf: the state and the logs of a run on the shelf of the launcher that keeps it (launch/keep.h), where people find them.
//
// What has grown in the directory of the run is copied every half second, by a thread beside the loop: logs by their new bytes,
// state.json as a whole. A log of an earlier attempt is continued. A shelf that does not answer is tried again; the run does not wait for it.
// A file `stop` on the shelf asks the run to end.
// Thread: the loop's.
#ifndef CREW_SHELF_H
#define CREW_SHELF_H

#include "store/store.h"
#include "sys/loop/loop.h"

#define SHELF_STOP_NAME "stop"
#define SHELF_STATE_NAME "state.json"

struct shelf_options {
    struct loop *loop;
    struct store_place *place;  // nothing else uses it
    const char *directory;      // of the run, here
    // Once: a person asks for the end.
    void (*asked)(void *owner);
    // The shelf cannot be written, or can again: a sentence.
    void (*news)(void *owner, const char *text);
    void *owner;
};

struct shelf;

// NULL with a sentence.
struct shelf *shelf_new(const struct shelf_options *options);

// Copies the rest; waits up to 10 s for a shelf that does not answer. No further call comes. NULL is fine.
void shelf_free(struct shelf *shelf);

// Puts a text there as a whole, in place of an earlier one.
MUST_CHECK weft_err shelf_put(struct store_place *place, const char *name, weft_bytes text);

#endif
