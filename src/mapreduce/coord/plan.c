// Cutting the input: one pass over the sizes, large inputs cut at multiples of the split size, small
// ones packed together in the order they were given.
#include "mapreduce/coord/plan.h"

#include "base/vec.h"

#include <inttypes.h>

// The tasks while they grow; plan_init hands the arrays over to the plan.
struct packing {
    VEC(struct plan_piece) pieces;
    VEC(size_t) first_pieces;
    VEC(uint64_t) first_bytes;
    uint64_t weight;  // of the task that is still open
    uint64_t piece_bytes_min;
};

static weft_err sum_sizes(struct plan *plan, const struct plan_input *inputs, uint32_t count,
                          uint32_t splits_wanted);
static weft_err cut_input(struct packing *packing, const struct plan *plan, uint32_t input,
                          const struct plan_input *cut, uint64_t offset);
static weft_err cut_as_told(struct packing *packing, const struct plan *plan, uint32_t input,
                            const struct plan_input *cut, uint64_t offset);
static void place_samples(struct plan *plan, const struct plan_input *inputs, uint32_t samples_max);

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static uint64_t piece_weight(uint64_t bytes, uint64_t least)
{
    return bytes < least ? least : bytes;
}

static weft_err no_memory(void)
{
    return err_no_memory("for the plan of the job");
}

static void count_parts(struct plan *plan, uint32_t reducers)
{
    const uint64_t total = plan->total_bytes;
    const uint64_t parts = round_up(total, PLAN_PART_BYTES) / PLAN_PART_BYTES;
    plan->part_count = reducers ? reducers : (uint32_t)clamp(parts, 1, PLAN_PARTS_DEFAULT_MAX);
    const uint64_t ranges = clamp(total / PLAN_RANGE_BYTES, 1, PLAN_RANGES_WANTED_MAX);
    plan->range_count = (uint32_t)round_up(ranges, plan->part_count);
}

weft_err plan_init(struct plan *plan, const struct plan_input *inputs, uint32_t input_count,
                   const struct plan_options *options)
{
    *plan = (struct plan){0};
    if (options->reducers > PLAN_PARTS_MAX)
        return err_set(WEFT_INVALID_ARGUMENT, "%u parts: at most %d are possible",
                       options->reducers, PLAN_PARTS_MAX);
    weft_err code = sum_sizes(plan, inputs, input_count,
                              options->is_dear ? PLAN_SPLITS_WANTED_DEAR : PLAN_SPLITS_WANTED);
    if (code)
        return code;
    count_parts(plan, options->reducers);

    struct packing packing = {.piece_bytes_min = options->has_dear_pieces
                                                     ? PLAN_PIECE_BYTES_MIN_DEAR
                                                     : PLAN_PIECE_BYTES_MIN};
    uint64_t offset = 0;
    for (uint32_t input = 0; input < input_count && !code; input++) {
        code = (options->has_cuts ? cut_as_told : cut_input)(&packing, plan, input, &inputs[input],
                                                             offset);
        offset += inputs[input].size;
    }
    plan->map_count = (uint32_t)packing.first_pieces.count;
    if (!code && !VEC_PUSH(&packing.first_pieces, packing.pieces.count))
        code = no_memory();
    plan->pieces = packing.pieces.items;
    plan->piece_count = packing.pieces.count;
    plan->first_pieces = packing.first_pieces.items;
    plan->first_bytes = packing.first_bytes.items;
    if (!code)
        place_samples(plan, inputs, options->samples_max);
    return code;
}

void plan_fini(struct plan *plan)
{
    free(plan->pieces);
    free(plan->first_pieces);
    free(plan->first_bytes);
    *plan = (struct plan){0};
}

// The total, and from it the size of a split. Small inputs weigh more than they hold, so that ten
// thousand of them are not one task.
static weft_err sum_sizes(struct plan *plan, const struct plan_input *inputs, uint32_t count,
                          uint32_t splits_wanted)
{
    const uint64_t bytes_max = (uint64_t)PLAN_MAPS_MAX * PLAN_SPLIT_BYTES_MAX;
    uint64_t weight = 0;
    for (uint32_t input = 0; input < count; input++) {
        if (inputs[input].size > bytes_max || weight > bytes_max)
            return err_set(WEFT_RESOURCE_EXHAUSTED, "more than %" PRIu64 " TiB of input",
                           bytes_max >> 40);
        plan->total_bytes += inputs[input].size;
        weight += piece_weight(inputs[input].size, PLAN_PIECE_BYTES_MIN);
    }
    const uint64_t wanted =
        clamp(weight / splits_wanted, PLAN_SPLIT_BYTES_MIN, PLAN_SPLIT_BYTES_MAX);
    plan->split_bytes = round_up(wanted, PLAN_SPLIT_BYTES_UNIT);
    return WEFT_OK;
}

