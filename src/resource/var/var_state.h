// The insides of a var, shared by its files: var.c does what calls ask for, keep.c saves and loads.
#ifndef RESOURCE_VAR_VAR_STATE_H
#define RESOURCE_VAR_VAR_STATE_H

#include "resource/resource.h"
#include "resource/seen_keys.h"
#include "resource/var/item_set.h"
#include "wire/tuple.h"

enum { VAR_BYTES_MAX = 28 << 20 };  // of a value: two fit into a call, as VAR_SWAP needs

struct var {
    struct resource resource;
    uint8_t dtype, rank;
    int64_t dims[TUPLE_RANK_MAX];
    size_t element_count;
    size_t size;  // of a value; bytes have any
    uint64_t version;
    bool has_value;
    struct buf value;
    struct buf next;  // a value while it is made: a change that fails has changed nothing
    struct item_set counted;
    struct seen_keys keys;  // of additions
    struct link watches;
};

weft_err var_save(const struct resource *resource, struct host_saver *saver);
weft_err var_load(struct resource *resource, struct pack_reader *part);

#endif
