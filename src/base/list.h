// list: doubly linked, inside the structs that are in it. A head is a link that points at itself when
// empty. Taking out is safe for a link that is in no list, once it was cleared.
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct link {
    struct link *next, *previous;
};

static inline void list_init(struct link *head)
{
    head->next = head->previous = head;
}

static inline bool list_is_empty(const struct link *head)
{
    return head->next == head;
}

// Puts `link` before `place`: at the end of the list when that is its head.
static inline void list_put_before(struct link *place, struct link *link)
{
    link->next = place;
    link->previous = place->previous;
    place->previous->next = link;
    place->previous = link;
}

static inline void list_append(struct link *head, struct link *link)
{
    list_put_before(head, link);
}

static inline void list_take_out(struct link *link)
{
    if (!link->next)
        return;
    link->previous->next = link->next;
    link->next->previous = link->previous;
    link->next = link->previous = NULL;
}

// Sorts; those of which none is before the other keep their order.
typedef bool list_before_fn(const struct link *a, const struct link *b);
void list_sort(struct link *head, list_before_fn *is_before);

// The struct of type `type` whose field `field` is the link.
#define LIST_ITEM(link, type, field) ((type *)(void *)((char *)(link)-offsetof(type, field)))

#endif
