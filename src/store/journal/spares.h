// Files that wait to become segments of a journal: written with zeros ahead of their time, or segments that
// a snapshot has replaced. Used by journal.c only.
#ifndef STORE_JOURNAL_SPARES_H
#define STORE_JOURNAL_SPARES_H

#include "base/err.h"
#include "base/vec.h"
#include "sys/thread/thread.h"

struct spares {
    const char *directory;  // borrowed
    uint64_t bytes;         // that a ready one has at least, whole blocks
    VEC(uint64_t) numbers;  // in their names; the first is taken first
    bool has_failed;        // one could not be made: not again before the next is taken
    // The one that is being made by a thread of its own; NULL: none is.
    char *making;
    uint64_t making_number;
    struct thread maker;
    weft_err made;  // set by that thread
};

// Waits for the one that is being made. The files stay.
void spares_fini(struct spares *spares);

// A spare that is there already: keeps it or removes it.
MUST_CHECK weft_err spares_add(struct spares *spares, uint64_t number);

// Makes a spare of a segment that is needed no more, or removes it.
MUST_CHECK weft_err spares_keep(struct spares *spares, uint64_t number);

// Begins to write a spare with zeros, if there is none, and returns at once. If that fails it is simply
// not there.
void spares_make(struct spares *spares, uint64_t number);

// Turns a spare into the segment of that number, which begins with this header: it is on the disk before
// the file gets its name. Without a spare one is made. On failure there is neither.
MUST_CHECK weft_err spares_take(struct spares *spares, uint64_t number, const char *header);

// Writes zeros from there to there; whole blocks if the file is written past the cache.
MUST_CHECK weft_err spares_write_zeros(int fd, const char *path, uint64_t from, uint64_t to);

#endif
