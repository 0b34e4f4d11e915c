// tally: figures per task, names of counters once for all.

#include "run/driver/coordinator/tally.h"

#include <stdlib.h>

static weft_err refuse(void)
{
    return err_no_memory("for the counters of the job");
}

weft_err tally_init(struct tally *tally, size_t task_count)
{
    *tally = (struct tally){.task_count = task_count};
    tally->tasks = calloc(task_count ? task_count : 1, sizeof *tally->tasks);
    if (!tally->tasks)
        return refuse();
    for (size_t i = 0; i < task_count; i++)
        tally->tasks[i].attempt = tally->tasks[i].held = TALLY_NO_ATTEMPT;
    return WEFT_OK;
}

void tally_fini(struct tally *tally)
{
    for (size_t i = 0; tally->tasks && i < tally->task_count; i++)
        free(tally->tasks[i].values);
    free(tally->tasks);
    for (size_t i = 0; i < tally->counters.count; i++)
        free((char *)tally->counters.items[i].name);
    VEC_FINI(&tally->counters);
    *tally = (struct tally){0};
}

void tally_begin(struct tally *tally, size_t task, uint32_t attempt)
{
    tally->tasks[task].attempt = attempt;
}

void tally_drop(struct tally *tally, size_t task)
{
    struct tally_task *held = &tally->tasks[task];
    free(held->values);
    *held = (struct tally_task){.attempt = held->attempt, .held = TALLY_NO_ATTEMPT};
}

// Jobs have a handful of counters: a look at each is as fast as anything.
static weft_err find_counter(struct tally *tally, const char *name, uint32_t *counter)
{
    for (size_t i = 0; i < tally->counters.count; i++)
        if (strcmp(tally->counters.items[i].name, name) == 0) {
            *counter = (uint32_t)i;
            return WEFT_OK;
        }
    char *copy = strdup(name);
    const struct summary_counter fresh = {.name = copy};
    if (!copy || !VEC_PUSH(&tally->counters, fresh)) {
        free(copy);
        return refuse();
    }
    *counter = (uint32_t)tally->counters.count - 1;
    return WEFT_OK;
}

weft_err tally_hold(struct tally *tally, size_t task, const Weft__TaskEnd *end)
{
    struct tally_task *held = &tally->tasks[task];
    if (held->attempt != end->attempt)
        return WEFT_OK;
    tally_drop(tally, task);
    if (end->n_counters > 0) {
        held->values = calloc(end->n_counters, sizeof *held->values);
        if (!held->values)
            return refuse();
    }
    for (size_t i = 0; i < end->n_counters; i++) {
        const weft_err code = find_counter(tally, end->counters[i]->name, &held->values[i].counter);
        if (code != WEFT_OK)
            return code;
        held->values[i].value = end->counters[i]->value;
        held->value_count = i + 1;
    }
    held->held = end->attempt;
    held->records_in = end->records_in;
    held->bytes_in = end->bytes_in;
    held->records_out = end->records_out;
    return WEFT_OK;
}

weft_err tally_restore(struct tally *tally, size_t task, const char *name, int64_t value)
{
    struct tally_task *held = &tally->tasks[task];
    struct tally_value *grown =
        realloc(held->values, (held->value_count + 1) * sizeof *held->values);
    if (!grown)
        return refuse();
    held->values = grown;
    grown[held->value_count].value = value;
    const weft_err code = find_counter(tally, name, &grown[held->value_count].counter);
    held->value_count += code == WEFT_OK;
    return code;
}

bool tally_is_restored(const struct tally *tally, size_t task)
{
    return tally->tasks[task].attempt == TALLY_NO_ATTEMPT;
}

void tally_add(struct tally *tally, size_t task, struct tally_totals *totals)
{
    const struct tally_task *held = &tally->tasks[task];
    totals->records_in += held->records_in;
    totals->bytes_in += held->bytes_in;
    totals->records_out += held->records_out;
    for (size_t i = 0; i < held->value_count; i++) {
        int64_t *sum = &tally->counters.items[held->values[i].counter].value;
        // A counter at its end stays there: it is a figure to look at, not one to fail by.
        if (__builtin_add_overflow(*sum, held->values[i].value, sum))
            *sum = held->values[i].value < 0 ? INT64_MIN : INT64_MAX;
    }
}

static int compare_names(const void *a, const void *b)
{
    const struct summary_counter *left = a, *right = b;
    return strcmp(left->name, right->name);
}

void tally_sort(struct tally *tally)
{
    if (tally->counters.count > 1)
        qsort(tally->counters.items, tally->counters.count, sizeof *tally->counters.items,
              compare_names);
}
