// Merging runs of doubling length, which hang on their next pointers alone until all is sorted.

#include "base/list.h"

enum { RUN_KINDS = 64 };  // a run of kind k has 2^k links

static struct link *merge(struct link *first, struct link *second, list_before_fn *is_before)
{
    struct link *merged = NULL, **end = &merged;
    while (first && second) {
        struct link **from = is_before(second, first) ? &second : &first;
        *end = *from;
        end = &(*from)->next;
        *from = *end;
    }
    *end = first ? first : second;
    return merged;
}

void list_sort(struct link *head, list_before_fn *is_before)
{
    struct link *runs[RUN_KINDS] = {NULL};
    for (struct link *at = head->next, *next; at != head; at = next) {
        next = at->next;
        at->next = NULL;
        struct link *run = at;
        int kind = 0;
        for (; runs[kind]; runs[kind++] = NULL)
            run = merge(runs[kind], run, is_before);
        runs[kind] = run;
    }
    struct link *all = NULL;
    for (int kind = 0; kind < RUN_KINDS; kind++)
        all = merge(runs[kind], all, is_before);
    list_init(head);
    while (all) {
        struct link *next = all->next;
        list_append(head, all);
        all = next;
    }
}
