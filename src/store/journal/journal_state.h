// The insides of a journal, shared by journal.c, rewrite.c and repair.c.
#ifndef STORE_JOURNAL_JOURNAL_STATE_H
#define STORE_JOURNAL_JOURNAL_STATE_H

#include "store/journal/replay.h"
#include "store/journal/spares.h"
#include "store/journal/tail.h"

struct journal {
    char *directory;
    char kind[JOURNAL_KIND_BYTES];
    int lock;
    uint64_t segment_bytes_max;
    size_t buffer_bytes;
    uint64_t first_number;  // of the oldest segment
    uint64_t before_bytes;  // in segments before the tail
    struct tail tail;
    struct buf waiting;  // after the written bytes
    uint64_t sequence;   // of the next record
    bool syncs_often;
    struct spares spares;     // if so
    bool is_unsynced;         // a record was appended since the last sync
    bool is_rewriting;        // the tail is a snapshot without its name
    bool has_new_name;        // the directory was not synced since a segment was made
    uint64_t replaced;        // the last segment that a rewrite beside it replaces; 0: none runs
    uint64_t replaced_bytes;  // in it and before it
    uint64_t replaced_end;    // the sequence after it
    weft_err failed;          // of the disk: for good
    char failed_text[ERR_TEXT_BYTES_MAX];
};

// ---- Opening, step by step ----------------------------------------------------------------------------

struct journal *journal_new(const char *directory, const char *kind,
                            const struct journal_options *options);  // NULL: no memory
void journal_free(struct journal *journal);                          // flushes nothing
MUST_CHECK weft_err journal_lock(struct journal *journal);

// Takes away what no longer counts after a replay and makes ready for more.
MUST_CHECK weft_err journal_take_over(struct journal *journal, const struct replay *replay);

// ---- The tail -----------------------------------------------------------------------------------------

// Makes an empty segment the tail, which is untouched on failure.
MUST_CHECK weft_err journal_begin_segment(struct journal *journal, uint64_t number,
                                          enum replay_name name);

// Syncs, and continues in a new segment.
MUST_CHECK weft_err journal_rotate(struct journal *journal);

void journal_make_header(const struct journal *journal, uint64_t number, uint64_t first_sequence,
                         uint64_t whole_bytes, char *to);

MUST_CHECK weft_err journal_remove(const struct journal *journal, const uint64_t *numbers,
                                   size_t count, enum replay_name name);

// All calls will give this failure from now on.
weft_err journal_fail(struct journal *journal, weft_err err);

#endif
