// Literals of which every matching text must contain one. Searching for literals is many times
// faster than matching, and most patterns that people type have one.
#ifndef JOBS_GREP_SEARCH_LITERAL_H
#define JOBS_GREP_SEARCH_LITERAL_H

#include "base/buf.h"
#include "jobs/grep/search_syntax.h"

enum { LITERALS_MAX = 8 };  // each is a search of its own over the text

struct literals {
    struct buf bytes;
    struct {
        size_t offset, size;
    } items[LITERALS_MAX];
    size_t count;      // 0: nothing is known
    bool is_complete;  // a text that contains one of them does match
};

// Finds the literals of a pattern; RESOURCE_EXHAUSTED if memory runs out. Call literals_fini in
// every case.
MUST_CHECK weft_err literals_find(struct literals *literals, const struct syntax *syntax);
void literals_fini(struct literals *literals);

static inline weft_bytes literals_get(const struct literals *literals, size_t index)
{
    return (weft_bytes){literals->bytes.data + literals->items[index].offset,
                        literals->items[index].size};
}

#endif
