// Two stages: counts words, then groups the words by their count. The second sees the count as its
// record and the word as its key.
#include <weft/weft.h>

static void split(weft_task *task, weft_bytes line)
{
    weft_words words;
    weft_words_init(&words, line);
    for (weft_bytes word; weft_next_word(&words, &word);)
        weft_emit_int(task, word, 1);
}

static void turn(weft_task *task, weft_bytes count)
{
    weft_emit(task, count, weft_input_key(task));
}

int main(int argc, char **argv)
{
    const weft_job second = {.name = "by-count", .map = turn, .reduce = weft_collect};
    const weft_job first = {
        .name = "stages", .map = split, .combine = weft_sum, .reduce = weft_sum, .next = &second};
    return weft_main(argc, argv, &first);
}
