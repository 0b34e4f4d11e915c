// Calling the active one of several name nodes.

#include "store/hdfs/namenode.h"

#include <stdio.h>
#include <stdlib.h>

#include "sys/machine/machine.h"
#include "sys/secure/secret.h"
#include "sys/thread/interrupt.h"
#include "sys/time/clock.h"
#include "wire/hadoop/properties.h"
#include "wire/hadoop/rpc.h"

enum {
    CONNECT_MS = 10000,
    SILENCE_MS = 60000,
    PAUSE_FIRST_MS = 100,
    PAUSE_MAX_MS = 2000,
    NS_PER_MS = 1000000,
    LISTINGS_MAX = 1 << 20,  // of one directory; a name node gives 1,000 entries in each
};

struct namenode {
    struct site site;
    size_t current;
    struct rpc *rpc;
    struct rpc_names names;
    int32_t calls;
    uint32_t patience_ms;
    bool has_answered;
    char user[MACHINE_NAME_BYTES_MAX];
    char client[40];
};

void hdfs_free(void *message)
{
    if (message)
        protobuf_c_message_free_unpacked(message, NULL);
}

weft_err namenode_new(const struct site *site, const char *user, uint32_t patience_ms,
                      struct namenode **made)
{
    struct namenode *namenode = calloc(1, sizeof *namenode);
    *made = NULL;
    if (!namenode)
        return err_no_memory("for a name node");
    namenode->site = *site;
    namenode->patience_ms = patience_ms;
    if (user)
        snprintf(namenode->user, sizeof namenode->user, "%s", user);
    else
        properties_find_user(namenode->user);
    namenode->names.protocol = "org.apache.hadoop.hdfs.protocol.ClientProtocol";
    namenode->names.user = namenode->user;
    secret_random(namenode->names.client, sizeof namenode->names.client);
    snprintf(namenode->client, sizeof namenode->client, "weft_%02x%02x%02x%02x",
             namenode->names.client[0], namenode->names.client[1], namenode->names.client[2],
             namenode->names.client[3]);
    *made = namenode;
    return WEFT_OK;
}

void namenode_free(struct namenode *namenode)
{
    if (!namenode)
        return;
    rpc_close(namenode->rpc);
    free(namenode);
}

const struct net_address *namenode_web(const struct namenode *namenode)
{
    return &namenode->site.nodes[namenode->current].web;
}

const char *namenode_user(const struct namenode *namenode)
{
    return namenode->user;
}

const char *namenode_client(const struct namenode *namenode)
{
    return namenode->client;
}

// ---- One of several ----------------------------------------------------------------------------------------------

struct call {
    const char *method;
    const ProtobufCMessage *message;
    const ProtobufCMessageDescriptor *descriptor;
    int32_t number, retry_count;
};

static void leave_node(struct namenode *namenode)
{
    rpc_close(namenode->rpc);
    namenode->rpc = NULL;
    namenode->current = (namenode->current + 1) % namenode->site.count;
}

// Once, to the current one. *is_final: another attempt would end the same way.
static weft_err call_once(struct namenode *namenode, const struct call *call,
                          ProtobufCMessage **answer, bool *is_final)
{
    const struct rpc_options options = {.address = namenode->site.nodes[namenode->current].rpc,
                                        .names = &namenode->names,
                                        .connect_ms = CONNECT_MS,
                                        .silence_ms = SILENCE_MS};
    *answer = NULL;
    weft_err code = namenode->rpc ? WEFT_OK : rpc_open(&options, &namenode->rpc);
    if (code == WEFT_OK) {
        code = rpc_call(namenode->rpc, call->method, call->number, call->retry_count, call->message,
                        call->descriptor, answer);
        namenode->has_answered |= code == WEFT_OK || rpc_exception(namenode->rpc)[0] != 0;
    }
    *is_final = code != WEFT_UNAVAILABLE;
    return code;
}

static weft_err call_active(struct namenode *namenode, const char *method,
                            const ProtobufCMessage *message,
                            const ProtobufCMessageDescriptor *descriptor, void *answer)
{
    struct call call = {method, message, descriptor, namenode->calls, 0};
    const uint64_t deadline_ns = clock_now_ns() + (uint64_t)namenode->patience_ms * NS_PER_MS;
    uint32_t pause_ms = PAUSE_FIRST_MS;
    namenode->calls = (namenode->calls + 1) & INT32_MAX;
    for (size_t tried = 1;; tried++) {
        bool is_final;
        const weft_err code = call_once(namenode, &call, (ProtobufCMessage **)answer, &is_final);
        if (code != WEFT_OK && namenode->rpc && rpc_is_broken(namenode->rpc) && is_final)
            leave_node(namenode);
        if (code == WEFT_OK || is_final)
            return code;
        leave_node(namenode);
        call.retry_count++;
        if (tried % namenode->site.count != 0)
            continue;
        const bool is_hopeless = namenode->site.count == 1 && !namenode->has_answered;
        if (is_hopeless || clock_now_ns() >= deadline_ns || interrupt_ends(deadline_ns))
            return code;
        interrupt_sleep_ms(pause_ms);
        pause_ms = pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2 : PAUSE_MAX_MS;
    }
}

// ---- Calls --------------------------------------------------------------------------------------------------------

static weft_err not_found(const char *path)
{
    return err_set(WEFT_NOT_FOUND, "there is no %s in HDFS", path);
}

