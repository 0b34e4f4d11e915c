// Buckets: entries by range, each range a list of chunks. What a slot has emitted and not spilled.
//
// Adding is a store and a compare; a range's entries are gathered into one array when they are sorted.
// Thread: one slot while the map stage runs, then read-only for all.
#ifndef MAPREDUCE_WORK_COLLECT_BUCKETS_H
#define MAPREDUCE_WORK_COLLECT_BUCKETS_H

#include "mapreduce/work/collect/pages.h"
#include "mapreduce/work/sort/entry.h"

enum { BUCKET_AHEAD = 8 };  // two cache lines

// A chunk holds chunk_entries of struct entry or struct wide_entry after its header.
struct chunk {
    struct chunk *next;
    uint64_t unused;  // keeps the entries aligned to 16
};

struct bucket {
    struct entry *at, *end;  // where the next entry goes in the last chunk
    struct chunk *first, *last;
    uint64_t chunk_count;
};

struct buckets {
    struct pages *pages;
    uint32_t range_count;
    uint32_t chunk_entries;
    struct bucket *entries;  // per range
    struct bucket *wides;    // per range, made when the first wide entry comes
    struct chunk *free_chunks;
    uint64_t entry_count, wide_count;  // in all
};

bool buckets_init(struct buckets *buckets, struct pages *pages, uint32_t range_count,
                  uint32_t chunk_entries);
void buckets_fini(struct buckets *buckets);

// Forgets all entries; the pages are the caller's to reset.
void buckets_reset(struct buckets *buckets);

// Takes a chunk for the bucket; false: no memory, make room first.
bool buckets_extend(struct buckets *buckets, struct bucket *bucket);

static inline bool buckets_add(struct buckets *buckets, uint32_t range, struct entry entry)
{
    struct bucket *bucket = &buckets->entries[range];
    if (__builtin_expect(bucket->at == bucket->end, 0) && !buckets_extend(buckets, bucket))
        return false;
    *bucket->at++ = entry;
    __builtin_prefetch(bucket->at + BUCKET_AHEAD,
                       1);  // the line after this one, before it is written
    buckets->entry_count++;
    return true;
}

// Makes the buckets of wide entries; false: no memory.
bool buckets_make_wides(struct buckets *buckets);

static inline bool buckets_add_wide(struct buckets *buckets, uint32_t range, struct wide_entry wide)
{
    if (__builtin_expect(!buckets->wides, 0) && !buckets_make_wides(buckets))
        return false;
    struct bucket *bucket = &buckets->wides[range];
    if (__builtin_expect(bucket->at == bucket->end, 0) && !buckets_extend(buckets, bucket))
        return false;
    *bucket->at++ = (struct entry){wide.high, wide.low};
    __builtin_prefetch(bucket->at + BUCKET_AHEAD, 1);
    buckets->wide_count++;
    return true;
}

uint64_t bucket_count(const struct buckets *buckets, const struct bucket *bucket);

// Copies the entries of a bucket from number `first`, at most `max`, in the order they came.
size_t bucket_copy(const struct buckets *buckets, const struct bucket *bucket, uint64_t first,
                   size_t max, struct entry *to);

// Empties one bucket; its chunks are used again.
void buckets_clear_bucket(struct buckets *buckets, struct bucket *bucket);

#endif
