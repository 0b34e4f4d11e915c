// input_head: by what a client knows that its file is the server's: besides size and time, how it begins.
#ifndef RUN_INPUT_HEAD_H
#define RUN_INPUT_HEAD_H

#include "base/err.h"

enum { INPUT_HEAD_BYTES = 4096, INPUT_HEADS_MAX = 100000 };

// XXH3 of the first bytes of the file.
MUST_CHECK weft_err input_head_read(const char *path, uint64_t *head);

#endif
