// shared_parts: parts of the answer that clients write into a directory that they share with the server.
//
// When clients hold all pieces of a part, one of them gets the order to write the part: into a file that the server has made for this
// attempt alone, beside the parts. The client answers with size and checksum; the server compares them, gives the file its name, and
// commits the pieces together. So a part file has one writer, a client makes no file, and what a client left that is gone is removed by its name.
// A part that no client can write, or that was partly there before, goes by the server: see `by_server`. Thread: that of the loop.
#ifndef RUN_DRIVER_SHARED_PARTS_H
#define RUN_DRIVER_SHARED_PARTS_H

#include "run/driver/server/arrivals.h"

struct shared_parts;

// Clients are known by their numbers (run/driver/server/clients.h).
struct shared_parts_calls {
    const char *(*name)(void *owner, uint32_t holder);  // for people; "": it is gone
    holdings_place_fn *place;
    // The end of a client that cannot be reached is reported by shared_parts_lose.
    void (*order)(void *owner, uint32_t holder, const Weft__PartWrite *order);
    // A piece is in its place; of a part all at once.
    void (*written)(void *owner, uint32_t piece, const struct output_piece *as);
    // What a worker has made is safe, and was reported as written.
    void (*committed)(void *owner, uint32_t worker, uint32_t piece);
    // The server has to fetch the piece.
    void (*by_server)(void *owner, const struct arrival *arrival);
    void (*say)(void *owner, const char *sentence);
    // The job cannot continue, with this thread's sentence.
    void (*failed)(void *owner, weft_err code);
};

struct shared_parts_options {
    const char *directory;  // of the parts
    const char *suffix;     // of their names
    const uint32_t *part_of_piece;
    uint32_t part_count, piece_count;
    const struct output_piece *pieces;  // those that are done were written by an earlier run
    const struct shared_parts_calls *calls;
    void *owner;
};

// Makes a folder for the files of attempts; what an earlier run left there goes. *parts is NULL on failure.
MUST_CHECK weft_err shared_parts_open(struct shared_parts **parts,
                                      const struct shared_parts_options *options);
void shared_parts_free(struct shared_parts *parts);  // NULL is fine
// The folder goes.
MUST_CHECK weft_err shared_parts_finish(struct shared_parts *parts);

// A worker has made a piece, and its client holds it.
void shared_parts_take(struct shared_parts *parts, const struct arrival *arrival);
// A client's answer. INTERNAL, with words for "sent ...": it may not send that.
MUST_CHECK weft_err shared_parts_answer(struct shared_parts *parts, uint32_t holder,
                                        const Weft__PartWritten *written);
// A client is about to leave: parts of which it holds a piece go by the server, unless one is being written just now. To be said
// again, until the pieces are safe.
void shared_parts_leave(struct shared_parts *parts, uint32_t holder);
// A client is gone or given up, with the pieces that it holds.
void shared_parts_lose(struct shared_parts *parts, uint32_t holder);

#endif
