// Names by the name node's calls, bytes by WebHDFS.

#include "store/hdfs/place.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "store/hdfs/namenode.h"
#include "store/hdfs/reader.h"
#include "store/hdfs/url.h"
#include "store/hdfs/web.h"
#include "sys/thread/interrupt.h"
#include "sys/time/clock.h"

enum {
    STEP_BYTES = 1 << 20,
    ATTEMPTS_MAX = 5,
    PAUSE_FIRST_MS = 100,
    PAUSE_MAX_MS = 2000,
    NS_PER_MS = 1000000,
    MODE_FILE = 0644,
    MODE_DIRECTORY = 0755,
    MODE_PRIVATE = 0700,
};

struct hdfs_place {
    struct store_place store;
    struct namenode *namenode;
    char *room;
    struct hdfs_url url;
};

static struct hdfs_place *of(struct store_place *store)
{
    return (struct hdfs_place *)store;
}

static struct store_entry entry_of(const Hadoop__FileStatus *status)
{
    return (struct store_entry){.kind = status->type == 1   ? FILE_DIRECTORY
                                        : status->type == 2 ? FILE_REGULAR
                                                            : FILE_STREAM,
                                .size = status->length,
                                .mtime_ms = status->mtime_ms};
}

// *mode is that of a thing that is there, and stays as it is otherwise.
static weft_err look(struct hdfs_place *place, const char *path, struct store_entry *entry,
                     uint32_t *mode)
{
    Hadoop__FileInfo *info = NULL;
    *entry = (struct store_entry){.kind = FILE_MISSING};
    const weft_err code = namenode_stat(place->namenode, path, &info);
    if (code == WEFT_NOT_FOUND) {
        err_clear();
        return WEFT_OK;
    }
    if (code != WEFT_OK)
        return code;
    *entry = entry_of(info->status);
    if (info->status->permission)
        *mode = info->status->permission->mode;
    hdfs_free(info);
    return WEFT_OK;
}

static weft_err place_look(struct store_place *store, const char *path, struct store_entry *entry)
{
    uint32_t mode;
    return look(of(store), path, entry, &mode);
}

// ---- Listing and reading ----------------------------------------------------------------------------------------

struct listing {
    store_visit_fn *visit;
    void *owner;
};

static weft_err visit_entry(void *owner, const Hadoop__FileStatus *status)
{
    const struct listing *listing = owner;
    const struct store_entry entry = entry_of(status);
    char *name = strndup(status->path.data ? (const char *)status->path.data : "",
                         status->path.data ? status->path.len : 0);
    const weft_err code =
        name ? listing->visit(listing->owner, name, &entry) : err_no_memory("for a directory");
    free(name);
    return code;
}

static weft_err place_list(struct store_place *store, const char *path, store_visit_fn *visit,
                           void *owner)
{
    struct listing listing = {visit, owner};
    return namenode_list(of(store)->namenode, path, visit_entry, &listing);
}

static weft_err place_read(struct store_place *store, const char *path, size_t bytes_max,
                           struct buf *text)
{
    struct reader *reader = NULL;
    size_t got = 1;
    weft_err code = reader_open(of(store)->namenode, path, &reader);
    while (code == WEFT_OK && got > 0) {
        char *to = buf_reserve(text, STEP_BYTES);
        code = to ? reader_read_at(reader, to, STEP_BYTES, text->size, &got)
                  : err_no_memory("to read %s", path);
        text->size += code == WEFT_OK ? got : 0;
        if (code == WEFT_OK && text->size > bytes_max)
            code = err_set(WEFT_RESOURCE_EXHAUSTED, "%s is too large", path);
    }
    reader_close(reader);
    return code;
}

// ---- Writing ----------------------------------------------------------------------------------------------------

static weft_err place_make_above(struct store_place *store, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *above = strndup(path, slash > path ? (size_t)(slash - path) : 1);
    const weft_err code = above
                              ? namenode_make_directory(of(store)->namenode, above, MODE_DIRECTORY)
                              : err_no_memory("for a path");
    free(above);
    return code;
}

static weft_err place_make_directory(struct store_place *store, const char *path)
{
    const weft_err code = place_make_above(store, path);
    return code == WEFT_OK ? namenode_make_directory(of(store)->namenode, path, MODE_PRIVATE)
                           : code;
}

// The data node may have said why before it closed the connection.
static weft_err send_some(struct web *web, const void *data, size_t size)
{
    const weft_err code = web_write(web, data, size);
    if (code != WEFT_UNAVAILABLE)
        return code;
    struct err_kept kept;
    err_keep(&kept);
    const weft_err told = web_finish(web);
    if (told != WEFT_OK && told != WEFT_UNAVAILABLE && told != WEFT_DATA_LOSS)
        return told;
    err_put_back(&kept);
    return code;
}

