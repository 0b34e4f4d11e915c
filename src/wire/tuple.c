// Tuples as bytes. Written tuples pass the same checks as read ones, so that every element of a
// queue can be taken out again.

#include "wire/tuple.h"

#include <stdio.h>

#include "wire/pack.h"

static const struct {
    const char *name;
    uint8_t size;  // of one number; 0: sizes vary
} dtypes[] = {
    [TUPLE_FLOAT] = {"float", 4},
    [TUPLE_DOUBLE] = {"double", 8},
    [TUPLE_INT32] = {"int32", 4},
    [TUPLE_UINT8] = {"uint8", 1},
    [TUPLE_INT16] = {"int16", 2},
    [TUPLE_INT8] = {"int8", 1},
    [TUPLE_STRING] = {"string", 0},
    [TUPLE_COMPLEX64] = {"complex64", 8},
    [TUPLE_INT64] = {"int64", 8},
    [TUPLE_BOOL] = {"bool", 1},
    [TUPLE_BFLOAT16] = {"bfloat16", 2},
    [TUPLE_UINT16] = {"uint16", 2},
    [TUPLE_COMPLEX128] = {"complex128", 16},
    [TUPLE_HALF] = {"half", 2},
    [TUPLE_UINT32] = {"uint32", 4},
    [TUPLE_UINT64] = {"uint64", 8},
};
enum { DTYPE_LIMIT = sizeof dtypes / sizeof *dtypes };

const char *tuple_dtype_name(uint8_t dtype)
{
    return dtype < DTYPE_LIMIT ? dtypes[dtype].name : NULL;
}

size_t tuple_dtype_size(uint8_t dtype)
{
    return dtype < DTYPE_LIMIT ? dtypes[dtype].size : 0;
}

static int64_t dim_of(const void *dims, size_t index)
{
    int64_t dim;
    memcpy(&dim, (const char *)dims + index * sizeof dim, sizeof dim);
    return dim;
}

void tuple_write_type(char text[TUPLE_TYPE_BYTES], uint8_t dtype, int rank, const void *dims)
{
    const char *name = tuple_dtype_name(dtype);
    size_t size = (size_t)snprintf(text, TUPLE_TYPE_BYTES, "%s%s%s", name ? name : "no dtype",
                                   rank < 0 ? " of any shape" : "", rank > 0 ? "[" : "");
    for (int i = 0; i < rank && size < TUPLE_TYPE_BYTES; i++) {
        const long long dim = dim_of(dims, (size_t)i);
        const char *end = i + 1 < rank ? "," : "]";
        char *to = text + size;
        const size_t room = TUPLE_TYPE_BYTES - size;
        size += (size_t)(dim == -1 ? snprintf(to, room, "?%s", end)
                                   : snprintf(to, room, "%lld%s", dim, end));
    }
}

bool tuple_count_elements(unsigned rank, const void *dims, uint64_t *count)
{
    int64_t product = 1;
    for (size_t i = 0; i < rank; i++) {
        const int64_t dim = dim_of(dims, i);
        if (dim < 0 || __builtin_mul_overflow(product, dim, &product))
            return false;
    }
    *count = (uint64_t)product;
    return true;
}

// ---- Valid values -------------------------------------------------------------------------------

static weft_err check_count(size_t count)
{
    if (count >= 1 && count <= TUPLE_COMPONENTS_MAX)
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT, "a tuple has 1 to %u components, not %zu",
                   TUPLE_COMPONENTS_MAX, count);
}

static weft_err check_type(size_t index, uint8_t dtype, int rank)
{
    if (!tuple_dtype_name(dtype))
        return err_set(WEFT_INVALID_ARGUMENT, "component %zu: there is no dtype %u", index, dtype);
    if (rank < -1 || rank > TUPLE_RANK_MAX)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "component %zu: its rank is %d, and ranks are 0 to %u", index, rank,
                       TUPLE_RANK_MAX);
    return WEFT_OK;
}