weft_err namenode_stat(struct namenode *namenode, const char *path, Hadoop__FileInfo **info)
{
    Hadoop__GetFileInfo get = HADOOP__GET_FILE_INFO__INIT;
    get.path = (char *)path;
    const weft_err code =
        call_active(namenode, "getFileInfo", &get.base, &hadoop__file_info__descriptor, info);
    if (code != WEFT_OK || (*info)->status)
        return code;
    hdfs_free(*info);
    *info = NULL;
    return not_found(path);
}

// Names become parts of paths, on this machine, too. A file lists itself without one.
static bool is_name(ProtobufCBinaryData name)
{
    return name.len == 0 ||
           (!memchr(name.data, '/', name.len) && !memchr(name.data, 0, name.len) &&
            !(name.data[0] == '.' && (name.len == 1 || (name.len == 2 && name.data[1] == '.'))));
}

// Some entries, those after `after`, which becomes the last one's name.
static weft_err list_some(struct namenode *namenode, const char *path, struct buf *after,
                          namenode_visit_fn *visit, void *owner, bool *is_last)
{
    Hadoop__GetListing get = HADOOP__GET_LISTING__INIT;
    Hadoop__ListingAnswer *answer = NULL;
    get.path = (char *)path;
    get.start_after = (ProtobufCBinaryData){after->size, (uint8_t *)after->data};
    weft_err code = call_active(namenode, "getListing", &get.base,
                                &hadoop__listing_answer__descriptor, &answer);
    if (code != WEFT_OK)
        return code;
    const Hadoop__Listing *listing = answer->listing;
    *is_last = !listing || listing->left_count == 0 || listing->n_entries == 0;
    if (!listing)
        code = not_found(path);
    for (size_t i = 0; code == WEFT_OK && i < listing->n_entries; i++)
        code = is_name(listing->entries[i]->path)
                   ? visit(owner, listing->entries[i])
                   : err_set(WEFT_DATA_LOSS, "the name node lists a file without a proper name");
    if (code == WEFT_OK && !*is_last) {
        const ProtobufCBinaryData name = listing->entries[listing->n_entries - 1]->path;
        after->size = 0;
        buf_append(after, name.data, name.len);
        if (after->has_failed)
            code = err_no_memory("for a directory");
    }
    hdfs_free(answer);
    return code;
}

weft_err namenode_list(struct namenode *namenode, const char *path, namenode_visit_fn *visit,
                       void *owner)
{
    struct buf after = {0};
    bool is_last = false;
    weft_err code = WEFT_OK;
    for (uint32_t i = 0; code == WEFT_OK && !is_last; i++) {
        code = list_some(namenode, path, &after, visit, owner, &is_last);
        if (i == LISTINGS_MAX)
            code = err_set(WEFT_DATA_LOSS, "the name node lists %s without end", path);
    }
    buf_fini(&after);
    return code;
}

weft_err namenode_locate(struct namenode *namenode, const char *path,
                         Hadoop__BlockLocations **blocks)
{
    Hadoop__GetBlockLocations get = HADOOP__GET_BLOCK_LOCATIONS__INIT;
    get.path = (char *)path;
    get.length = INT64_MAX;
    const weft_err code = call_active(namenode, "getBlockLocations", &get.base,
                                      &hadoop__block_locations__descriptor, blocks);
    if (code == WEFT_NOT_FOUND)
        return not_found(path);
    if (code != WEFT_OK || (*blocks)->located)
        return code;
    hdfs_free(*blocks);
    *blocks = NULL;
    return not_found(path);
}

weft_err namenode_remove(struct namenode *namenode, const char *path, bool is_recursive)
{
    Hadoop__Delete remove = HADOOP__DELETE__INIT;
    Hadoop__Done *done = NULL;
    remove.path = (char *)path;
    remove.is_recursive = is_recursive;
    weft_err code = call_active(namenode, "delete", &remove.base, &hadoop__done__descriptor, &done);
    if (code == WEFT_OK && !done->result)
        code = not_found(path);
    hdfs_free(done);
    return code;
}

weft_err namenode_make_directory(struct namenode *namenode, const char *path, uint32_t mode)
{
    Hadoop__MakeDirectories make = HADOOP__MAKE_DIRECTORIES__INIT;
    Hadoop__Permission permission = HADOOP__PERMISSION__INIT;
    Hadoop__Done *done = NULL;
    permission.mode = mode;
    make.path = (char *)path;
    make.masked = &permission;
    make.makes_parents = true;
    weft_err code = call_active(namenode, "mkdirs", &make.base, &hadoop__done__descriptor, &done);
    if (code == WEFT_OK && !done->result)
        code = err_set(WEFT_FAILED_PRECONDITION, "HDFS does not make the directory %s", path);
    hdfs_free(done);
    return code;
}

weft_err namenode_set_mode(struct namenode *namenode, const char *path, uint32_t mode)
{
    Hadoop__SetPermission set = HADOOP__SET_PERMISSION__INIT;
    Hadoop__Permission permission = HADOOP__PERMISSION__INIT;
    Hadoop__Done *done = NULL;
    permission.mode = mode;
    set.path = (char *)path;
    set.permission = &permission;
    const weft_err code =
        call_active(namenode, "setPermission", &set.base, &hadoop__done__descriptor, &done);
    hdfs_free(done);
    return code;
}

weft_err namenode_rename(struct namenode *namenode, const char *from, const char *to,
                         bool overwrites)
{
    Hadoop__Rename rename = HADOOP__RENAME__INIT;
    Hadoop__Done *done = NULL;
    rename.from = (char *)from;
    rename.to = (char *)to;
    rename.overwrites = overwrites;
    const weft_err code =
        call_active(namenode, "rename2", &rename.base, &hadoop__done__descriptor, &done);
    hdfs_free(done);
    return code;
}
