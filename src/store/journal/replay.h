// Replaying a journal: which segments there are, where its records end. Used by journal.c only.
#ifndef STORE_JOURNAL_REPLAY_H
#define STORE_JOURNAL_REPLAY_H

#include "base/vec.h"
#include "store/journal/segment.h"

// A record: the number of its segment, and where in that it begins.
struct replay_place {
    uint64_t number, offset;
};

struct replay {
    const char *directory, *kind;
    bool keeps_good_prefix;
    struct replay_place
        stop;               // the record there, and all after it, are not wanted; no number: none
    VEC(uint64_t) numbers;  // of the segments in the directory, ascending
    VEC(uint64_t) halves;   // of those that a rewrite left unfinished
    VEC(uint64_t) spares;   // and of files that wait to become segments
    size_t first;           // index of the first that counts: no newer snapshot follows it
    size_t last;            // index of the one in which the records end
    uint64_t end;           // the offset at which they do; 0: also its header is to be written
    uint64_t last_size;     // of that file
    uint64_t last_used;     // of that file without the zeros at its end
    uint32_t last_version;  // of that file
    uint64_t size;          // of the segments before it, as far as they hold records
    uint64_t sequence;      // of the next record
    bool was_snapshot;  // the segment before was one as a whole: it may be followed by any number
    struct replay_place visited;   // the record that was handed out last
    bool is_damaged;               // with keeps_good_prefix:
    struct replay_place damage;    // where
    char why[ERR_TEXT_BYTES_MAX];  // a sentence with file and offset; with stop it is the caller's
    struct journal_found found;
};

void replay_fini(struct replay *replay);

// Finds the segments; replay_run does it, too.
MUST_CHECK weft_err replay_list(struct replay *replay);

// Fills the struct, whose first four fields are set, and hands out the records. A missing directory
// is an empty journal. Changes nothing on disk. Call replay_fini in every case.
MUST_CHECK weft_err replay_run(struct replay *replay, journal_visit_fn *visit, void *owner);

// "DIR/journal-000007", with ".new" after it while it is being rewritten, or ".spare" while it waits to
// become a segment. The caller frees it; NULL: no memory.
enum replay_name { REPLAY_SEGMENT, REPLAY_HALF, REPLAY_SPARE };
char *replay_path(const char *directory, uint64_t number, enum replay_name name);

#endif
