// For simulated worlds without HDFS: jobs there read files of their machines. Linked instead of src/store/hdfs/input.c, place.c, locate.c and site.c.

#include "store/hdfs/input.h"
#include "store/hdfs/locate.h"
#include "store/hdfs/place.h"
#include "store/hdfs/site.h"

weft_err hdfs_input_open(const char *url, const char *name, struct store_file *file)
{
    (void)name;
    (void)file;
    return err_set(WEFT_UNIMPLEMENTED, "%s: there is no HDFS in this world", url);
}

weft_err hdfs_find(const char *url, const struct hdfs_find_calls *calls, void *owner)
{
    (void)calls;
    (void)owner;
    return err_set(WEFT_UNIMPLEMENTED, "%s: there is no HDFS in this world", url);
}

bool hdfs_lies_in(const char *url, const char *above)
{
    (void)url, (void)above;
    return false;
}

bool hdfs_is_pattern(const char *url)
{
    (void)url;
    return false;
}

weft_err hdfs_locate(struct hdfs_locator **locator, const char *url, store_stretch_fn *take,
                     void *owner)
{
    (void)locator, (void)take, (void)owner;
    return err_set(WEFT_UNIMPLEMENTED, "%s: there is no HDFS in this world", url);
}

void hdfs_locator_free(struct hdfs_locator *locator)
{
    (void)locator;
}

weft_err hdfs_place_open(const char *url, uint32_t patience_ms, struct store_place **place)
{
    (void)patience_ms;
    *place = NULL;
    return err_set(WEFT_UNIMPLEMENTED, "%s is not on this machine", url);
}

weft_err site_find(const char *authority, struct site *site)
{
    (void)site;
    return err_set(WEFT_UNIMPLEMENTED, "%s: there is no HDFS in this world", authority);
}

bool site_write(const struct site *site, struct buf *authority)
{
    (void)site, (void)authority;
    return false;
}