// Puts the piece into the open task, or begins a new one when it does not fit.
static weft_err put_piece(struct packing *packing, const struct plan *plan, struct plan_piece piece,
                          uint64_t offset)
{
    const uint64_t weight = piece_weight(piece.end - piece.begin, packing->piece_bytes_min);
    if (packing->pieces.count == 0 || packing->weight + weight > plan->split_bytes) {
        if (packing->first_pieces.count == PLAN_MAPS_MAX)
            return err_set(WEFT_RESOURCE_EXHAUSTED, "more than %d map tasks", PLAN_MAPS_MAX);
        if (!VEC_PUSH(&packing->first_pieces, packing->pieces.count) ||
            !VEC_PUSH(&packing->first_bytes, offset + piece.begin))
            return no_memory();
        packing->weight = 0;
    }
    packing->weight += weight;
    return VEC_PUSH(&packing->pieces, piece) ? WEFT_OK : no_memory();
}

static weft_err cut_input(struct packing *packing, const struct plan *plan, uint32_t input,
                          const struct plan_input *cut, uint64_t offset)
{
    const uint64_t size = cut->size;
    uint64_t begin = 0;
    weft_err code;
    do {
        const uint64_t left = size - begin;
        const bool is_last = left < plan->split_bytes || cut->is_whole;
        const uint64_t bytes = is_last ? left : plan->split_bytes;
        const struct plan_piece piece = {input, begin, begin + bytes};
        code = put_piece(packing, plan, piece, offset);
        begin += bytes;
    } while (!code && begin < size);
    return code;
}

static weft_err cut_as_told(struct packing *packing, const struct plan *plan, uint32_t input,
                            const struct plan_input *cut, uint64_t offset)
{
    weft_err code = WEFT_OK;
    uint64_t begin = 0;
    for (size_t i = 0; !code && i <= cut->cut_count; i++) {
        const uint64_t end = i < cut->cut_count ? cut->cuts[i] : cut->size;
        packing->weight = plan->split_bytes;  // so that every piece is a task of its own
        code = put_piece(packing, plan, (struct plan_piece){input, begin, end}, offset);
        begin = end;
    }
    return code;
}

// Sample task i looks at the middle of the i-th of as many equal stretches. Small inputs are taken
// whole, and nothing begins so near an end that no line may follow.
static void place_samples(struct plan *plan, const struct plan_input *inputs, uint32_t samples_max)
{
    const uint64_t total = plan->total_bytes;
    if (plan->range_count == 1 || total == 0)
        return;
    const uint64_t most = samples_max ? samples_max : PLAN_SAMPLES_MAX;
    plan->sample_count = (uint32_t)clamp(total / PLAN_SAMPLE_BYTES, 1, most);
    uint32_t input = 0;
    uint64_t input_begin = 0;
    for (uint32_t i = 0; i < plan->sample_count; i++) {
        // total is at most 2^49, so this does not overflow.
        const uint64_t middle = total * (2 * i + 1) / (2 * plan->sample_count);
        while (middle >= input_begin + inputs[input].size)
            input_begin += inputs[input++].size;
        const uint64_t size = inputs[input].size;
        const uint64_t bytes = size < PLAN_SAMPLE_BYTES ? size : PLAN_SAMPLE_BYTES;
        const uint64_t begin = clamp(middle - input_begin, 0, size - bytes);
        plan->samples[i] = (struct plan_piece){input, begin, begin + bytes};
    }
}

uint32_t plan_part_of_task(const struct plan *plan, uint32_t task)
{
    if (plan->total_bytes == 0)
        return 0;
    // At most 2^49 x 2^12. Empty inputs at the end begin after the last byte.
    const uint64_t part = plan->first_bytes[task] * plan->part_count / plan->total_bytes;
    return (uint32_t)clamp(part, 0, plan->part_count - 1);
}
