// What `weft streaming` ships with a job: files and archives, in a directory where its commands run.
#ifndef CLI_STREAMING_SHIP_H
#define CLI_STREAMING_SHIP_H

#include "hadoop/streaming.h"
#include "sys/file/workdir.h"

// Makes the directory, in `tmp` (NULL: the default place), with everything in it; none when there is nothing to
// ship, then commands run here. Commands that name a shipped file are changed to run it from there.
MUST_CHECK weft_err streaming_ship(struct streaming_options *streaming, const char *tmp,
                                   struct workdir *workdir);

#endif
