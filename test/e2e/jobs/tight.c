// A job whose keys and texts end where their memory ends: one byte read beyond is an error that Valgrind reports.
#include <stdlib.h>
#include <weft/weft.h>

// Copies the bytes to the last ones of a block of memory; free *block.
static weft_bytes copy_to_end(weft_bytes bytes, char **block)
{
    *block = malloc(bytes.size + 5);
    if (!*block)
        abort();
    char *copy = *block + 5;
    memcpy(copy, bytes.data, bytes.size);
    return (weft_bytes){copy, bytes.size};
}

// Counts each word of the line three times.
static void map(weft_task *task, weft_bytes line)
{
    weft_words words;
    char *block, *key_block;
    const weft_bytes text = copy_to_end(line, &block);
    weft_words_init(&words, text);
    for (weft_bytes word; weft_next_word(&words, &word);) {
        const weft_bytes key = copy_to_end(word, &key_block);
        weft_emit_int(task, key, 1);
        weft_emit_int(task, key, 1);
        free(key_block);
    }
    weft_emit_words(task, text);
    free(block);
}

// The other ways to emit, for a job without a combiner.
static void map_values(weft_task *task, weft_bytes line)
{
    weft_words words;
    char *block;
    weft_words_init(&words, line);
    for (weft_bytes word; weft_next_word(&words, &word);) {
        const weft_bytes key = copy_to_end(word, &block);
        weft_emit(task, key, key);
        weft_emit_int(task, key, 1);
        weft_emit_double(task, key, 0.5);
        free(block);
    }
}

static weft_err configure(weft_job *job, const weft_args *args)
{
    if (weft_option(args, 'v', 0)) {
        job->map = map_values;
        job->combine = NULL;
        job->reduce = weft_count;
    }
    return WEFT_OK;
}

int main(int argc, char **argv)
{
    const weft_job job = {.name = "tight",
                          .map = map,
                          .combine = weft_sum,
                          .reduce = weft_sum,
                          .options = "v",
                          .usage = "-v  values of all kinds",
                          .configure = configure};
    return weft_main(argc, argv, &job);
}
