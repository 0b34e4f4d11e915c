// input_head: by what a client knows that its file is the server's, besides size and time: by samples of its bytes.
#ifndef RUN_INPUT_HEAD_H
#define RUN_INPUT_HEAD_H

#include "base/err.h"

enum { INPUT_SAMPLE_BYTES = 4096, INPUT_SAMPLES = 16, INPUT_HEADS_MAX = 100000 };

// XXH3 of the file if it is small, else of its beginning, its end, and places in between.
MUST_CHECK weft_err input_head_read(const char *path, uint64_t *head);

#endif
