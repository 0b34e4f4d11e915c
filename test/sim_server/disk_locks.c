// Locks of files, as the product sees them: they go with the descriptor, and so with the life of a process.
#include "sim_server/disk.h"

#include "sim_server/lives.h"
#include "sim_server/sim_server.h"
#include "sys/env.h"
#include "sys/file/file.h"

bool file_hold(int fd)
{
    struct node *node = disk_node(world.running, fd);
    const bool is_free = !node->lock;
    if (is_free)
        node->lock = fd;
    return is_free;
}

weft_err file_create_held(const char *path, int *fd)
{
    const weft_err code = file_create_new(path, fd);
    ASSERT(code != WEFT_OK || file_hold(*fd));
    return code;
}

weft_err file_lock(const char *path, int *fd)
{
    const weft_err code = file_open_private(path, fd);
    if (code != WEFT_OK)
        return code;
    struct node *node = disk_node(world.running, *fd);
    if (node->lock) {
        disk_close(*fd);
        *fd = -1;
        return err_set(WEFT_UNAVAILABLE, "%s is locked", path);
    }
    node->lock = *fd;
    return WEFT_OK;
}

bool file_is_locked(const char *path)
{
    const struct node *node = disk_find(disk_machine(), path);
    return node && node->lock;
}

bool file_is_left(const char *path)
{
    const struct node *node = disk_find(disk_machine(), path);
    return node && !node->is_directory && !node->lock;
}
