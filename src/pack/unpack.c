// unpack: files and directories as they come, links at the end. Until then no path leads through a link, so nothing can be made outside.
//
// A link that begins with some "../" and then only descends stays inside, also where it meets other links: those
// stay inside, too, and the "../" are counted in real directories.

#include "pack/unpack.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"
#include "pack/tar.h"
#include "store/codec/codec.h"
#include "sys/file/tree.h"
#include "sys/thread/interrupt.h"

enum { STEP_BYTES = 256 << 10, PART_BYTES_MAX = 255 };
#define LINK_BYTES_MAX (UINT64_C(64) << 20)  // of all links together

struct link {
    char *path, *target;
};

struct unpack {
    const char *name, *home;
    struct tar_reader *tar;
    struct codec_reader *codec;
    struct label label;
    struct buf path;   // the directory and a slash, then the entry's
    size_t root_size;  // of `path`
    char *room;
    uint64_t entries, bytes, link_bytes;
    VEC(struct link) links;
};

// ---- Names ---------------------------------------------------------------------------------------------------------

// Whether the text is parts between slashes.
static bool has_plain_parts(const char *at)
{
    for (;;) {
        const size_t size = strcspn(at, "/");
        if (size == 0 || size > PART_BYTES_MAX || (size == 1 && at[0] == '.') ||
            (size == 2 && at[0] == '.' && at[1] == '.'))
            return false;
        if (!at[size])
            return true;
        at += size + 1;
    }
}

bool unpack_is_path(const char *path)
{
    return strlen(path) <= TAR_PATH_BYTES_MAX && has_plain_parts(path);
}

bool unpack_is_link(const char *path, const char *target)
{
    size_t depth = 0, up = 0;
    for (const char *at = path; (at = strchr(at, '/')); at++)
        depth++;
    if (strlen(target) > TAR_PATH_BYTES_MAX)
        return false;
    while (strncmp(target, "../", 3) == 0) {
        target += 3;
        up++;
    }
    if (strcmp(target, "..") == 0)
        return up + 1 <= depth;
    return up <= depth &&
           (has_plain_parts(target) || (up > 0 && !*target) || strcmp(target, ".") == 0);
}

static weft_err refuse(const struct unpack *unpack, const char *path, const char *why)
{
    return err_set(WEFT_INVALID_ARGUMENT, "%s is not unpacked: \"%.200s\" %s", unpack->name, path,
                   why);
}

// ---- Entries -------------------------------------------------------------------------------------------------------

static const char *set_path(struct unpack *unpack, const char *path)
{
    unpack->path.size = unpack->root_size;
    buf_append_text(&unpack->path, path);
    return buf_text(&unpack->path);
}

// Copies one piece of content. A disk that is full shows here, or when the file is closed.
static weft_err copy_content(struct unpack *unpack, int fd, const char *path, uint64_t size)
{
    weft_err code = WEFT_OK;
    for (uint64_t at = 0; code == WEFT_OK && at < size;) {
        size_t got = 0;
        code = tar_reader_read(unpack->tar, unpack->room, STEP_BYTES, &got);
        if (code == WEFT_OK)
            code = file_write(fd, path, unpack->room, got);
        at += got;
    }
    return code;
}

static weft_err make_file(struct unpack *unpack, const struct tar_entry *entry, const char *path)
{
    int fd;
    unpack->bytes += entry->size;
    if (entry->size > unpack->label.bytes || unpack->bytes > unpack->label.bytes)
        return refuse(unpack, entry->path, "is more than the archive's label says");
    weft_err code = tree_create_file(path, entry->is_executable, &fd);
    if (code != WEFT_OK)
        return code;
    code = copy_content(unpack, fd, path, entry->size);
    const weft_err closed = tree_close_file(fd, path, TAR_TIME_S);
    return code == WEFT_OK ? closed : code;
}

