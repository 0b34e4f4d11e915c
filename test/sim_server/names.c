// What the other files of sys/file do, as far as a server and its clients ask for it: no links, no pipes, no other users.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim_server/disk.h"
#include "sys/env.h"
#include "sys/file/copier.h"
#include "sys/file/find.h"
#include "sys/file/own.h"
#include "sys/file/place.h"
#include "sys/file/spool.h"
#include "sys/file/standard.h"

static weft_err not_here(const char *what)
{
    world_wrong("%s does not belong to this world", what);
}

// ---- find.h -------------------------------------------------------------------------------------------------

static void fill(const struct file_stat *stat, const char *path, struct found *found)
{
    *found = (struct found){.path = path,
                            .kind = stat->kind,
                            .size = stat->size,
                            .device = (uint64_t)disk_machine() + 1,
                            .inode = stat->inode,
                            .mtime_ns = stat->mtime_ns};
}

weft_err find_look(const char *path, struct found *found)
{
    struct file_stat stat;
    const weft_err code = file_stat(path, &stat);
    fill(&stat, path, found);
    return code;
}

weft_err find_look_fd(int fd, const char *path, struct found *found)
{
    struct file_stat stat = {.kind = FILE_STREAM};
    const weft_err code = fd > 2 ? file_stat_fd(fd, path, &stat) : WEFT_OK;
    fill(&stat, path, found);
    return code;
}

weft_err find_walk(const char *path, const struct find_calls *calls, void *owner)
{
    (void)path, (void)calls, (void)owner;
    return not_here("a directory of inputs");
}

bool find_is_link(const char *path)
{
    (void)path;
    return false;
}

bool find_link_target(const char *path, char *target, size_t size)
{
    (void)path, (void)target, (void)size;
    return false;
}

weft_err find_dangling_error(const char *path)
{
    return err_set(WEFT_NOT_FOUND, "%s leads nowhere", path);
}

weft_err find_match(const char *pattern, struct find_matches *matches)
{
    (void)pattern;
    *matches = (struct find_matches){0};
    return WEFT_OK;
}

void find_free_matches(struct find_matches *matches)
{
    (void)matches;
}

struct only {
    const char *path;
    find_is_known_fn *is_known;
    const void *owner;
    bool has_only;
};

static weft_err look_at(void *owner, const char *name)
{
    struct only *only = owner;
    struct file_stat stat;
    char path[512];
    snprintf(path, sizeof path, "%.250s/%.250s", only->path, name);
    const weft_err code = file_stat(path, &stat);
    only->has_only &= only->is_known(only->owner, name, stat.kind);
    return code;
}

weft_err find_has_only(const char *path, find_is_known_fn *is_known, const void *owner,
                       bool *has_only)
{
    struct only only = {path, is_known, owner, true};
    const weft_err code = file_list(path, look_at, &only);
    *has_only = only.has_only;
    return code;
}

// ---- own.h --------------------------------------------------------------------------------------------------

weft_err own_make_directory(const char *path)
{
    disk_change();
    return file_make_directory(path);
}

weft_err own_make_named_directory(const char *path)
{
    return own_make_directory(path);
}

weft_err own_check_directory(const char *path)
{
    const struct node *node = disk_find(disk_machine(), path);
    return node && node->is_directory ? WEFT_OK : err_set(WEFT_NOT_FOUND, "%s is missing", path);
}

weft_err own_check_above(const char *path)
{
    (void)path;
    return WEFT_OK;
}

weft_err own_open_kept(const char *path, int *fd, uint64_t *size)
{
    const weft_err code = file_open(path, fd);
    if (code == WEFT_OK)
        *size = disk_node(world.running, *fd)->data.size;
    return code;
}

weft_err own_check_named(const char *path)
{
    (void)path;
    return WEFT_OK;
}

weft_err own_open_directory(const char *path, const char *replaced)
{
    (void)path, (void)replaced;
    return WEFT_OK;
}

weft_err own_copy_permissions(int fd, const char *replaced)
{
    (void)fd, (void)replaced;
    return WEFT_OK;
}

// ---- place.h ------------------------------------------------------------------------------------------------

static size_t length_of(const char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    return length;
}

weft_err place_parent(const char *path, char **parent)
{
    *parent = strndup(path, length_of(path));
    char *slash = *parent ? strrchr(*parent, '/') : NULL;
    ASSERT(slash);  // all paths are absolute here
    slash[slash == *parent] = 0;
    return WEFT_OK;
}

