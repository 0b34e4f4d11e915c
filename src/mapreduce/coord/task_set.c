// Task states with their counts and the two bitmaps of pending tasks, kept in step by one function.
#include "mapreduce/coord/task_set.h"

// Puts the task into the bitmap that its state and suspicion ask for, and out of the other.
static void task_set_file(struct task_set *set, uint32_t number)
{
    const struct task *task = &set->tasks[number];
    const bool is_pending = task->state == SCHED_PENDING;
    bits_set(&set->pending, number, is_pending && !task->is_suspect);
    bits_set(&set->pending_suspects, number, is_pending && task->is_suspect);
    if (set->homes.home_count > 0)
        homes_set(&set->homes, number, is_pending && !task->is_suspect);
}

bool task_set_give_homes(struct task_set *set, const struct task_homes *of_tasks,
                         uint32_t home_count)
{
    if (!homes_init(&set->homes, of_tasks, set->count, home_count))
        return false;
    for (uint32_t number = 0; number < set->count; number++)
        task_set_file(set, number);
    return true;
}

bool task_set_init(struct task_set *set, struct task *all, uint32_t first, uint32_t count)
{
    *set = (struct task_set){
        .tasks = all + first, .first = first, .count = count, .counts[SCHED_PENDING] = count};
    const bool has_bits = bits_init(&set->pending, count);
    if (!bits_init(&set->pending_suspects, count) || !has_bits)
        return false;

    for (uint32_t number = 0; number < count; number++) {
        struct task *task = &set->tasks[number];
        task->owner = task->next = task->previous = SCHED_NO_TASK;
        task_set_file(set, number);
    }
    return true;
}

void task_set_fini(struct task_set *set)
{
    homes_fini(&set->homes);
    bits_fini(&set->pending);
    bits_fini(&set->pending_suspects);
}

bool task_set_move(struct task_set *set, uint32_t number, enum sched_state state)
{
    struct task *task = &set->tasks[number];
    set->counts[task->state]--;
    set->counts[state]++;
    task->state = (uint8_t)state;
    task_set_file(set, number);
    if (state == SCHED_STUCK || state <= task->furthest_state)
        return false;
    task->furthest_state = (uint8_t)state;
    return true;
}

void task_set_suspect(struct task_set *set, uint32_t number, bool is_suspect)
{
    struct task *task = &set->tasks[number];
    set->suspect_count += (uint32_t)is_suspect - (uint32_t)task->is_suspect;
    task->is_suspect = is_suspect;
    task_set_file(set, number);
}
