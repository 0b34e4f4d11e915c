// What must hold for the barrier: who goes on does so together with the others of his generation.
#include <inttypes.h>

#include "sim_host/client.h"

// Both went on in one generation, or in two that follow each other as the calls do.
static void check_pair(const struct op *a, const struct op *b)
{
    if (a->ended < b->invoked && a->value >= b->value)
        world_wrong("generation %" PRId64 " of the barrier was over, and %" PRId64 " came later",
                    a->value, b->value);
}

void check_barrier(void)
{
    uint64_t passed = 0, unknown = 0;
    int64_t last = 0;
    for (size_t i = 0; i < history.ops.count; i++) {
        const struct op *op = &history.ops.items[i];
        if (op->kind != OP_WAIT)
            continue;
        unknown += op->outcome == OUTCOME_UNKNOWN;
        if (op->outcome != OUTCOME_OK)
            continue;
        passed++;
        last = op->value > last ? op->value : last;
        uint32_t together = 0;
        for (size_t j = 0; j < history.ops.count; j++) {
            const struct op *other = &history.ops.items[j];
            if (other->kind != OP_WAIT || other->outcome != OUTCOME_OK)
                continue;
            check_pair(op, other);
            together += other->value == op->value;
        }
        if (together > client_plan.barrier_count)
            world_wrong("%u went on together at a barrier for %u", together,
                        client_plan.barrier_count);
    }
    // Each generation took so many, and those whose end nobody knows are the only others.
    if ((uint64_t)last * client_plan.barrier_count > passed + unknown)
        world_wrong("the barrier for %u is at generation %" PRId64 ", and %" PRIu64
                    " waits may have got there",
                    client_plan.barrier_count, last, passed + unknown);
}
