// Ranges in sorted arrays: an element that is done in order, or nearly, touches the last range only.

#include "resource/var/item_set.h"

void item_set_fini(struct item_set *set)
{
    for (size_t i = 0; i < set->queues.count; i++)
        VEC_FINI(&set->queues.items[i].ranges);
    VEC_FINI(&set->queues);
    set->range_count = 0;
}

// The first queue whose uid is not below.
static size_t place_of_queue(const struct item_set *set, uint64_t uid)
{
    size_t low = 0, high = set->queues.count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (set->queues.items[middle].uid < uid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct item_queue *find_queue(const struct item_set *set, uint64_t uid)
{
    const size_t at = place_of_queue(set, uid);
    return at < set->queues.count && set->queues.items[at].uid == uid ? &set->queues.items[at]
                                                                      : NULL;
}

// The first range that ends at the id or after it.
static size_t place_of_id(const struct item_queue *queue, uint64_t id)
{
    size_t low = 0, high = queue->ranges.count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (queue->ranges.items[middle].last < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has(const struct item_queue *queue, size_t place, uint64_t id)
{
    return place < queue->ranges.count && queue->ranges.items[place].first <= id;
}

bool item_set_has(const struct item_set *set, uint64_t queue_uid, uint64_t id)
{
    const struct item_queue *queue = find_queue(set, queue_uid);
    return queue && has(queue, place_of_id(queue, id), id);
}

static weft_err refuse_memory(void)
{
    return err_no_memory("to remember which elements were counted");
}

static weft_err insert_range(struct item_set *set, struct item_queue *queue, size_t place,
                             struct item_range range)
{
    if (set->range_count == ITEM_SET_RANGES_MAX)
        return err_set(WEFT_RESOURCE_EXHAUSTED,
                       "the elements that were counted are in %u pieces, which is the limit: take "
                       "them more in their order",
                       ITEM_SET_RANGES_MAX);
    if (!VEC_NEXT(&queue->ranges))
        return refuse_memory();
    struct item_range *to = queue->ranges.items + place;
    memmove(to + 1, to, (queue->ranges.count - place) * sizeof *to);
    *to = range;
    queue->ranges.count++;
    set->range_count++;
    return WEFT_OK;
}

static void take_out_range(struct item_set *set, struct item_queue *queue, size_t place)
{
    struct item_range *at = queue->ranges.items + place;
    queue->ranges.count--;
    set->range_count--;
    memmove(at, at + 1, (queue->ranges.count - place) * sizeof *at);
}

// A queue comes with its first range, so that none is ever empty.
static weft_err insert_queue(struct item_set *set, uint64_t uid, struct item_range range)
{
    struct item_queue queue = {.uid = uid};
    if (!VEC_NEXT(&set->queues))
        return refuse_memory();
    const weft_err err = insert_range(set, &queue, 0, range);
    if (err)
        return err;
    const size_t place = place_of_queue(set, uid);
    struct item_queue *to = set->queues.items + place;
    memmove(to + 1, to, (set->queues.count - place) * sizeof *to);
    *to = queue;
    set->queues.count++;
    return WEFT_OK;
}

weft_err item_set_add(struct item_set *set, uint64_t queue_uid, uint64_t id)
{
    const struct item_range alone = {id, id};
    struct item_queue *queue = find_queue(set, queue_uid);
    if (!queue)
        return insert_queue(set, queue_uid, alone);
    const size_t place = place_of_id(queue, id);
    if (has(queue, place, id))
        return WEFT_OK;
    struct item_range *ranges = queue->ranges.items;
    const bool touches_before = place > 0 && ranges[place - 1].last + 1 == id;
    const bool touches_behind = place < queue->ranges.count && ranges[place].first - 1 == id;
    if (touches_before && touches_behind) {
        ranges[place - 1].last = ranges[place].last;
        take_out_range(set, queue, place);
    } else if (touches_before) {
        ranges[place - 1].last = id;
    } else if (touches_behind) {
        ranges[place].first = id;
    } else {
        return insert_range(set, queue, place, alone);
    }
    return WEFT_OK;
}

weft_err item_set_append(struct item_set *set, uint64_t queue_uid, struct item_range range)
{
    struct item_queue *last = set->queues.count ? &set->queues.items[set->queues.count - 1] : NULL;
    bool is_sound = range.first <= range.last && (!last || last->uid <= queue_uid);
    if (is_sound && last && last->uid == queue_uid) {
        const uint64_t end = last->ranges.items[last->ranges.count - 1].last;
        is_sound = end < range.first && range.first - end > 1;
        if (is_sound)
            return insert_range(set, last, last->ranges.count, range);
    }
    if (!is_sound)
        return err_set(WEFT_DATA_LOSS, "elements that were counted are saved out of order");
    return insert_queue(set, queue_uid, range);
}
