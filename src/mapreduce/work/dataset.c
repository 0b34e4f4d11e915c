// A dataset: segments of pairs between two stages.

#include "mapreduce/work/dataset.h"

#include <stdlib.h>

#include "sys/file.h"

struct dataset *dataset_new(struct mem_budget *budget, uint32_t range_count, size_t memory_max,
                            const char *tmp)
{
    struct dataset *dataset = malloc(sizeof *dataset);
    struct dataset_segment *segments = calloc(range_count, sizeof *segments);
    if (!dataset || !segments) {
        free(dataset);
        free(segments);
        err_set(WEFT_RESOURCE_EXHAUSTED, "no memory for the pairs between two stages");
        return NULL;
    }
    *dataset = (struct dataset){.budget = budget,
                                .segments = segments,
                                .range_count = range_count,
                                .memory_max = memory_max,
                                .fd = -1,
                                .tmp = tmp};
    if (file_create_nameless(tmp, &dataset->fd)) {
        dataset_free(dataset);
        return NULL;
    }
    return dataset;
}

void dataset_free(struct dataset *dataset)
{
    if (!dataset)
        return;
    for (uint32_t i = 0; i < dataset->range_count; i++)
        mem_put(dataset->budget, dataset->segments[i].memory, dataset->segments[i].size);
    if (dataset->fd >= 0)
        file_close(dataset->fd);
    free(dataset->segments);
    free(dataset);
}

static char *take_memory(struct dataset *dataset, size_t size)
{
    const uint64_t used =
        atomic_fetch_add(&dataset->memory_used, mem_round(size)) + mem_round(size);
    char *memory = used <= dataset->memory_max ? mem_get(dataset->budget, size) : NULL;
    if (!memory)
        atomic_fetch_sub(&dataset->memory_used, mem_round(size));
    return memory;
}

weft_err dataset_put(struct dataset *dataset, uint32_t range, weft_bytes pairs, uint64_t pair_count)
{
    struct dataset_segment *segment = &dataset->segments[range];
    if (segment->is_done)
        return WEFT_OK;
    segment->size = pairs.size;
    segment->pair_count = pair_count;
    if (pairs.size) {
        segment->memory = take_memory(dataset, pairs.size);
        if (segment->memory) {
            memcpy(segment->memory, pairs.data, pairs.size);
        } else {
            segment->offset = atomic_fetch_add(&dataset->file_size, pairs.size);
            const weft_err code =
                file_write_at(dataset->fd, dataset->tmp, pairs.data, pairs.size, segment->offset);
            if (code)
                return err_wrap(code, "keep pairs for the next stage");
        }
    }
    segment->is_done = true;
    return WEFT_OK;
}

weft_err dataset_read(const struct dataset *dataset, uint32_t range, uint64_t at, void *data,
                      size_t size, size_t *got)
{
    const struct dataset_segment *segment = &dataset->segments[range];
    const uint64_t left = at < segment->size ? segment->size - at : 0;
    *got = 0;
    if (size > left)
        size = (size_t)left;
    if (size == 0)
        return WEFT_OK;
    if (!segment->memory)
        return file_read_at(dataset->fd, dataset->tmp, data, size, segment->offset + at, got);
    memcpy(data, segment->memory + at, size);
    *got = size;
    return WEFT_OK;
}