static bool read_varint(weft_bytes *rest, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64 && rest->size; shift += 7) {
        const uint8_t byte = (uint8_t)*rest->data++;
        rest->size--;
        if (shift == 63 && byte > 1)
            return false;
        *value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

// All lengths come first, so every string costs at least a byte and the work is bounded by the size.
static bool strings_are_whole(weft_bytes content, uint64_t count)
{
    uint64_t total = 0;
    if (count > content.size)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t size;
        if (!read_varint(&content, &size) || __builtin_add_overflow(total, size, &total))
            return false;
    }
    return total == content.size;
}

static bool content_fits(const struct tuple_component *component, uint64_t element_count)
{
    uint64_t bytes;
    if (component->dtype == TUPLE_STRING)
        return component->rank == 0 || strings_are_whole(component->bytes, element_count);
    return !__builtin_mul_overflow(element_count, tuple_dtype_size(component->dtype), &bytes) &&
           bytes == component->bytes.size;
}

static weft_err check_content(size_t index, const struct tuple_component *component)
{
    const size_t size = component->bytes.size;
    uint64_t count;
    if (size > CALL_BYTES_MAX)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "component %zu: %zu bytes are more than the limit of %u", index, size,
                       CALL_BYTES_MAX);
    const bool is_shape = tuple_count_elements(component->rank, component->dims, &count);
    if (is_shape && content_fits(component, count))
        return WEFT_OK;
    char type[TUPLE_TYPE_BYTES];
    tuple_write_type(type, component->dtype, component->rank, component->dims);
    if (!is_shape)
        return err_set(WEFT_INVALID_ARGUMENT, "component %zu: %s is not a shape", index, type);
    return err_set(WEFT_INVALID_ARGUMENT,
                   component->dtype == TUPLE_STRING
                       ? "component %zu: %s has other lengths than its %zu bytes"
                       : "component %zu: %s is not %zu bytes",
                   index, type, size);
}

// ---- Tuples ------------------------------------------------------------------------------------------

weft_err tuple_append(struct buf *out, const struct tuple_component *components, size_t count)
{
    weft_err err = check_count(count);
    size_t total = 0;
    for (size_t i = 0; i < count && !err; i++) {
        err = check_type(i, components[i].dtype, components[i].rank);
        if (!err)
            err = check_content(i, &components[i]);
        total += components[i].bytes.size;
        if (!err && total > CALL_BYTES_MAX)
            err = err_set(WEFT_INVALID_ARGUMENT, "a tuple has at most %u bytes", CALL_BYTES_MAX);
    }
    if (err)
        return err;
    pack_write_u16(out, (uint16_t)count);
    for (size_t i = 0; i < count; i++) {
        const struct tuple_component *component = &components[i];
        pack_write_u8(out, component->dtype);
        pack_write_u8(out, component->rank);
        pack_write_u32(out, (uint32_t)component->bytes.size);
        buf_append(out, component->dims, component->rank * sizeof(int64_t));
        buf_append(out, component->bytes.data, component->bytes.size);
    }
    return WEFT_OK;
}

static weft_err read_component(struct pack_reader *reader, size_t index,
                               struct tuple_component *component)
{
    component->dtype = pack_read_u8(reader);
    component->rank = pack_read_u8(reader);
    const uint32_t size = pack_read_u32(reader);
    if (!reader->has_failed) {
        const weft_err err = check_type(index, component->dtype, component->rank);
        if (err)
            return err;
    }
    component->dims = pack_read_bytes(reader, component->rank * sizeof(int64_t)).data;
    component->bytes = pack_read_bytes(reader, size);
    if (reader->has_failed)
        return err_set(WEFT_INVALID_ARGUMENT, "component %zu: the tuple is cut", index);
    return check_content(index, component);
}

weft_err tuple_read(weft_bytes bytes, struct tuple_component components[TUPLE_COMPONENTS_MAX],
                    size_t *count)
{
    struct pack_reader reader = {bytes, false};
    *count = pack_read_u16(&reader);
    weft_err err = reader.has_failed
                       ? err_set(WEFT_INVALID_ARGUMENT, "a tuple of %zu bytes is cut", bytes.size)
                       : check_count(*count);
    for (size_t i = 0; !err && i < *count; i++)
        err = read_component(&reader, i, &components[i]);
    if (!err && reader.rest.size)
        err = err_set(WEFT_INVALID_ARGUMENT, "%zu bytes follow the %zu components of a tuple",
                      reader.rest.size, *count);
    return err;
}

