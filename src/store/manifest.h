// manifest: DIR/manifest.json, what a finished output directory holds.
//
//   {
//     "version": 1,
//     "job": "wordcount",
//     "parts": [
//       {"name": "part-00000", "bytes": 52, "records": 4, "crc32c": "0a1b2c3d"}
//     ],
//     "bytes": 52,
//     "records": 4
//   }
//
// The same answer gives the same bytes: nothing of time, slots or memory is in it. Fields are only
// added; another version is refused. Thread: one owner.
#ifndef STORE_MANIFEST_H
#define STORE_MANIFEST_H

#include "base/buf.h"
#include "base/err.h"

enum {
    MANIFEST_VERSION = 1,
    MANIFEST_PARTS_MAX = 1 << 20,  // 1 Mi parts x 80 bytes: a manifest of 80 MiB at most
    MANIFEST_BYTES_MAX = 128 << 20,
    MANIFEST_NAME_BYTES = 16,  // "part-1048575" and its end
};

struct manifest_part {
    char name[MANIFEST_NAME_BYTES];
    uint64_t bytes, records;
    uint32_t crc32c;
};

struct manifest {
    char *job;
    struct manifest_part *parts;
    size_t part_count, part_capacity;
    uint64_t bytes, records;  // of all parts
};

void manifest_fini(struct manifest *manifest);

// Adds the next part (its name follows from its number) and counts it in. RESOURCE_EXHAUSTED when
// memory or MANIFEST_PARTS_MAX is at its end.
MUST_CHECK weft_err manifest_add(struct manifest *manifest, uint64_t bytes, uint64_t records,
                                 uint32_t crc32c);

// Appends the file's bytes.
void manifest_format(struct buf *buf, const struct manifest *manifest);

// Reads the file's bytes into an empty struct; DATA_LOSS says what is wrong. All that format writes
// is read back the same. Call manifest_fini in every case.
MUST_CHECK weft_err manifest_parse(struct manifest *manifest, weft_bytes text);

// Checks a finished directory: _SUCCESS is there, the manifest is sound, every part has its size and
// checksum. DATA_LOSS names the first that has not.
MUST_CHECK weft_err manifest_verify(const char *directory, struct manifest *manifest);

#endif
