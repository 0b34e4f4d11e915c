// What the parts of cluster_api.c share: claims that are counted, and one cluster.
#ifndef CLUSTER_API_H
#define CLUSTER_API_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <weft/weft.h>

static int failed_count;
#define CLAIM(claim)                                                                               \
    ((claim) ? (void)0                                                                             \
             : (void)(failed_count++, fprintf(stderr, "line %d: not so: %s (%s)\n", __LINE__,      \
                                              #claim, weft_error())))
#define GIVES(code, call) CLAIM((call) == WEFT_##code)

static inline bool is_text(weft_bytes bytes, const char *text)
{
    return bytes.size == strlen(text) && memcmp(bytes.data, text, bytes.size) == 0;
}

static inline bool item_is(const weft_item *item, const char *text)
{
    return item->data && is_text((weft_bytes){item->data, item->size}, text) &&
           item->data[item->size] == 0;
}

#endif
