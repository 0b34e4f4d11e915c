// Files as the product sees them: the functions of sys/file/file.h on disks of memory.
#include "sim_server/disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_server/lives.h"
#include "sim_server/sim_server.h"
#include "sys/env.h"

struct disk disk;

struct descriptor {
    const struct loop *process;
    uint32_t life;
    struct node *node;  // NULL: closed
    uint64_t position;
};

static VEC(struct descriptor) descriptors;
static uint64_t last_inode = 100;

int disk_machine(void)
{
    return world.running ? world.running->number : 0;
}

void disk_change(void)
{
    if (world.running && world.has_faults && world_chance(disk.kill_rate))
        life_kill_running();
}

// ---- Names --------------------------------------------------------------------------------------------------

// Without slashes at its end or twice.
static char *clean(const char *path)
{
    char *copy = malloc(strlen(path) + 2), *to = copy;
    for (const char *at = path; *at; at++)
        if (*at != '/' || (at[1] && at[1] != '/'))
            *to++ = *at;
    *to = 0;
    return copy;
}

// Some clients have the output of the server in their own tree.
static int owner_of(int machine, const char *path)
{
    return sim.machines[machine].sees_output && !strncmp(path, "/work/.out.", 11) ? SERVER
                                                                                  : machine;
}

struct node *disk_find(int machine, const char *path)
{
    char *name = clean(path);
    machine = owner_of(machine, path);
    struct node *found = NULL;
    for (size_t i = 0; i < disk.nodes.count && !found; i++) {
        struct node *node = disk.nodes.items[i];
        if (node->path && node->machine == machine && strcmp(node->path, name) == 0)
            found = node;
    }
    free(name);
    return found;
}

static struct node *add(int machine, const char *path)
{
    struct node *node = calloc(1, sizeof *node);
    ASSERT(node && VEC_PUSH(&disk.nodes, node));
    node->machine = machine;
    node->path = path ? clean(path) : NULL;
    node->name_count = path != NULL;
    node->inode = ++last_inode;
    node->mtime_ns = (int64_t)world.now_ns;
    return node;
}

struct node *disk_put(int machine, const char *path, const char *text, size_t size)
{
    struct node *node = add(machine, path);
    node->is_directory = !text;
    buf_append(&node->data, text, size);
    return node;
}

static void free_unused(struct node *node)
{
    if (node->path || node->open_count)
        return;
    for (size_t i = 0; i < disk.nodes.count; i++)
        if (disk.nodes.items[i] == node)
            disk.nodes.items[i] = disk.nodes.items[--disk.nodes.count];
    buf_fini(&node->data);
    free(node);
}

void disk_remove(struct node *node)
{
    free(node->path);
    node->path = NULL;
    node->name_count = 0;
    free_unused(node);
}

// /proc/PID/fd/N is a file that a process of this machine has open.
static struct node *find_open(const char *path)
{
    int pid, fd;
    if (sscanf(path, "/proc/%d/fd/%d", &pid, &fd) != 2)
        return NULL;
    const struct loop *process = life_find(pid);
    if (!process || process->number != disk_machine())
        return NULL;
    return disk_node(process, fd);
}

static struct node *look_up(const char *path)
{
    struct node *node = disk_find(disk_machine(), path);
    return node ? node : find_open(path);
}

// ---- Descriptors --------------------------------------------------------------------------------------------

struct node *disk_node(const struct loop *process, int fd)
{
    const struct descriptor *at =
        fd >= 0 && (size_t)fd < descriptors.count ? &descriptors.items[fd] : NULL;
    if (!at || !at->node || at->process != process)
        world_wrong("process %d uses descriptor %d, which it has not open", process->number, fd);
    return at->node;
}

int disk_open(struct loop *process, struct node *node)
{
    const int fd = world_new_descriptor();
    while (descriptors.count <= (size_t)fd)
        ASSERT(VEC_PUSH(&descriptors, (struct descriptor){0}));
    descriptors.items[fd] = (struct descriptor){.process = process, .node = node};
    node->open_count++;
    return fd;
}

