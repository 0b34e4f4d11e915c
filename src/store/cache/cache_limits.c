// The limits of a cache: the entries that were used last stay.

#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"
#include "store/cache/cache_state.h"
#include "sys/file/file.h"
#include "sys/time/clock.h"

#define DAY_S INT64_C(86400)

struct kept {
    char *path;
    uint64_t size;
    int64_t mtime_ns;
    bool is_used, is_tree;
};

struct kept_list {
    struct cache *cache;
    VEC(struct kept) list;
};

// A tree without its info counts as one that is very old.
static void look_at_tree(struct kept *tree)
{
    char *path;
    struct file_stat status;
    int fd = -1;
    tree->is_tree = true;
    tree->size = 0;
    tree->mtime_ns = 0;
    if (cache_make_path(&path, tree->path, cache_info_name, "") == WEFT_OK &&
        file_open(path, &fd) == WEFT_OK && file_stat_fd(fd, path, &status) == WEFT_OK) {
        tree->size = cache_read_size(fd);
        tree->mtime_ns = status.mtime_ns;
    }
    err_clear();
    if (fd >= 0)
        file_close(fd);
    free(path);
}

static weft_err visit_entry(void *owner, const char *name)
{
    struct kept_list *entries = owner;
    struct kept entry = {0};
    struct file_stat status = {.kind = FILE_MISSING};
    if (!digest_is_text(name))
        return WEFT_OK;
    weft_err code = cache_make_path(&entry.path, entries->cache->path, name, "");
    if (code == WEFT_OK)
        code = file_stat(entry.path, &status);
    entry.size = status.size;
    entry.mtime_ns = status.mtime_ns;
    entry.is_used = status.kind == FILE_REGULAR && status.name_count > 1;
    if (code == WEFT_OK && status.kind == FILE_DIRECTORY)
        look_at_tree(&entry);
    if (code == WEFT_OK && VEC_PUSH(&entries->list, entry))
        return WEFT_OK;
    free(entry.path);
    return code ? code : err_no_memory("to list a cache");
}

static int compare_newest_first(const void *left, const void *right)
{
    const struct kept *a = left, *b = right;
    if (a->mtime_ns != b->mtime_ns)
        return a->mtime_ns > b->mtime_ns ? -1 : 1;
    return strcmp(a->path, b->path);
}

static void remove_entry(struct cache *cache, const struct kept *entry)
{
    if (entry->is_tree)
        cache_remove_tree(cache, entry->path);
    else if (file_remove_tree(entry->path) != WEFT_OK)
        err_clear();
}

void cache_prune(struct cache *cache, uint64_t bytes_max, uint32_t days_max)
{
    struct kept_list entries = {.cache = cache};
    const int64_t oldest_s = clock_calendar_s() - days_max * DAY_S;
    uint64_t bytes = 0;
    if (file_list(cache->path, visit_entry, &entries) != WEFT_OK)
        err_clear();
    if (entries.list.count > 1)
        qsort(entries.list.items, entries.list.count, sizeof *entries.list.items,
              compare_newest_first);
    for (size_t i = 0; i < entries.list.count; i++) {
        struct kept *entry = &entries.list.items[i];
        bytes += entry->size;
        const bool is_over = bytes > bytes_max || entry->mtime_ns / 1000000000 < oldest_s;
        if (is_over && !entry->is_used) {
            bytes -= entry->size;
            remove_entry(cache, entry);
        }
        free(entry->path);
    }
    VEC_FINI(&entries.list);
}
