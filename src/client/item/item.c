// The memory of an item is one allocation. That of a text is the answer it came in, so that the usual
// case copies nothing; a tuple is laid out anew, because on the wire nothing is aligned:
//
//     struct tuple_memory | dimensions of all components | data, zero | data, zero | ...
//                                                          each at a multiple of 16

#include "client/item/item.h"

#include <stdlib.h>

enum {
    DATA_ALIGNMENT = 16,
    DECLARED_RANK_MIN = -1,
    FIRST_ITEM_BYTES = offsetof(weft_item, memory_) + sizeof(char *)  // in the first header
};

struct tuple_memory {
    size_t count;
    weft_tensor components[];
};

static size_t align(size_t offset)
{
    return (offset + DATA_ALIGNMENT - 1) / DATA_ALIGNMENT * DATA_ALIGNMENT;
}

static size_t head_size(const struct tuple_component *components, size_t count)
{
    size_t size = sizeof(struct tuple_memory) + count * sizeof(weft_tensor);
    for (size_t i = 0; i < count; i++)
        size += components[i].rank * sizeof(int64_t);
    return size;
}

static size_t memory_size(const struct tuple_component *components, size_t count)
{
    size_t size = head_size(components, count);
    for (size_t i = 0; i < count; i++)
        size = align(size) + components[i].bytes.size + 1;
    return size;
}

static struct tuple_memory *lay_out(const struct tuple_component *components, size_t count)
{
    char *memory = malloc(memory_size(components, count));
    struct tuple_memory *tuple = (struct tuple_memory *)memory;
    if (!memory)
        return NULL;
    tuple->count = count;
    int64_t *dims = (int64_t *)&tuple->components[count];
    size_t at = head_size(components, count);
    for (size_t i = 0; i < count; i++) {
        const struct tuple_component *from = &components[i];
        char *data = memory + align(at);
        tuple->components[i] = (weft_tensor){.dtype = (weft_dtype)from->dtype,
                                             .rank = from->rank,
                                             .dims = dims,
                                             .data = data,
                                             .size = from->bytes.size};
        if (from->rank)
            memcpy(dims, from->dims, from->rank * sizeof *dims);
        if (from->bytes.size)
            memcpy(data, from->bytes.data, from->bytes.size);
        data[from->bytes.size] = 0;
        dims += from->rank;
        at = align(at) + from->bytes.size + 1;
    }
    return tuple;
}

static weft_err no_memory(void)
{
    return err_no_memory("for an element");
}

static weft_err copy_tuple(weft_bytes bytes, weft_item *item)
{
    struct tuple_component components[TUPLE_COMPONENTS_MAX];
    size_t count;
    if (tuple_read(bytes, components, &count))
        return err_wrap(WEFT_DATA_LOSS, "an element");
    struct tuple_memory *tuple = lay_out(components, count);
    if (!tuple)
        return no_memory();
    item->memory_ = (char *)tuple;
    item->is_tuple_ = true;
    item->data = tuple->components[0].data;
    item->size = tuple->components[0].size;
    return WEFT_OK;
}

weft_err item_copy(weft_bytes bytes, bool is_tuple, weft_item *item)
{
    if (is_tuple)
        return copy_tuple(bytes, item);
    char *copy = malloc(bytes.size + 1);
    if (!copy)
        return no_memory();
    if (bytes.size)
        memcpy(copy, bytes.data, bytes.size);
    copy[bytes.size] = 0;
    item->data = item->memory_ = copy;
    item->size = bytes.size;
    return WEFT_OK;
}

size_t weft_item_components(const weft_item *item, weft_tensor *components, size_t max)
{
    if (!item || !item->memory_)
        return 0;
    const weft_tensor text = {.dtype = WEFT_DTYPE_BYTES, .data = item->data, .size = item->size};
    const struct tuple_memory *tuple = (const struct tuple_memory *)item->memory_;
    const size_t count = item->is_tuple_ ? tuple->count : 1;
    for (size_t i = 0; i < count && i < max; i++)
        components[i] = item->is_tuple_ ? tuple->components[i] : text;
    return count;
}

void weft_item_free(weft_item *item)
{
    if (!item)
        return;
    free(item->memory_);
    memset(item, 0, FIRST_ITEM_BYTES);
}

void item_give(weft_item *theirs, size_t item_size, const weft_item *ours)
{
    sized_give(theirs, item_size, ours, sizeof *ours);
}

weft_item *item_at(weft_item *items, size_t item_size, uint32_t i)
{
    return (weft_item *)((char *)items + i * item_size);
}

void weft_item_fail(weft_item *item)
{
    if (item)
        item->has_failed_ = true;
}

struct call_item item_name(const weft_item *item)
{
    return (struct call_item){item->queue_, item->id_, item->slot_, item->delivery};
}

void item_set_name(weft_item *item, const struct call_item *name)
{
    item->queue_ = name->queue;
    item->id_ = name->id;
    item->slot_ = name->slot;
    item->delivery = name->delivery;
}

// ---- Tensors as they travel --------------------------------------------------------------------------------

// What the wire has no room for; the rest is checked where it is written.
static weft_err check_tensors(const weft_tensor *tensors, size_t count, int32_t rank_min)
{
    if (count == 0 || count > TUPLE_COMPONENTS_MAX || !tensors)
        return err_set(WEFT_INVALID_ARGUMENT, "an element has 1 to %u components, not %zu",
                       TUPLE_COMPONENTS_MAX, tensors ? count : 0);
    for (size_t i = 0; i < count; i++)
        if ((unsigned)tensors[i].dtype > UINT8_MAX || tensors[i].rank < rank_min ||
            tensors[i].rank > TUPLE_RANK_MAX || (tensors[i].rank > 0 && !tensors[i].dims))
            return err_set(WEFT_INVALID_ARGUMENT, "component %zu: there is no dtype %d of rank %d",
                           i, (int)tensors[i].dtype, (int)tensors[i].rank);
    return WEFT_OK;
}

weft_err item_append_tuple(struct buf *out, const weft_tensor *components, size_t count)
{
    struct tuple_component list[TUPLE_COMPONENTS_MAX];
    const weft_err err = check_tensors(components, count, 0);
    if (err)
        return err;
    for (size_t i = 0; i < count; i++)
        list[i] = (struct tuple_component){.dtype = (uint8_t)components[i].dtype,
                                           .rank = (uint8_t)components[i].rank,
                                           .dims = components[i].dims,
                                           .bytes = {components[i].data, components[i].size}};
    return tuple_append(out, list, count);
}

weft_err item_append_types(struct buf *out, const weft_tensor *types, size_t count)
{
    struct tuple_declared list[TUPLE_COMPONENTS_MAX];
    const weft_err err = check_tensors(types, count, DECLARED_RANK_MIN);
    if (err)
        return err;
    for (size_t i = 0; i < count; i++)
        list[i] = (struct tuple_declared){
            .dtype = (uint8_t)types[i].dtype, .rank = (int8_t)types[i].rank, .dims = types[i].dims};
    return tuple_append_signature(out, list, count);
}