static weft_err send_all(const struct hdfs_place *place, struct web *web,
                         const struct store_content *content, bool *is_ours)
{
    uint64_t done = 0;
    uint32_t crc = 0;
    weft_err code = WEFT_OK;
    while (done < content->bytes && code == WEFT_OK) {
        const uint64_t left = content->bytes - done;
        size_t got = 0;
        code = file_read_at(content->fd, content->name, place->room,
                            left < STEP_BYTES ? (size_t)left : STEP_BYTES, content->offset + done,
                            &got);
        *is_ours = code != WEFT_OK;
        if (code != WEFT_OK || got == 0)
            break;
        if (interrupt_ends(UINT64_MAX))
            return err_set(WEFT_UNAVAILABLE, "interrupted");
        crc = crc32c(crc, place->room, got);
        done += got;
        // The last stretch goes only if all of them are right: without it the file is not complete.
        if (done == content->bytes && crc != content->crc32c)
            break;
        code = send_some(web, place->room, got);
    }
    if (code != WEFT_OK || (done == content->bytes && crc == content->crc32c))
        return code;
    *is_ours = true;
    return err_set(WEFT_DATA_LOSS,
                   "%s has other bytes than the job has written\n  another program changed it, or "
                   "the disk has lost bits",
                   content->name);
}

static weft_err check_size(struct hdfs_place *place, const char *path, uint64_t bytes)
{
    struct store_entry entry;
    uint32_t mode;
    const weft_err code = look(place, path, &entry, &mode);
    if (code != WEFT_OK || (entry.kind == FILE_REGULAR && entry.size == bytes))
        return code;
    return err_set(WEFT_DATA_LOSS, "HDFS has %" PRIu64 " bytes of the %" PRIu64 " that were sent",
                   entry.size, bytes);
}

// *is_ours: another attempt would end the same way.
static weft_err put_once(struct hdfs_place *place, const char *path,
                         const struct store_content *content, bool *is_ours)
{
    const struct web_file file = {
        .path = path, .size = (int64_t)content->bytes, .is_private = content->is_private};
    struct store_entry entry;
    struct web *web = NULL;
    uint32_t mode;
    // Also finds out which name node is active.
    weft_err code = look(place, path, &entry, &mode);
    if (code == WEFT_OK && entry.kind != FILE_MISSING)
        code = namenode_remove(place->namenode, path, false);
    if (code == WEFT_OK)
        code = web_create(place->namenode, &file, &web);
    if (code == WEFT_OK)
        code = send_all(place, web, content, is_ours);
    if (code == WEFT_OK)
        code = web_finish(web);
    web_close(web);
    return code == WEFT_OK ? check_size(place, path, content->bytes) : code;
}

// For as long as the caller wants where nothing takes the file; a few times where it does not come as it was sent.
static weft_err place_put(struct store_place *store, const char *path,
                          const struct store_content *content)
{
    const uint64_t deadline_ns = clock_now_ns() + (uint64_t)content->patience_ms * NS_PER_MS;
    uint32_t pause_ms = PAUSE_FIRST_MS, bad_count = 0;
    for (;;) {
        bool is_ours = false;
        const weft_err code = put_once(of(store), path, content, &is_ours);
        // A file that a lost attempt has made in the meantime is removed by the next one.
        bad_count += code == WEFT_DATA_LOSS || code == WEFT_ALREADY_EXISTS;
        const bool is_worth_it =
            code == WEFT_UNAVAILABLE || code == WEFT_DATA_LOSS || code == WEFT_ALREADY_EXISTS;
        if (is_ours || !is_worth_it || bad_count == ATTEMPTS_MAX || interrupt_ends(UINT64_MAX) ||
            clock_now_ns() >= deadline_ns)
            return code == WEFT_ALREADY_EXISTS ? WEFT_UNAVAILABLE : code;
        interrupt_sleep_ms(pause_ms);
        pause_ms = pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2 : PAUSE_MAX_MS;
    }
}

// ---- Adding -----------------------------------------------------------------------------------------------------

static weft_err add(struct hdfs_place *place, const char *path, bool is_new, weft_bytes bytes)
{
    const struct web_file file = {.path = path, .size = (int64_t)bytes.size};
    struct web *web = NULL;
    weft_err code = is_new ? web_create(place->namenode, &file, &web)
                           : web_append(place->namenode, path, bytes.size, &web);
    if (code == WEFT_OK && bytes.size > 0)
        code = send_some(web, bytes.data, bytes.size);
    if (code == WEFT_OK)
        code = web_finish(web);
    web_close(web);
    return code;
}

