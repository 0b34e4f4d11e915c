// holdings: which client of a server holds what others read: map output (seals) and pairs between stages (segments).
//
// The files are the clients', and a lost client takes them with it: places of every stage are kept until the end, since a
// loss may send the job back. The scheduler decides what has to be made again; here it is only forgotten.
// Thread: that of the loop.
#ifndef RUN_DRIVER_HOLDINGS_H
#define RUN_DRIVER_HOLDINGS_H

#include "base/vec.h"
#include "run/driver/plan.h"
#include "run/identity.h"
#include "wire/messages.h"

// In the place of a client's number: the server itself has it.
#define HOLDER_SERVER UINT32_MAX

// A stretch of a file that a client serves.
struct holding {
    uint32_t holder;  // the client's number
    uint32_t crc32c;
    uint64_t file, offset, size;
    bool is_doubted;  // a reader has found it damaged
};

// The index of what a slot has sealed. A later one of the same slot and file has all of it, too.
struct held_seal {
    uint32_t worker, slot;
    struct holding index;  // holder 0: lost with its client
    bool is_doubted;       // a reader has found it damaged; perhaps only on its own disk
    bool is_damaged;       // later ones of the file are, too
};

// How often files of a client were found damaged.
struct holding_damage {
    uint32_t holder, count;
};

struct holding_stage {
    VEC(struct held_seal) seals;  // the number of one is its place here, from 1
    uint32_t
        *seal_table;  // finds a seal by worker, slot and file: its place in the list + 1; 0: free
    uint32_t seal_table_count;  // a power of two, at most half full; linear probing
    struct holding *segments;   // by piece; holder 0: not known
    uint32_t segment_count;
    uint8_t cuts[IDENTITY_KEY_BYTES];  // a hash of the keys by which it is cut
    bool is_cut;
};

struct holdings {
    struct holding_stage *stages;
    uint32_t stage_count;
    VEC(struct holding_damage) damages;
};

MUST_CHECK weft_err holdings_init(struct holdings *holdings, const struct run_plan *plan);
void holdings_fini(struct holdings *holdings);  // zeroed is fine

// *number is 0 when what the slot had sealed in that file before was damaged: it has that, too.
MUST_CHECK weft_err holdings_note_seal(struct holdings *holdings, uint32_t stage,
                                       const struct held_seal *seal, uint32_t *number);
// One that is neither lost nor damaged; NULL: there is none.
struct held_seal *holdings_find_seal(struct holdings *holdings, uint32_t stage, uint32_t number);
void holdings_note_segment(struct holdings *holdings, uint32_t stage, uint32_t piece,
                           const struct holding *at);
// A file of the client was found damaged; returns how often by now.
uint32_t holdings_count_damage(struct holdings *holdings, uint32_t holder);
// Whether a client holds a seal at that place, which is not damaged. The second one puts another in its stead, with the same number; false: it holds none.
bool holdings_has_seal(const struct holdings *holdings, uint32_t stage, const struct holding *at);
bool holdings_move_seal(struct holdings *holdings, uint32_t stage, const struct holding *at,
                        const struct held_seal *to);
// The segment that a client holds at that place; NULL: it holds none there.
struct holding *holdings_find_segment(struct holdings *holdings, uint32_t stage, uint32_t piece,
                                      const struct holding *at);

// The client is gone.
void holdings_lose(struct holdings *holdings, uint32_t holder);

// Fills in where a client serves its files; the text is lent.
typedef void holdings_place_fn(const void *owner, uint32_t holder, Weft__FarFile *far);

// For the messages to a worker; strings are lent. holdings_free_seals in every case.
MUST_CHECK weft_err holdings_fill_seals(const struct holdings *holdings, uint32_t stage,
                                        holdings_place_fn *place, const void *owner,
                                        Weft__Seals *seals);
void holdings_free_seals(Weft__Seals *seals);
// A segment that `stage` reads; INTERNAL: there is none. `far` becomes part of the source.
MUST_CHECK weft_err holdings_fill_source(const struct holdings *holdings, uint32_t stage,
                                         uint32_t segment, holdings_place_fn *place,
                                         const void *owner, Weft__Source *source,
                                         Weft__FarFile *far);

#endif
