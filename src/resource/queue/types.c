// The types of elements, checked when they are pushed, so that takers get the types that they expect.

#include "resource/queue/types.h"

#include <stdlib.h>

enum { TEXT_HEAD_BYTES = 8 };  // of a tuple of one string: u16 count, u8 dtype, u8 rank, u32 size

static const struct tuple_declared text = {.dtype = TUPLE_STRING};

weft_err queue_types_check_signature(weft_bytes *signature)
{
    struct tuple_declared declared[TUPLE_COMPONENTS_MAX];
    weft_bytes rest = *signature;
    size_t count;
    if (signature->size == 0)
        return WEFT_OK;
    const weft_err err = tuple_read_signature(&rest, declared, &count);
    if (err)
        return err_wrap(err, "the types of a queue");
    if (rest.size)
        return err_set(WEFT_INVALID_ARGUMENT, "%zu bytes follow the types of a queue", rest.size);
    if (count == 1 && declared[0].dtype == TUPLE_STRING && declared[0].rank == 0)
        *signature = weft_none();
    return WEFT_OK;
}

static bool is_known(const struct tuple_declared *declared)
{
    uint64_t count;
    return declared->rank >= 0 &&
           tuple_count_elements((unsigned)declared->rank, declared->dims, &count);
}

bool queue_types_init(struct queue_types *types, weft_bytes signature)
{
    struct tuple_declared declared[TUPLE_COMPONENTS_MAX];
    weft_bytes rest = signature;
    *types = (struct queue_types){.has_shapes = true};
    if (signature.size == 0)
        return true;
    if (tuple_read_signature(&rest, declared, &types->count))
        return false;
    types->declared = malloc(types->count * sizeof *declared);
    if (!types->declared)
        return false;
    memcpy(types->declared, declared, types->count * sizeof *declared);
    for (size_t i = 0; i < types->count; i++)
        types->has_shapes = types->has_shapes && is_known(&declared[i]);
    return true;
}

void queue_types_fini(struct queue_types *types)
{
    free(types->declared);
    *types = (struct queue_types){0};
}

weft_err queue_types_check(const struct queue_types *types, weft_bytes element, bool is_tuple)
{
    if (!is_tuple && !types->declared)
        return WEFT_OK;
    struct tuple_component components[TUPLE_COMPONENTS_MAX];
    size_t count = 1;
    weft_err err = WEFT_OK;
    if (is_tuple)
        err = tuple_read(element, components, &count);
    else
        components[0] = (struct tuple_component){.dtype = TUPLE_STRING, .bytes = element};
    if (err)
        return err;
    return types->declared ? tuple_match(types->declared, types->count, components, count)
                           : tuple_match(&text, 1, components, count);
}

weft_bytes queue_types_unwrap(const struct queue_types *types, weft_bytes element, bool *is_tuple)
{
    if (!*is_tuple || types->declared)
        return element;
    *is_tuple = false;
    if (element.size < TEXT_HEAD_BYTES)
        return weft_none();  // a call that waited, in a snapshot that is not ours
    return (weft_bytes){element.data + TEXT_HEAD_BYTES, element.size - TEXT_HEAD_BYTES};
}
