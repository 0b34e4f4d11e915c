// Combining by a command: the pairs of a map task are collected, sorted by key, and the command run
// over their lines. The lines it prints take their place.
//
// At most 16 MiB are collected at a time, so that a task of any size needs no more memory than that: a
// combiner is run as often as is good. Thread: one owner.
#ifndef CODE_COMMAND_COMBINE_H
#define CODE_COMMAND_COMBINE_H

#include "base/vec.h"
#include "code/command/keys.h"
#include "code/command/pump.h"

enum { COMMAND_COMBINE_BYTES = 16 << 20 };

struct command_combine {
    struct buf room;  // keys as they travel, and values
    VEC(struct combine_pair) pairs;
    struct buf lines;  // on their way to the command
};

struct combine_pair {
    uint64_t prefix;  // of the key, so that most comparisons need no more
    uint32_t offset, key_bytes, value_bytes;
    bool has_value;
};

void command_combine_fini(struct command_combine *combine);

// Forgets the collected pairs.
void command_combine_clear(struct command_combine *combine);

// Collects a pair; the key as it travels. *is_full: it is time to run the combiner.
MUST_CHECK weft_err command_combine_add(struct command_combine *combine, weft_bytes key,
                                        weft_bytes value, bool *is_full);

// Writes the lines "key SEPARATOR value" in order of keys, pairs of a key in the order they came, to the
// started command of the pump, and forgets them.
MUST_CHECK weft_err command_combine_write(struct command_combine *combine,
                                          const struct command_keys *keys,
                                          const struct command_separator *separator,
                                          struct command_pump *pump);

#endif
