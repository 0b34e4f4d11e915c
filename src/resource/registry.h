// registry: which resources there are, by kind, container and name.
#ifndef RESOURCE_REGISTRY_H
#define RESOURCE_REGISTRY_H

#include "base/map.h"
#include "base/vec.h"
#include "resource/resource.h"

struct registry {
    struct map by_key;
    VEC(struct resource *)
    all;                  // in the order they were made; removed ones while they have handles
    uint64_t made_count;  // how many ever were: their uids
};

void registry_init(struct registry *registry, uint64_t seed);
void registry_fini(struct registry *registry);

const struct resource_kind *registry_find_kind(uint8_t number);  // NULL: there is none

// The resource to be opened. The attributes are the kind's business.
struct registry_wish {
    uint8_t kind;
    weft_bytes container, name;
    weft_bytes attributes;  // empty: as it is, or by default
};

// INVALID_ARGUMENT: names that are none, attributes that differ from those it was made with.
MUST_CHECK weft_err registry_open(struct registry *registry, struct host *host, uint64_t uid_base,
                                  const struct registry_wish *wish, struct resource **resource);

struct resource *registry_find_by_uid(struct registry *registry, uint64_t uid);  // NULL: none

// Takes it out of the names; it is freed now or with its last handle.
void registry_remove(struct registry *registry, struct resource *resource);
void registry_acquire(struct resource *resource);
void registry_release(struct registry *registry, struct resource *resource);

#endif
