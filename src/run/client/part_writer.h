// part_writer: writes parts of the answer into a directory that this client shares with its server (run/driver/server/shared_parts.h): fetches the
// pieces that other clients hold, and puts all of them in order into a file that the server has made. It makes no file itself, so
// a directory that is not the server's stays as it is. Files are written beside the loop. Thread: that of the loop.
#ifndef RUN_CLIENT_PART_WRITER_H
#define RUN_CLIENT_PART_WRITER_H

#include "run/client/copies.h"

struct part_writer;

struct part_writer_calls {
    // The answer to an order; the text is lent.
    void (*answer)(void *owner, const Weft__PartWritten *written);
    // This client cannot continue, with this thread's sentence.
    void (*broken)(void *owner, weft_err code);
};

struct part_writer *part_writer_new(struct loop *loop, struct copies *copies,
                                    const struct part_writer_calls *calls,
                                    void *owner);   // NULL with a sentence
void part_writer_free(struct part_writer *writer);  // before the copies; NULL is fine

// An order of the server.
void part_writer_take(struct part_writer *writer, const struct frame *frame);

#endif
