// Part files, looked at in stretches of a megabyte.

#include "store/part.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "sys/file/file.h"

enum { READ_BYTES = 1 << 20 };

void part_format_name(char name[PART_NAME_BYTES], uint32_t part, const char *suffix)
{
    snprintf(name, PART_NAME_BYTES, "part-%05u%.7s", (unsigned)part, suffix);
}

void part_files_name(const struct part_files *files, uint32_t part, char *path, size_t size)
{
    char name[PART_NAME_BYTES];
    part_format_name(name, part, files->suffix);
    if (files->has_parts)
        snprintf(path, size, "%s/%s", files->path, name);
    else
        snprintf(path, size, "%s", files->path);
}

weft_err part_files_create(const struct part_files *files, bool is_resumed, int *fd)
{
    weft_err (*const open_file)(const char *, int *) = is_resumed ? file_open_kept : file_create;
    if (!files->has_parts)
        return open_file(files->path, fd);
    weft_err err = WEFT_OK;
    for (uint32_t i = 0; i < files->count && !err; i++) {
        char path[PATH_MAX];
        int made;
        part_files_name(files, i, path, sizeof path);
        err = open_file(path, &made);
        if (!err)
            file_close(made);
    }
    return err;
}

weft_err part_no_room(const char *path, bool is_temporary)
{
    return err_set(WEFT_RESOURCE_EXHAUSTED, "no room for the output in %s; free some or %s", path,
                   is_temporary ? "name another directory by --tmp" : "write it elsewhere");
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
