// Which implementation of the port a name belongs to.

#include "store/hdfs/input.h"
#include "store/hdfs/locate.h"
#include "store/hdfs/place.h"
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
    weft_err (*open_place)(const char *url, uint32_t patience_ms, struct store_place **place);
} stores[] = {
    {hdfs_is_url, hdfs_input_open, hdfs_place_open},
    {is_any, store_open_plain, NULL},
};

static size_t find_store(const char *path)
{
    size_t i = 0;
    while (!stores[i].is_its(path))
        i++;
    return i;
}

weft_err store_open(const char *path, const char *name, struct store_file *file)
{
    return stores[find_store(path)].open(path, name, file);
}

bool store_is_far(const char *name)
{
    return stores[find_store(name)].open_place != NULL;
}

weft_err store_open_place(const char *url, uint32_t patience_ms, struct store_place **place)
{
    *place = NULL;
    return stores[find_store(url)].open_place(url, patience_ms, place);
}

weft_err store_locate(struct store_locator *locator, const char *path, store_stretch_fn *take,
                      void *owner)
{
    return hdfs_is_url(path) ? hdfs_locate(&locator->hdfs, path, take, owner) : WEFT_OK;
}

void store_locator_fini(struct store_locator *locator)
{
    hdfs_locator_free(locator->hdfs);
    locator->hdfs = NULL;
}
