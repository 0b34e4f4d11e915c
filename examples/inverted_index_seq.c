// The sequential twin of inverted_index.
#include "seq.h"

static int compare_values(const void *a, const void *b)
{
    return seq_compare(((const struct entry *)a)->value, ((const struct entry *)b)->value);
}

int main(int argc, char **argv)
{
    struct entries words = {0};
    for (int i = 1; i < argc; i++) {
        const struct text name = {argv[i], strlen(argv[i])};
        struct text rest = seq_read_file(argv[i]), word;
        while (seq_next_word(&rest, &word))
            seq_add(&words, word, name, 0);
    }
    seq_sort(&words);
    for (size_t at = 0, end; at < words.count; at = end) {
        end = seq_group_end(&words, at);
        struct entry *files = words.items + at;
        qsort(files, end - at, sizeof *files, compare_values);
        seq_print(files[0].key);
        for (size_t i = 0; i < end - at; i++) {
            if (i > 0 && seq_compare(files[i - 1].value, files[i].value) == 0)
                continue;
            putchar('\t');
            seq_print(files[i].value);
        }
        putchar('\n');
    }
    return 0;
}
