// Which records are left out, and how many.

#include "run/driver/bad/bad.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void bad_records_init(struct bad_records *bad, const struct run_plan *plan,
                      const struct tally *tally)
{
    *bad = (struct bad_records){.plan = plan, .tally = tally};
    bad_list_init(&bad->list, plan->options);
}

void bad_records_fini(struct bad_records *bad)
{
    VEC_FINI(&bad->found);
    VEC_FINI(&bad->left_out);
}

// ---- How many --------------------------------------------------------------------------------

// Only what the attempt that counts has left out is left out of the answer.
static bool counts(const struct bad_records *bad, const struct left_out *left)
{
    return bad->tally->tasks[left->task].attempt == left->attempt;
}

uint64_t bad_records_count(const struct bad_records *bad)
{
    uint64_t count = bad->found.count;
    for (size_t i = 0; i < bad->left_out.count; i++)
        count += counts(bad, &bad->left_out.items[i]);
    return count;
}

// ---- Those that tries have found ----------------------------------------------------------------

static int compare_places(const struct place *a, const struct place *b)
{
    if (a->input != b->input)
        return a->input < b->input ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

bool bad_records_may_skip(const struct bad_records *bad)
{
    const struct skip_limit *limit = &bad->plan->options->skip_bad;
    if (!limit->is_set)
        return false;
    // A share can only be judged when all records are known.
    return limit->is_share || bad_records_count(bad) < limit->count;
}

weft_err bad_records_add(struct bad_records *bad, const struct bad_record *record)
{
    for (size_t i = 0; i < bad->found.count; i++)
        if (compare_places(&bad->found.items[i].place, &record->place) == 0)
            return WEFT_OK;
    if (!VEC_PUSH(&bad->found, *record))
        return err_no_memory("for bad records");
    // In order: a worker looks them up by halving.
    for (size_t i = bad->found.count - 1; i > 0; i--) {
        struct bad_record *items = bad->found.items;
        if (compare_places(&items[i - 1].place, &items[i].place) <= 0)
            break;
        const struct bad_record swapped = items[i];
        items[i] = items[i - 1];
        items[i - 1] = swapped;
    }
    return WEFT_OK;
}

void bad_records_forget_found(struct bad_records *bad)
{
    bad->found.count = 0;
}

weft_err bad_records_fill_skips(const struct bad_records *bad, Weft__TaskRun *run)
{
    const size_t count = bad->found.count;
    if (count == 0)
        return WEFT_OK;
    Weft__Place *places = malloc(count * sizeof *places);
    run->skips = malloc(count * sizeof *run->skips);
    if (!places || !run->skips) {
        free(places);
        free(run->skips);
        run->skips = NULL;
        return err_no_memory("for bad records");
    }
    run->n_skips = count;
    for (size_t i = 0; i < count; i++) {
        weft__place__init(&places[i]);
        places[i].input = bad->found.items[i].place.input;
        places[i].offset = bad->found.items[i].place.offset;
        run->skips[i] = &places[i];
    }
    return WEFT_OK;
}

void bad_records_free_skips(Weft__TaskRun *run)
{
    if (run->skips)
        free(run->skips[0]);
    free(run->skips);
    run->skips = NULL;
    run->n_skips = 0;
}

// ---- Those that attempts have left out themselves -----------------------------------------------

weft_err bad_records_take(struct bad_records *bad, size_t task, const Weft__TaskEnd *end)
{
    for (size_t i = 0; i < end->n_bad; i++) {
        const Weft__BadRecord *told = end->bad[i];
        struct left_out left = {.task = task, .attempt = end->attempt};
        left.bad.place = (struct place){told->input, told->offset};
        left.bad.size = told->size;
        left.bad.text_size =
            (uint32_t)(told->text.len < BAD_TEXT_BYTES ? told->text.len : BAD_TEXT_BYTES);
        if (left.bad.text_size)
            memcpy(left.bad.text, told->text.data, left.bad.text_size);
        snprintf(left.bad.reason, sizeof left.bad.reason, "%s", told->reason);
        if (told->input >= bad->plan->inputs.count || !VEC_PUSH(&bad->left_out, left))
            return err_no_memory("for bad records");
    }
    return WEFT_OK;
}

weft_err bad_records_restore(struct bad_records *bad, size_t task, const struct bad_record *record)
{
    const struct left_out left = {task, TALLY_NO_ATTEMPT, *record};
    return VEC_PUSH(&bad->left_out, left) ? WEFT_OK : err_no_memory("for bad records");
}

const struct bad_record *bad_records_next(const struct bad_records *bad, size_t task, size_t *next)
{
    while (*next < bad->left_out.count) {
        const struct left_out *left = &bad->left_out.items[(*next)++];
        if (left->task == task && counts(bad, left))
            return &left->bad;
    }
    return NULL;
}

// ---- Too many -----------------------------------------------------------------------------------

weft_err bad_records_check(const struct bad_records *bad, uint64_t records_in, bool is_end)
{
    const struct skip_limit *limit = &bad->plan->options->skip_bad;
    const uint64_t count = bad_records_count(bad);
    if (count == 0 || !limit->is_set)
        return WEFT_OK;
    if (!limit->is_share && count > limit->count)
        return err_set(WEFT_ABORTED,
                       "more than %" PRIu64 " bad record%s\n  try: a larger --skip-bad",
                       limit->count, limit->count == 1 ? "" : "s");
    const double share = records_in ? 100.0 * (double)count / (double)records_in : 100;
    if (is_end && limit->is_share && share > limit->percent)
        return err_set(WEFT_ABORTED,
                       "%" PRIu64 " of %" PRIu64 " records are bad, which is more than %g%%"
                       "\n  try: a larger --skip-bad",
                       count, records_in, limit->percent);
    return WEFT_OK;
}

// ---- Listing them -------------------------------------------------------------------------------

static int compare_bad(const void *a, const void *b)
{
    return compare_places(&((const struct bad_record *)a)->place,
                          &((const struct bad_record *)b)->place);
}

static weft_err list_bad(const struct bad_records *bad, uint64_t count)
{
    struct bad_record *all = malloc((size_t)count * sizeof *all);
    struct buf text = {0};
    if (!all)
        return err_no_memory("for bad records");
    size_t at = 0;
    for (size_t i = 0; i < bad->found.count; i++)
        all[at++] = bad->found.items[i];
    for (size_t i = 0; i < bad->left_out.count; i++)
        if (counts(bad, &bad->left_out.items[i]))
            all[at++] = bad->left_out.items[i].bad;
    qsort(all, at, sizeof *all, compare_bad);
    for (size_t i = 0; i < at; i++)
        bad_list_append(&text, bad->plan->inputs.items[all[i].place.input].name, &all[i]);
    free(all);
    const weft_err code = bad_list_write(&bad->list, &text);
    buf_fini(&text);
    return code;
}

weft_err bad_records_write(const struct bad_records *bad)
{
    const uint64_t count = bad_records_count(bad);
    // There are none: a list of an earlier run would be taken for this one's.
    const weft_err code = count > 0 ? list_bad(bad, count) : bad_list_remove(&bad->list);
    return err_wrap(code, "the list of bad records");
}
