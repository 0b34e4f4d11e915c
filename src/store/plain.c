// Files of this machine.

#include "store/store.h"

static weft_err read_at(struct store_file *file, void *data, size_t size, uint64_t offset,
                        size_t *got)
{
    return file_read_at(file->fd, file->name, data, size, offset, got);
}

static weft_err stat_file(struct store_file *file, struct file_stat *status)
{
    return file_stat_fd(file->fd, file->name, status);
}

static void close_file(struct store_file *file)
{
    file_close(file->fd);
}

static const struct store_calls plain_calls = {read_at, stat_file, close_file};

struct store_file store_plain(int fd, const char *name)
{
    return (struct store_file){.calls = &plain_calls, .name = name, .fd = fd};
}

weft_err store_open_plain(const char *path, const char *name, struct store_file *file)
{
    int fd;
    const weft_err code = file_open(path, &fd);
    *file = code ? (struct store_file){0} : store_plain(fd, name);
    return code;
}
