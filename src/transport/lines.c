// Lines that were asked for.

#include "transport/lines.h"

#include <stdlib.h>

#include "base/err.h"
#include "sys/secure/secret.h"

struct line {
    struct link in_lines;
    uint64_t number;
    struct hub_peer *peer;
    line_fn *came;
    void *owner;
};

// Numbers of an earlier hub at the same address are not among ours.
void lines_init(struct lines *lines)
{
    list_init(&lines->list);
    secret_random(&lines->last, sizeof lines->last);
}

void lines_fini(struct lines *lines)
{
    while (lines->list.next && !list_is_empty(&lines->list))
        line_free(LIST_ITEM(lines->list.next, struct line, in_lines));
}

struct line *lines_add(struct lines *lines, struct hub_peer *peer, line_fn *came, void *owner)
{
    struct line *line = calloc(1, sizeof *line);
    if (!line) {
        err_no_memory("for a connection");
        return NULL;
    }
    *line = (struct line){.number = ++lines->last, .peer = peer, .came = came, .owner = owner};
    list_append(&lines->list, &line->in_lines);
    return line;
}

void line_free(struct line *line)
{
    if (!line)
        return;
    list_take_out(&line->in_lines);
    free(line);
}

uint64_t line_number(const struct line *line)
{
    return line->number;
}

struct hub_peer *line_peer(const struct line *line)
{
    return line->peer;
}

struct line *lines_find(struct lines *lines, uint64_t number)
{
    for (struct link *at = lines->list.next; at != &lines->list; at = at->next) {
        struct line *line = LIST_ITEM(at, struct line, in_lines);
        if (line->number == number)
            return line;
    }
    return NULL;
}

void line_end(struct line *line, struct guest *guest)
{
    const struct line copy = *line;
    line_free(line);
    copy.came(copy.owner, guest);
}

// A call may free other lines: the search begins anew after each.
void lines_lose(struct lines *lines, const struct hub_peer *peer)
{
    struct link *at = lines->list.next;
    while (at != &lines->list) {
        struct line *line = LIST_ITEM(at, struct line, in_lines);
        at = at->next;
        if (line->peer != peer)
            continue;
        line_end(line, NULL);
        at = lines->list.next;
    }
}