void disk_close(int fd)
{
    struct node *node = descriptors.items[fd].node;
    descriptors.items[fd].node = NULL;
    node->open_count--;
    if (node->lock == fd)
        node->lock = 0;
    free_unused(node);
}

uint32_t disk_count_open(const struct loop *process)
{
    uint32_t count = 0;
    for (size_t i = 0; i < descriptors.count; i++)
        count += descriptors.items[i].node && descriptors.items[i].process == process;
    return count;
}

void disk_kill(const struct loop *process)
{
    for (size_t i = 0; i < descriptors.count; i++)
        if (descriptors.items[i].node && descriptors.items[i].process == process)
            disk_close((int)i);
}

void file_close(int fd)
{
    if (fd < 0 || net_close(fd) || life_close_page(fd))
        return;
    (void)disk_node(world.running, fd);
    disk_close(fd);
}

weft_err file_close_checked(int fd, const char *path)
{
    (void)path;
    file_close(fd);
    return WEFT_OK;
}

// ---- Opening ------------------------------------------------------------------------------------------------

static weft_err missing(const char *path)
{
    return err_set(WEFT_NOT_FOUND, "cannot open %s: no such file or directory", path);
}

static weft_err no_room(const char *path)
{
    return err_set(WEFT_RESOURCE_EXHAUSTED, "cannot write %s: no space left on device", path);
}

static bool is_full(void)
{
    return disk.is_full[disk_machine()];
}

static bool has_parent(const char *path)
{
    char *parent = clean(path);
    char *slash = strrchr(parent, '/');
    ASSERT(slash);
    *slash = 0;
    const bool has_it = !parent[0] || disk_find(disk_machine(), parent);
    free(parent);
    return has_it;
}

weft_err file_open(const char *path, int *fd)
{
    struct node *node = look_up(path);
    *fd = -1;
    if (!node)
        return missing(path);
    *fd = disk_open(world.running, node);
    return WEFT_OK;
}

static weft_err open_or_make(const char *path, bool keeps, int *fd)
{
    disk_change();
    *fd = -1;
    struct node *node = look_up(path);
    if (!node && !has_parent(path))
        return missing(path);
    if (!node && is_full() && world_chance(500))
        return no_room(path);
    if (!node)
        node = disk_put(disk_machine(), path, "", 0);
    else if (!keeps)
        node->data.size = 0;
    *fd = disk_open(world.running, node);
    return WEFT_OK;
}

weft_err file_create(const char *path, int *fd)
{
    return open_or_make(path, false, fd);
}

weft_err file_create_private(const char *path, int *fd)
{
    return open_or_make(path, false, fd);
}

weft_err file_create_named(const char *path, int *fd)
{
    return open_or_make(path, false, fd);
}

weft_err file_create_new(const char *path, int *fd)
{
    *fd = -1;
    return look_up(path) ? err_set(WEFT_ALREADY_EXISTS, "%s exists", path)
                         : open_or_make(path, false, fd);
}

weft_err file_open_kept(const char *path, int *fd)
{
    return open_or_make(path, true, fd);
}

weft_err file_open_existing(const char *path, int *fd)
{
    *fd = -1;
    if (!look_up(path))
        return missing(path);
    sim.counts[COUNT_PARTS]++;
    return open_or_make(path, true, fd);
}

weft_err file_open_private(const char *path, int *fd)
{
    return open_or_make(path, true, fd);
}

weft_err file_open_direct(const char *path, bool is_synced, int *fd)
{
    (void)is_synced;
    *fd = -1;
    return err_set(WEFT_UNIMPLEMENTED, "%s: no way past the cache", path);
}

weft_err file_create_nameless(const char *directory, int *fd)
{
    *fd = -1;
    if (!disk_find(disk_machine(), directory))
        return missing(directory);
    if (is_full() && world_chance(300))
        return no_room(directory);
    *fd = disk_open(world.running, add(disk_machine(), NULL));
    return WEFT_OK;
}

