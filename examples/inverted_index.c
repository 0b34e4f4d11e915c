// For every word the files it is in, as a search engine would look it up: ./inverted_index books/
#include <weft/weft.h>

static void map(weft_task *task, weft_bytes line)
{
    const weft_bytes file = weft_text(weft_input_name(task));
    weft_words words;
    weft_words_init(&words, line);
    for (weft_bytes word; weft_next_word(&words, &word);)
        weft_emit(task, word, file);
}

int main(int argc, char **argv)
{
    const weft_job job = {
        .name = "inverted_index",
        .map = map,
        .combine = weft_distinct,  // a word that is in a file a thousand times travels once
        .reduce = weft_distinct,
    };
    return weft_main(argc, argv, &job);
}
