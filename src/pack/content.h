// content: the list of everything that goes into an archive, before anything of it is read: sizes are known, and so is the place of
// each byte. Thread: one owner; press reads it from several.
#ifndef PACK_CONTENT_H
#define PACK_CONTENT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "pack/tar.h"

struct content_item {
    char *path;          // in the archive
    enum tar_kind kind;  // a file, a directory or a link
    bool is_executable;
    char *link;        // where a link leads
    char *from;        // the file with the bytes; NULL: they are in `text`
    char *text;        // NULL: in `from`, or of the content's own file
    uint64_t from_at;  // where they begin
    uint64_t size;
    int64_t mtime_ns;  // of `from`, when it was listed
};

struct content {
    VEC(struct content_item) items;
    size_t sorted_count;  // of the items that content_find looks at
    VEC(char *) notes;    // sentences about files that were left out or changed, for the user
    uint64_t left_out;    // files and directories that are left out by default or by the user
    int fd;  // a file of the content's own, for items with neither `from` nor `text`; -1: none
    const char *fd_name;  // for sentences
};

void content_init(struct content *content);
void content_fini(struct content *content);

// Each copies its texts. RESOURCE_EXHAUSTED: out of memory.
MUST_CHECK weft_err content_add_directory(struct content *content, const char *path);
MUST_CHECK weft_err content_add_link(struct content *content, const char *path, const char *target);
MUST_CHECK weft_err content_add_text(struct content *content, const char *path, bool is_executable,
                                     weft_bytes text);
MUST_CHECK weft_err content_add_file(struct content *content, const char *path, bool is_executable,
                                     const char *from, uint64_t size, int64_t mtime_ns);
MUST_CHECK weft_err content_add_own(struct content *content, const char *path, bool is_executable,
                                    uint64_t at, uint64_t size);
MUST_CHECK weft_err content_add_note(struct content *content, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Orders the items by path, so that directories come before the entries in them. Afterwards each path is there once: of several items
// the last one that was added stays. INVALID_ARGUMENT: something lies below a file or a link.
MUST_CHECK weft_err content_sort(struct content *content);

// One of the items that were there at the last content_sort, or NULL. None of these may have been dropped since.
struct content_item *content_find(const struct content *content, const char *path);

// Replaces the bytes of a file by a text.
MUST_CHECK weft_err content_set_text(struct content_item *item, weft_bytes text);

// Marks an item to be dropped by the next content_sort.
void content_drop(struct content_item *item);

// Reads all of an item's bytes, which must be at most `max`: RESOURCE_EXHAUSTED.
MUST_CHECK weft_err content_read(const struct content *content, const struct content_item *item,
                                 size_t max, struct buf *bytes);

#endif
