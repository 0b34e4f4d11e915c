// Served files: a sorted array, as numbers grow.

#include "transport/fetch_files.h"

#include <inttypes.h>

#include "base/vec.h"

struct fetch_files {
    VEC(struct fetch_file) list;
};

struct fetch_files *fetch_files_new(void)
{
    struct fetch_files *files = calloc(1, sizeof *files);
    if (!files)
        err_no_memory("for a list of files");
    return files;
}

void fetch_files_free(struct fetch_files *files)
{
    if (!files)
        return;
    VEC_FINI(&files->list);
    free(files);
}

// Where the number is, or would be.
static size_t place_of(const struct fetch_files *files, uint64_t id)
{
    size_t low = 0, high = files->list.count;
    if (high && files->list.items[high - 1].id < id)
        return high;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (files->list.items[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct fetch_file *fetch_files_find(const struct fetch_files *files, uint64_t id)
{
    const size_t at = place_of(files, id);
    const bool is_there = at < files->list.count && files->list.items[at].id == id;
    return is_there ? &files->list.items[at] : NULL;
}

weft_err fetch_files_add(struct fetch_files *files, const struct fetch_file *file)
{
    const size_t at = place_of(files, file->id), count = files->list.count;
    if (at < count && files->list.items[at].id == file->id)
        return err_set(WEFT_ALREADY_EXISTS, "file %" PRIu64 " is served already", file->id);
    if (!VEC_NEXT(&files->list))
        return err_no_memory("for a list of files");
    struct fetch_file *items = files->list.items;
    memmove(items + at + 1, items + at, (count - at) * sizeof *items);
    items[at] = *file;
    files->list.count++;
    return WEFT_OK;
}

void fetch_files_remove(struct fetch_files *files, uint64_t id)
{
    const size_t at = place_of(files, id);
    struct fetch_file *items = files->list.items;
    if (at == files->list.count || items[at].id != id)
        return;
    files->list.count--;
    memmove(items + at, items + at + 1, (files->list.count - at) * sizeof *items);
}
