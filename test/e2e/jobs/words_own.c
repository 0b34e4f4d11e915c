// Word count with a reducer of its own, which is also the combiner, and a callback per block.
#include <weft/weft.h>

static void map(weft_task *task, weft_bytes block)
{
    weft_words words;
    weft_words_init(&words, block);
    for (weft_bytes word; weft_next_word(&words, &word);)
        weft_emit_int(task, word, 1);
}

static void reduce(weft_task *task, weft_bytes word, weft_values *counts)
{
    int64_t total = 0;
    for (int64_t n; weft_next_int(counts, &n);)
        total += n;
    weft_emit_int(task, word, total);
}

int main(int argc, char **argv)
{
    const weft_job job = {
        .name = "words-own", .map_block = map, .combine = reduce, .reduce = reduce};
    return weft_main(argc, argv, &job);
}
