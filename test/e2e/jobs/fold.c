// `key number` lines, folded by the ready-made reducer that -f names; -d emits doubles, -b bytes.
#include <weft/weft.h>

#include <stdlib.h>

static void map(weft_task *task, weft_bytes line)
{
    const char *blank = memchr(line.data, ' ', line.size);
    if (!blank)
        return;
    const weft_bytes key = {line.data, (size_t)(blank - line.data)};
    const weft_bytes value = {blank + 1, line.size - key.size - 1};
    char text[64];
    size_t size = value.size < sizeof text ? value.size : sizeof text - 1;
    memcpy(text, value.data, size);
    text[size] = 0;
    if (weft_option(weft_task_args(task), 'b', 0))
        weft_emit(task, key, value);
    else if (weft_option(weft_task_args(task), 'd', 0))
        weft_emit_double(task, key, strtod(text, NULL));
    else
        weft_emit_int(task, key, strtoll(text, NULL, 10));
}

static const struct {
    const char *name;
    weft_reduce_fn *fold;
    bool combines;
} folds[] = {
    {"sum", weft_sum, true},          {"count", weft_count, false},
    {"min", weft_min, true},          {"max", weft_max, true},
    {"mean", weft_mean, false},       {"first", weft_first, false},
    {"collect", weft_collect, false}, {"distinct", weft_distinct, false},
    {"top", weft_top, false},         {"identity", weft_identity, false},
};

static weft_err configure(weft_job *job, const weft_args *args)
{
    const char *name = weft_option(args, 'f', 0);
    for (size_t i = 0; name && i < sizeof folds / sizeof *folds; i++)
        if (strcmp(name, folds[i].name) == 0) {
            job->reduce = folds[i].fold;
            job->combine = folds[i].combines && weft_option(args, 'c', 0) ? folds[i].fold : NULL;
            return WEFT_OK;
        }
    return WEFT_INVALID_ARGUMENT;
}

int main(int argc, char **argv)
{
    const weft_job job = {.name = "fold",
                          .map = map,
                          .reduce = weft_sum,
                          .options = "f:bcd",
                          .top_k = 3,
                          .configure = configure};
    return weft_main(argc, argv, &job);
}
