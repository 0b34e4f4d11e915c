// The sequential twin of wordcount, wordcount_reduce and wordcount_block.
#include "seq.h"

int main(int argc, char **argv)
{
    struct entries words = {0};
    for (int i = 1; i < argc; i++) {
        struct text rest = seq_read_file(argv[i]), word;
        while (seq_next_word(&rest, &word))
            seq_add(&words, word, (struct text){0}, 0);
    }
    seq_sort(&words);
    for (size_t at = 0, end; at < words.count; at = end) {
        end = seq_group_end(&words, at);
        seq_print(words.items[at].key);
        printf("\t%zu\n", end - at);
    }
    return 0;
}
