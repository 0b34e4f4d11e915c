// bad: records that are left out, under the limit of --skip-bad: which, and how many.

#include "run/driver/driver_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

// ---- How many --------------------------------------------------------------------------------

// Only what the attempt that counts has left out is left out of the answer.
static bool counts(const struct driver *driver, const struct driver_left_out *left)
{
    return driver->tally.tasks[left->task].attempt == left->attempt;
}

static uint64_t count_bad(const struct driver *driver)
{
    uint64_t count = driver->bad.count;
    for (size_t i = 0; i < driver->left_out.count; i++)
        count += counts(driver, &driver->left_out.items[i]);
    return count;
}

// ---- Those that tries have found ----------------------------------------------------------------

static int compare_places(const struct place *a, const struct place *b)
{
    if (a->input != b->input)
        return a->input < b->input ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

bool driver_may_skip(const struct driver *driver)
{
    const struct skip_limit *limit = &driver->options->skip_bad;
    if (!limit->is_set)
        return false;
    // A share can only be judged when all records are known.
    return limit->is_share || count_bad(driver) < limit->count;
}

weft_err driver_add_bad(struct driver *driver, const struct bad_record *bad)
{
    for (size_t i = 0; i < driver->bad.count; i++)
        if (compare_places(&driver->bad.items[i].place, &bad->place) == 0)
            return WEFT_OK;
    if (!VEC_PUSH(&driver->bad, *bad)) {
        const weft_err code = err_no_memory("for bad records");
        driver_fail(driver, code);
        return code;
    }
    // In order: a worker looks them up by halving.
    for (size_t i = driver->bad.count - 1; i > 0; i--) {
        struct bad_record *items = driver->bad.items;
        if (compare_places(&items[i - 1].place, &items[i].place) <= 0)
            break;
        const struct bad_record swapped = items[i];
        items[i] = items[i - 1];
        items[i - 1] = swapped;
    }
    return WEFT_OK;
}

weft_err driver_fill_skips(const struct driver *driver, Weft__TaskRun *run)
{
    const size_t count = driver->bad.count;
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
        places[i].input = driver->bad.items[i].place.input;
        places[i].offset = driver->bad.items[i].place.offset;
        run->skips[i] = &places[i];
    }
    return WEFT_OK;
}

void driver_free_skips(Weft__TaskRun *run)
{
    if (run->skips)
        free(run->skips[0]);
    free(run->skips);
    run->skips = NULL;
    run->n_skips = 0;
}

// ---- Those that attempts have left out themselves -----------------------------------------------

weft_err driver_take_left_out(struct driver *driver, size_t number, const Weft__TaskEnd *end)
{
    for (size_t i = 0; i < end->n_bad; i++) {
        const Weft__BadRecord *told = end->bad[i];
        struct driver_left_out left = {.task = number, .attempt = end->attempt};
        left.bad.place = (struct place){told->input, told->offset};
        left.bad.size = told->size;
        left.bad.text_size =
            (uint32_t)(told->text.len < BAD_TEXT_BYTES ? told->text.len : BAD_TEXT_BYTES);
        if (left.bad.text_size)
            memcpy(left.bad.text, told->text.data, left.bad.text_size);
        snprintf(left.bad.reason, sizeof left.bad.reason, "%s", told->reason);
        if (told->input >= driver->plan.inputs.count || !VEC_PUSH(&driver->left_out, left))
            return err_no_memory("for bad records");
    }
    return WEFT_OK;
}

weft_err driver_check_bad(const struct driver *driver, uint64_t records_in, bool is_end)
{
    const struct skip_limit *limit = &driver->options->skip_bad;
    const uint64_t bad = count_bad(driver);
    if (bad == 0 || !limit->is_set)
        return WEFT_OK;
    if (!limit->is_share && bad > limit->count)
        return err_set(WEFT_ABORTED,
                       "more than %" PRIu64 " bad record%s\n  try: a larger --skip-bad",
                       limit->count, limit->count == 1 ? "" : "s");
    const double share = records_in ? 100.0 * (double)bad / (double)records_in : 100;
    if (is_end && limit->is_share && share > limit->percent)
        return err_set(WEFT_ABORTED,
                       "%" PRIu64 " of %" PRIu64 " records are bad, which is more than %g%%"
                       "\n  try: a larger --skip-bad",
                       bad, records_in, limit->percent);
    return WEFT_OK;
}

// ---- Listing them -------------------------------------------------------------------------------

static int compare_bad(const void *a, const void *b)
{
    return compare_places(&((const struct bad_record *)a)->place,
                          &((const struct bad_record *)b)->place);
}

static weft_err list_bad(struct driver *driver, uint64_t count)
{
    struct bad_record *all = malloc((size_t)count * sizeof *all);
    struct buf text = {0};
    if (!all)
        return err_no_memory("for bad records");
    size_t at = 0;
    for (size_t i = 0; i < driver->bad.count; i++)
        all[at++] = driver->bad.items[i];
    for (size_t i = 0; i < driver->left_out.count; i++)
        if (counts(driver, &driver->left_out.items[i]))
            all[at++] = driver->left_out.items[i].bad;
    qsort(all, at, sizeof *all, compare_bad);
    for (size_t i = 0; i < at; i++)
        driver_append_bad(&text, driver->plan.inputs.items[all[i].place.input].name, &all[i]);
    free(all);
    const weft_err code = driver_write_list(driver, &text);
    buf_fini(&text);
    return code;
}

static weft_err write_bad(struct driver *driver)
{
    const uint64_t count = count_bad(driver);
    driver->summary.bad_count = count;
    if (count > 0)
        output_set_left_out(driver->output);
    // There are none: a list of an earlier run would be taken for this one's.
    const weft_err code = count > 0 ? list_bad(driver, count) : driver_remove_list(driver);
    return err_wrap(code, "the list of bad records");
}

// The run has failed, and that is what it says in the end; that the list is missing is said before.
void driver_list_bad(struct driver *driver)
{
    char text[ERR_TEXT_BYTES_MAX];
    if (count_bad(driver) == 0 || write_bad(driver) == WEFT_OK)
        return;
    snprintf(text, sizeof text, "%s", err_text());
    report_warn(&driver->report, text);
    err_clear();
}

weft_err driver_judge_bad(struct driver *driver)
{
    driver->has_judged_bad = true;
    if (!driver->options->skip_bad.is_set)
        return WEFT_OK;
    // Those that tries have found were given to no attempt that counts.
    uint64_t records = driver_resume_records(driver) + driver->bad.count;
    for (uint32_t task = 0; task < driver->plan.stages[0].map_count; task++)
        records +=
            driver->tally.tasks[run_plan_number(&driver->plan, 0, SCHED_MAP, task)].records_in;
    const weft_err code = write_bad(driver);
    driver->summary.bad_records = driver->options->bad_records;
    return code != WEFT_OK ? code : driver_check_bad(driver, records, true);
}
