// Groups lines by their first word and joins the rest of each with commas, in the order in which
// the values arrive: without a combiner that must be input order.
#include <weft/weft.h>

#include <stdlib.h>

static void map(weft_task *task, weft_bytes line)
{
    const char *blank = memchr(line.data, ' ', line.size);
    if (!blank)
        return;
    size_t size = (size_t)(blank - line.data);
    weft_emit(task, (weft_bytes){line.data, size}, (weft_bytes){blank + 1, line.size - size - 1});
}

static void reduce(weft_task *task, weft_bytes key, weft_values *values)
{
    char *joined = NULL;
    size_t size = 0, space = 0;
    for (weft_bytes value; weft_next(values, &value);) {
        if (size + value.size + 1 > space) {
            space = 2 * (size + value.size + 1);
            joined = realloc(joined, space);
        }
        memcpy(joined + size, value.data, value.size);
        size += value.size;
        joined[size++] = ',';
    }
    weft_emit(task, key, (weft_bytes){joined, size - 1});
    free(joined);
}

int main(int argc, char **argv)
{
    const weft_job job = {.name = "order", .map = map, .reduce = reduce};
    return weft_main(argc, argv, &job);
}
