// Files of workers, for others.

#include "run/client/served.h"

#include <stdio.h>

#include "sys/file/file.h"
#include "transport/fetch_files.h"

void served_fini(struct served *served)
{
    for (size_t i = 0; i < served->list.count; i++)
        if (served->list.items[i].fd >= 0)
            file_close(served->list.items[i].fd);
    VEC_FINI(&served->list);
    *served = (struct served){0};
}

const struct served_file *served_find(const struct served *served, uint64_t number)
{
    const bool is_there =
        number > 0 && number <= served->list.count && served->list.items[number - 1].fd >= 0;
    return is_there ? &served->list.items[number - 1] : NULL;
}

void served_forget(struct served *served, uint64_t number)
{
    if (!served_find(served, number))
        return;
    struct served_file *file = &served->list.items[number - 1];
    fetch_files_remove(served->files, number);
    file_close(file->fd);
    file->fd = -1;
}

static weft_err add(struct served *served, int fd, const struct file_stat *status, uint32_t *number)
{
    const struct served_file file = {status->inode, fd, status->size};
    struct fetch_file offered = {.id = served->list.count + 1, .fd = fd, .size = status->size};
    snprintf(offered.name, sizeof offered.name, "map output or pairs of a worker");
    if (!VEC_PUSH(&served->list, file))
        return err_no_memory("for a file of a worker");
    *number = (uint32_t)served->list.count;
    const weft_err code = fetch_files_add(served->files, &offered);
    if (code != WEFT_OK)
        served->list.count--;
    return code;
}

weft_err served_add(struct served *served, int fd, uint32_t *number)
{
    struct file_stat status;
    const weft_err code = file_stat_fd(fd, "a copy", &status);
    return code == WEFT_OK ? add(served, fd, &status, number) : code;
}

weft_err served_hold(struct served *served, const struct agent *agent, uint32_t descriptor,
                     uint32_t *number)
{
    struct file_stat status;
    int fd;
    weft_err code = agent_open_file(agent, descriptor, &fd);
    if (code != WEFT_OK)
        return code;
    code = file_stat_fd(fd, "a worker's file", &status);
    // No two open files have the same inode. The last ones are the likely ones.
    for (size_t i = served->list.count; i-- > 0 && code == WEFT_OK;) {
        struct served_file *known = &served->list.items[i];
        if (known->fd < 0 || known->inode != status.inode)
            continue;
        file_close(fd);
        known->size = status.size;
        fetch_files_grow(served->files, i + 1, status.size);
        *number = (uint32_t)(i + 1);
        return WEFT_OK;
    }
    if (code == WEFT_OK)
        code = add(served, fd, &status, number);
    if (code != WEFT_OK)
        file_close(fd);
    return code;
}
