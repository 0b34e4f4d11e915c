// fetch_intake: the stream of answers to a client that fetches, cut into blocks without copying their data. Pure state.
#ifndef TRANSPORT_FETCH_INTAKE_H
#define TRANSPORT_FETCH_INTAKE_H

#include "transport/fetch.h"

// Failures of these end the stream.
struct fetch_intake_calls {
    weft_err (*block)(void *owner, const struct fetch_block *block, size_t size);  // data follows
    void (*data)(void *owner, weft_bytes bytes);  // a piece of it, in order; borrowed
    void (*checked)(void *owner,
                    bool is_sound);  // all of it was there: whether the checksum is right
    weft_err (*failed)(void *owner, uint64_t request, weft_err code, const char *sentence);
};

struct fetch_intake;

struct fetch_intake *fetch_intake_new(const struct fetch_intake_calls *calls, void *owner);
void fetch_intake_free(struct fetch_intake *intake);  // NULL is fine

// A new connection: a block that was cut is forgotten.
void fetch_intake_restart(struct fetch_intake *intake);

// Takes bytes as they arrive. DATA_LOSS: these are not answers of a server; or the error of a call.
MUST_CHECK weft_err fetch_intake_receive(struct fetch_intake *intake, weft_bytes bytes);

#endif
