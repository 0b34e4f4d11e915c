// manifest: DIR/_manifest.json, what a finished output directory holds.
//
//   {
//     "version": 1,
//     "job": "wordcount",
//     "parts": [
//       {"name": "part-00000", "bytes": 52, "records": 4, "crc32c": "0a1b2c3d"}
//     ],
//     "bytes": 52,
//     "records": 4,
//     "identity": "0123456789abcdef0123456789abcdef",
//     "inputs": [
//       {"name": "a.txt", "bytes": 12, "mtime_ns": 1700000000000000000}
//     ]
//   }
//
// identity and inputs show whether the same job over the same inputs would give this answer; they are
// left out when that is unknown (an input that came through a pipe).
//
// The same answer gives the same bytes: nothing of time, slots or memory is in it. Fields are only
// added; another version is refused. Thread: one owner.
#ifndef STORE_MANIFEST_H
#define STORE_MANIFEST_H

#include "base/buf.h"
#include "base/err.h"
#include "store/part.h"

enum {
    MANIFEST_VERSION = 1,
    MANIFEST_PARTS_MAX = 1 << 20,  // 1 Mi parts x 80 bytes: a manifest of 80 MiB at most
    MANIFEST_BYTES_MAX = 128 << 20,
};

struct manifest_part {
    char name[PART_NAME_BYTES];
    uint64_t bytes, records;
    uint32_t crc32c;
};

struct manifest_input {
    char *name;
    uint64_t bytes;
    int64_t mtime_ns;
};

enum { MANIFEST_IDENTITY_BYTES = 33 };  // 32 hexadecimal digits and their end

struct manifest {
    char *job;
    char identity[MANIFEST_IDENTITY_BYTES];  // "": not known
    struct manifest_input *inputs;
    size_t input_count, input_capacity;
    char suffix[8];  // of all names: "", ".gz", ".zst", ".lz4"
    struct manifest_part *parts;
    size_t part_count, part_capacity;
    uint64_t bytes, records;  // of all parts
};

void manifest_fini(struct manifest *manifest);

// Adds the next part (its name follows from its number) and counts it in. RESOURCE_EXHAUSTED when
// memory or MANIFEST_PARTS_MAX is at its end.
MUST_CHECK weft_err manifest_add(struct manifest *manifest, uint64_t bytes, uint64_t records,
                                 uint32_t crc32c);

// Adds an input that the answer was made from; the name is copied.
MUST_CHECK weft_err manifest_add_input(struct manifest *manifest, const char *name, uint64_t bytes,
                                       int64_t mtime_ns);

// Whether an answer with this manifest is that of the same job over the same inputs as `other`'s. If not,
// *why says what differs, as a sentence about the first input that does, or about the job.
bool manifest_is_same(const struct manifest *manifest, const struct manifest *other,
                      struct buf *why);

// Appends the file's bytes.
void manifest_format(struct buf *buf, const struct manifest *manifest);

// Reads the file's bytes into an empty struct; DATA_LOSS says what is wrong. Everything that format writes
// is read back the same. Call manifest_fini in every case.
MUST_CHECK weft_err manifest_parse(struct manifest *manifest, weft_bytes text);

// Names in a directory that begin with _ are not data, here as with Hadoop. Before 0.2 it had the second name.
#define MANIFEST_NAME "_manifest.json"
#define MANIFEST_NAME_BEFORE "manifest.json"

// Whether the file is a manifest under its name of before, beside the _SUCCESS of a finished output.
bool manifest_is_one_of_before(const char *path);

// Reads the manifest of a directory; NOT_FOUND: it has none. Call manifest_fini in every case.
MUST_CHECK weft_err manifest_read(const char *directory, struct manifest *manifest);

// Checks a finished directory: _SUCCESS is there, the manifest is sound, every part has its size and
// checksum. DATA_LOSS names the first that has not.
MUST_CHECK weft_err manifest_verify(const char *directory, struct manifest *manifest);

#endif
