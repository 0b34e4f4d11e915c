// Cutting the input as Hadoop does.
#include "mapreduce/coord/plan_hadoop.h"

#include "base/vec.h"

// A task while they are collected: its piece, what Hadoop orders it by, and its place in the list, which
// decides among equals.
struct split {
    struct plan_piece piece;
    uint64_t weight;
    size_t number;
};

typedef VEC(struct split) split_vec;

static weft_err no_memory(void)
{
    return err_no_memory("for the plan of the job");
}

static weft_err push_split(split_vec *splits, struct split split)
{
    if (splits->count == PLAN_MAPS_MAX)
        return err_set(WEFT_RESOURCE_EXHAUSTED, "more than %d map tasks", PLAN_MAPS_MAX);
    split.number = splits->count;
    return VEC_PUSH(splits, split) ? WEFT_OK : no_memory();
}

// The size of all splits but the last of a file. (A cluster divides `total` by the number of map tasks that
// was asked for; on one machine Hadoop sets that to one.)
static uint64_t split_bytes(const struct plan_hadoop_options *options, uint64_t total)
{
    const uint64_t block = options->block_bytes ? options->block_bytes : PLAN_HADOOP_BLOCK_BYTES;
    const uint64_t least = options->split_min ? options->split_min : 1;
    const uint64_t wanted = total < block ? total : block;
    return wanted > least ? wanted : least;
}

// The piece for Hadoop's split of a file from `begin` to `end`.
static struct split move_split(uint32_t input, uint64_t size, uint64_t begin, uint64_t end)
{
    return (struct split){
        .piece = {input, begin ? begin + 1 : 0, end < size ? end + 1 : size},
        .weight = end - begin,
    };
}

static weft_err cut_by_size(split_vec *splits, uint32_t input, uint64_t size, uint64_t split)
{
    weft_err code = WEFT_OK;
    uint64_t begin = 0;
    // As Hadoop computes it, in floating point.
    while (!code && (double)(size - begin) / (double)split > 1.1) {
        code = push_split(splits, move_split(input, size, begin, begin + split));
        begin += split;
    }
    if (!code && (begin < size || size == 0))
        code = push_split(splits, move_split(input, size, begin, size));
    return code;
}

// Where others looked for line ends, nothing needs to be moved. Hadoop moves such splits back by a byte
// instead, and the first of a file, which cannot be, is a byte shorter: that decides where it stands.
static weft_err cut_at(split_vec *splits, uint32_t index, const struct plan_input *input)
{
    uint64_t begin = 0;
    weft_err code = WEFT_OK;
    for (size_t i = 0; !code && i <= input->cut_count && input->size > 0; i++) {
        const uint64_t end = i < input->cut_count ? input->cuts[i] : input->size;
        const struct plan_piece piece = {index, begin, end};
        code = push_split(splits, (struct split){piece, end - begin - (begin == 0), 0});
        begin = end;
    }
    return code;
}

static int compare_splits(const void *a, const void *b)
{
    const struct split *left = a, *right = b;
    if (left->weight != right->weight)
        return left->weight < right->weight ? 1 : -1;
    return left->number < right->number ? -1 : 1;
}

static weft_err count_parts(struct plan *plan, uint32_t reducers)
{
    if (reducers > PLAN_PARTS_MAX)
        return err_set(WEFT_INVALID_ARGUMENT, "%u reducers: at most %d are possible", reducers,
                       PLAN_PARTS_MAX);
    if (reducers == 0 && plan->map_count > PLAN_PARTS_MAX)
        return err_set(WEFT_RESOURCE_EXHAUSTED,
                       "%u map tasks without a reducer would make as many files, at most %d are "
                       "possible\n  try: -D mapreduce.input.fileinputformat.split.minsize=BYTES",
                       plan->map_count, PLAN_PARTS_MAX);
    plan->part_count = reducers ? reducers : plan->map_count;
    plan->range_count = plan->part_count;
    return WEFT_OK;
}

// One piece for each task, in the order of the splits.
static weft_err fill_plan(struct plan *plan, const split_vec *splits)
{
    const size_t count = splits->count;
    plan->map_count = (uint32_t)count;
    plan->piece_count = count;
    plan->pieces = calloc(count + 1, sizeof *plan->pieces);
    plan->first_pieces = calloc(count + 1, sizeof *plan->first_pieces);
    plan->first_bytes = calloc(count + 1, sizeof *plan->first_bytes);
    if (!plan->pieces || !plan->first_pieces || !plan->first_bytes)
        return no_memory();
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        plan->pieces[i] = splits->items[i].piece;
        plan->first_pieces[i] = i;
        plan->first_bytes[i] = bytes;
        bytes += plan->pieces[i].end - plan->pieces[i].begin;
    }
    plan->first_pieces[count] = count;
    return WEFT_OK;
}

weft_err plan_init_hadoop(struct plan *plan, const struct plan_input *inputs, uint32_t input_count,
                          const struct plan_hadoop_options *options)
{
    split_vec splits = {0};
    weft_err code = WEFT_OK;
    *plan = (struct plan){0};
    for (uint32_t i = 0; i < input_count; i++)
        plan->total_bytes += inputs[i].size;
    plan->split_bytes = split_bytes(options, plan->total_bytes);
    for (uint32_t i = 0; i < input_count && !code; i++) {
        if (options->has_cuts)
            code = cut_at(&splits, i, &inputs[i]);
        else
            code = cut_by_size(&splits, i, inputs[i].size,
                               inputs[i].is_whole ? UINT64_MAX : plan->split_bytes);
    }
    if (!code && splits.count > 0)
        qsort(splits.items, splits.count, sizeof *splits.items, compare_splits);
    if (!code)
        code = fill_plan(plan, &splits);
    VEC_FINI(&splits);
    return code ? code : count_parts(plan, options->reducers);
}
