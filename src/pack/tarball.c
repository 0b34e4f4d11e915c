// tarball: the places of the contents of a tar archive are noted, and its entries sorted. A compressed one is decompressed into a nameless file
// first, because pieces of it are read in another order than they come.

#include "pack/tarball.h"

#include <stdlib.h>

#include "pack/unpack.h"
#include "store/codec/codec.h"

enum { STEP_BYTES = 1 << 20, ZIP_END_BYTES = 66 << 10 };

struct hard_link {
    char *path, *target;
    struct content_item file;  // where it leads; its texts are the content's
};

struct tarball {
    const char *path;
    const struct gather_rules *rules;
    struct label *label;
    struct content *content;
    struct tar_reader *tar;
    uint64_t at;   // of the reader in the content's file
    char *parent;  // the last one that was added
    VEC(struct hard_link) hard_links;
};

static weft_err no_memory(void)
{
    return err_no_memory("to list an archive");
}

// ---- Entries -------------------------------------------------------------------------------------------------------

static weft_err refuse(const struct tarball *ball, const char *path, const char *why)
{
    return err_set(WEFT_INVALID_ARGUMENT, "%s cannot be packed: \"%.200s\" in it %s", ball->path,
                   path, why);
}

// Without "./" at its beginning; "" is the root.
static const char *find_plain(const char *path)
{
    while (strncmp(path, "./", 2) == 0)
        for (path += 2; *path == '/';)
            path++;
    return strcmp(path, ".") == 0 ? "" : path;
}

// The directories above an entry, which an archive need not have. Entries of one directory mostly follow each other.
static weft_err add_parents(struct tarball *ball, const char *path)
{
    const char *last = strrchr(path, '/');
    weft_err code = WEFT_OK;
    if (!last || (ball->parent && strlen(ball->parent) == (size_t)(last - path) &&
                  strncmp(ball->parent, path, (size_t)(last - path)) == 0))
        return WEFT_OK;
    for (const char *slash = path; code == WEFT_OK && (slash = strchr(slash, '/')); slash++) {
        free(ball->parent);
        ball->parent = strndup(path, (size_t)(slash - path));
        code = ball->parent ? content_add_directory(ball->content, ball->parent) : no_memory();
    }
    return code;
}

static weft_err note_hard_link(struct tarball *ball, const char *path, const char *target)
{
    const struct hard_link link = {.path = strdup(path), .target = strdup(find_plain(target))};
    if (link.path && link.target && VEC_PUSH(&ball->hard_links, link))
        return WEFT_OK;
    free(link.path);
    free(link.target);
    return no_memory();
}

static weft_err add_entry(struct tarball *ball, const struct tar_entry *entry)
{
    const char *path = find_plain(entry->path);
    if (!*path)
        return WEFT_OK;
    if (!unpack_is_path(path))
        return refuse(ball, entry->path, "is not a path inside it");
    if (gather_leaves_out(ball->rules, path, entry->kind == TAR_DIRECTORY)) {
        ball->content->left_out++;
        return WEFT_OK;
    }
    const weft_err code = add_parents(ball, path);
    if (code != WEFT_OK)
        return code;
    switch (entry->kind) {
    case TAR_FILE:
        return content_add_own(ball->content, path, entry->is_executable,
                               tar_reader_offset(ball->tar), entry->size);
    case TAR_DIRECTORY:
        return content_add_directory(ball->content, path);
    case TAR_LINK:
        if (!unpack_is_link(path, entry->link))
            return refuse(ball, path,
                          "is a link that leads out of it, or has .. after "
                          "a name\n  try: tar with -h, or weft pack of the directory");
        return content_add_link(ball->content, path, entry->link);
    case TAR_HARD_LINK:
        return note_hard_link(ball, path, entry->link);
    default:
        return refuse(ball, path, "is neither a file nor a directory nor a link");
    }
}

// That of an archive of weft pack stays as it is, so that packing it again changes nothing.
static weft_err use_label(struct tarball *ball, const struct tar_entry *entry)
{
    char *text = malloc(LABEL_BYTES_MAX);
    size_t got;
    weft_err code = text ? tar_reader_read(ball->tar, text, LABEL_BYTES_MAX, &got) : no_memory();
    if (code == WEFT_OK && entry->size <= LABEL_BYTES_MAX)
        code = label_read((weft_bytes){text, got}, ball->label);
    free(text);
    return code;
}

static weft_err read_file(void *owner, void *data, size_t size, size_t *got)
{
    struct tarball *ball = owner;
    const weft_err code = file_read_at(ball->content->fd, ball->path, data, size, ball->at, got);
    ball->at += *got;
    return code;
}

// A hard link may lead to one before it: each is looked up in a list that has those already.
static weft_err resolve_hard_links(struct tarball *ball)
{
    weft_err code = ball->hard_links.count > 0 ? content_sort(ball->content) : WEFT_OK;
    for (size_t i = 0; i < ball->hard_links.count && code == WEFT_OK; i++) {
        const struct hard_link *link = &ball->hard_links.items[i];
        const struct content_item *item = content_find(ball->content, link->target);
        for (size_t j = 0; j < i && !item; j++)
            if (strcmp(ball->hard_links.items[j].path, link->target) == 0)
                item = &ball->hard_links.items[j].file;
        if (!item || item->kind != TAR_FILE)
            return refuse(ball, link->path, "is a hard link to a file that is not in it");
        ball->hard_links.items[i].file = *item;
    }
    for (size_t i = 0; i < ball->hard_links.count && code == WEFT_OK; i++) {
        const struct hard_link *link = &ball->hard_links.items[i];
        code = content_add_own(ball->content, link->path, link->file.is_executable,
                               link->file.from_at, link->file.size);
    }
    return code;
}