// While there are no links, the directory of one is where its path says: its "../" lead where they seem to.
static bool has_directory(struct unpack *unpack, const char *path)
{
    const char *slash = strrchr(path, '/');
    struct tree_item item;
    set_path(unpack, path);
    if (!slash)
        return true;
    unpack->path.size -= strlen(slash);
    const bool is_there = tree_look(buf_text(&unpack->path), &item) == WEFT_OK;
    err_clear();
    return is_there && item.kind == TREE_DIRECTORY;
}

static weft_err note_link(struct unpack *unpack, const struct tar_entry *entry)
{
    if (!has_directory(unpack, entry->path))
        return refuse(unpack, entry->path, "has no directory before it");
    if (!unpack_is_link(entry->path, entry->link))
        return refuse(unpack, entry->path, "is a link that leads out of the archive");
    unpack->link_bytes += strlen(entry->path) + strlen(entry->link);
    if (unpack->link_bytes > LINK_BYTES_MAX)
        return refuse(unpack, entry->path, "is one link too many");
    const struct link link = {strdup(entry->path), strdup(entry->link)};
    if (link.path && link.target && VEC_PUSH(&unpack->links, link))
        return WEFT_OK;
    free(link.path);
    free(link.target);
    return err_no_memory("to unpack links");
}

static weft_err make_entry(struct unpack *unpack, const struct tar_entry *entry)
{
    if (!unpack_is_path(entry->path))
        return refuse(unpack, entry->path, "is not a path inside it");
    if (++unpack->entries > unpack->label.entries)
        return refuse(unpack, entry->path, "is one entry more than the archive's label says");
    const char *path = set_path(unpack, entry->path);
    weft_err code;
    switch (entry->kind) {
    case TAR_FILE:
        code = make_file(unpack, entry, path);
        break;
    case TAR_DIRECTORY:
        code = tree_make_directory(path);
        break;
    case TAR_LINK:
        return note_link(unpack, entry);
    default:
        return refuse(unpack, entry->path, "is neither a file nor a directory nor a link");
    }
    if (code == WEFT_ALREADY_EXISTS)
        return refuse(unpack, entry->path, "is in it twice");
    if (code == WEFT_NOT_FOUND)
        return refuse(unpack, entry->path, "has no directory before it");
    return code;
}

static weft_err make_links(struct unpack *unpack)
{
    weft_err code = WEFT_OK;
    for (size_t i = 0; i < unpack->links.count && code == WEFT_OK; i++) {
        const struct link *link = &unpack->links.items[i];
        code = tree_make_link(set_path(unpack, link->path), link->target);
        if (code == WEFT_ALREADY_EXISTS)
            code = refuse(unpack, link->path, "is in it twice");
    }
    return code;
}

// ---- The archive ---------------------------------------------------------------------------------------------------

static weft_err read_archive(void *owner, void *data, size_t size, size_t *got)
{
    struct unpack *unpack = owner;
    return codec_reader_read(unpack->codec, data, size, got);
}

static weft_err read_label(struct unpack *unpack)
{
    struct tar_entry entry;
    bool is_end;
    size_t got;
    weft_err code = tar_reader_next(unpack->tar, &entry, &is_end);
    if (code != WEFT_OK)
        return code;
    if (is_end || entry.kind != TAR_FILE || strcmp(entry.path, LABEL_NAME) != 0 ||
        entry.size > LABEL_BYTES_MAX)
        return err_set(WEFT_DATA_LOSS,
                       "%s is not an archive of weft pack: it does not begin with %s\n  try: weft "
                       "pack %s",
                       unpack->name, LABEL_NAME, unpack->name);
    code = tar_reader_read(unpack->tar, unpack->room, LABEL_BYTES_MAX, &got);
    return code == WEFT_OK ? label_read((weft_bytes){unpack->room, got}, &unpack->label) : code;
}

