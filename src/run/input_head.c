// How a file begins.

#include "run/input_head.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "sys/file/file.h"

weft_err input_head_read(const char *path, uint64_t *head)
{
    char bytes[INPUT_HEAD_BYTES];
    size_t got = 0;
    int fd;
    weft_err code = file_open(path, &fd);
    if (code)
        return code;
    code = file_read_at(fd, path, bytes, sizeof bytes, 0, &got);
    file_close(fd);
    *head = XXH3_64bits(bytes, got);
    return code;
}