static weft_err list_entries(struct tarball *ball)
{
    bool is_end = false;
    weft_err code = WEFT_OK;
    ball->tar = tar_reader_new(read_file, ball, ball->path);
    if (!ball->tar)
        return no_memory();
    for (bool is_first = true; code == WEFT_OK; is_first = false) {
        struct tar_entry entry;
        code = tar_reader_next(ball->tar, &entry, &is_end);
        if (code != WEFT_OK || is_end)
            break;
        if (ball->rules->is_cancelled && ball->rules->is_cancelled())
            code = err_set(WEFT_CANCELLED, "interrupted");
        else if (is_first && entry.kind == TAR_FILE && strcmp(entry.path, LABEL_NAME) == 0)
            code = use_label(ball, &entry);
        else
            code = add_entry(ball, &entry);
    }
    return code == WEFT_OK ? resolve_hard_links(ball) : code;
}

// ---- The file ------------------------------------------------------------------------------------------------------

static const char *find_tmp(void)
{
    const char *tmp = getenv("TMPDIR");
    return tmp && *tmp ? tmp : "/var/tmp";
}

static weft_err decompress(struct tarball *ball, struct store_file *file, enum codec_kind kind)
{
    struct file_stat status;
    char *room = malloc(STEP_BYTES);
    struct codec_reader *reader = NULL;
    uint64_t at = 0;
    size_t got = STEP_BYTES;
    weft_err code = room ? store_stat(file, &status) : no_memory();
    if (code == WEFT_OK)
        code = file_create_nameless(find_tmp(), &ball->content->fd);
    if (code == WEFT_OK && !(reader = codec_reader_new(file, status.size, kind, NULL, 0)))
        code = no_memory();
    while (code == WEFT_OK && got == STEP_BYTES) {
        code = codec_reader_read(reader, room, STEP_BYTES, &got);
        if (code == WEFT_OK && ball->rules->is_cancelled && ball->rules->is_cancelled())
            code = err_set(WEFT_CANCELLED, "interrupted");
        if (code == WEFT_OK)
            code = file_write_at(ball->content->fd, find_tmp(), room, got, at);
        at += got;
    }
    codec_reader_free(reader);
    free(room);
    return code;
}

// Whether the file is a zip that can be executed: it ends in a zip's table and begins with a line for the kernel, or is called so.
static bool is_pex(struct store_file *file, const char *head, size_t head_size, const char *path)
{
    struct file_stat status;
    char *end = malloc(ZIP_END_BYTES);
    size_t got = 0, size = strlen(path);
    bool is_zip = false;
    if (end && store_stat(file, &status) == WEFT_OK &&
        store_read_at(file, end, ZIP_END_BYTES,
                      status.size > ZIP_END_BYTES ? status.size - ZIP_END_BYTES : 0,
                      &got) == WEFT_OK)
        is_zip = memmem(end, got, "PK\5\6", 4) != NULL;
    err_clear();
    free(end);
    const bool is_script = head_size > 2 && memcmp(head, "#!", 2) == 0;
    return is_zip && (is_script || (size > 4 && strcmp(path + size - 4, ".pex") == 0) ||
                      (size > 5 && strcmp(path + size - 5, ".pyz") == 0));
}

static weft_err add_pex(struct tarball *ball)
{
    struct file_stat status;
    ball->label->kind = LABEL_PEX;
    const weft_err code = file_stat(ball->path, &status);
    return code != WEFT_OK ? code
                           : content_add_file(ball->content, ball->label->name, true, ball->path,
                                              status.size, status.mtime_ns);
}

static weft_err refuse_file(const char *path)
{
    return err_set(WEFT_INVALID_ARGUMENT,
                   "cannot pack %s: it is neither a tar archive nor a pex\n  try: put it into a "
                   "directory, and weft pack DIRECTORY",
                   path);
}

static weft_err list_file(struct tarball *ball, struct store_file *file)
{
    char head[TAR_BLOCK_BYTES];
    size_t got;
    weft_err code = store_read_at(file, head, sizeof head, 0, &got);
    if (code != WEFT_OK)
        return code;
    if (is_pex(file, head, got, ball->path))
        return add_pex(ball);
    const enum codec_kind kind = codec_sniff(head, got);
    if (kind == CODEC_FOREIGN)
        return refuse_file(ball->path);
    code = kind == CODEC_NONE ? file_open(ball->path, &ball->content->fd)
                              : decompress(ball, file, kind);
    ball->content->fd_name = ball->path;
    if (code == WEFT_OK)
        code = file_read_at(ball->content->fd, ball->path, head, sizeof head, 0, &got);
    if (code == WEFT_OK && !codec_is_tar(head, got))
        return refuse_file(ball->path);
    return code == WEFT_OK ? list_entries(ball) : code;
}

weft_err tarball_list(const char *path, const struct gather_rules *rules, struct label *label,
                      struct content *content)
{
    struct tarball ball = {.path = path, .rules = rules, .label = label, .content = content};
    struct store_file file;
    weft_err code = store_open_plain(path, path, &file);
    if (code == WEFT_OK) {
        code = list_file(&ball, &file);
        store_close(&file);
    }
    for (size_t i = 0; i < ball.hard_links.count; i++) {
        free(ball.hard_links.items[i].path);
        free(ball.hard_links.items[i].target);
    }
    VEC_FINI(&ball.hard_links);
    tar_reader_free(ball.tar);
    free(ball.parent);
    return code;
}
