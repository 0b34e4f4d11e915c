// Collecting, sorting and writing the pairs for a combiner.

#include "code/command/combine.h"

#include <stdlib.h>

#include "code/command/lines.h"

enum { LINES_BYTES = 256 << 10 };

void command_combine_fini(struct command_combine *combine)
{
    buf_fini(&combine->room);
    buf_fini(&combine->lines);
    VEC_FINI(&combine->pairs);
}

void command_combine_clear(struct command_combine *combine)
{
    combine->room.size = 0;
    combine->pairs.count = 0;
}

// The first bytes of a key as a number that compares as they do; shorter keys are padded with zeros.
static uint64_t prefix_of(weft_bytes key)
{
    uint64_t prefix = 0;
    memcpy(&prefix, key.data, key.size < sizeof prefix ? key.size : sizeof prefix);
    return __builtin_bswap64(prefix);
}

weft_err command_combine_add(struct command_combine *combine, weft_bytes key, weft_bytes value,
                             bool *is_full)
{
    struct combine_pair *pair = VEC_NEXT(&combine->pairs);
    const uint64_t size = (uint64_t)combine->room.size + key.size + value.size;
    *is_full = size + (combine->pairs.count + 1) * sizeof *pair >= COMMAND_COMBINE_BYTES;
    if (pair && size <= UINT32_MAX) {
        *pair = (struct combine_pair){prefix_of(key), (uint32_t)combine->room.size,
                                      (uint32_t)key.size, (uint32_t)value.size, value.data};
        buf_append(&combine->room, key.data, key.size);
        if (value.size)
            buf_append(&combine->room, value.data, value.size);
    }
    if (!pair || size > UINT32_MAX || combine->room.has_failed)
        return err_no_memory("for the pairs of a combiner");
    combine->pairs.count++;
    return WEFT_OK;
}

static int compare_pairs(const void *a, const void *b, void *room)
{
    const struct combine_pair *left = a, *right = b;
    if (left->prefix != right->prefix)
        return left->prefix < right->prefix ? -1 : 1;
    const uint32_t shorter =
        left->key_bytes < right->key_bytes ? left->key_bytes : right->key_bytes;
    const int order = memcmp((char *)room + left->offset, (char *)room + right->offset, shorter);
    if (order != 0)
        return order;
    if (left->key_bytes != right->key_bytes)
        return left->key_bytes < right->key_bytes ? -1 : 1;
    return left->offset < right->offset ? -1 : left->offset > right->offset;
}

static weft_err write_lines(struct command_combine *combine, struct command_pump *pump)
{
    bool is_closed;
    if (combine->lines.has_failed)
        return err_no_memory("for the lines of a combiner");
    const weft_err code = command_pump_write(pump, buf_bytes(&combine->lines), false, &is_closed);
    combine->lines.size = 0;
    return code;
}

weft_err command_combine_write(struct command_combine *combine, const struct command_keys *keys,
                               const struct command_separator *separator, struct command_pump *pump)
{
    const char *room = combine->room.data;
    struct combine_pair *pairs = combine->pairs.items;
    weft_err code = WEFT_OK;
    combine->lines.size = 0;
    if (combine->pairs.count > 1)
        qsort_r(pairs, combine->pairs.count, sizeof *pairs, compare_pairs, combine->room.data);
    for (size_t i = 0; i < combine->pairs.count && !code; i++) {
        const weft_bytes key = {room + pairs[i].offset, pairs[i].key_bytes};
        const char *value_data = pairs[i].has_value ? key.data + key.size : NULL;
        const weft_bytes value = {value_data, pairs[i].value_bytes};
        command_append_line(&combine->lines, command_keys_decode(keys, key), separator, value);
        if (combine->lines.size >= LINES_BYTES)
            code = write_lines(combine, pump);
    }
    if (!code)
        code = write_lines(combine, pump);
    command_combine_clear(combine);
    return code;
}
