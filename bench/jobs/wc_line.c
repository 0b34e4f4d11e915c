// Word count as a user writes it: one call per line, the batch splitter, inline emit, a ready sum.
#include <weft/weft.h>

static void map(weft_task *task, weft_bytes line)
{
    weft_words words;
    weft_words_init(&words, line);
    for (weft_bytes word; weft_next_word(&words, &word);)
        weft_emit_int(task, word, 1);
}

int main(int argc, char **argv)
{
    const weft_job job = {.name = "wc_line", .map = map, .combine = weft_sum, .reduce = weft_sum};
    return weft_main(argc, argv, &job);
}
