// drafts: text of the answer that workers have left on their shelves goes to its place in the output.
//
// Where workers share the work, none of them knows where its pieces belong: that follows from the sizes of all before
// them. The driver, which hears of all sizes, copies a piece as soon as its place is known, and compares checksums on
// the way. The copying is done beside the loop. A draft is safe from the moment it is taken: its file is kept open here.
// Thread: that of the loop.
#ifndef RUN_DRIVER_DRAFTS_H
#define RUN_DRIVER_DRAFTS_H

#include "run/driver/plan.h"

struct drafts;

struct drafts_calls {
    // The client that has made a piece, for people; "": it is gone. NULL: there are none, and workers have numbers.
    const char *(*name)(void *owner, uint32_t holder);
    // The piece is in its place.
    void (*written)(void *owner, uint32_t piece, const struct output_piece *as);
    // It cannot be, with this thread's sentence. Once; nothing is written any more.
    void (*failed)(void *owner, weft_err code);
};

struct drafts_options {
    const struct run_plan *plan;
    const struct output_place *place;
    const struct output_piece
        *pieces;  // those that are done were written by an earlier run, and stay
    struct loop *loop;
    const struct drafts_calls *calls;
    void *owner;
};

// Makes the files of the output. *drafts is NULL on failure.
MUST_CHECK weft_err drafts_open(struct drafts **drafts, const struct drafts_options *options);
// Stops copying. NULL is fine.
void drafts_free(struct drafts *drafts);

// The text of a piece.
struct draft {
    int fd;  // of the file it lies in; open as long as the drafts
    uint64_t offset;
    struct output_piece as;  // its size, records and checksum
    uint32_t worker;         // whose it is, for people,
    uint32_t holder;         // and its client, if it has one
    bool is_spare;  // nothing else reads it: its disk is given back once it is in its place
};

// Takes a piece that a worker has made. One that came before is only compared: ABORTED when it is another one, since
// then the job is not deterministic.
MUST_CHECK weft_err drafts_take(struct drafts *drafts, uint32_t piece, const struct draft *draft);

// ABORTED, with the sentence for that. `whose`, `whose_other`: their clients; NULL: workers, which are named by their numbers.
weft_err drafts_tell_apart(uint32_t piece, const struct draft *known, const char *whose,
                           const struct draft *other, const char *whose_other);

// Whether every piece that was taken is in its place.
bool drafts_are_written(const struct drafts *drafts);
// Errors that a file system reports only when a file is closed.
MUST_CHECK weft_err drafts_finish(struct drafts *drafts);

#endif