// ---- Reading and writing ------------------------------------------------------------------------------------

weft_err file_read_at(int fd, const char *path, void *data, size_t size, uint64_t offset,
                      size_t *got)
{
    (void)path;
    const struct buf *content = &disk_node(world.running, fd)->data;
    *got = offset >= content->size ? 0 : content->size - (size_t)offset;
    *got = *got < size ? *got : size;
    if (*got)
        memcpy(data, content->data + offset, *got);
    return WEFT_OK;
}

weft_err file_read_all(int fd, const char *path, size_t bytes_max, struct buf *buf)
{
    (void)path, (void)bytes_max;
    const struct buf *content = &disk_node(world.running, fd)->data;
    buf_append(buf, content->data, content->size);
    return WEFT_OK;
}

static void grow(struct buf *content, uint64_t size)
{
    if (content->size >= size)
        return;
    char *more = buf_reserve(content, (size_t)size - content->size);
    ASSERT(more);
    memset(more, 0, (size_t)size - content->size);
    content->size = (size_t)size;
}

weft_err file_write_at(int fd, const char *path, const void *data, size_t size, uint64_t offset)
{
    struct node *node = disk_node(world.running, fd);
    disk_change();
    if (is_full() && size) {
        const size_t part = offset + size > node->data.size ? 0 : size;
        if (part < size)
            return no_room(path);
    }
    grow(&node->data, offset + size);
    if (size)
        memcpy(node->data.data + offset, data, size);
    node->mtime_ns = (int64_t)world.now_ns;
    return WEFT_OK;
}

weft_err file_write(int fd, const char *path, const void *data, size_t size)
{
    if (fd == 1 || fd == 2) {
        sim_take_words(disk_machine(), data, size);
        return WEFT_OK;
    }
    struct descriptor *at = &descriptors.items[fd];
    const weft_err code = file_write_at(fd, path, data, size, at->position);
    if (code == WEFT_OK)
        at->position += size;
    return code;
}

weft_err file_truncate(int fd, const char *path, uint64_t size)
{
    (void)path;
    struct node *node = disk_node(world.running, fd);
    disk_change();
    grow(&node->data, size);
    node->data.size = (size_t)size;
    return WEFT_OK;
}

weft_err file_sync(int fd, const char *path)
{
    (void)path;
    (void)disk_node(world.running, fd);
    disk_change();
    return WEFT_OK;
}

weft_err file_sync_directory(const char *path)
{
    (void)path;
    return WEFT_OK;
}

void file_forget(int fd, uint64_t offset, uint64_t size)
{
    struct buf *content = &disk_node(world.running, fd)->data;
    if (offset >= content->size)
        return;
    const uint64_t left = content->size - offset;
    memset(content->data + offset, 0, (size_t)(size < left ? size : left));
}

// ---- Names and what stands at them --------------------------------------------------------------------------

static bool is_below(const struct node *node, int machine, const char *directory)
{
    const size_t length = strlen(directory);
    return node->path && node->machine == machine && strncmp(node->path, directory, length) == 0 &&
           node->path[length] == '/';
}

weft_err file_list(const char *directory, file_visit_fn *visit, void *owner)
{
    char *name = clean(directory);
    VEC(char *) names = {0};
    weft_err code = disk_find(disk_machine(), name) ? WEFT_OK : missing(directory);
    for (size_t i = 0; i < disk.nodes.count && code == WEFT_OK; i++) {
        const struct node *node = disk.nodes.items[i];
        if (is_below(node, disk_machine(), name) && !strchr(node->path + strlen(name) + 1, '/'))
            ASSERT(VEC_PUSH(&names, strdup(node->path + strlen(name) + 1)));
    }
    for (size_t i = 0; i < names.count; i++) {
        if (code == WEFT_OK)
            code = visit(owner, names.items[i]);
        free(names.items[i]);
    }
    VEC_FINI(&names);
    free(name);
    return code;
}

