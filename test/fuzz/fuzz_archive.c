// Fuzzes the reader of archives of environments. The bytes are a tar. All entries are read; paths and links that are accepted
// are held against what unpacking relies on: followed from their places, part by part, they never leave the root.
#include <stdlib.h>

#include "pack/label.h"
#include "pack/tar.h"
#include "pack/unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct source {
    const uint8_t *data;
    size_t size, at;
};

static weft_err read_source(void *owner, void *data, size_t size, size_t *got)
{
    struct source *source = owner;
    *got = source->size - source->at < size ? source->size - source->at : size;
    memcpy(data, source->data + source->at, *got);
    source->at += *got;
    return WEFT_OK;
}

// How deep a place is after the parts of a text; the depth of the root is 0, and no part may lead above it.
static size_t follow(const char *at, size_t depth)
{
    while (*at) {
        const size_t length = strcspn(at, "/");
        if (length == 2 && at[0] == '.' && at[1] == '.') {
            ASSERT(depth > 0);
            depth--;
        } else if (!(length == 1 && at[0] == '.')) {
            ASSERT(length > 0 && length <= 255);
            depth++;
        }
        at += length + (at[length] == '/');
    }
    return depth;
}

static void check_entry(const struct tar_entry *entry)
{
    ASSERT(entry->path && strlen(entry->path) <= TAR_PATH_BYTES_MAX);
    ASSERT((entry->kind == TAR_LINK || entry->kind == TAR_HARD_LINK) == (entry->link != NULL));
    if (!unpack_is_path(entry->path))
        return;
    ASSERT(entry->path[0] != '/' && !strstr(entry->path, "//"));
    const size_t depth = follow(entry->path, 0);
    if (entry->kind == TAR_LINK && unpack_is_link(entry->path, entry->link)) {
        ASSERT(entry->link[0] != '/' && entry->link[0]);
        follow(entry->link, depth - 1);
        // No ".." after a name: that name could be a link.
        const char *name = entry->link;
        while (strncmp(name, "../", 3) == 0)
            name += 3;
        ASSERT(!strstr(name, "/../") && (strcmp(name, "..") == 0 || strncmp(name, "../", 3) != 0));
    }
}

// What was read is written as we write it, and read again: the same.
static void check_again(const struct tar_entry *entry)
{
    struct buf written = {0};
    struct tar_entry again;
    bool is_end;
    if (entry->kind == TAR_HARD_LINK || entry->kind == TAR_OTHER || !*entry->path)
        return;
    tar_write_entry(entry, &written);
    ASSERT(!written.has_failed && written.size % TAR_BLOCK_BYTES == 0);
    struct source source = {(const uint8_t *)written.data, written.size, 0};
    struct tar_reader *reader = tar_reader_new(read_source, &source, "again");
    ASSERT(reader && tar_reader_next(reader, &again, &is_end) == WEFT_OK && !is_end);
    ASSERT(strcmp(again.path, entry->path) == 0 && again.size == entry->size);
    ASSERT(again.kind == entry->kind || entry->path[strlen(entry->path) - 1] == '/');
    ASSERT(!entry->link || strcmp(again.link, entry->link) == 0);
    tar_reader_free(reader);
    buf_fini(&written);
}

static void read_label(struct tar_reader *reader, const struct tar_entry *entry)
{
    char text[1024];
    struct label label;
    struct buf written = {0};
    size_t got;
    if (entry->kind != TAR_FILE || tar_reader_read(reader, text, sizeof text, &got) != WEFT_OK ||
        label_read((weft_bytes){text, got}, &label) != WEFT_OK)
        return;
    ASSERT(label.entries <= LABEL_ENTRIES_MAX && label.bytes <= LABEL_CONTENT_BYTES_MAX);
    ASSERT(label.name[0] && !strchr(label.name, '/') && label_kind_name(label.kind));
    label_write(&label, &written);
    struct label again;
    ASSERT(label_read(buf_bytes(&written), &again) == WEFT_OK);
    ASSERT(strcmp(again.name, label.name) == 0 && again.bytes == label.bytes &&
           again.entries == label.entries && again.kind == label.kind);
    buf_fini(&written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct source source = {data, size, 0};
    struct tar_reader *reader = tar_reader_new(read_source, &source, "fuzz");
    struct tar_entry entry;
    bool is_end = false;
    for (int i = 0; reader && tar_reader_next(reader, &entry, &is_end) == WEFT_OK && !is_end; i++) {
        ASSERT(tar_reader_offset(reader) <= size);
        check_entry(&entry);
        check_again(&entry);
        if (i % 2 == 0)
            read_label(reader, &entry);
    }
    err_clear();
    tar_reader_free(reader);
    return 0;
}
