// The sequential twin of join.
#include "seq.h"

static void add_lines(struct entries *side, const char *path)
{
    struct text rest = seq_read_file(path), line;
    while (seq_next_line(&rest, &line)) {
        const char *tab = memchr(line.data, '\t', line.size);
        const size_t size = tab ? (size_t)(tab - line.data) : line.size;
        seq_add(side, (struct text){line.data, size},
                (struct text){line.data + size, line.size - size}, 0);
    }
    seq_sort(side);
}

// The first entry whose key is not smaller.
static size_t find(const struct entries *side, struct text key)
{
    size_t low = 0, high = side->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (seq_compare(side->items[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int main(int argc, char **argv)
{
    struct entries left = {0}, right = {0};
    if (argc != 3) {
        fputs("usage: join_seq LEFT RIGHT\n", stderr);
        return 2;
    }
    add_lines(&left, argv[1]);
    add_lines(&right, argv[2]);
    for (size_t i = 0; i < right.count; i++) {
        const struct entry *other = &right.items[i];
        for (size_t at = find(&left, other->key);
             at < left.count && seq_compare(left.items[at].key, other->key) == 0; at++) {
            const struct text first = left.items[at].value;
            seq_print(other->key);
            // Both rests begin with their TAB; where both are empty one is printed all the same.
            if (first.size + other->value.size == 0)
                putchar('\t');
            seq_print(first);
            seq_print(other->value);
            putchar('\n');
        }
    }
    return 0;
}
