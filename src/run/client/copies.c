// Copies with holes of files that other clients serve.

#include "run/client/copies.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/vec.h"
#include "sys/file/file.h"

// With a client that may be gone: the task is given back then, and tried again elsewhere. Long enough to find out that the client cannot be
// reached, and to ask the server for its bytes.
enum { PATIENCE_MS = 6000 };

struct peer {
    uint32_t holder;
    struct fetch_client *client;
};

struct copies {
    struct copies_options options;
    VEC(struct peer) peers;
    VEC(struct copy *) list;
    uint64_t fetched_bytes, lent_bytes;
};

struct copies *copies_new(const struct copies_options *options)
{
    struct copies *copies = calloc(1, sizeof *copies);
    if (!copies) {
        (void)err_no_memory("to fetch from others");
        return NULL;
    }
    copies->options = *options;
    return copies;
}

void copies_free(struct copies *copies)
{
    if (!copies)
        return;
    for (size_t i = 0; i < copies->peers.count; i++)
        fetch_client_free(copies->peers.items[i].client);
    for (size_t i = 0; i < copies->list.count; i++) {
        if (copies->list.items[i]->from)
            file_close(copies->list.items[i]->fd);
        free(copies->list.items[i]);
    }
    VEC_FINI(&copies->peers);
    VEC_FINI(&copies->list);
    free(copies);
}

// ---- Who has it -----------------------------------------------------------------------------------------

static weft_err find_peer(struct copies *copies, const Weft__FarFile *far,
                          struct fetch_client **client)
{
    for (size_t i = 0; i < copies->peers.count; i++)
        if (copies->peers.items[i].holder == far->holder) {
            *client = copies->peers.items[i].client;
            return WEFT_OK;
        }
    struct peer peer = {.holder = far->holder};
    struct fetch_client_options options = {.loop = copies->options.loop,
                                           .token = copies->options.token,
                                           .name = copies->options.name,
                                           .epoch = far->epoch,
                                           .relay = copies->options.relay,
                                           .relay_number = far->holder,
                                           .patience_ms = PATIENCE_MS};
    // One that is gone has no address any more; the server says so when it is asked for the bytes.
    const weft_err code =
        far->address[0] ? net_read_address(far->address, 0, &options.address) : WEFT_OK;
    if (code != WEFT_OK)
        return code;
    peer.client = fetch_client_new(&options);
    if (!peer.client)
        return WEFT_RESOURCE_EXHAUSTED;
    *client = peer.client;
    if (VEC_PUSH(&copies->peers, peer))
        return WEFT_OK;
    fetch_client_free(peer.client);
    return err_no_memory("to fetch from others");
}

// ---- Files ------------------------------------------------------------------------------------------------

static weft_err add(struct copies *copies, const struct copy *copy, struct copy **added)
{
    struct copy *own = malloc(sizeof *own);
    if (!own || !VEC_PUSH(&copies->list, own)) {
        free(own);
        return err_no_memory("to fetch from others");
    }
    *own = *copy;
    snprintf(own->path, sizeof own->path, "/proc/%d/fd/%d", (int)getpid(), own->fd);
    *added = own;
    return WEFT_OK;
}

static weft_err open_own(struct copies *copies, uint64_t file, struct copy **copy)
{
    const struct served_file *served = served_find(copies->options.served, file);
    if (!served)
        return err_set(WEFT_INTERNAL, "this client has no file %llu", (unsigned long long)file);
    return add(copies, &(struct copy){.fd = served->fd, .file = file}, copy);
}

static weft_err open_far(struct copies *copies, const Weft__FarFile *far,
                         struct fetch_client *client, struct copy **copy)
{
    struct copy made = {.from = client, .file = far->file};
    const weft_err code = file_create_nameless(copies->options.tmp, &made.fd);
    if (code != WEFT_OK)
        return code;
    const weft_err added = add(copies, &made, copy);
    if (added != WEFT_OK)
        file_close(made.fd);
    return added;
}

weft_err copies_open(struct copies *copies, const Weft__FarFile *far, struct copy **copy)
{
    struct fetch_client *client = NULL;
    const bool is_of_server = !far->holder;
    const bool is_own = !is_of_server && far->epoch == copies->options.epoch;
    if (is_of_server)
        client = copies->options.server;
    weft_err code = client || is_own ? WEFT_OK : find_peer(copies, far, &client);
    if (code != WEFT_OK)
        return code;
    *copy = NULL;
    for (size_t i = 0; i < copies->list.count && !*copy; i++)
        if (copies->list.items[i]->from == client && copies->list.items[i]->file == far->file)
            *copy = copies->list.items[i];
    if (!*copy)
        code = is_own ? open_own(copies, far->file, copy) : open_far(copies, far, client, copy);
    // As long as the original is by now: readers compare offsets with the size.
    struct file_stat status;
    if (code == WEFT_OK && client)
        code = file_stat_fd((*copy)->fd, "a copy", &status);
    if (code == WEFT_OK && client && status.size < far->size)
        code = file_truncate((*copy)->fd, copies->options.tmp, far->size);
    return code;
}

weft_err copy_fetch(struct copies *copies, struct copy *copy, uint64_t offset, uint64_t size,
                    fetch_done_fn *done, void *owner)
{
    const struct fetch_wanted wanted = {
        .file = copy->file,
        .offset = offset,
        .size = size,
        .fd = copy->fd,
        .to_offset = offset,
        .path = copies->options.tmp,
        .done = done,
        .owner = owner,
    };
    if (copy->from == copies->options.server)
        copies->lent_bytes += size;
    else
        copies->fetched_bytes += size;
    return fetch_client_get(copy->from, &wanted);
}

weft_err copies_fetch(struct copies *copies, const Weft__FarFile *far,
                      const struct fetch_wanted *wanted)
{
    struct fetch_client *client;
    struct fetch_wanted own = *wanted;
    const weft_err code = find_peer(copies, far, &client);
    if (code != WEFT_OK)
        return code;
    own.path = copies->options.tmp;
    copies->fetched_bytes += wanted->size;
    return fetch_client_get(client, &own);
}

void copies_forget(struct copies *copies, const void *owner)
{
    for (size_t i = 0; i < copies->peers.count; i++)
        fetch_client_forget(copies->peers.items[i].client, owner);
    if (copies->options.server)
        fetch_client_forget(copies->options.server, owner);
}

void copy_release(struct copy *copy, uint64_t offset, uint64_t size)
{
    if (copy->from && size)
        file_forget(copy->fd, offset, size);
}

uint64_t copies_lent_bytes(const struct copies *copies)
{
    return copies->lent_bytes;
}

uint64_t copies_relayed_bytes(const struct copies *copies)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < copies->peers.count; i++)
        sum += fetch_client_relayed_bytes(copies->peers.items[i].client);
    return sum;
}

uint64_t copies_fetched_bytes(const struct copies *copies)
{
    return copies->fetched_bytes;
}
