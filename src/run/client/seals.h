// seals: the map output of all workers, as the reduce tasks of this client's worker read it.
//
// What each seal has for which range stands in its index: the indexes are fetched first, when the first reduce task needs them, and
// then for each task the segments of its range. Segments of one range are released when its task has ended.
// Thread: that of the loop.
#ifndef RUN_CLIENT_SEALS_H
#define RUN_CLIENT_SEALS_H

#include "run/client/copies.h"

struct seals;

// Whether the indexes of all are here, or why not; several may wait.
typedef void seals_ready_fn(void *owner, weft_err code);

// Takes over what the server says of the map output. NULL with a sentence. The message is copied.
struct seals *seals_new(struct copies *copies, const Weft__Seals *message, seals_ready_fn *ready,
                        void *owner);
void seals_free(struct seals *seals);  // NULL is fine

bool seals_are_ready(const struct seals *seals);
// Begins to fetch the indexes that are not here: `ready` is called, perhaps before it returns. Not while that lasts.
void seals_load(struct seals *seals);
// The number of one whose index was damaged when they were last loaded; 0: of none.
uint32_t seals_damaged(const struct seals *seals);
bool seals_are_loading(const struct seals *seals);

// The message for the worker, with paths that it can open. Strings are lent.
void seals_fill(const struct seals *seals, Weft__Seals *message);

// Fetches the segments of a range. *count is how many requests were made; the end of each comes by `done`. What fails
// afterwards is up to the caller, who forgets the rest by copies_forget.
MUST_CHECK weft_err seals_fetch(struct seals *seals, uint32_t range, fetch_done_fn *done,
                                void *owner, uint32_t *count);
void seals_release(struct seals *seals, uint32_t range);

#endif
