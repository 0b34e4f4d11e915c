// oracle JOB ...: the answers of the built-in jobs that no standard tool gives, computed the slow
// and plain way: the whole input in memory, one hash table, one qsort. Shares no code with weft.
//
//   oracle words [-i] [FILE...]   word TAB count; -i folds A-Z
//   oracle lines [FILE...]        line TAB count
//   oracle index FILE...          word TAB file TAB file ...
//   oracle top N                  of `key TAB count` on stdin the N largest, ties by key bytes
//
// Without FILE it reads stdin. A last line without an end is a line.

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
    const char *data;
    size_t size;
    const char *file;  // index only: where the word was seen
    uint64_t count;    // top only
};

static struct item *items;
static size_t item_count, item_space;

static void fail(const char *what)
{
    perror(what);
    exit(3);
}

static void add(const char *data, size_t size, const char *file, uint64_t count)
{
    if (item_count == item_space) {
        item_space = item_space ? item_space * 2 : 1024;
        items = realloc(items, item_space * sizeof *items);
        if (!items)
            fail("oracle");
    }
    items[item_count++] = (struct item){data, size, file, count};
}

// FNV-1a
static size_t hash(const char *data, size_t size)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++)
        h = (h ^ (unsigned char)data[i]) * 0x100000001b3u;
    return (size_t)(h ^ (h >> 32));
}

// Counts the item in a table of indices into `items`; only the first of its kind is added.
static void count_up(const char *data, size_t size)
{
    static uint32_t *table;
    static size_t mask;
    if (item_count >= mask / 2) {
        mask = mask ? mask * 2 + 1 : 0xffff;
        free(table);
        if (!(table = calloc(mask + 1, sizeof *table)))
            fail("oracle");
        for (size_t i = 0; i < item_count; i++) {
            size_t at = hash(items[i].data, items[i].size) & mask;
            while (table[at])
                at = (at + 1) & mask;
            table[at] = (uint32_t)i + 1;
        }
    }
    size_t at = hash(data, size) & mask;
    for (; table[at]; at = (at + 1) & mask) {
        struct item *item = &items[table[at] - 1];
        if (item->size == size && memcmp(item->data, data, size) == 0) {
            item->count++;
            return;
        }
    }
    table[at] = (uint32_t)item_count + 1;
    add(data, size, NULL, 1);
}

// The bytes stay allocated: the items point into them.
static char *read_all(const char *path, size_t *size)
{
    FILE *in = path ? fopen(path, "rb") : stdin;
    if (!in)
        fail(path);
    size_t space = 1 << 16, used = 0;
    char *data = malloc(space);
    if (!data)
        fail("oracle");
    for (size_t n; (n = fread(data + used, 1, space - used, in)) > 0;) {
        used += n;
        if (used == space && !(data = realloc(data, space *= 2)))
            fail("oracle");
    }
    if (path)
        fclose(in);
    *size = used;
    return data;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void split_words(char *data, size_t size, bool fold, const char *file)
{
    for (size_t i = 0; i < size;) {
        size_t start = i;
        for (; i < size && !is_blank(data[i]); i++)
            if (fold && data[i] >= 'A' && data[i] <= 'Z')
                data[i] = (char)(data[i] + 32);
        if (i > start && file)
            add(data + start, i - start, file, 0);
        else if (i > start)
            count_up(data + start, i - start);
        while (i < size && is_blank(data[i]))
            i++;
    }
}

static void split_lines(char *data, size_t size, bool is_counted)
{
    for (size_t i = 0; i < size;) {
        char *end = memchr(data + i, '\n', size - i);
        size_t length = end ? (size_t)(end - (data + i)) : size - i;
        bool has_return = end && length > 0 && end[-1] == '\r';
        if (is_counted)
            count_up(data + i, length - has_return);
        else
            add(data + i, length, NULL, 0);
        i += length + 1;
    }
}

static void split_counts(char *data, size_t size)
{
    split_lines(data, size, false);
    for (size_t i = 0; i < item_count; i++) {
        char *tab = memrchr(items[i].data, '\t', items[i].size);
        if (!tab)
            exit(3);
        items[i].count = strtoull(tab + 1, NULL, 10);
        items[i].size = (size_t)(tab - items[i].data);
    }
}

static int compare_keys(const struct item *a, const struct item *b)
{
    int order = memcmp(a->data, b->data, a->size < b->size ? a->size : b->size);
    if (order == 0)
        order = (a->size > b->size) - (a->size < b->size);
    return order;
}

static int by_key(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = compare_keys(x, y);
    return order == 0 && x->file && y->file ? strcmp(x->file, y->file) : order;
}

static int by_count(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return compare_keys(x, y);
}

static void print_items(uint64_t limit, int (*order)(const void *, const void *))
{
    qsort(items, item_count, sizeof *items, order);
    for (size_t i = 0; i < item_count && i < limit; i++) {
        fwrite(items[i].data, 1, items[i].size, stdout);
        printf("\t%" PRIu64 "\n", items[i].count);
    }
}

static void print_index(void)
{
    qsort(items, item_count, sizeof *items, by_key);
    for (size_t i = 0; i < item_count; i++) {
        bool is_new = i == 0 || compare_keys(&items[i - 1], &items[i]) != 0;
        if (is_new && i > 0)
            putchar('\n');
        if (is_new)
            fwrite(items[i].data, 1, items[i].size, stdout);
        if (is_new || strcmp(items[i - 1].file, items[i].file) != 0)
            printf("\t%s", items[i].file);
    }
    if (item_count > 0)
        putchar('\n');
}

// A file's last line has an end of its own: it is never joined with the next file's first.
static void read_inputs(char **paths, const char *job, bool fold)
{
    size_t size;
    bool from_stdin = !*paths;
    for (; from_stdin || *paths; from_stdin = false) {
        const char *path = from_stdin ? NULL : *paths++;
        char *data = read_all(path, &size);
        if (strcmp(job, "lines") == 0)
            split_lines(data, size, true);
        else
            split_words(data, size, fold, strcmp(job, "index") == 0 ? path : NULL);
        if (from_stdin)
            return;
    }
}

int main(int argc, char **argv)
{
    const char *job = argc > 1 ? argv[1] : "";
    char **rest = argv + (argc > 1 ? 2 : 1);
    bool fold = *rest && strcmp(*rest, "-i") == 0;
    if (fold)
        rest++;
    if (strcmp(job, "top") == 0 && *rest) {
        size_t size;
        char *data = read_all(NULL, &size);
        split_counts(data, size);
        print_items(strtoull(*rest, NULL, 10), by_count);
    } else if (strcmp(job, "index") == 0 && *rest) {
        read_inputs(rest, job, false);
        print_index();
    } else if (strcmp(job, "words") == 0 || strcmp(job, "lines") == 0) {
        read_inputs(rest, job, fold);
        print_items(UINT64_MAX, by_key);
    } else {
        fputs("usage: oracle words [-i] [FILE...] | lines [FILE...] | index FILE... | top N\n",
              stderr);
        return 2;
    }
    return fflush(stdout) == 0 ? 0 : 3;
}
