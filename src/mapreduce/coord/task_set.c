// Task states with their counts and the two bitmaps of pending tasks, kept in step by one function.
#include "mapreduce/coord/task_set.h"

#include <stdlib.h>

static bool bits_init(struct task_bits *bits, uint32_t count)
{
    bits->word_count = count / 64 + 1;
    bits->words = calloc(bits->word_count, sizeof *bits->words);
    bits->summary = calloc(bits->word_count / 64 + 1, sizeof *bits->summary);
    return bits->words && bits->summary;
}

static void bits_fini(struct task_bits *bits)
{
    free(bits->words);
    free(bits->summary);
}

static void bits_set(struct task_bits *bits, uint32_t task, bool is_in)
{
    const uint32_t word = task / 64;
    const uint64_t mask = UINT64_C(1) << task % 64;
    bits->words[word] = is_in ? bits->words[word] | mask : bits->words[word] & ~mask;

    const uint64_t above = UINT64_C(1) << word % 64;
    uint64_t *summary = &bits->summary[word / 64];
    *summary = bits->words[word] ? *summary | above : *summary & ~above;
}

static uint32_t bits_lowest(const struct task_bits *bits)
{
    for (uint32_t i = 0; i <= bits->word_count / 64; i++) {
        if (!bits->summary[i])
            continue;
        const uint32_t word = i * 64 + (uint32_t)__builtin_ctzll(bits->summary[i]);
        return word * 64 + (uint32_t)__builtin_ctzll(bits->words[word]);
    }
    return SCHED_NO_TASK;
}

// Puts the task into the bitmap that its state and suspicion ask for, and out of the other.
static void task_set_file(struct task_set *set, uint32_t number)
{
    const struct task *task = &set->tasks[number];
    const bool is_pending = task->state == SCHED_PENDING;
    bits_set(&set->pending, number, is_pending && !task->is_suspect);
    bits_set(&set->pending_suspects, number, is_pending && task->is_suspect);
}

bool task_set_init(struct task_set *set, uint32_t count)
{
    *set = (struct task_set){.count = count, .counts[SCHED_PENDING] = count};
    set->tasks = calloc(count ? count : 1, sizeof *set->tasks);
    const bool has_bits = bits_init(&set->pending, count);
    if (!bits_init(&set->pending_suspects, count) || !has_bits || !set->tasks)
        return false;

    for (uint32_t number = 0; number < count; number++)
        task_set_file(set, number);
    return true;
}

void task_set_fini(struct task_set *set)
{
    bits_fini(&set->pending);
    bits_fini(&set->pending_suspects);
    free(set->tasks);
}

uint32_t task_set_next(const struct task_set *set)
{
    const uint32_t suspect = bits_lowest(&set->pending_suspects);
    return suspect != SCHED_NO_TASK ? suspect : bits_lowest(&set->pending);
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

void task_set_lose(struct task_set *set)
{
    for (uint32_t number = 0; number < set->count; number++) {
        const struct task *task = &set->tasks[number];
        const bool is_safe = task->state == SCHED_COMMITTED && task->is_durable;
        if (!is_safe && task->state != SCHED_STUCK)
            task_set_move(set, number, SCHED_PENDING);
    }
}
