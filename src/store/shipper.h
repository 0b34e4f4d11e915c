// shipper: threads that put complete parts of an answer into a place that is not on this machine, while the job makes the others.
//
// Each part has one writer. The owner never waits for the place, and may stop the threads at any moment. Thread: the functions
// here belong to one owner.
#ifndef STORE_SHIPPER_H
#define STORE_SHIPPER_H

#include "base/err.h"
#include "store/part.h"

struct shipper;

enum { SHIPPER_THREADS_MAX = 4 };

struct shipper_spec {
    const char *url;             // of the place
    struct part_files from, to;  // the files here, and there; borrowed, live as long as the shipper
    bool has_names_when_whole;   // a part has its name there only when all of it is there
    uint32_t thread_count;       // 1 to SHIPPER_THREADS_MAX
    uint32_t patience_ms;        // with the place
    // Called from a thread when all parts so far are there, or one could not be put there. Must not call shipper functions.
    void (*halted)(void *owner);
    void *owner;
};

// Starts the threads. *shipper is NULL on failure.
MUST_CHECK weft_err shipper_new(const struct shipper_spec *spec, struct shipper **shipper);

// Stops at once, also while a place lets it wait. NULL is fine.
void shipper_free(struct shipper *shipper);

struct shipment {
    uint32_t part;
    uint64_t bytes;
    uint32_t crc32c;
};

// The file of the part is complete.
MUST_CHECK weft_err shipper_add(struct shipper *shipper, const struct shipment *shipment);

bool shipper_is_idle(
    const struct shipper *shipper);  // nothing more will be put there as things stand

// Waits until all are there, or one failed: its failure.
MUST_CHECK weft_err shipper_wait(struct shipper *shipper);

// The failure so far, with the sentence set for the calling thread; WEFT_OK when there is none.
MUST_CHECK weft_err shipper_error(const struct shipper *shipper);

#endif
