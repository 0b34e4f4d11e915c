// The blocks of a mirror, and the wants that wait for them.
//
// A block is absent, coming (its request is under way) or here. It becomes here only when its request has ended well: every piece had the
// right checksum and was written. Only absent blocks are asked for, so a block that was reported as here is not written to again.
//
// Each want walks through its blocks once: `next` is the first that it has not looked at. Blocks that another want fetches are
// passed by and counted in `missing` all the same. A block that ends is charged to all wants around it: one less is missing, or
// they fail. All wants are looked at for each block: they are a few for each slot, not for each task.

#include "transport/mirror.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "sys/file/file.h"
#include "transport/fetch_client.h"

enum block { ABSENT, COMING, HERE };

struct want {
    struct link in_mirror;
    uint64_t first, last;  // its blocks
    uint64_t next;
    uint64_t missing;  // blocks that are not here
    mirror_done_fn *done;
    void *owner;
    weft_err code;
    char *reason;  // its sentence; NULL: no memory for it
};

// A block that is coming.
struct fetch {
    struct mirror *mirror;
    uint64_t block;
    struct link in_mirror;
};

struct mirror {
    struct mirror_options options;
    int fd;
    uint64_t block_count;
    uint8_t *blocks;      // enum block of each
    struct link wants;    // the oldest first
    struct link fetches;  // under way
    size_t fetch_count, fetch_count_max;
    uint64_t fetched_bytes;
    uint32_t call_depth;  // calls of `done` under way
    bool is_freed;        // in one of them
};

static uint64_t start_of(const struct mirror *mirror, uint64_t block)
{
    return block * mirror->options.block_bytes;
}

static uint64_t size_of(const struct mirror *mirror, uint64_t block)
{
    const uint64_t left = mirror->options.size - start_of(mirror, block);
    return left < mirror->options.block_bytes ? left : mirror->options.block_bytes;
}

// Where it is in the file here.
static uint64_t place_of(const struct mirror *mirror, uint64_t block)
{
    return mirror->options.room_offset + start_of(mirror, block);
}

static struct want *want_of(struct link *link)
{
    return LIST_ITEM(link, struct want, in_mirror);
}

static bool is_around(const struct want *want, uint64_t block)
{
    return want->first <= block && block <= want->last;
}

// ---- The end of a want --------------------------------------------------------------------------------------

static void free_want(struct want *want)
{
    list_take_out(&want->in_mirror);
    free(want->reason);
    free(want);
}

// A block has ended, with this thread's sentence; nothing is called yet.
static void charge_wants(struct mirror *mirror, uint64_t block, weft_err code)
{
    for (struct link *at = mirror->wants.next; at != &mirror->wants; at = at->next) {
        struct want *want = want_of(at);
        if (!is_around(want, block) || want->code)
            continue;
        if (!code) {
            want->missing--;
            continue;
        }
        want->code = code;
        want->reason = strdup(err_text());
    }
}

static struct want *find_ended(struct mirror *mirror)
{
    for (struct link *at = mirror->wants.next; at != &mirror->wants; at = at->next)
        if (want_of(at)->code || want_of(at)->missing == 0)
            return want_of(at);
    return NULL;
}

// Calls `done` of all wants that have ended. The mirror may be gone then.
static void report_wants(struct mirror *mirror)
{
    mirror->call_depth++;
    for (struct want *want; !mirror->is_freed && (want = find_ended(mirror));) {
        const weft_err code = want->code;
        mirror_done_fn *done = want->done;
        void *owner = want->owner;
        if (code)
            err_set(code, "%s", want->reason ? want->reason : "no memory to say why");
        free_want(want);
        done(owner, code);
        err_clear();
    }
    if (--mirror->call_depth == 0 && mirror->is_freed)
        free(mirror);
}

// ---- Fetching -----------------------------------------------------------------------------------------------

static void ask_for_more(struct mirror *mirror);

