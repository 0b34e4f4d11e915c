// load: opening, reading and closing in one call, on top of `file`.

#include "sys/file/load.h"

#include <string.h>
#include <unistd.h>

#include "sys/file/file.h"

weft_err file_load(const char *path, size_t bytes_max, struct buf *text)
{
    int fd;
    weft_err code = file_open(path, &fd);
    if (code != WEFT_OK)
        return code;
    code = file_read_all(fd, path, bytes_max, text);
    file_close(fd);
    return code;
}

weft_err file_load_argument(const char *argument, size_t bytes_max, struct buf *text,
                            const char **source)
{
    const bool is_stdin = strcmp(argument, "-") == 0;
    *source = is_stdin ? "standard input" : argument;
    return is_stdin ? file_read_all(STDIN_FILENO, *source, bytes_max, text)
                    : file_load(argument, bytes_max, text);
}