// Python from 3.14 on looks for its own files by this line alone.
static weft_err write_home(struct unpack *unpack)
{
    struct buf line = {0};
    int fd;
    const char *path = set_path(unpack, "pyvenv.cfg");
    struct file_stat status;
    buf_format(&line, "home = %s/.python/bin\n", unpack->home);
    weft_err code = line.has_failed ? err_no_memory("for a path") : file_open_existing(path, &fd);
    if (code == WEFT_OK) {
        code = file_stat_fd(fd, path, &status);
        if (code == WEFT_OK)
            code = file_write_at(fd, path, line.data, line.size, status.size);
        const weft_err closed = tree_close_file(fd, path, TAR_TIME_S);
        code = code == WEFT_OK ? closed : code;
    }
    buf_fini(&line);
    return code;
}

// The end of the last frame has a checksum of all of it.
static weft_err read_rest(struct unpack *unpack)
{
    weft_err code = WEFT_OK;
    size_t got = STEP_BYTES;
    while (code == WEFT_OK && got == STEP_BYTES)
        code = codec_reader_read(unpack->codec, unpack->room, STEP_BYTES, &got);
    return code;
}

static weft_err unpack_entries(struct unpack *unpack)
{
    bool is_end = false;
    weft_err code = read_label(unpack);
    while (code == WEFT_OK && !is_end) {
        struct tar_entry entry;
        code = tar_reader_next(unpack->tar, &entry, &is_end);
        if (code == WEFT_OK && interrupt_ends(UINT64_MAX))
            code = err_set(WEFT_CANCELLED, "interrupted");
        if (code == WEFT_OK && !is_end)
            code = make_entry(unpack, &entry);
        if (unpack->path.has_failed)
            code = err_no_memory("for a path");
    }
    if (code == WEFT_OK)
        code = read_rest(unpack);
    if (code == WEFT_OK &&
        (unpack->entries != unpack->label.entries || unpack->bytes != unpack->label.bytes))
        code = err_set(WEFT_DATA_LOSS, "%s has less in it than its label says", unpack->name);
    if (code == WEFT_OK && unpack->label.needs_home)
        code = write_home(unpack);
    if (code == WEFT_OK)
        code = make_links(unpack);
    return code;
}

static void free_unpack(struct unpack *unpack)
{
    for (size_t i = 0; i < unpack->links.count; i++) {
        free(unpack->links.items[i].path);
        free(unpack->links.items[i].target);
    }
    VEC_FINI(&unpack->links);
    tar_reader_free(unpack->tar);
    codec_reader_free(unpack->codec);
    buf_fini(&unpack->path);
    free(unpack->room);
}

static weft_err open_archive(struct unpack *unpack, struct store_file *file)
{
    char head[CODEC_SNIFF_BYTES];
    struct file_stat status;
    size_t got;
    weft_err code = store_stat(file, &status);
    if (code == WEFT_OK)
        code = store_read_at(file, head, sizeof head, 0, &got);
    if (code != WEFT_OK)
        return code;
    if (codec_sniff(head, got) != CODEC_ZSTD)
        return err_set(WEFT_DATA_LOSS,
                       "%s is not an archive of weft pack: it is not compressed by zstd\n  try: "
                       "weft pack %s",
                       unpack->name, unpack->name);
    unpack->room = malloc(STEP_BYTES);
    unpack->codec = codec_reader_new(file, status.size, CODEC_ZSTD, NULL, 0);
    unpack->tar = tar_reader_new(read_archive, unpack, unpack->name);
    return unpack->room && unpack->codec && unpack->tar ? WEFT_OK
                                                        : err_no_memory("to unpack an archive");
}

weft_err unpack_file(int fd, const char *name, const char *directory, const char *home,
                     struct label *label)
{
    struct unpack unpack = {.name = name, .home = home};
    struct store_file file = store_plain(fd, name);
    *label = (struct label){0};
    buf_format(&unpack.path, "%s/", directory);
    unpack.root_size = unpack.path.size;
    weft_err code = unpack.path.has_failed ? err_no_memory("for a path") : WEFT_OK;
    if (code == WEFT_OK)
        code = open_archive(&unpack, &file);
    if (code == WEFT_OK)
        code = tree_make_directory(directory);
    if (code == WEFT_OK)
        code = unpack_entries(&unpack);
    if (code == WEFT_OK)
        *label = unpack.label;
    free_unpack(&unpack);
    return code;
}
