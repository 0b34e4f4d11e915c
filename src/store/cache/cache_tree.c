// Trees: directories by the hash of the file that they were unpacked from.
//
// A tree appears by one rename, when it is complete, and disappears by one rename into the directory of a job. Its `info` is locked for
// reading by the processes that use it, and for writing by the one that removes it: a process that opened `info` before
// that rename either has the lock first, or sees that the name leads elsewhere.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/cache/cache_state.h"
#include "sys/file/own.h"
#include "sys/file/place.h"
#include "sys/file/tree.h"

enum { INFO_BYTES_MAX = 64 << 10 };

const char cache_info_name[] = "info", cache_tree_name[] = "tree";

static weft_err make_entry_path(const struct cache *cache, const uint8_t sha256[SHA256_BYTES],
                                char **path)
{
    char name[DIGEST_TEXT_BYTES];
    digest_write(sha256, name);
    return cache_make_path(path, cache->path, name, "");
}

uint64_t cache_read_size(int info)
{
    char text[24] = "";
    size_t got;
    if (file_read_at(info, cache_info_name, text, sizeof text - 1, 0, &got) == WEFT_OK)
        return strtoull(text, NULL, 10);
    err_clear();
    return 0;
}

// Whether the path still leads to the open file.
static bool is_at(int fd, const char *path)
{
    struct file_stat open_one, found;
    return file_stat_fd(fd, path, &open_one) == WEFT_OK && file_stat(path, &found) == WEFT_OK &&
           found.kind == FILE_REGULAR && open_one.inode == found.inode;
}

static weft_err use_entry(const char *entry, struct cache_tree *tree)
{
    char *info = NULL;
    uint64_t size;
    weft_err code = own_check_directory(entry);
    if (code == WEFT_OK)
        code = cache_make_path(&info, entry, cache_info_name, "");
    if (code == WEFT_OK)
        code = cache_make_path(&tree->path, entry, cache_tree_name, "");
    if (code == WEFT_OK)
        code = own_open_kept(info, &tree->info, &size);
    if (code == WEFT_OK && (!tree_share(tree->info) || !is_at(tree->info, info)))
        code = err_set(WEFT_NOT_FOUND, "%s is being removed", entry);
    if (code == WEFT_OK)
        code = own_check_directory(tree->path);
    if (code == WEFT_OK)
        file_touch(tree->info);
    free(info);
    return code;
}

weft_err cache_find_tree(struct cache *cache, const uint8_t sha256[SHA256_BYTES],
                         struct cache_tree *tree)
{
    char *entry;
    *tree = (struct cache_tree){.info = -1};
    weft_err code = make_entry_path(cache, sha256, &entry);
    if (code == WEFT_OK)
        code = use_entry(entry, tree);
    if (code == WEFT_PERMISSION_DENIED)
        code = err_set(WEFT_NOT_FOUND, "%s is not for us: %s", entry, err_text());
    if (code != WEFT_OK)
        cache_release_tree(tree);
    free(entry);
    return code;
}

void cache_release_tree(struct cache_tree *tree)
{
    if (tree->path && tree->info >= 0)
        file_close(tree->info);
    free(tree->path);
    *tree = (struct cache_tree){.info = -1};
}

static weft_err write_info(const char *path, uint64_t bytes, const char *text)
{
    char *info, *content = NULL;
    int fd;
    weft_err code = cache_make_path(&info, path, cache_info_name, "");
    if (code == WEFT_OK && asprintf(&content, "%" PRIu64 "\n%s", bytes, text) < 0) {
        content = NULL;
        code = err_no_memory("to keep a directory");
    }
    if (code == WEFT_OK)
        code = file_create_private(info, &fd);
    if (code == WEFT_OK) {
        code = file_write_at(fd, info, content, strlen(content), 0);
        const weft_err closed = file_close_checked(fd, info);
        code = code == WEFT_OK ? closed : code;
    }
    free(content);
    free(info);
    return code;
}

weft_err cache_keep_tree(struct cache *cache, const uint8_t sha256[SHA256_BYTES], const char *path,
                         uint64_t bytes, const char *text)
{
    char *kept;
    weft_err code = make_entry_path(cache, sha256, &kept);
    if (code == WEFT_OK)
        code = write_info(path, bytes, text);
    if (code == WEFT_OK)
        code = place_move_new(path, kept);
    if (code == WEFT_ALREADY_EXISTS) {
        err_clear();
        code = WEFT_OK;
    }
    free(kept);
    return code;
}

weft_err cache_read_tree(const struct cache_tree *tree, char **text)
{
    struct buf info = {0};
    *text = NULL;
    char *room = buf_reserve(&info, INFO_BYTES_MAX);
    size_t got = 0;
    weft_err code = room ? file_read_at(tree->info, cache_info_name, room, INFO_BYTES_MAX, 0, &got)
                         : err_no_memory("to read about a directory");
    if (code == WEFT_OK) {
        info.size = got;
        const char *line_end = strchr(buf_text(&info), '\n');
        *text = strdup(line_end ? line_end + 1 : "");
        code = *text ? WEFT_OK : err_no_memory("to read about a directory");
    }
    buf_fini(&info);
    return code;
}

void cache_remove_tree(struct cache *cache, const char *path)
{
    struct cache_job job;
    char *info = NULL, *away = NULL;
    int fd = -1;
    weft_err code = cache_make_path(&info, path, cache_info_name, "");
    // One without its info is left over from something else, and in the way of a complete one.
    if (code == WEFT_OK && file_open_existing(info, &fd) == WEFT_OK && !file_hold(fd)) {
        file_close(fd);
        free(info);
        return;
    }
    err_clear();
    if (code == WEFT_OK && (code = cache_open_job(cache, &job)) == WEFT_OK) {
        code = cache_make_path(&away, job.path, "away", "");
        if (code == WEFT_OK)
            code = file_rename(path, away);
        cache_close_job(&job);
    }
    if (code != WEFT_OK)
        err_clear();
    if (fd >= 0)
        file_close(fd);
    free(away);
    free(info);
}
