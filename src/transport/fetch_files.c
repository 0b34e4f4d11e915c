// Served files: a sorted array, as numbers grow.

#include "transport/fetch_files.h"

#include <inttypes.h>

#include "base/vec.h"
#include "sys/file/file.h"

enum { OPEN_MAX = 64 };  // of a shelf

struct opened {
    struct fetch_file file;
    uint64_t used;  // when: the last one has the highest number
    bool is_open;
};

struct fetch_files {
    VEC(struct fetch_file) list;
    struct fetch_shelf shelf;
    struct opened opened[OPEN_MAX];
    uint64_t clock;
};

struct fetch_files *fetch_files_new(void)
{
    struct fetch_files *files = calloc(1, sizeof *files);
    if (!files)
        err_no_memory("for a list of files");
    return files;
}

static void close_one(struct opened *opened)
{
    if (opened->is_open)
        file_close(opened->file.fd);
    opened->is_open = false;
}

void fetch_files_free(struct fetch_files *files)
{
    if (!files)
        return;
    for (int i = 0; i < OPEN_MAX; i++)
        close_one(&files->opened[i]);
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

// ---- Files that are opened when they are asked for ------------------------------------------------------

void fetch_files_set_shelf(struct fetch_files *files, const struct fetch_shelf *shelf)
{
    files->shelf = *shelf;
}

static weft_err find_opened(struct fetch_files *files, uint64_t id, const struct fetch_file **file)
{
    struct opened *oldest = &files->opened[0];
    for (int i = 0; i < OPEN_MAX; i++) {
        struct opened *opened = &files->opened[i];
        if (opened->is_open && opened->file.id == id) {
            opened->used = ++files->clock;
            *file = &opened->file;
            return WEFT_OK;
        }
        const bool is_older = !opened->is_open || opened->used < oldest->used;
        oldest = oldest->is_open && is_older ? opened : oldest;
    }
    close_one(oldest);
    oldest->file = (struct fetch_file){.id = id, .fd = -1};
    const weft_err code = files->shelf.open(files->shelf.owner, id, &oldest->file);
    oldest->is_open = code == WEFT_OK;
    oldest->used = ++files->clock;
    *file = code == WEFT_OK ? &oldest->file : NULL;
    return code;
}

weft_err fetch_files_check(const struct fetch_files *files, const struct fetch_file *file)
{
    return file->id < files->shelf.end && files->shelf.check
               ? files->shelf.check(files->shelf.owner, file->id, file->fd)
               : WEFT_OK;
}

// ---- The list -----------------------------------------------------------------------------------------------

weft_err fetch_files_find(struct fetch_files *files, uint64_t id, const struct fetch_file **file)
{
    if (id < files->shelf.end)
        return find_opened(files, id, file);
    const size_t at = place_of(files, id);
    const bool is_there = at < files->list.count && files->list.items[at].id == id;
    *file = is_there ? &files->list.items[at] : NULL;
    return is_there ? WEFT_OK : err_set(WEFT_NOT_FOUND, "it has no file %" PRIu64, id);
}

void fetch_files_grow(struct fetch_files *files, uint64_t id, uint64_t size)
{
    const size_t at = place_of(files, id);
    if (at < files->list.count && files->list.items[at].id == id &&
        files->list.items[at].size < size)
        files->list.items[at].size = size;
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
