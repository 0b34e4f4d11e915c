// Asking a name node for the places of blocks.

#include "store/hdfs/locate.h"

#include <stdlib.h>

#include "store/hdfs/namenode.h"
#include "store/hdfs/url.h"

// To know where blocks are is of use, but not needed: a name node that restarts is not waited for.
enum { PATIENCE_MS = 2000, MACHINES_MAX = 16 };

struct hdfs_locator {
    struct namenode *namenode;
    struct hdfs_url url;  // of the last file
};

static weft_err visit_block(const Hadoop__LocatedBlock *block, store_stretch_fn *take, void *owner)
{
    struct store_machine machines[MACHINES_MAX];
    struct store_stretch stretch = {
        .begin = block->offset, .end = block->offset + block->block->size, .machines = machines};
    for (size_t i = 0; i < block->n_places && stretch.count < MACHINES_MAX; i++) {
        const Hadoop__DataNodeId *id = block->places[i]->id;
        if (id)
            machines[stretch.count++] =
                (struct store_machine){id->host ? id->host : "", id->ip ? id->ip : ""};
    }
    return take(owner, &stretch);
}

// Files that are erasure-coded have no block in one piece.
static weft_err visit_blocks(const Hadoop__LocatedBlocks *located, store_stretch_fn *take,
                             void *owner)
{
    weft_err code = WEFT_OK;
    for (size_t i = 0; !code && !located->has_erasure_coding && i < located->n_blocks; i++) {
        const Hadoop__LocatedBlock *block = located->blocks[i];
        if (block->block && block->block->size <= UINT64_MAX - block->offset)
            code = visit_block(block, take, owner);
    }
    return code;
}

static weft_err connect(struct hdfs_locator *locator, const char *authority)
{
    struct site site;
    if (locator->namenode && strcmp(locator->url.authority, authority) == 0)
        return WEFT_OK;
    namenode_free(locator->namenode);
    locator->namenode = NULL;
    const weft_err code = site_find(authority, &site);
    return code ? code : namenode_new(&site, NULL, PATIENCE_MS, &locator->namenode);
}

weft_err hdfs_locate(struct hdfs_locator **kept, const char *text, store_stretch_fn *take,
                     void *owner)
{
    struct hdfs_url *url = malloc(sizeof *url);
    struct hdfs_locator *locator = *kept ? *kept : calloc(1, sizeof *locator);
    Hadoop__BlockLocations *blocks = NULL;
    weft_err code =
        url && locator ? hdfs_url_read(text, url) : err_no_memory("to locate an input in HDFS");
    *kept = locator;
    if (!code)
        code = connect(locator, url->authority);
    if (!code) {
        locator->url = *url;
        code = namenode_locate(locator->namenode, url->path, &blocks);
    }
    if (!code)
        code = visit_blocks(blocks->located, take, owner);
    hdfs_free(blocks);
    free(url);
    return code;
}

void hdfs_locator_free(struct hdfs_locator *locator)
{
    if (!locator)
        return;
    namenode_free(locator->namenode);
    free(locator);
}
