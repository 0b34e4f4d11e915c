// content: a growing list. Paths are compared byte by byte: "a" comes before "a/b", whatever is between them.

#include "pack/content.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "sys/file/file.h"

static weft_err no_memory(void)
{
    return err_no_memory("to list the files");
}

void content_init(struct content *content)
{
    *content = (struct content){.fd = -1};
}

static void free_item(struct content_item *item)
{
    free(item->path);
    free(item->link);
    free(item->from);
    free(item->text);
}

void content_fini(struct content *content)
{
    for (size_t i = 0; i < content->items.count; i++)
        free_item(&content->items.items[i]);
    for (size_t i = 0; i < content->notes.count; i++)
        free(content->notes.items[i]);
    VEC_FINI(&content->items);
    VEC_FINI(&content->notes);
    if (content->fd >= 0)
        file_close(content->fd);
    content->fd = -1;
}

// Takes over the texts that are its own already.
static weft_err add(struct content *content, struct content_item item, const char *path)
{
    item.path = strdup(path);
    if (item.path && VEC_PUSH(&content->items, item))
        return WEFT_OK;
    free_item(&item);
    return no_memory();
}

weft_err content_add_directory(struct content *content, const char *path)
{
    return add(content, (struct content_item){.kind = TAR_DIRECTORY}, path);
}

weft_err content_add_link(struct content *content, const char *path, const char *target)
{
    const struct content_item item = {.kind = TAR_LINK, .link = strdup(target)};
    return item.link ? add(content, item, path) : no_memory();
}

static char *copy_text(weft_bytes text)
{
    char *copy = malloc(text.size + 1);
    if (copy && text.size > 0)
        memcpy(copy, text.data, text.size);
    return copy;
}

weft_err content_add_text(struct content *content, const char *path, bool is_executable,
                          weft_bytes text)
{
    const struct content_item item = {.kind = TAR_FILE,
                                      .is_executable = is_executable,
                                      .text = copy_text(text),
                                      .size = text.size};
    return item.text ? add(content, item, path) : no_memory();
}

weft_err content_add_file(struct content *content, const char *path, bool is_executable,
                          const char *from, uint64_t size, int64_t mtime_ns)
{
    const struct content_item item = {.kind = TAR_FILE,
                                      .is_executable = is_executable,
                                      .from = strdup(from),
                                      .size = size,
                                      .mtime_ns = mtime_ns};
    return item.from ? add(content, item, path) : no_memory();
}

weft_err content_add_own(struct content *content, const char *path, bool is_executable, uint64_t at,
                         uint64_t size)
{
    const struct content_item item = {
        .kind = TAR_FILE, .is_executable = is_executable, .from_at = at, .size = size};
    return add(content, item, path);
}

weft_err content_add_note(struct content *content, const char *format, ...)
{
    va_list arguments;
    char *note;
    va_start(arguments, format);
    if (vasprintf(&note, format, arguments) < 0)
        note = NULL;
    va_end(arguments);
    if (note && VEC_PUSH(&content->notes, note))
        return WEFT_OK;
    free(note);
    return no_memory();
}

weft_err content_set_text(struct content_item *item, weft_bytes text)
{
    char *copy = copy_text(text);
    if (!copy)
        return no_memory();
    free(item->from);
    free(item->text);
    item->from = NULL;
    item->text = copy;
    item->size = text.size;
    return WEFT_OK;
}

void content_drop(struct content_item *item)
{
    free_item(item);
    *item = (struct content_item){0};
}

// ---- Order ---------------------------------------------------------------------------------------------------------

// Marks that the qsort below needs: which of two items of one path was added first.
struct sorted {
    struct content_item item;
    size_t number;
};

static int compare(const void *left, const void *right)
{
    const struct sorted *a = left, *b = right;
    const int order = strcmp(a->item.path, b->item.path);
    return order ? order : a->number < b->number ? -1 : 1;
}

static weft_err check_parents(const struct content *content)
{
    char path[TAR_PATH_BYTES_MAX + 1];
    for (size_t i = 0; i < content->items.count; i++) {
        const struct content_item *item = &content->items.items[i];
        const char *slash = strrchr(item->path, '/');
        if (!slash)
            continue;
        snprintf(path, sizeof path, "%.*s", (int)(slash - item->path), item->path);
        const struct content_item *parent = content_find(content, path);
        if (!parent || parent->kind != TAR_DIRECTORY)
            return err_set(WEFT_INVALID_ARGUMENT, "%s cannot be packed: %s is not a directory",
                           item->path, path);
    }
    return WEFT_OK;
}

weft_err content_sort(struct content *content)
{
    size_t count = 0, kept = 0;
    struct sorted *all = malloc((content->items.count + 1) * sizeof *all);
    if (!all)
        return no_memory();
    for (size_t i = 0; i < content->items.count; i++)
        if (content->items.items[i].path) {
            all[count] = (struct sorted){content->items.items[i], i};
            count++;
        }
    qsort(all, count, sizeof *all, compare);
    for (size_t i = 0; i < count; i++)
        if (i + 1 < count && strcmp(all[i].item.path, all[i + 1].item.path) == 0)
            free_item(&all[i].item);
        else
            content->items.items[kept++] = all[i].item;
    content->items.count = content->sorted_count = kept;
    free(all);
    return check_parents(content);
}

struct content_item *content_find(const struct content *content, const char *path)
{
    size_t begin = 0, end = content->sorted_count;
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        const int order = strcmp(path, content->items.items[middle].path);
        if (order == 0)
            return &content->items.items[middle];
        if (order < 0)
            end = middle;
        else
            begin = middle + 1;
    }
    return NULL;
}

// ---- Bytes ---------------------------------------------------------------------------------------------------------

weft_err content_read(const struct content *content, const struct content_item *item, size_t max,
                      struct buf *bytes)
{
    int fd = content->fd;
    size_t got;
    if (item->size > max)
        return err_set(WEFT_RESOURCE_EXHAUSTED, "%s is too large", item->path);
    if (item->text) {
        buf_append(bytes, item->text, item->size);
        return bytes->has_failed ? no_memory() : WEFT_OK;
    }
    char *room = buf_reserve(bytes, item->size);
    weft_err code = room || item->size == 0 ? WEFT_OK : no_memory();
    if (code == WEFT_OK && item->from)
        code = file_open(item->from, &fd);
    if (code != WEFT_OK)
        return code;
    code = file_read_at(fd, item->from ? item->from : content->fd_name, room, item->size,
                        item->from_at, &got);
    if (item->from)
        file_close(fd);
    if (code == WEFT_OK)
        bytes->size += got;
    return code;
}
