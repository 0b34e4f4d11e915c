// copier: a thread that copies the beginning of a growing file to a pipe, a terminal, a device or another
// file, as far as the owner has called it final.
//
// The target gets the bytes in order, where its position stands: others may write there in between.
//
// The owner never waits for a slow reader, and may stop the copying at any moment. A reader that
// left is not a failure. Thread: the functions here belong to one owner.
#ifndef SYS_FILE_COPIER_H
#define SYS_FILE_COPIER_H

#include "base/err.h"

struct copier;

struct copier_spec {
    int from;  // read by offset from 0; stays the owner's. May be emptied up to the last byte that was copied
    int to;               // stays the owner's; its flags are not touched
    const char *to_name;  // for the error; borrowed, lives as long as the copier
    // Called from the thread when all final bytes so far are out, when the reader left, or when it
    // failed. May be NULL. Must not call copier functions.
    void (*halted)(void *owner);
    void *owner;
};

// Starts the thread. NULL on failure: what cannot be copied is known before anything was computed.
struct copier *copier_new(const struct copier_spec *spec);

// Stops at once, also while a reader makes it wait.
void copier_free(struct copier *copier);

// The first `size` bytes of the file are final. Only grows.
void copier_extend(struct copier *copier, uint64_t size);

// Waits until everything is out, the reader left, or it failed: the failure of the writing.
MUST_CHECK weft_err copier_wait(struct copier *copier);

bool copier_reader_left(const struct copier *copier);
bool copier_is_idle(const struct copier *copier);  // nothing more will be copied as things stand
uint64_t copier_bytes_out(const struct copier *copier);

// Its failure so far, with the sentence set for the calling thread; WEFT_OK when there is none.
MUST_CHECK weft_err copier_error(const struct copier *copier);

#endif