// ---- Signatures --------------------------------------------------------------------------------------

static weft_err check_declared(size_t index, const struct tuple_declared *declared)
{
    const weft_err err = check_type(index, declared->dtype, declared->rank);
    if (err)
        return err;
    bool is_shape = true;
    for (int i = 0; i < declared->rank; i++)
        is_shape = is_shape && dim_of(declared->dims, (size_t)i) >= -1;
    if (is_shape)
        return WEFT_OK;
    char type[TUPLE_TYPE_BYTES];
    tuple_write_type(type, declared->dtype, declared->rank, declared->dims);
    return err_set(WEFT_INVALID_ARGUMENT, "component %zu: %s is not a shape", index, type);
}

weft_err tuple_append_signature(struct buf *out, const struct tuple_declared *declared,
                                size_t count)
{
    weft_err err = check_count(count);
    for (size_t i = 0; i < count && !err; i++)
        err = check_declared(i, &declared[i]);
    if (err)
        return err;
    pack_write_u16(out, (uint16_t)count);
    for (size_t i = 0; i < count; i++) {
        pack_write_u8(out, declared[i].dtype);
        pack_write_u8(out, (uint8_t)declared[i].rank);
        if (declared[i].rank > 0)
            buf_append(out, declared[i].dims, (size_t)declared[i].rank * sizeof(int64_t));
    }
    return WEFT_OK;
}

static weft_err read_declared(struct pack_reader *reader, size_t index,
                              struct tuple_declared *declared)
{
    declared->dtype = pack_read_u8(reader);
    declared->rank = (int8_t)pack_read_u8(reader);
    const size_t dim_count = declared->rank > 0 ? (size_t)declared->rank : 0;
    declared->dims = pack_read_bytes(reader, dim_count * sizeof(int64_t)).data;
    if (reader->has_failed)
        return err_set(WEFT_INVALID_ARGUMENT, "component %zu: the signature is cut", index);
    return check_declared(index, declared);
}

weft_err tuple_read_signature(weft_bytes *bytes,
                              struct tuple_declared declared[TUPLE_COMPONENTS_MAX], size_t *count)
{
    struct pack_reader reader = {*bytes, false};
    *count = pack_read_u16(&reader);
    weft_err err = reader.has_failed ? err_set(WEFT_INVALID_ARGUMENT, "the signature is cut")
                                     : check_count(*count);
    for (size_t i = 0; !err && i < *count; i++)
        err = read_declared(&reader, i, &declared[i]);
    *bytes = reader.rest;
    return err;
}

static bool fits(const struct tuple_declared *declared, const struct tuple_component *component)
{
    if (declared->dtype != component->dtype)
        return false;
    if (declared->rank < 0)
        return true;
    bool is_fit = declared->rank == component->rank;
    for (size_t i = 0; is_fit && i < component->rank; i++) {
        const int64_t wanted = dim_of(declared->dims, i);
        is_fit = wanted == -1 || wanted == dim_of(component->dims, i);
    }
    return is_fit;
}

weft_err tuple_match(const struct tuple_declared *declared, size_t declared_count,
                     const struct tuple_component *components, size_t count)
{
    if (declared_count != count)
        return err_set(WEFT_INVALID_ARGUMENT, "%zu components are declared, and %zu came",
                       declared_count, count);
    for (size_t i = 0; i < count; i++) {
        if (fits(&declared[i], &components[i]))
            continue;
        char wanted[TUPLE_TYPE_BYTES], got[TUPLE_TYPE_BYTES];
        tuple_write_type(wanted, declared[i].dtype, declared[i].rank, declared[i].dims);
        tuple_write_type(got, components[i].dtype, components[i].rank, components[i].dims);
        return err_set(WEFT_INVALID_ARGUMENT, "component %zu is declared %s, and %s came", i,
                       wanted, got);
    }
    return WEFT_OK;
}