static void on_fetched(void *owner, weft_err code)
{
    struct fetch *fetch = owner;
    struct mirror *mirror = fetch->mirror;
    const uint64_t block = fetch->block;
    list_take_out(&fetch->in_mirror);
    free(fetch);
    mirror->fetch_count--;
    mirror->blocks[block] = code ? ABSENT : HERE;
    if (code)
        file_forget(mirror->fd, place_of(mirror, block), size_of(mirror, block));
    else
        mirror->fetched_bytes += size_of(mirror, block);
    charge_wants(mirror, block, code);
    ask_for_more(mirror);
    report_wants(mirror);
}

static weft_err fetch_block(struct mirror *mirror, uint64_t block)
{
    struct fetch *fetch = malloc(sizeof *fetch);
    if (!fetch)
        return err_no_memory("for a request");
    *fetch = (struct fetch){.mirror = mirror, .block = block};
    const struct fetch_wanted wanted = {
        .file = mirror->options.file,
        .offset = start_of(mirror, block),
        .size = size_of(mirror, block),
        .fd = mirror->fd,
        .to_offset = place_of(mirror, block),
        .path = mirror->options.tmp,
        .done = on_fetched,
        .owner = fetch,
    };
    const weft_err code = fetch_client_get(mirror->options.client, &wanted);
    if (code) {
        free(fetch);
        return code;
    }
    list_append(&mirror->fetches, &fetch->in_mirror);
    mirror->fetch_count++;
    mirror->blocks[block] = COMING;
    return WEFT_OK;
}

// Asks for blocks of wants, in their order, while there is room. A block that cannot be asked for fails its wants; they are not
// reported here.
static void ask_for_more(struct mirror *mirror)
{
    for (struct link *at = mirror->wants.next; at != &mirror->wants; at = at->next) {
        struct want *want = want_of(at);
        for (; !want->code && want->missing && want->next <= want->last; want->next++) {
            if (mirror->blocks[want->next] != ABSENT)
                continue;
            if (mirror->fetch_count == mirror->fetch_count_max)
                return;
            const weft_err code = fetch_block(mirror, want->next);
            if (code)
                charge_wants(mirror, want->next, code);
        }
    }
}

// ---- Wanting and forgetting ---------------------------------------------------------------------------------

static bool is_inside(const struct mirror *mirror, uint64_t offset, uint64_t size)
{
    return offset <= mirror->options.size && size <= mirror->options.size - offset;
}

static uint64_t count_missing(const struct mirror *mirror, uint64_t first, uint64_t last)
{
    uint64_t count = 0;
    for (uint64_t i = first; i <= last; i++)
        count += mirror->blocks[i] != HERE;
    return count;
}

bool mirror_has(const struct mirror *mirror, uint64_t offset, uint64_t size)
{
    const uint32_t block_bytes = mirror->options.block_bytes;
    return is_inside(mirror, offset, size) &&
           (!size ||
            !count_missing(mirror, offset / block_bytes, (offset + size - 1) / block_bytes));
}

static weft_err add_want(struct mirror *mirror, const struct want *from)
{
    struct want *want = malloc(sizeof *want);
    if (!want)
        return err_no_memory("for a stretch of a file");
    *want = *from;
    list_append(&mirror->wants, &want->in_mirror);
    return WEFT_OK;
}

void mirror_want(struct mirror *mirror, uint64_t offset, uint64_t size, mirror_done_fn *done,
                 void *owner)
{
    const uint32_t block_bytes = mirror->options.block_bytes;
    struct want want = {.first = offset / block_bytes, .done = done, .owner = owner};
    weft_err code = WEFT_OK;
    if (!is_inside(mirror, offset, size)) {
        code = err_set(WEFT_OUT_OF_RANGE,
                       "%" PRIu64 " bytes at %" PRIu64 " are not in a file of %" PRIu64 " bytes",
                       size, offset, mirror->options.size);
    } else if (size) {
        want.next = want.first;
        want.last = (offset + size - 1) / block_bytes;
        want.missing = count_missing(mirror, want.first, want.last);
    }
    if (want.missing)
        code = add_want(mirror, &want);
    if (code || !want.missing) {
        done(owner, code);
        return;
    }
    ask_for_more(mirror);
    report_wants(mirror);
}

