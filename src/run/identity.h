// identity: whether two runs would give the same bytes. The code of the job and the options that change
// them, boiled down to 128 bits; slots, memory, attempts and the like are left out.
#ifndef RUN_IDENTITY_H
#define RUN_IDENTITY_H

#include "run/chain.h"
#include "run/options.h"
#include "store/inputs.h"
#include "store/manifest.h"
#include "wire/messages.h"

enum { IDENTITY_KEY_BYTES = 16 };

// Fills in identity and inputs of an empty struct. UNIMPLEMENTED: an input came through a pipe, and cannot be
// distinguished from another one of the same name. manifest_fini in every case.
MUST_CHECK weft_err identity_make(struct manifest *origin, const struct run_options *options,
                                  const struct chain *chain, const struct inputs *inputs);

// Boils keys down, in their order.
void identity_hash_keys(const ProtobufCBinaryData *keys, size_t count,
                        uint8_t key[IDENTITY_KEY_BYTES]);

#endif
