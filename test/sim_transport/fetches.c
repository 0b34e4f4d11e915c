// Processes that fetch: every byte follows from its file and place, so whatever is reported as fetched can be checked.
#include <inttypes.h>
#include <stdlib.h>

#include "sim_transport/parties.h"
#include "sys/file/file.h"
#include "transport/fetch_client.h"
#include "transport/fetch_files.h"

enum { GETS_MAX = 5, BAD_FILE = 2, BAD_FROM = 400000, BAD_TO = 400100 };

// A stretch that was asked for.
struct get {
    struct fetch_wanted wanted;
    char *bytes;
    struct fetcher *fetcher;
};

struct fetcher {
    struct fetch_client *client;
    struct get gets[GETS_MAX];
    uint32_t busy;  // bits
};

static struct fetcher fetchers[PROCESSES_MAX];
static struct fetch_files *files;

char fetches_content(uint64_t file, uint64_t offset)
{
    return (char)((file * 31 + offset) * 2654435761u >> 13);
}

bool fetches_can_read(uint64_t file, uint64_t offset, uint64_t size)
{
    return file < SERVED_FILES &&
           !(file == BAD_FILE && offset < BAD_TO && offset + size > BAD_FROM);
}

// ---- The disk -----------------------------------------------------------------------------------------------

// Descriptor 100 + FILE is served; one file has a bad place.
weft_err file_read_at(int fd, const char *path, void *data, size_t size, uint64_t offset,
                      size_t *got)
{
    const uint64_t file = (uint64_t)(fd - 100);
    *got = offset + size <= SERVED_BYTES ? size : SERVED_BYTES - (size_t)offset;
    if (!fetches_can_read(file, offset, size))
        return err_set(WEFT_INTERNAL, "%s: input/output error", path);
    for (size_t i = 0; i < *got; i++)
        ((char *)data)[i] = fetches_content(file, offset + i);
    return WEFT_OK;
}

// Descriptor 1000 + PROCESS * 100 + GET is a stretch in memory; others are mirrors.
static char *find_place(int fd, const char *path, size_t size, uint64_t offset)
{
    char *mirror = mirrors_disk(fd);
    if (mirror)
        return offset + size <= SERVED_BYTES ? mirror + offset : NULL;
    const struct get *get = &fetchers[(fd - 1000) / 100].gets[(fd - 1000) % 100];
    if (!get->bytes || offset < get->wanted.to_offset ||
        offset + size > get->wanted.to_offset + get->wanted.size)
        world_wrong("%s: bytes at another place than was asked for", path);
    return get->bytes + offset - get->wanted.to_offset;
}

weft_err file_write_at(int fd, const char *path, const void *data, size_t size, uint64_t offset)
{
    char *place = find_place(fd, path, size, offset);
    if (!place)
        world_wrong("%s: bytes after the end of a mirror", path);
    if (world.has_faults && world.rates.flip && world_chance(5))
        return err_set(WEFT_RESOURCE_EXHAUSTED, "the disk is full");
    memcpy(place, data, size);
    return WEFT_OK;
}

struct fetch_files *fetches_files(void)
{
    return files;
}

// ---- Fetching -----------------------------------------------------------------------------------------------

static bool can_read(const struct fetch_wanted *wanted)
{
    return fetches_can_read(wanted->file, wanted->offset, wanted->size);
}

static void check_bytes(const struct get *get)
{
    const struct fetch_wanted *wanted = &get->wanted;
    if (!can_read(wanted))
        world_wrong("file %" PRIu64 " at %" PRIu64 " was fetched and cannot be read", wanted->file,
                    wanted->offset);
    for (uint64_t i = 0; i < wanted->size; i++)
        if (get->bytes[i] != fetches_content(wanted->file, wanted->offset + i))
            world_wrong("byte %" PRIu64 " of file %" PRIu64 " is wrong", wanted->offset + i,
                        wanted->file);
}

static void on_done(void *owner, weft_err code)
{
    struct get *get = owner;
    if (!get->bytes)
        world_wrong("a request ends twice");
    if (!code)
        check_bytes(get);
    else if ((code != WEFT_UNAVAILABLE || world.now_ns > world.healthy_ns) &&
             can_read(&get->wanted) && !world.rates.flip)
        world_wrong("file %" PRIu64 " was not fetched: %s", get->wanted.file, err_text());
    counts[code ? COUNT_FETCH_FAILED : COUNT_FETCHED]++;
    free(get->bytes);
    get->bytes = NULL;
    get->fetcher->busy &= ~(1u << (get - get->fetcher->gets));
}

static void start(uint32_t process)
{
    const struct fetch_client_options options = {
        .loop = &world.processes[process],
        .address = {.host = "hub", .port = 1},
        .token = &sim_token,
        .name = "fetcher",
        .window_bytes = world_chance(500) ? 0 : world_between(1000, 600000),
    };
    fetchers[process].client = fetch_client_new(&options);
    ASSERT(fetchers[process].client);
}

static void end(uint32_t process)
{
    struct fetcher *fetcher = &fetchers[process];
    world.dying = &world.processes[process];
    mirrors_end(process);
    fetch_client_free(fetcher->client);
    world.dying = NULL;
    for (int i = 0; i < GETS_MAX; i++)
        free(fetcher->gets[i].bytes);
    *fetcher = (struct fetcher){0};
}

static void ask(uint32_t process)
{
    struct fetcher *fetcher = &fetchers[process];
    const uint32_t place = world_below(GETS_MAX);
    struct get *get = &fetcher->gets[place];
    if (fetcher->busy >> place & 1)
        return;
    const uint32_t size = world_chance(900) ? world_below(5000) : world_below(SERVED_BYTES);
    *get = (struct get){.fetcher = fetcher,
                        .wanted = {.file = world_below(SERVED_FILES + world_chance(100)),
                                   .offset = world_below(SERVED_BYTES - size),
                                   .size = size,
                                   .fd = 1000 + (int)process * 100 + (int)place,
                                   .to_offset = world_below(1000),
                                   .done = on_done,
                                   .owner = get}};
    get->bytes = malloc(size + 1);
    ASSERT(get->bytes);
    fetcher->busy |= 1u << place;
    if (fetch_client_get(fetcher->client, &get->wanted))
        world_wrong("%s", err_text());
}

void fetches_act(void)
{
    if (!plan.fetcher_count || !world_chance(100))
        return;
    const uint32_t process = FIRST_FETCHER + world_below(plan.fetcher_count);
    if (world_is_stopped(&world.processes[process]))
        return;
    if (!fetchers[process].client)
        start(process);
    else if (world.has_faults && world_chance(world.rates.crash))
        end(process);
    else if (world_chance(500))
        ask(process);
    else
        mirrors_act(process, fetchers[process].client);
}

void fetches_check(void)
{
    for (uint32_t i = 0; i < PROCESSES_MAX; i++)
        if (fetchers[i].client && fetch_client_pending(fetchers[i].client))
            world_wrong("process %u still waits for bytes", i);
    mirrors_check();
}

void fetches_init(void)
{
    files = fetch_files_new();
    ASSERT(files);
    for (uint64_t i = 0; i < SERVED_FILES; i++)
        ASSERT(!fetch_files_add(
            files, &(struct fetch_file){
                       .id = i, .fd = 100 + (int)i, .size = SERVED_BYTES, .name = "seal"}));
}

void fetches_fini(void)
{
    for (uint32_t i = FIRST_FETCHER; i < PROCESSES_MAX; i++)
        if (fetchers[i].client)
            end(i);
    fetch_files_free(files);
}
