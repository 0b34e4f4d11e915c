// Word count by block: one call per block of whole lines, otherwise as wc_line.c.
#include <weft/weft.h>

static void map(weft_task *task, weft_bytes lines)
{
    weft_words words;
    weft_words_init(&words, lines);
    for (weft_bytes word; weft_next_word(&words, &word);)
        weft_emit_int(task, word, 1);
}

int main(int argc, char **argv)
{
    const weft_job job = {
        .name = "wc_block", .map_block = map, .combine = weft_sum, .reduce = weft_sum};
    return weft_main(argc, argv, &job);
}
