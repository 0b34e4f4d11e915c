// Fuzzes what a host reads of elements: tuples and signatures. What is read is written to the same
// bytes again, and a tuple fits the signature that says exactly what it is.
#include "wire/tuple.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_tuple(weft_bytes bytes)
{
    struct tuple_component components[TUPLE_COMPONENTS_MAX];
    struct tuple_declared exact[TUPLE_COMPONENTS_MAX];
    size_t count;
    if (tuple_read(bytes, components, &count) != WEFT_OK)
        return;
    struct buf again = {0};
    ASSERT(tuple_append(&again, components, count) == WEFT_OK);
    ASSERT(again.size == bytes.size && memcmp(again.data, bytes.data, bytes.size) == 0);
    for (size_t i = 0; i < count; i++)
        exact[i] = (struct tuple_declared){components[i].dtype, (int8_t)components[i].rank,
                                           components[i].dims};
    ASSERT(tuple_match(exact, count, components, count) == WEFT_OK);
    buf_fini(&again);
}

static void check_signature(weft_bytes bytes)
{
    struct tuple_declared declared[TUPLE_COMPONENTS_MAX];
    weft_bytes rest = bytes;
    size_t count;
    if (tuple_read_signature(&rest, declared, &count) != WEFT_OK)
        return;
    struct buf again = {0};
    ASSERT(tuple_append_signature(&again, declared, count) == WEFT_OK);
    ASSERT(again.size == bytes.size - rest.size);
    ASSERT(memcmp(again.data, bytes.data, again.size) == 0);
    buf_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const weft_bytes bytes = {(const char *)data, size};
    check_tuple(bytes);
    check_signature(bytes);
    return 0;
}
