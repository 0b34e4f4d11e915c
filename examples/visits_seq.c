// The sequential twin of visits.
#include "seq.h"

static struct text until_tab(const char *from, size_t size)
{
    const char *tab = memchr(from, '\t', size);
    return (struct text){from, tab ? (size_t)(tab - from) : size};
}

static void add_line(struct entries *visits, struct text line)
{
    const size_t user = until_tab(line.data, line.size).size;
    const size_t rest = user < line.size ? user + 1 : user;
    const size_t both = rest + until_tab(line.data + rest, line.size - rest).size;
    if (both < line.size)
        seq_add(visits, (struct text){line.data, both},
                (struct text){line.data + both + 1, line.size - both - 1}, 0);
}

int main(int argc, char **argv)
{
    struct entries visits = {0};
    for (int i = 1; i < argc; i++) {
        struct text rest = seq_read_file(argv[i]), line;
        while (seq_next_line(&rest, &line))
            add_line(&visits, line);
    }
    seq_sort(&visits);
    struct text before = {"", 0};
    int number = 0;
    for (size_t i = 0; i < visits.count; i++) {
        const struct entry *visit = &visits.items[i];
        const struct text user = until_tab(visit->key.data, visit->key.size);
        number = i > 0 && seq_compare(before, user) == 0 ? number + 1 : 1;
        before = user;
        seq_print(user);
        printf("\t%d\t", number);
        seq_print(visit->value);
        putchar('\n');
    }
    return 0;
}
