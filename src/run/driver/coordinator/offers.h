// offers: whether finished work that a client brings along may count: it must be whole, of a stage and by the cuts of this run, and of tasks
// that are free. Looks only; the coordinator carries it out. Thread: that of the loop.
#ifndef RUN_DRIVER_OFFERS_H
#define RUN_DRIVER_OFFERS_H

#include "mapreduce/coord/sched.h"
#include "run/driver/plan.h"
#include "run/identity.h"
#include "wire/messages.h"

struct offer_rules {
    const struct run_plan *plan;
    const struct sched *sched;
};

// Map output of a slot: all of its tasks, or none. `cuts` are those of its stage; NULL: there are none yet.
bool offer_fits_seal(const struct offer_rules *rules, const Weft__OfferedSeal *seal,
                     const uint8_t cuts[IDENTITY_KEY_BYTES]);
// Pairs that a task has left for the next stage.
bool offer_fits_pairs(const struct offer_rules *rules, const Weft__OfferedPairs *pairs);

// Whether the offer has one seal or pairs, and says of each of their tasks, in the same order, its counters.
bool offer_is_whole(const struct run_plan *plan, const Weft__ClientOffer *offer);

#endif
