// A dataset: segments of pairs between two stages.

#include "mapreduce/work/output/dataset.h"

#include <stdlib.h>

#include "sys/file/file.h"

struct dataset *dataset_new(struct mem_budget *budget, uint32_t range_count, size_t memory_max,
                            const char *tmp)
{
    struct dataset *dataset = malloc(sizeof *dataset);
    struct dataset_segment *segments = calloc(range_count, sizeof *segments);
    if (!dataset || !segments) {
        free(dataset);
        free(segments);
        err_no_memory("for the pairs between two stages");
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

static void drop_stretches(struct dataset *dataset, struct dataset_segment *segment)
{
    for (size_t i = 0; i < segment->stretches.count; i++) {
        const struct dataset_stretch *stretch = &segment->stretches.items[i];
        if (stretch->memory)
            atomic_fetch_sub(&dataset->memory_used, mem_round((size_t)stretch->size));
        mem_put(dataset->budget, stretch->memory, (size_t)stretch->size);
    }
    VEC_FINI(&segment->stretches);
    segment->size = 0;
}

void dataset_free(struct dataset *dataset)
{
    if (!dataset)
        return;
    for (uint32_t i = 0; i < dataset->range_count; i++)
        drop_stretches(dataset, &dataset->segments[i]);
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

weft_err dataset_append(struct dataset *dataset, uint32_t range, weft_bytes pairs)
{
    struct dataset_segment *segment = &dataset->segments[range];
    if (segment->is_done || pairs.size == 0)
        return WEFT_OK;
    struct dataset_stretch *stretch = VEC_NEXT(&segment->stretches);
    if (!stretch)
        return err_no_memory("to keep pairs for the next stage");
    *stretch = (struct dataset_stretch){.size = pairs.size, .fd = -1};
    stretch->memory = take_memory(dataset, pairs.size);
    if (stretch->memory) {
        memcpy(stretch->memory, pairs.data, pairs.size);
    } else {
        stretch->offset = atomic_fetch_add(&dataset->file_size, pairs.size);
        const weft_err code =
            file_write_at(dataset->fd, dataset->tmp, pairs.data, pairs.size, stretch->offset);
        if (code)
            return err_wrap(code, "keep pairs for the next stage");
    }
    segment->stretches.count++;
    segment->size += pairs.size;
    return WEFT_OK;
}

void dataset_finish(struct dataset *dataset, uint32_t range)
{
    dataset->segments[range].is_done = true;
}

void dataset_discard(struct dataset *dataset, uint32_t range)
{
    if (!dataset->segments[range].is_done)
        drop_stretches(dataset, &dataset->segments[range]);
}

weft_err dataset_adopt(struct dataset *dataset, uint32_t range, int fd, uint64_t offset,
                       uint64_t size, uint32_t crc32c)
{
    struct dataset_segment *segment = &dataset->segments[range];
    drop_stretches(dataset, segment);
    *segment = (struct dataset_segment){.is_done = true, .has_crc = true, .crc32c = crc32c};
    const struct dataset_stretch stretch = {.size = size, .offset = offset, .fd = fd};
    if (size && !VEC_PUSH(&segment->stretches, stretch))
        return err_no_memory("for the pairs between two stages");
    segment->size = size;
    return WEFT_OK;
}

weft_err dataset_check(const struct dataset *dataset, uint32_t range, uint32_t crc32c)
{
    const struct dataset_segment *segment = &dataset->segments[range];
    if (!segment->has_crc || segment->crc32c == crc32c)
        return WEFT_OK;
    return err_set(WEFT_DATA_LOSS,
                   "pairs kept in %s for the next stage are damaged: their checksum is %08x, not "
                   "%08x; check the disk, or give --tmp another directory",
                   dataset->tmp, crc32c, segment->crc32c);
}

static weft_err read_stretch(const struct dataset *dataset, const struct dataset_stretch *stretch,
                             uint64_t at, char *data, size_t size)
{
    if (stretch->memory) {
        memcpy(data, stretch->memory + at, size);
        return WEFT_OK;
    }
    size_t got = 0;
    const weft_err code = file_read_at(stretch->fd >= 0 ? stretch->fd : dataset->fd, dataset->tmp,
                                       data, size, stretch->offset + at, &got);
    if (!code && got < size)
        return err_set(WEFT_DATA_LOSS, "pairs kept in %s are cut", dataset->tmp);
    return code;
}

weft_err dataset_read(const struct dataset *dataset, uint32_t range, uint64_t at, void *data,
                      size_t size, size_t *got)
{
    const struct dataset_segment *segment = &dataset->segments[range];
    *got = 0;
    for (size_t i = 0; i < segment->stretches.count && *got < size; i++) {
        const struct dataset_stretch *stretch = &segment->stretches.items[i];
        if (at >= stretch->size) {
            at -= stretch->size;
            continue;
        }
        const uint64_t left = stretch->size - at;
        const size_t take = left < size - *got ? (size_t)left : size - *got;
        const weft_err code = read_stretch(dataset, stretch, at, (char *)data + *got, take);
        if (code)
            return code;
        *got += take;
        at = 0;
    }
    return WEFT_OK;
}
