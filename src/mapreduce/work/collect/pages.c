// Pages: memory of a slot by moving a pointer.

#include "mapreduce/work/collect/pages.h"

void pages_init(struct pages *pages, struct mem_budget *budget, size_t page_bytes, size_t bytes_max)
{
    *pages = (struct pages){.budget = budget, .page_bytes = page_bytes, .bytes_max = bytes_max};
}

static void give_back(struct pages *pages, struct page page)
{
    mem_put(pages->budget, page.memory, page.size);
    pages->bytes_used -= mem_round(page.size);
}

// Takes a page of `size` bytes on the list of taken ones. Spare pages make way for one of another size.
static char *take_page(struct pages *pages, size_t size)
{
    struct page *page = VEC_NEXT(&pages->taken);
    if (!page)
        return NULL;
    if (size == pages->page_bytes && pages->spare.count) {
        *page = pages->spare.items[--pages->spare.count];
    } else {
        const size_t bytes = mem_round(size);
        while (pages->spare.count && (pages->bytes_used + bytes > pages->bytes_max ||
                                      !mem_would_fit(pages->budget, bytes)))
            give_back(pages, pages->spare.items[--pages->spare.count]);
        if (pages->bytes_used + bytes > pages->bytes_max)
            return NULL;
        *page = (struct page){mem_get(pages->budget, size), size};
        if (!page->memory)
            return NULL;
        pages->bytes_used += bytes;
    }
    pages->taken.count++;
    return page->memory;
}

void *pages_alloc(struct pages *pages, size_t size)
{
    size = (size + 15) & ~(size_t)15;
    if (size <= (size_t)(pages->end - pages->at)) {
        void *memory = pages->at;
        pages->at += size;
        return memory;
    }
    if (size > pages->page_bytes / 4)
        return take_page(pages, size);  // a page of its own; the current one stays in use
    char *memory = take_page(pages, pages->page_bytes);
    if (!memory)
        return NULL;
    pages->at = memory + size;
    pages->end = memory + pages->page_bytes;
    return memory;
}

void pages_donate(struct pages *pages, void *memory, size_t size)
{
    char *at = memory;
    for (; size >= pages->page_bytes; at += pages->page_bytes, size -= pages->page_bytes) {
        if (!VEC_PUSH(&pages->spare, ((struct page){at, pages->page_bytes})))
            break;
        pages->bytes_used += pages->page_bytes;
    }
    if (size)
        mem_put(pages->budget, at, size);
}

void pages_reset(struct pages *pages)
{
    for (size_t i = 0; i < pages->taken.count; i++) {
        const struct page page = pages->taken.items[i];
        if (page.size != pages->page_bytes || !VEC_PUSH(&pages->spare, page))
            give_back(pages, page);
    }
    pages->taken.count = 0;
    pages->at = pages->end = NULL;
    while (pages->spare.count && pages->bytes_used > pages->bytes_max)
        give_back(pages, pages->spare.items[--pages->spare.count]);
}

void pages_fini(struct pages *pages)
{
    pages_reset(pages);
    for (size_t i = 0; i < pages->spare.count; i++)
        give_back(pages, pages->spare.items[i]);
    VEC_FINI(&pages->spare);
    VEC_FINI(&pages->taken);
}
