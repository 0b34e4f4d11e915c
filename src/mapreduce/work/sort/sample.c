// The sample of keys that ranges are cut by: depends on the job and its input only.
//
// When pairs are folded only different keys weigh, because that is what will be left to sort; otherwise
// every pair does. From the sorted keys an even choice is taken.

#include <stdlib.h>

#include "mapreduce/work/slot.h"

static int compare_keys(const void *left, const void *right)
{
    return bytes_compare(*(const weft_bytes *)left, *(const weft_bytes *)right);
}

static size_t list_keys(const struct buf *sample, weft_bytes *keys)
{
    size_t count = 0;
    for (size_t at = 0; at < sample->size;) {
        uint32_t size;
        memcpy(&size, sample->data + at, sizeof size);
        if (keys)
            keys[count] = (weft_bytes){sample->data + at + sizeof size, size};
        count++;
        at += sizeof size + size;
    }
    return count;
}

static size_t drop_repeated(weft_bytes *keys, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || !bytes_equal(keys[kept - 1], keys[i]))
            keys[kept++] = keys[i];
    return kept;
}

weft_err sample_finish(struct slot *slot, size_t max, struct buf *keys_out)
{
    size_t count = list_keys(&slot->sample, NULL);
    weft_bytes *keys = malloc((count + 1) * sizeof *keys);
    if (!keys || slot->sample.has_failed) {
        free(keys);
        return err_no_memory("for a sample of %zu keys", count);
    }
    list_keys(&slot->sample, keys);
    qsort(keys, count, sizeof *keys, compare_keys);
    if (slot->stage->combine)
        count = drop_repeated(keys, count);
    const size_t chosen = count < max ? count : max;
    for (size_t i = 0; i < chosen; i++) {
        const weft_bytes key = keys[i * count / chosen];
        const uint32_t size = (uint32_t)key.size;
        buf_append(keys_out, &size, sizeof size);
        buf_append(keys_out, key.data, size);
    }
    free(keys);
    if (keys_out->has_failed)
        return err_no_memory("for a sample");
    return WEFT_OK;
}
