// The sequential twin of pagerank. The order in which shares are added up is part of the result: first
// round by round, then by the page that gives, then by its links.
#include "seq.h"

enum { ROUNDS = 20 };
static const double DAMPING = 0.85;

// Pages sorted by name; `value` is unused, `number` the rank.
struct link {
    size_t from, to;  // pages
};

static size_t page_of(const struct entries *pages, struct text name)
{
    size_t low = 0, high = pages->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (seq_compare(pages->items[middle].key, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// A line per entry: its page, and the rest of the line.
static struct entries read_lines(int argc, char **argv)
{
    struct entries lines = {0};
    for (int i = 1; i < argc; i++) {
        struct text rest = seq_read_file(argv[i]), line, page;
        while (seq_next_line(&rest, &line))
            if (seq_next_word(&line, &page))
                seq_add(&lines, page, line, 0);
    }
    seq_sort(&lines);
    return lines;
}

static struct entries find_pages(const struct entries *lines)
{
    struct entries names = {0}, pages = {0};
    for (size_t i = 0; i < lines->count; i++) {
        struct text rest = lines->items[i].value, target;
        seq_add(&names, lines->items[i].key, (struct text){0}, 0);
        while (seq_next_word(&rest, &target))
            seq_add(&names, target, (struct text){0}, 0);
    }
    seq_sort(&names);
    for (size_t at = 0; at < names.count; at = seq_group_end(&names, at))
        seq_add(&pages, names.items[at].key, (struct text){0}, 0);
    return pages;
}

static struct link *find_links(const struct entries *lines, const struct entries *pages,
                               size_t *count)
{
    struct link *links = NULL;
    size_t capacity = 0;
    *count = 0;
    for (size_t i = 0; i < lines->count; i++) {
        const size_t from = page_of(pages, lines->items[i].key);
        struct text rest = lines->items[i].value, target;
        while (seq_next_word(&rest, &target)) {
            if (*count == capacity) {
                capacity = capacity ? 2 * capacity : 1024;
                links = seq_check(realloc(links, capacity * sizeof *links));
            }
            links[(*count)++] = (struct link){from, page_of(pages, target)};
        }
    }
    return links;
}

// The shortest of 15, 16, 17 digits that reads back as the same number.
static void print_rank(struct text page, double rank)
{
    char digits[32];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, rank);
        if (strtod(digits, NULL) == rank)
            break;
    }
    seq_print(page);
    printf("\t%s\n", digits);
}

int main(int argc, char **argv)
{
    const struct entries lines = read_lines(argc, argv);
    const struct entries pages = find_pages(&lines);
    size_t link_count;
    const struct link *links = find_links(&lines, &pages, &link_count);
    const size_t room = pages.count + 1;
    double *ranks = seq_check(calloc(room, sizeof *ranks));
    double *sums = seq_check(calloc(room, sizeof *sums));
    double *counts = seq_check(calloc(room, sizeof *counts));
    for (size_t i = 0; i < link_count; i++)
        counts[links[i].from]++;
    for (size_t i = 0; i < lines.count; i++)
        ranks[page_of(&pages, lines.items[i].key)] = 1;
    for (int round = 0; round < ROUNDS; round++) {
        memset(sums, 0, room * sizeof *sums);
        for (size_t i = 0; i < link_count; i++)
            sums[links[i].to] += ranks[links[i].from] / counts[links[i].from];
        for (size_t i = 0; i < pages.count; i++)
            ranks[i] = 1 - DAMPING + DAMPING * sums[i];
    }
    for (size_t i = 0; i < pages.count; i++)
        print_rank(pages.items[i].key, ranks[i]);
    return 0;
}
