// The files and archives that `weft streaming` ships with a job, in a directory where its commands
// run.
#ifndef CLI_STREAMING_SHIP_H
#define CLI_STREAMING_SHIP_H

#include "hadoop/streaming.h"
#include "sys/file/workdir.h"

// Creates the directory, in `tmp` (NULL: the default place), with everything in it. Without files
// to ship it creates none, and commands run here. Commands that name a shipped file are changed to
// run it from there.
MUST_CHECK weft_err streaming_ship(struct streaming_options *streaming, const char *tmp,
                                   struct workdir *workdir);

#endif
