// One list of entries for all homes, each entry a task at one of its homes, and a bit for each.
#include "mapreduce/coord/homes.h"

#include <stdlib.h>

// The number of entries of each home, at the place after its own.
static uint32_t count_entries(struct homes *homes, const struct task_homes *of_tasks)
{
    uint32_t count = 0;
    for (uint32_t task = 0; task < homes->task_count; task++)
        for (int i = 0; i < HOMES_OF_TASK && of_tasks[task].numbers[i] < homes->home_count; i++) {
            homes->first[of_tasks[task].numbers[i] + 1]++;
            count++;
        }
    for (uint32_t home = 0; home < homes->home_count; home++)
        homes->first[home + 1] += homes->first[home];
    return count;
}

// Tasks are taken in order, so that those of each home rise. `next` is where the next entry of each home goes.
static void fill_entries(struct homes *homes, const struct task_homes *of_tasks, uint32_t *next)
{
    for (uint32_t task = 0; task < homes->task_count; task++) {
        const uint32_t *numbers = of_tasks[task].numbers;
        struct task_homes *entries = &homes->entries[task];
        *entries = (struct task_homes){{HOMES_NONE, HOMES_NONE, HOMES_NONE}};
        for (int i = 0; i < HOMES_OF_TASK && numbers[i] < homes->home_count; i++) {
            entries->numbers[i] = next[numbers[i]];
            homes->tasks[next[numbers[i]]++] = task;
        }
    }
}

bool homes_init(struct homes *homes, const struct task_homes *of_tasks, uint32_t task_count,
                uint32_t home_count)
{
    *homes = (struct homes){.home_count = home_count, .task_count = task_count};
    homes->first = calloc((size_t)home_count + 1, sizeof *homes->first);
    homes->entries = calloc((size_t)task_count + 1, sizeof *homes->entries);
    uint32_t *next = malloc(((size_t)home_count + 1) * sizeof *next);
    bool is_made = homes->first && homes->entries && next;
    if (is_made) {
        const uint32_t count = count_entries(homes, of_tasks);
        homes->tasks = calloc((size_t)count + 1, sizeof *homes->tasks);
        is_made = homes->tasks && bits_init(&homes->in, count);
    }
    if (is_made) {
        memcpy(next, homes->first, home_count * sizeof *next);
        fill_entries(homes, of_tasks, next);
    }
    free(next);
    return is_made;
}

void homes_fini(struct homes *homes)
{
    bits_fini(&homes->in);
    free(homes->first);
    free(homes->tasks);
    free(homes->entries);
    *homes = (struct homes){0};
}

void homes_set(struct homes *homes, uint32_t task, bool is_in)
{
    for (int i = 0; i < HOMES_OF_TASK; i++)
        if (homes->entries[task].numbers[i] != HOMES_NONE)
            bits_set(&homes->in, homes->entries[task].numbers[i], is_in);
}

uint32_t homes_lowest(const struct homes *homes, uint32_t home)
{
    if (home >= homes->home_count || homes->first[home] == homes->first[home + 1])
        return BITS_NONE;
    const uint32_t entry = bits_next(&homes->in, homes->first[home]);
    return entry < homes->first[home + 1] ? homes->tasks[entry] : BITS_NONE;
}
