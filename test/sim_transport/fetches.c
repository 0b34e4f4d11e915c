// Processes that fetch: every byte follows from its file and place, so whatever is reported as fetched can be checked. They fetch from the hub, or from a spoke that
// they cannot reach, through the hub. The hub fetches from spokes by lines.
#include <inttypes.h>
#include <stdlib.h>

#include "sim_transport/parties.h"
#include "sys/file/file.h"
#include "transport/fetch_client.h"
#include "transport/fetch_files.h"
#include "transport/hub.h"

enum { GETS_MAX = 5, BAD_FILE = 2, BAD_FROM = 400000, BAD_TO = 400100 };

// A stretch that was asked for.
struct get {
    struct fetch_wanted wanted;
    char *bytes;
    struct fetcher *fetcher;
    uint64_t asked_ns;
};

struct fetcher {
    struct fetch_client *client;
    struct get gets[GETS_MAX];
    uint32_t busy;    // bits
    uint64_t source;  // the number of a peer; 0: the hub
};

static struct fetcher fetchers[PROCESSES_MAX];
static struct fetch_files *files;

char fetches_content(uint64_t file, uint64_t offset)
{
    // The first file can be compressed.
    return (char)((file * 31 + (file ? offset : offset / 100)) * 2654435761u >> 13);
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
    const uint64_t source = get->fetcher->source;
    const bool is_gone = source && code == WEFT_UNAVAILABLE && !sessions_has_peer(source);
    if (!code)
        check_bytes(get);
    else if (!is_gone && (code != WEFT_UNAVAILABLE || world.now_ns > plan.healthy_ns) &&
             can_read(&get->wanted) && !world.rates.flip)
        world_wrong("file %" PRIu64 " was not fetched: %s", get->wanted.file, err_text());
    const uint64_t took_ms = (world.now_ns - get->asked_ns) / NS_PER_MS;
    if (!code && get->asked_ns > plan.healthy_ns && took_ms >= FETCH_SILENT_MS)
        world_wrong("a stretch took %" PRIu64 " ms, and nothing is in its way", took_ms);
    counts[code ? COUNT_FETCH_FAILED : COUNT_FETCHED]++;
    if (source && !code)
        counts[get->fetcher == &fetchers[HUB_PROCESS] ? COUNT_LINED : COUNT_RELAYED]++;
    free(get->bytes);
    get->bytes = NULL;
    get->fetcher->busy &= ~(1u << (get - get->fetcher->gets));
}

// The hub knows its peers; a process that fetches knows one of them by its number, and finds a wall at its address.
static void start(uint32_t process)
{
    struct hub_peer *peer =
        process == HUB_PROCESS || world_chance(500) ? sessions_some_peer() : NULL;
    struct fetch_client_options options = {
        .loop = &world.processes[process],
        .token = &sim_token,
        .name = "fetcher",
        .window_bytes = world_chance(500) ? 0 : world_between(1000, 600000),
    };
    const struct net_address address = {.host = "hub", .port = HUB_PORT};
    if (process == HUB_PROCESS && !peer)
        return;
    fetchers[process].source = peer ? hub_peer_number(peer) : 0;
    if (process == HUB_PROCESS) {
        options.hub = sessions_hub();
        options.peer_number = fetchers[process].source;
    } else {
        options.address = address;
        options.relay = address;
        options.relay_number = fetchers[process].source;
        if (peer)
            strcpy(options.address.host, "wall");
    }
    fetchers[process].client = fetch_client_new(&options);
    ASSERT(fetchers[process].client);
}

static void end(uint32_t process)
{
    struct fetcher *fetcher = &fetchers[process];
    struct loop *dying = world.dying;
    world.dying = &world.processes[process];
    mirrors_end(process);
    fetch_client_free(fetcher->client);
    world.dying = dying;
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
    const uint32_t size =
        world_chance(fetcher->source ? 600 : 900) ? world_below(5000) : world_below(SERVED_BYTES);
    *get = (struct get){.fetcher = fetcher,
                        .asked_ns = world.now_ns,
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

void fetches_end_hub(void)
{
    if (fetchers[HUB_PROCESS].client)
        end(HUB_PROCESS);
}

// Its spoke is gone: there is nothing more to fetch.
static bool is_useless(const struct fetcher *fetcher)
{
    return fetcher->source && !fetcher->busy && !sessions_has_peer(fetcher->source);
}

void fetches_act(void)
{
    if (!plan.fetcher_count || !world_chance(100))
        return;
    const uint32_t which = world_below(plan.fetcher_count + 1);
    const uint32_t process = which ? FIRST_FETCHER + which - 1 : HUB_PROCESS;
    struct fetcher *fetcher = &fetchers[process];
    if (world_is_stopped(&world.processes[process]))
        return;
    world.running = &world.processes[process];
    if (!fetcher->client)
        start(process);
    else if (is_useless(fetcher) || (world.has_faults && world_chance(plan.crash_rate)))
        end(process);
    else if (world_chance(500) || fetcher->source)
        ask(process);
    else
        mirrors_act(process, fetcher->client);
    world.running = NULL;
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
    for (uint32_t i = 0; i < PROCESSES_MAX; i++)
        if (fetchers[i].client)
            end(i);
    fetch_files_free(files);
}
