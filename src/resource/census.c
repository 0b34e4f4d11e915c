// Counts what a host holds.

#include "resource/census.h"

#include "resource/host_state.h"
#include "resource/queue.h"

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
