// How a worker divides its memory. One slot's share of B bytes:
//
//   B/16  read buffer (64 KiB .. 128 KiB: the copied text stays in the second-level cache)
//   B/16  output text (128 KiB .. 16 MiB), and B/32 for what waits in the sink
//   B/8   sorting one stretch of a range, or blocks of runs that are merged
//   B/5   short table; the wide and long ones a quarter of that each. While one grows, old and new are
//         both there. Emptying all three takes about as much as the short one.
//   rest  pages of records and entries; all of the tables' share too when nothing is folded
//
// The shares add up to B; the budget refuses what would go beyond, and then a slot spills earlier.

#include "mapreduce/work/stage.h"

enum {
    KIB = 1024,
    MIB = 1024 * KIB,
    SLOT_BYTES_MIN = 2 * MIB,
};

static size_t clamp(uint64_t value, size_t low, size_t high)
{
    return value < low ? low : value > high ? high : (size_t)value;
}

static size_t power_of_two_below(uint64_t value)
{
    return (size_t)1 << (63 - __builtin_clzll(value | 1));
}

bool memory_plan_make(struct memory_plan *plan, uint64_t bytes, uint32_t slot_count,
                      uint32_t worker_count, uint32_t range_count)
{
    const uint64_t share = bytes / slot_count;
    if (share < SLOT_BYTES_MIN)
        return false;
    plan->read_bytes = clamp(share / 16, 64 * KIB, 128 * KIB);
    plan->text_bytes = clamp(share / 16, 128 * KIB, 16 * MIB);
    plan->held_bytes = (size_t)(bytes / 32);
    plan->area_bytes = (size_t)(share / 8);
    plan->table_bytes = power_of_two_below(share / 5);
    const size_t others = plan->read_bytes + plan->text_bytes + (size_t)(share / 32) +
                          plan->area_bytes + plan->table_bytes / 4;
    plan->collect_bytes = (size_t)share - others;
    plan->page_bytes = clamp(power_of_two_below(plan->collect_bytes / 16), 64 * KIB, 2 * MIB);
    plan->combine_bytes = clamp(plan->collect_bytes / 8, 4 * plan->page_bytes, 16 * MIB);
    plan->block_bytes = clamp(share / 256, 8 * KIB, 256 * KIB);
    // A reducing slot reads every run of every slot, a block each: up to three levels of them.
    const uint64_t slots_read = (uint64_t)slot_count * worker_count;
    plan->runs_per_merge =
        (uint32_t)clamp(plan->area_bytes / plan->block_bytes / slots_read / 3, 4, 128);
    // A chunk per range should be a small part of what the slot may collect.
    const uint32_t chunk_count = range_count ? range_count : 1;
    const size_t chunk_bytes = clamp(plan->collect_bytes / 16 / chunk_count, 512, 4096);
    plan->chunk_entries = (uint32_t)(chunk_bytes / sizeof(struct entry) - 1);
    return true;
}
