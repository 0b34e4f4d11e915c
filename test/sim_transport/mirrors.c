// Mirrors of processes that fetch. A block that a mirror has is compared with what the hub serves, at any time: also after cuts, changed
// bytes, a full disk, and blocks that were forgotten and fetched again.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim_transport/parties.h"
#include "sys/file/file.h"
#include "transport/mirror.h"

enum { WANTS_MAX = 6, MIRROR_FD = 1 << 30 };

struct wanted {
    struct mirrored *mirrored;
    uint64_t offset, size;
    bool is_busy;
};

struct mirrored {
    struct mirror *mirror;
    uint64_t file;
    char *bytes;  // its disk
    struct wanted wants[WANTS_MAX];
};

static struct mirrored mirrors[PROCESSES_MAX];
static struct mirrored *made;  // whose file is made next

// ---- The disk -----------------------------------------------------------------------------------------------

weft_err file_create_nameless(const char *directory, int *fd)
{
    (void)directory;
    made->bytes = calloc(1, SERVED_BYTES);
    ASSERT(made->bytes);
    *fd = MIRROR_FD + (int)(made - mirrors);
    return WEFT_OK;
}

weft_err file_truncate(int fd, const char *path, uint64_t size)
{
    (void)fd;
    if (size != SERVED_BYTES)
        world_wrong("%s: a mirror of another size", path);
    return WEFT_OK;
}

void file_forget(int fd, uint64_t offset, uint64_t size)
{
    memset(mirrors[fd - MIRROR_FD].bytes + offset, 0, size);
}

// A connection that the door does not want, or a file.
void file_close(int fd)
{
    if (fd < MIRROR_FD) {
        (void)net_close(fd);
        return;
    }
    free(mirrors[fd - MIRROR_FD].bytes);
    mirrors[fd - MIRROR_FD].bytes = NULL;
}

char *mirrors_disk(int fd)
{
    if (fd < MIRROR_FD)
        return NULL;
    char *bytes = mirrors[fd - MIRROR_FD].bytes;
    if (!bytes)
        world_wrong("bytes for a mirror that is closed");
    return bytes;
}

// ---- What is there ------------------------------------------------------------------------------------------

static void check_bytes(const struct mirrored *mirrored, uint64_t offset, uint64_t size)
{
    if (!fetches_can_read(mirrored->file, offset, size))
        world_wrong("%" PRIu64 " bytes at %" PRIu64 " are there and cannot be read", size, offset);
    for (uint64_t i = offset; i < offset + size; i++)
        if (mirrored->bytes[i] != fetches_content(mirrored->file, i))
            world_wrong("byte %" PRIu64 " of a mirror of file %" PRIu64 " is wrong", i,
                        mirrored->file);
}

static void check_some(const struct mirrored *mirrored)
{
    const uint32_t size = 1 + world_below(world_chance(500) ? 2000 : SERVED_BYTES / 2);
    const uint32_t offset = world_below(SERVED_BYTES - size + 1);
    if (mirror_has(mirrored->mirror, offset, size))
        check_bytes(mirrored, offset, size);
}

// ---- Wanting ------------------------------------------------------------------------------------------------

static void on_done(void *owner, weft_err code)
{
    struct wanted *wanted = owner;
    const struct mirrored *mirrored = wanted->mirrored;
    if (!wanted->is_busy)
        world_wrong("a want ends twice");
    wanted->is_busy = false;
    if (!code)
        check_bytes(mirrored, wanted->offset, wanted->size);
    else if (!err_text()[0])
        world_wrong("a want fails without a sentence");
    else if ((code != WEFT_UNAVAILABLE || world.now_ns > plan.healthy_ns) &&
             fetches_can_read(mirrored->file, 0, SERVED_BYTES) && !world.rates.flip)
        world_wrong("a mirror of file %" PRIu64 " fails: %s", mirrored->file, err_text());
    counts[code ? COUNT_WANT_FAILED : COUNT_WANTED]++;
    if (world_chance(100))
        mirror_forget(mirrored->mirror, world_below(SERVED_BYTES), world_below(SERVED_BYTES));
}

static void want(struct mirrored *mirrored)
{
    struct wanted *wanted = &mirrored->wants[world_below(WANTS_MAX)];
    if (wanted->is_busy)
        return;
    const uint32_t size = world_chance(700) ? world_below(5000) : world_below(SERVED_BYTES);
    *wanted = (struct wanted){.mirrored = mirrored,
                              .offset = world_below(SERVED_BYTES - size + 1),
                              .size = size,
                              .is_busy = true};
    mirror_want(mirrored->mirror, wanted->offset, size, on_done, wanted);
}

void mirrors_end(uint32_t process)
{
    struct mirrored *mirrored = &mirrors[process];
    mirror_free(mirrored->mirror);
    if (mirrored->bytes)
        world_wrong("the file of a mirror is left open");
    *mirrored = (struct mirrored){0};
}

void mirrors_act(uint32_t process, struct fetch_client *client)
{
    struct mirrored *mirrored = &mirrors[process];
    if (!mirrored->mirror) {
        made = mirrored;
        *mirrored = (struct mirrored){.file = world_below(SERVED_FILES)};
        mirrored->mirror = mirror_new(&(struct mirror_options){
            .client = client,
            .file = mirrored->file,
            .size = SERVED_BYTES,
            .tmp = "tmp",
            .block_bytes = world_chance(200) ? 0 : world_between(5000, SERVED_BYTES),
        });
        ASSERT(mirrored->mirror);
    } else if (world_chance(20)) {
        mirrors_end(process);
    } else if (world_chance(50)) {
        mirror_forget(mirrored->mirror, world_below(SERVED_BYTES), world_below(SERVED_BYTES));
    } else {
        check_some(mirrored);
        want(mirrored);
    }
}

void mirrors_check(void)
{
    for (int i = 0; i < PROCESSES_MAX; i++)
        for (int k = 0; k < WANTS_MAX; k++)
            if (mirrors[i].wants[k].is_busy)
                world_wrong("a mirror of process %d still waits for bytes", i);
}
