// Part files, looked at in stretches of a megabyte.

#include "store/part.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "sys/file/file.h"

enum { READ_BYTES = 1 << 20 };

void part_format_name(char name[PART_NAME_BYTES], uint32_t part, const char *suffix)
{
    snprintf(name, PART_NAME_BYTES, "part-%05u%.7s", (unsigned)part, suffix);
}

weft_err part_sum(int fd, const char *path, uint64_t offset, uint64_t bytes_max, uint64_t *bytes,
                  uint32_t *crc)
{
    *bytes = *crc = 0;
    char *data = malloc(READ_BYTES);
    weft_err err = data ? WEFT_OK : err_no_memory("to read %s", path);
    while (!err && *bytes < bytes_max) {
        const uint64_t left = bytes_max - *bytes;
        size_t got;
        err = file_read_at(fd, path, data, left < READ_BYTES ? (size_t)left : READ_BYTES,
                           offset + *bytes, &got);
        if (err || got == 0)
            break;
        *crc = crc32c(*crc, data, got);
        *bytes += got;
    }
    free(data);
    return err;
}