static weft_err place_append(struct store_place *store, const char *path, uint64_t offset,
                             weft_bytes bytes)
{
    struct hdfs_place *place = of(store);
    struct store_entry entry;
    uint32_t mode;
    weft_err code = look(place, path, &entry, &mode);
    const bool is_new = entry.kind == FILE_MISSING;
    if (code == WEFT_OK && is_new && offset > 0)
        code = err_set(WEFT_NOT_FOUND, "%s is gone\n  another program has removed it", path);
    if (code == WEFT_OK && !is_new && (entry.kind != FILE_REGULAR || entry.size < offset))
        code = err_set(WEFT_DATA_LOSS, "%s has not the bytes that were written to it", path);
    if (code != WEFT_OK || (!is_new && entry.size >= offset + bytes.size))
        return code;
    const uint64_t known = is_new ? 0 : entry.size - offset;
    code = add(place, path, is_new,
               (weft_bytes){(const char *)bytes.data + known, bytes.size - known});
    return code == WEFT_OK ? check_size(place, path, offset + bytes.size) : code;
}

// ---- Names ------------------------------------------------------------------------------------------------------

static weft_err place_rename(struct store_place *store, const char *from, const char *to)
{
    return namenode_rename(of(store)->namenode, from, to, true);
}

static weft_err place_remove(struct store_place *store, const char *path)
{
    const weft_err code = namenode_remove(of(store)->namenode, path, true);
    if (code != WEFT_NOT_FOUND)
        return code;
    err_clear();
    return WEFT_OK;
}

// There is no exchange of names in HDFS: for a moment nothing has the name.
static weft_err replace_directory(struct hdfs_place *place, const char *from, const char *to,
                                  const char *aside)
{
    weft_err code = namenode_rename(place->namenode, to, aside, false);
    if (code != WEFT_OK)
        return code;
    code = namenode_rename(place->namenode, from, to, false);
    if (code == WEFT_OK)
        return place_remove(&place->store, aside);
    struct err_kept kept;
    err_keep(&kept);
    if (namenode_rename(place->namenode, aside, to, false) != WEFT_OK) {
        err_put_back(&kept);
        return err_set(code, "%s\n  the earlier output is in %s now", err_text(), aside);
    }
    err_put_back(&kept);
    return code;
}

static weft_err place_move(struct store_place *store, const char *from, const char *to,
                           bool replaces, const char *aside)
{
    struct hdfs_place *place = of(store);
    struct store_entry ours, theirs = {.kind = FILE_MISSING};
    uint32_t mode = 0;
    weft_err code = look(place, from, &ours, &mode);
    if (code == WEFT_OK && ours.kind == FILE_MISSING)
        code = err_set(WEFT_DATA_LOSS, "%s is gone\n  another program has removed it", from);
    mode = ours.kind == FILE_DIRECTORY ? MODE_DIRECTORY : MODE_FILE;
    if (code == WEFT_OK)
        code = look(place, to, &theirs, &mode);
    if (code == WEFT_OK && theirs.kind != FILE_MISSING && !replaces)
        code = err_set(WEFT_ALREADY_EXISTS, "%s is there already", to);
    if (code == WEFT_OK)
        code = namenode_set_mode(place->namenode, from, mode);
    if (code != WEFT_OK)
        return code;
    if (theirs.kind == FILE_DIRECTORY)
        return replace_directory(place, from, to, aside);
    return namenode_rename(place->namenode, from, to, replaces && theirs.kind == FILE_REGULAR);
}

// ---- Life -------------------------------------------------------------------------------------------------------

static void place_close(struct store_place *store)
{
    struct hdfs_place *place = of(store);
    struct err_kept kept;
    err_keep(&kept);
    namenode_free(place->namenode);
    free(place->room);
    free(place);
    err_put_back(&kept);
}

static const struct store_place_calls place_calls = {
    place_look,   place_list, place_read,   place_make_above, place_make_directory, place_put,
    place_append, place_move, place_rename, place_remove,     place_close,
};

weft_err hdfs_place_open(const char *url, uint32_t patience_ms, struct store_place **opened)
{
    struct hdfs_place *place = calloc(1, sizeof *place);
    struct site site;
    *opened = NULL;
    if (!place)
        return err_no_memory("to write to HDFS");
    place->store = (struct store_place){&place_calls, place->url.path};
    weft_err code = hdfs_url_read(url, &place->url);
    if (code == WEFT_OK)
        code = site_find(place->url.authority, &site);
    if (code == WEFT_OK)
        code = namenode_new(&site, NULL, patience_ms, &place->namenode);
    if (code == WEFT_OK && !(place->room = malloc(STEP_BYTES)))
        code = err_no_memory("to write to HDFS");
    if (code == WEFT_OK)
        *opened = &place->store;
    else
        place_close(&place->store);
    return code;
}