weft_err file_remove(const char *path)
{
    disk_change();
    struct node *node = disk_find(disk_machine(), path);
    if (node)
        disk_remove(node);
    return WEFT_OK;
}

weft_err file_remove_tree(const char *path)
{
    char *name = clean(path);
    for (size_t i = disk.nodes.count; i-- > 0;)
        if (i < disk.nodes.count && is_below(disk.nodes.items[i], disk_machine(), name)) {
            disk_remove(disk.nodes.items[i]);
            i = disk.nodes.count;
        }
    free(name);
    return file_remove(path);
}

static void fill_stat(const struct node *node, struct file_stat *stat)
{
    *stat = (struct file_stat){
        .kind = node->is_directory ? FILE_DIRECTORY : FILE_REGULAR,
        .size = node->data.size,
        .mtime_ns = node->mtime_ns,
        .inode = node->inode,
        .name_count = node->name_count,
        .is_executable = node->mode & 0100,
    };
}

weft_err file_stat(const char *path, struct file_stat *stat)
{
    const struct node *node = look_up(path);
    *stat = (struct file_stat){.kind = FILE_MISSING};
    if (node)
        fill_stat(node, stat);
    return WEFT_OK;
}

weft_err file_stat_fd(int fd, const char *path, struct file_stat *stat)
{
    (void)path;
    fill_stat(disk_node(world.running, fd), stat);
    return WEFT_OK;
}

// As a copy: nothing writes to either.
weft_err file_link(int fd, const char *path, const char *to)
{
    (void)path;
    const struct node *node = disk_node(world.running, fd);
    if (disk_find(disk_machine(), to))
        return err_set(WEFT_ALREADY_EXISTS, "%s exists", to);
    disk_put(disk_machine(), to, node->data.size ? node->data.data : "", node->data.size)->mode =
        node->mode;
    return WEFT_OK;
}

weft_err file_set_mode(int fd, const char *path, unsigned mode)
{
    (void)path;
    disk_node(world.running, fd)->mode = mode;
    return WEFT_OK;
}

void file_touch(int fd)
{
    disk_node(world.running, fd)->mtime_ns = (int64_t)world.now_ns;
}

bool file_is_executable(const char *path)
{
    return look_up(path) != NULL;
}

static void rename_tree(int machine, const char *from, const char *to)
{
    for (size_t i = 0; i < disk.nodes.count; i++) {
        struct node *node = disk.nodes.items[i];
        char *path;
        if (!is_below(node, machine, from))
            continue;
        ASSERT(asprintf(&path, "%s%s", to, node->path + strlen(from)) > 0);
        free(node->path);
        node->path = path;
    }
}

weft_err file_rename(const char *from, const char *to)
{
    disk_change();
    struct node *node = disk_find(disk_machine(), from), *over = disk_find(disk_machine(), to);
    if (!node)
        return missing(from);
    for (size_t i = 0; over && over->is_directory && i < disk.nodes.count; i++)
        if (is_below(disk.nodes.items[i], disk_machine(), over->path))
            return err_set(WEFT_FAILED_PRECONDITION, "%s is not empty", to);
    if (over && over != node)
        disk_remove(over);
    char *before = node->path;
    node->path = clean(to);
    rename_tree(disk_machine(), before, node->path);
    free(before);
    disk_change();
    return WEFT_OK;
}

weft_err file_make_directory(const char *path)
{
    char *name = clean(path);
    for (char *at = strchr(name + 1, '/');; at = strchr(at + 1, '/')) {
        if (at)
            *at = 0;
        if (!disk_find(disk_machine(), name))
            disk_put(disk_machine(), name, NULL, 0);
        if (!at)
            break;
        *at = '/';
    }
    free(name);
    return WEFT_OK;
}

bool file_is_made_up(int fd)
{
    (void)fd;
    return false;
}

weft_err file_is_in_memory(const char *path, bool *is_in_memory)
{
    (void)path;
    *is_in_memory = false;
    return WEFT_OK;
}
