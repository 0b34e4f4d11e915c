// Pages: where a slot's records and chunks of entries live. Taken from the budget a page at a time,
// handed out by moving a pointer, given back all at once; pages already touched are kept for reuse.
// Thread: one slot.
#ifndef MAPREDUCE_WORK_COLLECT_PAGES_H
#define MAPREDUCE_WORK_COLLECT_PAGES_H

#include "base/vec.h"
#include "sys/machine/mem.h"

struct page {
    char *memory;
    size_t size;
};

struct pages {
    struct mem_budget *budget;
    size_t page_bytes;
    size_t bytes_max;   // the slot's share; pages_alloc fails beyond it
    size_t bytes_used;  // in pages taken
    VEC(struct page) taken, spare;
    char *at, *end;  // the free rest of the current page
};

void pages_init(struct pages *pages, struct mem_budget *budget, size_t page_bytes,
                size_t bytes_max);

// Memory aligned to 16 bytes, or NULL when the share or the budget is used up.
void *pages_alloc(struct pages *pages, size_t size);

// Takes over memory that came from mem_get and is used no more: whole pages become spare ones. `size` is
// what mem_get rounded to; both ends lie on page boundaries.
void pages_donate(struct pages *pages, void *memory, size_t size);

// Forgets all content; ordinary pages are kept as spare.
void pages_reset(struct pages *pages);
void pages_fini(struct pages *pages);

// Bytes of pages that hold something; the spare ones hold nothing.
static inline size_t pages_live_bytes(const struct pages *pages)
{
    return pages->bytes_used - pages->spare.count * mem_round(pages->page_bytes);
}

#endif
