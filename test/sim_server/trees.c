// No job of this world keeps unpacked directories.
#include "sys/file/tree.h"

static weft_err refuse(const char *path)
{
    return err_set(WEFT_UNIMPLEMENTED, "%s: there are no trees in this world", path);
}

weft_err tree_list(const char *directory, tree_visit_fn *visit, void *owner)
{
    (void)visit, (void)owner;
    return refuse(directory);
}

weft_err tree_look(const char *path, struct tree_item *item)
{
    (void)item;
    return refuse(path);
}

weft_err tree_read_link(const char *path, char **target)
{
    *target = NULL;
    return refuse(path);
}

weft_err tree_make_directory(const char *path)
{
    return refuse(path);
}

weft_err tree_make_link(const char *path, const char *target)
{
    (void)target;
    return refuse(path);
}

weft_err tree_create_file(const char *path, bool is_executable, int *fd)
{
    (void)is_executable;
    *fd = -1;
    return refuse(path);
}

weft_err tree_close_file(int fd, const char *path, int64_t mtime_s)
{
    (void)fd, (void)mtime_s;
    return refuse(path);
}

bool tree_share(int fd)
{
    (void)fd;
    return false;
}
