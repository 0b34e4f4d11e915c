// holdings: which client of a server holds what others read: map output (seals) and pairs between stages (segments).
//
// The files are the clients', and a lost client takes them with it: places of every stage are kept until the end, since a
// loss may send the job back. The scheduler decides what has to be made again; here it is only forgotten.
// Thread: that of the loop.
#ifndef RUN_DRIVER_HOLDINGS_H
#define RUN_DRIVER_HOLDINGS_H

#include "base/vec.h"
#include "run/driver/plan.h"
#include "wire/messages.h"

// A stretch of a file that a client serves.
struct holding {
    uint32_t holder;  // the client's number
    uint32_t crc32c;
    uint64_t file, offset, size;
};

// The index of what a slot has sealed. A later one of the same slot and file has all of it, too.
struct held_seal {
    uint32_t worker, slot;
    struct holding index;
};

struct holding_stage {
    VEC(struct held_seal) seals;
    struct holding *segments;  // by piece; holder 0: not known
    uint32_t segment_count;
};

struct holdings {
    struct holding_stage *stages;
    uint32_t stage_count;
};

MUST_CHECK weft_err holdings_init(struct holdings *holdings, const struct run_plan *plan);
void holdings_fini(struct holdings *holdings);  // zeroed is fine

MUST_CHECK weft_err holdings_note_seal(struct holdings *holdings, uint32_t stage,
                                       const struct held_seal *seal);
void holdings_note_segment(struct holdings *holdings, uint32_t stage, uint32_t piece,
                           const struct holding *at);
// The client is gone.
void holdings_lose(struct holdings *holdings, uint32_t holder);

// Where a client serves its files; the text is lent.
typedef const char *holdings_address_fn(const void *owner, uint32_t holder);

// For the messages to a worker; strings are lent. holdings_free_seals in every case.
MUST_CHECK weft_err holdings_fill_seals(const struct holdings *holdings, uint32_t stage,
                                        holdings_address_fn *address, const void *owner,
                                        Weft__Seals *seals);
void holdings_free_seals(Weft__Seals *seals);
// A segment that `stage` reads; INTERNAL: there is none. `far` becomes part of the source.
MUST_CHECK weft_err holdings_fill_source(const struct holdings *holdings, uint32_t stage,
                                         uint32_t segment, holdings_address_fn *address,
                                         const void *owner, Weft__Source *source,
                                         Weft__FarFile *far);

#endif
