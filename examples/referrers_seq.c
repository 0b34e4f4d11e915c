// The sequential twin of referrers: ./referrers_seq 10 access.log prints what ./referrers --top 10 does;
// 0 prints all, sorted by host.
#include "seq.h"

// The text between the quote at `at` and the next one that has no backslash before it.
static const char *end_of_quoted(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\' && at + 1 < end)
            at++;
    return at;
}

static struct text host_of_line(struct text line)
{
    const struct text none = {0};
    const char *end = line.data + line.size;
    const char *request = memchr(line.data, '"', line.size);
    if (!request)
        return none;
    const char *behind = end_of_quoted(request, end);
    const char *start = behind < end ? memchr(behind + 1, '"', (size_t)(end - behind - 1)) : NULL;
    if (!start)
        return none;
    const char *stop = end_of_quoted(start, end);
    if (stop >= end)
        return none;
    start++;
    for (const char *at = start; at + 2 < stop; at++) {
        if (at[0] == ':' && at[1] == '/' && at[2] == '/') {
            start = at + 3;
            break;
        }
    }
    size_t size = 0;
    while (start + size < stop && !strchr("/:?#", start[size]))
        size++;
    return size == 1 && start[0] == '-' ? none : (struct text){start, size};
}

// Largest first, then by host.
static int compare_counts(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->number != y->number)
        return x->number > y->number ? -1 : 1;
    return seq_compare(x->key, y->key);
}

int main(int argc, char **argv)
{
    struct entries hosts = {0}, counts = {0};
    size_t top = argc > 1 ? (size_t)atol(argv[1]) : 0;
    for (int i = 2; i < argc; i++) {
        struct text rest = seq_read_file(argv[i]), line;
        while (seq_next_line(&rest, &line)) {
            const struct text host = host_of_line(line);
            if (host.size > 0)
                seq_add(&hosts, host, (struct text){0}, 0);
        }
    }
    seq_sort(&hosts);
    for (size_t at = 0, end; at < hosts.count; at = end) {
        end = seq_group_end(&hosts, at);
        seq_add(&counts, hosts.items[at].key, (struct text){0}, (double)(end - at));
    }
    if (top > 0 && counts.count > 0)
        qsort(counts.items, counts.count, sizeof *counts.items, compare_counts);
    for (size_t i = 0; i < counts.count && (top == 0 || i < top); i++) {
        seq_print(counts.items[i].key);
        printf("\t%.0f\n", counts.items[i].number);
    }
    return 0;
}
