// An entry: 16 bytes that stand for a pair in memory, sorted by its first 8.
//
//   prefix   the key's first 8 bytes, big-endian, zero padded (0 when the job brings a compare)
//   payload  2 bits of tag, 62 bits of content:
//     VALUE   a folded number 0..2^62-1; the key is the prefix itself (1..8 bytes, not ending in NUL)
//     RECORD  where the pair's record is
//     TEXT    a key without a value that lies in the mapped input: 15 bits of size, 47 of address
//
// A wide entry has no payload: it is a key of 9..16 bytes not ending in NUL, as two big-endian numbers,
// standing for the value 1. It is how a hundred million different words fit in memory.
#ifndef MAPREDUCE_WORK_SORT_ENTRY_H
#define MAPREDUCE_WORK_SORT_ENTRY_H

#include "mapreduce/work/sort/pair.h"

struct entry {
    uint64_t prefix, payload;
};

struct wide_entry {
    uint64_t high, low;
};

// What an entry of tag RECORD points to; key and value bytes follow. Numbers are 8 value bytes.
struct record {
    uint32_t task;
    uint32_t key_size, value_size;
    uint32_t type;  // enum value_type
    char bytes[];
};

#define ENTRY_TAG (UINT64_C(3) << 62)
#define ENTRY_VALUE UINT64_C(0)
#define ENTRY_RECORD (UINT64_C(1) << 62)
#define ENTRY_TEXT (UINT64_C(2) << 62)
#define ENTRY_VALUE_MAX ((INT64_C(1) << 62) - 1)
#define ENTRY_TEXT_SIZE_MAX ((UINT64_C(1) << 15) - 1)

static inline uint64_t entry_tag(struct entry entry)
{
    return entry.payload & ENTRY_TAG;
}

static inline struct record *entry_record(struct entry entry)
{
    return (struct record *)(uintptr_t)(entry.payload & ~ENTRY_TAG);
}

static inline struct entry entry_of_text(uint64_t prefix, weft_bytes text)
{
    return (struct entry){prefix, ENTRY_TEXT | (uint64_t)text.size << 47 | (uintptr_t)text.data};
}

static inline weft_bytes entry_text(struct entry entry)
{
    return (weft_bytes){(const char *)(uintptr_t)(entry.payload & ((UINT64_C(1) << 47) - 1)),
                        entry.payload >> 47 & ENTRY_TEXT_SIZE_MAX};
}

// Records and lines of sorted entries lie anywhere: fetches one that is read soon. Any entry is fine.
enum { ENTRY_AHEAD = 20 };
static inline void entry_prefetch(struct entry entry)
{
    enum { LINE = 64 };
    const char *at = (const char *)(uintptr_t)(entry.payload & ((UINT64_C(1) << 47) - 1));
    if (entry_tag(entry) == ENTRY_VALUE)
        return;
    __builtin_prefetch(at);
    __builtin_prefetch(at + LINE);
}

// How many bytes a zero-padded big-endian word holds; it does not end in NUL.
static inline size_t prefix_size(uint64_t prefix)
{
    return 8 - (size_t)(__builtin_ctzll(prefix) >> 3);
}

// The key of an entry. VALUE keys are written to `room`, the others are borrowed (room may be NULL).
static inline weft_bytes entry_key(struct entry entry, char room[8])
{
    if (entry_tag(entry) == ENTRY_TEXT)
        return entry_text(entry);
    if (entry_tag(entry) == ENTRY_RECORD) {
        const struct record *record = entry_record(entry);
        return (weft_bytes){record->bytes, record->key_size};
    }
    const uint64_t bytes = __builtin_bswap64(entry.prefix);
    memcpy(room, &bytes, 8);
    return (weft_bytes){room, prefix_size(entry.prefix)};
}

static inline uint32_t entry_task(struct entry entry)
{
    return entry_tag(entry) == ENTRY_RECORD ? entry_record(entry)->task : 0;
}

// The whole pair; `room` as in entry_key.
static inline void entry_pair(struct entry entry, char room[8], struct pair *pair)
{
    pair->prefix = entry.prefix;
    pair->key = entry_key(entry, room);
    pair->task = 0;
    pair->number = 0;
    pair->bytes = (weft_bytes){0};
    pair->type = VALUE_NONE;
    if (entry_tag(entry) == ENTRY_VALUE) {
        pair->type = VALUE_INT;
        pair->number = (int64_t)entry.payload;
    } else if (entry_tag(entry) == ENTRY_RECORD) {
        const struct record *record = entry_record(entry);
        pair->task = record->task;
        pair->type = (enum value_type)record->type;
        pair->bytes = (weft_bytes){record->bytes + record->key_size, record->value_size};
        if (pair->type == VALUE_INT || pair->type == VALUE_DOUBLE)
            memcpy(&pair->number, pair->bytes.data, 8);
    }
}

// The key of a wide entry, written to `room`.
static inline weft_bytes wide_key(struct wide_entry wide, char room[16])
{
    const uint64_t words[2] = {__builtin_bswap64(wide.high), __builtin_bswap64(wide.low)};
    memcpy(room, words, 16);
    return (weft_bytes){room, 8 + prefix_size(wide.low)};
}

#endif
