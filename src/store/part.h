// Part files: their names, and the checksum of their content. The sink writes them, the manifest lists
// them, and a continued run looks at those that are there. Thread: any.
#ifndef STORE_PART_H
#define STORE_PART_H

#include <stdbool.h>

#include "base/err.h"

enum { PART_NAME_BYTES = 24 };  // "part-1048575.zst" and its end

// part-00000 and so on; the suffix is of the compression, "" or ".zst".
void part_format_name(char name[PART_NAME_BYTES], uint32_t part, const char *suffix);

// The files of an answer: one file, or the parts in a directory.
struct part_files {
    const char *path;  // of the file, or of the directory
    bool has_parts;
    uint32_t count;      // of parts
    const char *suffix;  // of their names
};

// The path of a part, or of the one file.
void part_files_name(const struct part_files *files, uint32_t part, char *path, size_t size);

// Makes the files, also parts that stay empty. is_resumed: those that are there keep their content. *fd is that of the one file,
// and is left alone where there are parts.
MUST_CHECK weft_err part_files_create(const struct part_files *files, bool is_resumed, int *fd);

// RESOURCE_EXHAUSTED, with a sentence for the user. is_temporary: the file is one of ours in the directory of --tmp.
weft_err part_no_room(const char *path, bool is_temporary);

// The checksum of up to bytes_max bytes from an offset on; *bytes is how many there were.
MUST_CHECK weft_err part_sum(int fd, const char *path, uint64_t offset, uint64_t bytes_max,
                             uint64_t *bytes, uint32_t *crc32c);

#endif
