// Buckets: entries by range in lists of chunks.

#include "mapreduce/work/collect/buckets.h"

#include <stdlib.h>

bool buckets_init(struct buckets *buckets, struct pages *pages, uint32_t range_count,
                  uint32_t chunk_entries)
{
    *buckets = (struct buckets){
        .pages = pages, .range_count = range_count, .chunk_entries = chunk_entries};
    buckets->entries = calloc(range_count, sizeof *buckets->entries);
    return buckets->entries != NULL;
}

void buckets_fini(struct buckets *buckets)
{
    free(buckets->entries);
    free(buckets->wides);
    *buckets = (struct buckets){0};
}

void buckets_reset(struct buckets *buckets)
{
    memset(buckets->entries, 0, buckets->range_count * sizeof *buckets->entries);
    free(buckets->wides);
    buckets->wides = NULL;
    buckets->free_chunks = NULL;
    buckets->entry_count = buckets->wide_count = 0;
}

static struct entry *chunk_items(struct chunk *chunk)
{
    return (struct entry *)(chunk + 1);
}

static struct chunk *take_chunk(struct buckets *buckets)
{
    struct chunk *chunk = buckets->free_chunks;
    if (chunk) {
        buckets->free_chunks = chunk->next;
        return chunk;
    }
    return pages_alloc(buckets->pages,
                       sizeof *chunk + buckets->chunk_entries * sizeof(struct entry));
}

bool buckets_extend(struct buckets *buckets, struct bucket *bucket)
{
    struct chunk *chunk = take_chunk(buckets);
    if (!chunk)
        return false;
    chunk->next = NULL;
    if (bucket->last)
        bucket->last->next = chunk;
    else
        bucket->first = chunk;
    bucket->last = chunk;
    bucket->chunk_count++;
    bucket->at = chunk_items(chunk);
    bucket->end = bucket->at + buckets->chunk_entries;
    return true;
}

bool buckets_make_wides(struct buckets *buckets)
{
    buckets->wides = calloc(buckets->range_count, sizeof *buckets->wides);
    return buckets->wides != NULL;
}

uint64_t bucket_count(const struct buckets *buckets, const struct bucket *bucket)
{
    return bucket->chunk_count * buckets->chunk_entries - (uint64_t)(bucket->end - bucket->at);
}

size_t bucket_copy(const struct buckets *buckets, const struct bucket *bucket, uint64_t first,
                   size_t max, struct entry *to)
{
    const size_t per_chunk = buckets->chunk_entries;
    const uint64_t total = bucket_count(buckets, bucket);
    const size_t wanted = first >= total ? 0 : total - first < max ? (size_t)(total - first) : max;
    struct chunk *chunk = bucket->first;
    for (; first >= per_chunk && chunk; first -= per_chunk)
        chunk = chunk->next;
    size_t done = 0;
    for (; done < wanted; chunk = chunk->next, first = 0) {
        const size_t here = per_chunk - (size_t)first;
        const size_t take = wanted - done < here ? wanted - done : here;
        memcpy(to + done, chunk_items(chunk) + first, take * sizeof *to);
        done += take;
    }
    return done;
}

void buckets_clear_bucket(struct buckets *buckets, struct bucket *bucket)
{
    if (bucket->last) {
        bucket->last->next = buckets->free_chunks;
        buckets->free_chunks = bucket->first;
    }
    *bucket = (struct bucket){0};
}
