// yarn_program: what a container runs, as a message. Pure. Thread: any.
#ifndef LAUNCH_YARN_YARN_PROGRAM_H
#define LAUNCH_YARN_YARN_PROGRAM_H

#include "launch/yarn/yarn_message.h"
#include "launch/yarn/yarn_words.h"

// Adds a program to a context. `credentials` is a token file, for a program that brings none. INVALID_ARGUMENT: it is not as it has to be.
MUST_CHECK weft_err yarn_set_program(struct yarn_maker *maker, const struct yarn_program *program,
                                     weft_bytes credentials, Hadoop__LaunchContext *context);

#endif
