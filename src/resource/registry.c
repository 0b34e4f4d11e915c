// Names of resources. TensorFlow's rules: a container is [A-Za-z0-9.][A-Za-z0-9.-/]*, a name does not
// begin with "_".

#include "resource/registry.h"

#include <stdlib.h>

static const struct resource_kind *const kinds[] = {&queue_kind, &var_kind, &kv_kind,
                                                    &barrier_kind};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

const struct resource_kind *registry_find_kind(uint8_t number)
{
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (kinds[i]->number == number)
            return kinds[i];
    return NULL;
}

static weft_bytes key_of(const void *item)
{
    return ((const struct resource *)item)->key;
}

void registry_init(struct registry *registry, uint64_t seed)
{
    *registry = (struct registry){0};
    map_init(&registry->by_key, key_of, seed);
}

static void free_resource(struct resource *resource)
{
    free(resource->key_memory);
    resource->kind->free(resource);
}

void registry_fini(struct registry *registry)
{
    for (size_t i = 0; i < registry->all.count; i++)
        free_resource(registry->all.items[i]);
    VEC_FINI(&registry->all);
    map_fini(&registry->by_key);
}

static bool is_container_byte(char byte, bool is_first)
{
    return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
           (byte >= '0' && byte <= '9') || byte == '.' ||
           (!is_first && (byte == '-' || byte == '/')) || byte == '_';
}

static weft_err check_names(const struct registry_wish *wish)
{
    const weft_bytes name = wish->name, container = wish->container;
    if (name.size == 0 || name.size > CALL_NAME_BYTES_MAX)
        return err_set(WEFT_INVALID_ARGUMENT, "a name has 1 to %u bytes, not %zu",
                       CALL_NAME_BYTES_MAX, name.size);
    if (name.data[0] == '_')
        return err_set(WEFT_INVALID_ARGUMENT, "a shared name cannot start with '_': %.*s",
                       (int)name.size, name.data);
    if (memchr(name.data, 0, name.size))
        return err_set(WEFT_INVALID_ARGUMENT, "a name cannot hold a zero byte");
    bool is_sound = container.size > 0 && container.size <= CALL_NAME_BYTES_MAX;
    for (size_t i = 0; is_sound && i < container.size; i++)
        is_sound = is_container_byte(container.data[i], i == 0);
    if (!is_sound)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "'%.*s' is not a container: letters, digits, dots, dashes and slashes are",
                       (int)(container.size < 64 ? container.size : 64), container.data);
    return WEFT_OK;
}

static void append_key(struct buf *key, const struct registry_wish *wish)
{
    buf_append(key, &wish->kind, 1);
    buf_append(key, wish->container.data, wish->container.size);
    buf_append(key, "", 1);
    buf_append(key, wish->name.data, wish->name.size);
}

// Enters what a kind has made; it is freed where that fails.
static weft_err enter(struct registry *registry, struct buf *key, size_t name_size,
                      struct resource *resource)
{
    resource->key_memory = key->data;
    resource->key = buf_bytes(key);
    resource->name = (weft_bytes){key->data + key->size - name_size, name_size};
    if (VEC_NEXT(&registry->all) && map_add(&registry->by_key, resource)) {
        registry->all.items[registry->all.count++] = resource;
        return WEFT_OK;
    }
    free_resource(resource);
    return err_no_memory("for another resource");
}

static weft_err make(struct registry *registry, struct host *host, uint64_t uid_base,
                     const struct registry_wish *wish, struct buf *key, struct resource **resource)
{
    weft_err err = WEFT_OK;
    struct resource *made = registry_find_kind(wish->kind)->make(wish->attributes, &err);
    if (!made)
        return err;
    made->kind = registry_find_kind(wish->kind);
    made->host = host;
    made->uid = uid_base + ++registry->made_count;
    err = enter(registry, key, wish->name.size, made);
    *key = (struct buf){0};
    *resource = made;
    return err;
}

weft_err registry_open(struct registry *registry, struct host *host, uint64_t uid_base,
                       const struct registry_wish *wish, struct resource **resource)
{
    if (!registry_find_kind(wish->kind))
        return err_set(WEFT_UNIMPLEMENTED, "resources of kind %u are unknown here", wish->kind);
    weft_err err = check_names(wish);
    if (err)
        return err;
    struct buf key = {0};
    append_key(&key, wish);
    if (key.has_failed) {
        buf_fini(&key);
        return err_no_memory("for a name");
    }
    *resource = map_find(&registry->by_key, buf_bytes(&key));
    if (*resource) {
        if (wish->attributes.size)
            err = (*resource)->kind->match(*resource, wish->attributes);
    } else {
        err = make(registry, host, uid_base, wish, &key, resource);
    }
    buf_fini(&key);
    return err;
}

struct resource *registry_find_by_uid(struct registry *registry, uint64_t uid)
{
    for (size_t i = 0; i < registry->all.count; i++)
        if (registry->all.items[i]->uid == uid)
            return registry->all.items[i];
    return NULL;
}

static void take_out(struct registry *registry, struct resource *resource)
{
    size_t at = 0;
    while (registry->all.items[at] != resource)
        at++;
    registry->all.count--;
    memmove(registry->all.items + at, registry->all.items + at + 1,
            (registry->all.count - at) * sizeof *registry->all.items);
    free_resource(resource);
}

void registry_remove(struct registry *registry, struct resource *resource)
{
    if (!resource->is_removed)
        map_take_out(&registry->by_key, resource->key);
    resource->is_removed = true;
    if (resource->handle_count == 0)
        take_out(registry, resource);
}

void registry_acquire(struct resource *resource)
{
    resource->handle_count++;
}

void registry_release(struct registry *registry, struct resource *resource)
{
    if (--resource->handle_count == 0 && resource->is_removed)
        take_out(registry, resource);
}
