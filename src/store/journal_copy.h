// journal_copy: the journal of an unfinished answer, in the place that is not on this machine where the answer goes.
//
// A thread writes it there some time after it was written here, so that a machine that is lost takes no more than a second of its records
// with it. The directory has a folder for each process that wrote one, by its number:
//
//     N/alive                       made anew every two seconds while the process works; it goes when the process ends well
//     N/journal-000001.FROM-TO      the bytes FROM to TO of that file here
//     N/origin                      what the journal is of. The last file to be written: without it the folder is not complete
//
// A process that continues the journal of another begins a folder of its own, and removes the others when its own is complete. So files
// that a process left half-written are never continued. A file is put under a new name as it grows, and the shorter one is removed: whichever
// of both is there when a process is killed can be read.
//
// Bytes are copied as they are, whatever the records mean: no secret may be in the journal. Thread: one owner.
#ifndef STORE_JOURNAL_COPY_H
#define STORE_JOURNAL_COPY_H

#include "store/store.h"

struct journal_copy;

struct journal_copy_spec {
    const char *url;   // of the place
    const char *from;  // the directory of the journal here, with the file "origin" in it
    const char *to;    // a directory there, which is made
    uint32_t number;   // of the folder
};

#define JOURNAL_COPY_ORIGIN "origin"

// Starts the thread, which begins its work after a second: a job that is shorter costs nothing. All texts are copied. *copy is NULL on
// failure.
MUST_CHECK weft_err journal_copy_start(const struct journal_copy_spec *spec,
                                       struct journal_copy **copy);

// Whether the folder is gone: another process has taken the answer over.
bool journal_copy_is_lost(const struct journal_copy *copy);

// Brings the rest there and says that this process has ended; whatever does not work out within its patience stays undone.
void journal_copy_finish(struct journal_copy *copy);

// Stops at once, also while the place lets it wait. NULL is fine.
void journal_copy_free(struct journal_copy *copy);

// ---- Reading

struct journal_copy_found {
    uint32_t number;   // of the newest complete folder; 0: there is none
    uint32_t highest;  // of any folder
    bool has_ended;    // the process that wrote it says so
    uint64_t pulse;    // is another number each time while a process works there
};

// What a directory there has; one that is missing has nothing.
MUST_CHECK weft_err journal_copy_look(struct store_place *place, const char *directory,
                                      struct journal_copy_found *found);

// Reads what the journal is of.
MUST_CHECK weft_err journal_copy_read_origin(struct store_place *place, const char *directory,
                                             uint32_t number, struct buf *origin);

// Calls visit with all bytes, file by file, in their order.
typedef weft_err journal_copy_visit_fn(void *owner, const char *name, uint64_t offset,
                                       weft_bytes bytes);
MUST_CHECK weft_err journal_copy_read(struct store_place *place, const char *directory,
                                      uint32_t number, journal_copy_visit_fn *visit, void *owner);

#endif
