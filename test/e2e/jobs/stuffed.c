// Counts lines and never gives back what it takes: 256 KB for every record (-m) or every key (-r).
#include <weft/weft.h>

#include <stdlib.h>

static void *volatile last;

static void leak(void)
{
    const size_t size = 256 << 10;
    char *room = malloc(size);
    for (size_t i = 0; room && i < size; i += 512)
        room[i] = 1;
    last = room;
}

static void map(weft_task *task, weft_bytes line)
{
    if (weft_option(weft_task_args(task), 'm', 0))
        leak();
    weft_emit_int(task, line, 1);
}

static void reduce(weft_task *task, weft_bytes key, weft_values *values)
{
    if (weft_option(weft_task_args(task), 'r', 0))
        leak();
    weft_sum(task, key, values);
}

int main(int argc, char **argv)
{
    const weft_job job = {.name = "stuffed", .map = map, .reduce = reduce, .options = "mr"};
    return weft_main(argc, argv, &job);
}
