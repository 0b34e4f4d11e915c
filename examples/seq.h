// What the sequential twins of the examples share: reading files, and pairs that are sorted by key. A twin
// is a plain C program that gives the same bytes as its example, without weft: it is what the tests
// compare with, and what a program would look like that does it all by itself.
#ifndef EXAMPLES_SEQ_H
#define EXAMPLES_SEQ_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    const char *data;
    size_t size;
};

struct entry {
    struct text key, value;
    double number;
    size_t order;  // of adding, so that equal keys stay in input order
};

struct entries {
    struct entry *items;
    size_t count, capacity;
};

static inline void *seq_check(void *memory)
{
    if (!memory) {
        fputs("no memory\n", stderr);
        exit(1);
    }
    return memory;
}

static inline struct text seq_read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    char *data = NULL;
    size_t size = 0, capacity = 0, got = 1;
    while (got > 0) {
        if (size == capacity) {
            capacity = capacity ? 2 * capacity : 65536;
            data = seq_check(realloc(data, capacity));
        }
        got = fread(data + size, 1, capacity - size, file);
        size += got;
    }
    fclose(file);
    return (struct text){data, size};
}

static inline bool seq_next_line(struct text *rest, struct text *line)
{
    if (rest->size == 0)
        return false;
    const char *end = memchr(rest->data, '\n', rest->size);
    line->data = rest->data;
    line->size = end ? (size_t)(end - rest->data) : rest->size;
    rest->data += line->size + (end != NULL);
    rest->size -= line->size + (end != NULL);
    return true;
}

static inline bool seq_is_blank(char byte)
{
    return byte == ' ' || (byte >= 9 && byte <= 13);
}

static inline bool seq_next_word(struct text *rest, struct text *word)
{
    while (rest->size > 0 && seq_is_blank(*rest->data))
        rest->data++, rest->size--;
    word->data = rest->data;
    while (rest->size > 0 && !seq_is_blank(*rest->data))
        rest->data++, rest->size--;
    word->size = (size_t)(rest->data - word->data);
    return word->size > 0;
}

static inline int seq_compare(struct text a, struct text b)
{
    const size_t common = a.size < b.size ? a.size : b.size;
    const int order = common ? memcmp(a.data, b.data, common) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

static inline void seq_add(struct entries *entries, struct text key, struct text value,
                           double number)
{
    if (entries->count == entries->capacity) {
        entries->capacity = entries->capacity ? 2 * entries->capacity : 1024;
        entries->items =
            seq_check(realloc(entries->items, entries->capacity * sizeof *entries->items));
    }
    entries->items[entries->count] =
        (struct entry){.key = key, .value = value, .number = number, .order = entries->count};
    entries->count++;
}

static inline int seq_compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    const int order = seq_compare(x->key, y->key);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

static inline void seq_sort(struct entries *entries)
{
    if (entries->count > 0)
        qsort(entries->items, entries->count, sizeof *entries->items, seq_compare_entries);
}

// Where the entries with the key of entry `at` end.
static inline size_t seq_group_end(const struct entries *entries, size_t at)
{
    size_t end = at + 1;
    while (end < entries->count &&
           seq_compare(entries->items[at].key, entries->items[end].key) == 0)
        end++;
    return end;
}

static inline void seq_print(struct text text)
{
    fwrite(text.data, 1, text.size, stdout);
}

#endif
