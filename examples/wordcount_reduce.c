// Counts words with a reduce function of its own, which also combines.
#include <weft/weft.h>

static void map(weft_task *task, weft_bytes line)
{
    weft_words words;
    weft_words_init(&words, line);
    for (weft_bytes word; weft_next_word(&words, &word);)
        weft_emit_int(task, word, 1);
}

static void reduce(weft_task *task, weft_bytes word, weft_values *counts)
{
    int64_t total = 0;
    for (int64_t count; weft_next_int(counts, &count);)
        total += count;
    weft_emit_int(task, word, total);
}

int main(int argc, char **argv)
{
    const weft_job job = {.name = "wordcount", .map = map, .combine = reduce, .reduce = reduce};
    return weft_main(argc, argv, &job);
}
