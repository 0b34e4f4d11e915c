// Samples of a file.

#include "run/input_head.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "sys/file/file.h"

static weft_err add_sample(int fd, const char *path, uint64_t offset, uint64_t *head)
{
    char bytes[INPUT_SAMPLE_BYTES];
    size_t got = 0;
    const weft_err code = file_read_at(fd, path, bytes, sizeof bytes, offset, &got);
    if (!code)
        *head = XXH3_64bits_withSeed(bytes, got, *head);
    return code;
}

weft_err input_head_read(const char *path, uint64_t *head)
{
    struct file_stat status;
    int fd;
    *head = 0;
    weft_err code = file_open(path, &fd);
    if (code)
        return code;
    code = file_stat_fd(fd, path, &status);
    const uint64_t last = INPUT_SAMPLES - 1;
    const uint64_t span = status.size > INPUT_SAMPLE_BYTES ? status.size - INPUT_SAMPLE_BYTES : 0;
    for (uint64_t i = 0; i <= last && !code; i++) {
        // Without gaps where there are none to leave.
        const bool is_small = status.size <= INPUT_SAMPLES * INPUT_SAMPLE_BYTES;
        code = add_sample(fd, path, is_small ? i * INPUT_SAMPLE_BYTES : span / last * i, head);
    }
    if (!code && span)
        code = add_sample(fd, path, span, head);
    file_close(fd);
    return code;
}
