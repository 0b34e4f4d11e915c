// Slots and endings of leases. Durations are rounded up to a sixteenth, so that there are at most a few
// hundred lists of them whatever callers think of.

#include "resource/queue/leases.h"

struct lease_ending {
    uint32_t duration_ms;
    struct link leases;
};

void leases_fini(struct leases *leases)
{
    for (size_t i = 0; i < leases->slots.count; i++)
        free(leases->slots.items[i]);
    for (size_t i = 0; i < leases->unused.count; i++)
        free(leases->unused.items[i]);
    for (size_t i = 0; i < leases->endings.count; i++)
        free(leases->endings.items[i]);
    VEC_FINI(&leases->slots);
    VEC_FINI(&leases->unused);
    VEC_FINI(&leases->endings);
}

struct lease *leases_add_at(struct leases *leases, struct element *element, uint32_t slot)
{
    if (slot >= LEASES_MAX)
        return NULL;
    while (leases->slots.count <= slot)
        if (!VEC_PUSH(&leases->slots, NULL))
            return NULL;
    if (leases->slots.items[slot])
        return NULL;
    struct lease *lease =
        leases->unused.count ? leases->unused.items[--leases->unused.count] : malloc(sizeof *lease);
    if (!lease)
        return NULL;
    *lease = (struct lease){.element = element, .slot = slot, .deadline_ms = UINT64_MAX};
    leases->slots.items[slot] = lease;
    leases->count++;
    return lease;
}

struct lease *leases_add(struct leases *leases, struct element *element)
{
    size_t slot = leases->free_from;
    while (slot < leases->slots.count && leases->slots.items[slot])
        slot++;
    struct lease *lease = leases_add_at(leases, element, (uint32_t)slot);
    if (lease)
        leases->free_from = slot + 1;
    return lease;
}

void leases_drop(struct leases *leases, struct lease *lease)
{
    list_take_out(&lease->in_ending);
    leases->slots.items[lease->slot] = NULL;
    leases->count--;
    if (lease->slot < leases->free_from)
        leases->free_from = lease->slot;
    if (!VEC_PUSH(&leases->unused, lease))
        free(lease);
}

struct lease *leases_find(const struct leases *leases, uint32_t slot)
{
    return slot < leases->slots.count ? leases->slots.items[slot] : NULL;
}

static uint32_t round_up(uint32_t duration_ms)
{
    const int bits = 32 - __builtin_clz(duration_ms);
    if (bits <= 5)
        return duration_ms;
    const uint32_t step = (uint32_t)1 << (bits - 5);
    const uint32_t rounded = (duration_ms + step - 1) & ~(step - 1);
    return rounded ? rounded : UINT32_MAX;  // the largest overflowed
}

static struct lease_ending *find_ending(struct leases *leases, uint32_t duration_ms)
{
    for (size_t i = 0; i < leases->endings.count; i++)
        if (leases->endings.items[i]->duration_ms == duration_ms)
            return leases->endings.items[i];
    struct lease_ending *ending = malloc(sizeof *ending);
    if (!ending || !VEC_PUSH(&leases->endings, ending)) {
        free(ending);
        return NULL;
    }
    ending->duration_ms = duration_ms;
    list_init(&ending->leases);
    return ending;
}

bool leases_set_end(struct leases *leases, struct lease *lease, uint32_t duration_ms,
                    uint64_t now_ms)
{
    struct lease_ending *ending = NULL;
    if (duration_ms) {
        duration_ms = round_up(duration_ms);
        ending = find_ending(leases, duration_ms);
        if (!ending)
            return false;
    }
    list_take_out(&lease->in_ending);
    lease->duration_ms = duration_ms;
    lease->deadline_ms = ending ? now_ms + duration_ms : UINT64_MAX;
    if (ending)
        list_append(&ending->leases, &lease->in_ending);
    return true;
}

struct lease *leases_first_to_end(const struct leases *leases)
{
    struct lease *first = NULL;
    for (size_t i = 0; i < leases->endings.count; i++) {
        struct link *head = &leases->endings.items[i]->leases;
        if (list_is_empty(head))
            continue;
        struct lease *lease = LIST_ITEM(head->next, struct lease, in_ending);
        if (!first || lease->deadline_ms < first->deadline_ms)
            first = lease;
    }
    return first;
}
