// far_inputs: which of a job's inputs this machine has, too. They are looked for in a thread beside the loop: a file system may take long,
// and a client that does not answer for that long is lost to its server. Thread: that of the loop.
#ifndef RUN_CLIENT_FAR_INPUTS_H
#define RUN_CLIENT_FAR_INPUTS_H

#include "sys/loop/loop.h"
#include "wire/messages.h"

struct far_inputs;

// The job is the callee's again. is_here, by input: this machine has it; path, inode and time in the message are those of this machine. The others are
// to be read from the server. `code` with this thread's sentence: it could not be done at all.
typedef void far_inputs_fn(void *owner, Weft__JobStart *start, const bool *is_here, weft_err code);

struct far_inputs *far_inputs_new(struct loop *loop);  // NULL with a sentence
void far_inputs_free(struct far_inputs *far);          // NULL is fine

// Looks for each at the path that the server has: same size, same time to the second, same samples. Takes the job, also when it fails.
MUST_CHECK weft_err far_inputs_look(struct far_inputs *far, Weft__JobStart *start,
                                    far_inputs_fn *done, void *owner);
// Inputs that are looked for now are not wanted any more: `done` is not called.
void far_inputs_stop(struct far_inputs *far);

#endif