static bool is_wanted(struct mirror *mirror, uint64_t block)
{
    for (struct link *at = mirror->wants.next; at != &mirror->wants; at = at->next)
        if (is_around(want_of(at), block))
            return true;
    return false;
}

void mirror_forget(struct mirror *mirror, uint64_t offset, uint64_t size)
{
    const uint32_t block_bytes = mirror->options.block_bytes;
    if (offset >= mirror->options.size)
        return;
    const bool has_end = size >= mirror->options.size - offset;
    const uint64_t first = (offset + block_bytes - 1) / block_bytes;
    const uint64_t end = has_end ? mirror->block_count : (offset + size) / block_bytes;
    for (uint64_t i = first; i < end; i++) {
        if (mirror->blocks[i] != HERE || is_wanted(mirror, i))
            continue;
        mirror->blocks[i] = ABSENT;
        file_forget(mirror->fd, place_of(mirror, i), size_of(mirror, i));
    }
}

int mirror_fd(const struct mirror *mirror)
{
    return mirror->fd;
}

uint64_t mirror_place(const struct mirror *mirror)
{
    return mirror->options.room_offset;
}

uint64_t mirror_fetched_bytes(const struct mirror *mirror)
{
    return mirror->fetched_bytes;
}

// ---- Beginning and end --------------------------------------------------------------------------------------

static weft_err make_file(struct mirror *mirror)
{
    const struct mirror_options *options = &mirror->options;
    mirror->fd = -1;
    const weft_err code = file_create_nameless(options->tmp, &mirror->fd);
    return code ? code
                : err_wrap(file_truncate(mirror->fd, options->tmp, options->size),
                           "cannot make a file of %" PRIu64 " bytes", options->size);
}

struct mirror *mirror_new(const struct mirror_options *options)
{
    struct mirror *mirror = calloc(1, sizeof *mirror);
    if (!mirror) {
        err_no_memory("for a mirror");
        return NULL;
    }
    mirror->options = *options;
    list_init(&mirror->wants);
    list_init(&mirror->fetches);
    if (!mirror->options.block_bytes)
        mirror->options.block_bytes = MIRROR_BLOCK_BYTES;
    const uint32_t block_bytes = mirror->options.block_bytes;
    mirror->block_count = options->size / block_bytes + (options->size % block_bytes > 0);
    mirror->fetch_count_max = MIRROR_UNDER_WAY_BYTES / block_bytes;
    mirror->fetch_count_max = mirror->fetch_count_max > 2 ? mirror->fetch_count_max : 2;
    mirror->fd = options->room;
    weft_err code = options->room ? WEFT_OK : make_file(mirror);
    if (!code && !(mirror->blocks = calloc(mirror->block_count + 1, 1)))
        code = err_no_memory("for a mirror");
    if (!code)
        return mirror;
    mirror_free(mirror);
    return NULL;
}

void mirror_free(struct mirror *mirror)
{
    if (!mirror)
        return;
    while (!list_is_empty(&mirror->wants))
        free_want(want_of(mirror->wants.next));
    while (!list_is_empty(&mirror->fetches)) {
        struct fetch *fetch = LIST_ITEM(mirror->fetches.next, struct fetch, in_mirror);
        fetch_client_forget(mirror->options.client, fetch);
        list_take_out(&fetch->in_mirror);
        free(fetch);
    }
    if (!mirror->options.room)
        file_close(mirror->fd);
    free(mirror->blocks);
    if (mirror->call_depth)
        mirror->is_freed = true;
    else
        free(mirror);
}
