// A partitioner (by the key's first byte) and an order (backwards) of the job's own.
#include <weft/weft.h>

static void map(weft_task *task, weft_bytes line)
{
    weft_words words;
    weft_words_init(&words, line);
    for (weft_bytes word; weft_next_word(&words, &word);)
        weft_emit_int(task, word, 1);
}

static uint32_t partition(weft_bytes key, uint32_t count)
{
    return key.size ? (uint32_t)(unsigned char)key.data[0] % count : 0;
}

static int backwards(weft_bytes a, weft_bytes b)
{
    int order = memcmp(b.data, a.data, a.size < b.size ? a.size : b.size);
    return order ? order : (a.size < b.size) - (a.size > b.size);
}

static weft_err configure(weft_job *job, const weft_args *args)
{
    if (weft_option(args, 'p', 0))
        job->partition = partition;
    if (weft_option(args, 'b', 0))
        job->compare = backwards;
    return WEFT_OK;
}

int main(int argc, char **argv)
{
    const weft_job job = {.name = "arrange",
                          .map = map,
                          .combine = weft_sum,
                          .reduce = weft_sum,
                          .options = "pb",
                          .configure = configure};
    return weft_main(argc, argv, &job);
}
