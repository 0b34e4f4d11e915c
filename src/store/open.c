// Which implementation of the port a name belongs to.

#include "store/hdfs/input.h"
#include "store/hdfs/url.h"
#include "store/store.h"

static bool is_any(const char *path)
{
    (void)path;
    return true;
}

static const struct {
    bool (*is_its)(const char *path);
    weft_err (*open)(const char *path, const char *name, struct store_file *file);
} stores[] = {
    {hdfs_is_url, hdfs_input_open},
    {is_any, store_open_plain},
};

weft_err store_open(const char *path, const char *name, struct store_file *file)
{
    size_t i = 0;
    while (!stores[i].is_its(path))
        i++;
    return stores[i].open(path, name, file);
}
