// shelves: files in which workers that share the work leave what others read: map output (seals), pairs between stages
// (segments), text of the answer (drafts, run/driver/answer/drafts.h).
//
// A worker makes such a file without a name; the driver opens it as soon as the worker says that something is in it,
// and keeps it open. So the content outlives the worker, is read by all under a path of the driver's
// (/proc/PID/fd/N), and is gone with the driver, however that ends. Thread: that of the loop.
#ifndef RUN_DRIVER_SHELVES_H
#define RUN_DRIVER_SHELVES_H

#include "base/vec.h"
#include "run/driver/agent/agent.h"

// A stretch of such a file.
struct shelved {
    uint32_t file;  // its number here
    uint32_t crc32c;
    uint64_t offset, size;
};

// A file as a worker names it.
struct shelf_name {
    uint32_t worker;  // its number in events
    uint32_t stage;
    uint32_t descriptor;
};

struct shelf_file {
    struct shelf_name name;
    int fd;  // -1: let go
    char path[48];
};

struct seal {
    uint32_t worker, slot;
    struct shelved index;  // its size is not known
    bool is_lost;          // by damage: later ones of the slot do not count, either
};

struct shelves {
    VEC(struct shelf_file) files;
    uint32_t stage;               // the one at work
    VEC(struct seal) seals;       // of that stage; the number of one is its place here, from 1
    struct shelved *segments[2];  // of that stage and of the one before, by piece
    bool *is_known[2];
    uint32_t segment_counts[2];
};

// Zeroed: empty.
void shelves_fini(struct shelves *shelves);

// Gets a file that a worker names, which the agent looks after. UNAVAILABLE: the worker has ended. Any other failure: it
// has no such file.
MUST_CHECK weft_err shelves_hold(struct shelves *shelves, const struct agent *agent,
                                 const struct shelf_name *name, uint32_t *file);
int shelves_fd(const struct shelves *shelves, uint32_t file);

// A stage begins that leaves segment_count segments. Files that only earlier stages have read are closed.
MUST_CHECK weft_err shelves_begin_stage(struct shelves *shelves, uint32_t stage,
                                        uint32_t segment_count);

// The index of all map output of a slot in the stage at work; the last one counts. *number is 0 when what the slot had before
// is lost: it has that, too.
MUST_CHECK weft_err shelves_note_seal(struct shelves *shelves, const struct seal *seal,
                                      uint32_t *number);
// One of the stage at work that is not lost; NULL: there is none.
struct seal *shelves_find_seal(struct shelves *shelves, uint32_t stage, uint32_t number);
// Pairs that the stage at work leaves for the next one.
void shelves_note_segment(struct shelves *shelves, uint32_t piece, const struct shelved *at);

// For the messages to a worker; strings are lent until a stage begins. shelves_free_seals in every case.
MUST_CHECK weft_err shelves_fill_seals(const struct shelves *shelves, Weft__Seals *seals);
void shelves_free_seals(Weft__Seals *seals);
// A segment of the stage before the one at work; INTERNAL: there is none.
MUST_CHECK weft_err shelves_fill_source(const struct shelves *shelves, uint32_t segment,
                                        Weft__Source *source);

#endif
