// Counts the words of its inputs: ./wordcount books/*.txt
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
    const weft_job job = {.name = "wordcount", .map = map, .combine = weft_sum, .reduce = weft_sum};
    return weft_main(argc, argv, &job);
}
