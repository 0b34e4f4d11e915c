// Part files: their names, and the checksum of their content. The sink writes them, the manifest lists
// them, and a continued run looks at those that are there. Thread: any.
#ifndef STORE_PART_H
#define STORE_PART_H

#include "base/err.h"

enum { PART_NAME_BYTES = 24 };  // "part-1048575.zst" and its end

// part-00000 and so on; the suffix is of the compression, "" or ".zst".
void part_format_name(char name[PART_NAME_BYTES], uint32_t part, const char *suffix);

// The checksum of up to bytes_max bytes from an offset on; *bytes is how many there were.
MUST_CHECK weft_err part_sum(int fd, const char *path, uint64_t offset, uint64_t bytes_max,
                             uint64_t *bytes, uint32_t *crc32c);

#endif
