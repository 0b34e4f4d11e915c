// What the files of the cache share. Only for src/store/cache.
#ifndef STORE_CACHE_CACHE_STATE_H
#define STORE_CACHE_CACHE_STATE_H

#include "store/cache/cache.h"

struct cache {
    const struct cache_kind *kind;
    char *path, *jobs;
};

// The path folder/name with `end`, which the caller frees.
MUST_CHECK weft_err cache_make_path(char **path, const char *folder, const char *name,
                                    const char *end);

// The names in the directory of a tree.
extern const char cache_info_name[], cache_tree_name[];

// The size that the first line of an `info` has; 0: none.
uint64_t cache_read_size(int info);

// Removes a tree that no process uses, by way of a job's directory. It stays when it is in use.
void cache_remove_tree(struct cache *cache, const char *path);

#endif
