// Counts and describes the resources of a host.

#include "resource/census.h"

#include "base/bytes.h"
#include "base/text.h"
#include "resource/host_state.h"
#include "resource/queue/queue.h"

void host_take_census(const struct host *host, struct census *census)
{
    *census = (struct census){0};
    for (size_t i = 0; i < host->registry.all.count; i++) {
        const struct resource *resource = host->registry.all.items[i];
        if (resource->is_removed)
            continue;
        if (resource->kind->number != CALL_KIND_QUEUE) {
            census->other_count++;
            continue;
        }
        const struct queue *queue = (const struct queue *)resource;
        const uint64_t count = queue->elements.count + queue->leases.count;
        census->queue_count += count > 0;
        census->element_count += count;
    }
}

// As it is asked for: by its member, or at a broker by its name, or by a path whose role is its container.
static void append_name(const struct host *host, const struct resource *resource, struct buf *text)
{
    const weft_bytes container = {resource->key.data + 1,
                                  resource->key.size - resource->name.size - 2};
    const bool is_own = bytes_equal(container, host->container);
    if (is_own && host->member[0])
        buf_format(text, "%s/", host->member);
    else if (!is_own)
        buf_format(text, "/%.*s/0/", (int)container.size, container.data);
    text_append_escaped(text, resource->name);
}

void host_tell(const struct host *host, host_tell_fn *tell, void *owner)
{
    struct buf name = {0}, what = {0};
    for (size_t i = 0; i < host->registry.all.count; i++) {
        const struct resource *resource = host->registry.all.items[i];
        if (resource->is_removed)
            continue;
        name.size = what.size = 0;
        append_name(host, resource, &name);
        resource->kind->tell(resource, &what);
        tell(owner, resource->kind->name, buf_text(&name), buf_text(&what));
    }
    buf_fini(&name);
    buf_fini(&what);
}