weft_err place_make_name(const char *target, char **name)
{
    uint32_t number;
    char *trimmed = strndup(target, length_of(target));
    char *slash = strrchr(trimmed, '/');
    secret_random(&number, sizeof number);
    ASSERT(slash);
    *slash = 0;
    ASSERT(asprintf(name, "%s/.%s.weft-1-%08" PRIx32, trimmed, slash + 1, number) > 0);
    free(trimmed);
    return WEFT_OK;
}

bool place_is_made_name(const char *target, const char *name)
{
    char begin[256];
    snprintf(begin, sizeof begin, ".%s.weft-1-", strrchr(target, '/') + 1);
    return strncmp(name, begin, strlen(begin)) == 0;
}

weft_err place_look(const char *path, enum place_kind *kind)
{
    const struct node *node = disk_find(disk_machine(), path);
    *kind = !node ? PLACE_FREE : node->is_directory ? PLACE_DIRECTORY : PLACE_FILE;
    return WEFT_OK;
}

weft_err place_follow(const char *path, char **followed)
{
    *followed = strndup(path, length_of(path));
    return WEFT_OK;
}

weft_err place_check_stream(const char *path)
{
    (void)path;
    return WEFT_OK;
}

weft_err place_check_replaceable(const char *path)
{
    (void)path;
    return WEFT_OK;
}

weft_err place_check_parent(const char *parent)
{
    return disk_find(disk_machine(), parent) ? WEFT_OK
                                             : err_set(WEFT_NOT_FOUND, "%s is missing", parent);
}

weft_err place_make_directory(const char *path)
{
    disk_change();
    if (disk_find(disk_machine(), path))
        return err_set(WEFT_ALREADY_EXISTS, "%s exists", path);
    return file_make_directory(path);
}

weft_err place_move_new(const char *from, const char *to)
{
    return disk_find(disk_machine(), to) ? err_set(WEFT_ALREADY_EXISTS, "%s exists", to)
                                         : file_rename(from, to);
}

weft_err place_move_over(const char *from, const char *to)
{
    const weft_err code = file_remove_tree(to);
    return code == WEFT_OK ? file_rename(from, to) : code;
}

void place_remove_file(const char *path)
{
    (void)!file_remove(path);
}

// ---- standard.h, spool.h, copier.h: the answer goes to files, the input is one -------------------------------

weft_err standard_look(int fd, enum standard_kind *kind)
{
    (void)fd;
    *kind = STANDARD_CLOSED;
    return WEFT_OK;
}

int standard_duplicate(int fd)
{
    (void)fd;
    not_here("standard output");
    return -1;
}

int standard_number(const char *path)
{
    (void)path;
    return -1;
}

weft_err standard_open_stream(const char *path, const struct wait_limit *limit, int *fd)
{
    (void)limit;
    return file_open_kept(path, fd);
}

bool standard_is_fed(int fd)
{
    (void)fd;
    return false;
}

bool standard_has_reader(int fd)
{
    (void)fd;
    return false;
}

bool standard_is_terminal(int fd)
{
    (void)fd;
    return false;
}

uint32_t standard_columns(int fd)
{
    (void)fd;
    return 80;
}

weft_err spool_open_stdin(struct spool *spool, const struct spool_limits *limits)
{
    (void)spool, (void)limits;
    return not_here("standard input");
}

weft_err spool_open(struct spool *spool, const char *path, const struct spool_limits *limits)
{
    (void)spool, (void)path, (void)limits;
    return not_here("a pipe");
}

void spool_close(struct spool *spool)
{
    (void)spool;
}

bool spool_is_own_name(const char *path)
{
    (void)path;
    return false;
}

struct copier *copier_new(const struct copier_spec *spec)
{
    (void)spec;
    not_here("a copier");
    return NULL;
}

void copier_free(struct copier *copier)
{
    (void)copier;
}

void copier_extend(struct copier *copier, uint64_t size)
{
    (void)copier, (void)size;
}

weft_err copier_wait(struct copier *copier)
{
    (void)copier;
    return not_here("a copier");
}

bool copier_reader_left(const struct copier *copier)
{
    (void)copier;
    return false;
}

bool copier_is_idle(const struct copier *copier)
{
    (void)copier;
    return true;
}

uint64_t copier_bytes_out(const struct copier *copier)
{
    (void)copier;
    return 0;
}

weft_err copier_error(const struct copier *copier)
{
    (void)copier;
    return WEFT_OK;
}
