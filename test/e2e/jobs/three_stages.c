// Three stages: counts words, then how many words have each count, then groups these counts by that number.
#include <weft/weft.h>

static void split(weft_task *task, weft_bytes line)
{
    weft_words words;
    weft_words_init(&words, line);
    for (weft_bytes word; weft_next_word(&words, &word);)
        weft_emit_int(task, word, 1);
}

static void count(weft_task *task, weft_bytes count_of_word)
{
    weft_emit_int(task, count_of_word, 1);
}

static void turn(weft_task *task, weft_bytes number)
{
    weft_emit(task, number, weft_input_key(task));
}

int main(int argc, char **argv)
{
    const weft_job third = {.name = "by-number", .map = turn, .reduce = weft_collect};
    const weft_job second = {
        .name = "counts", .map = count, .combine = weft_sum, .reduce = weft_sum, .next = &third};
    const weft_job first = {
        .name = "words", .map = split, .combine = weft_sum, .reduce = weft_sum, .next = &second};
    return weft_main(argc, argv, &first);
}
