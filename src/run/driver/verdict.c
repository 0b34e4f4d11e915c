// verdict: what follows for a run from the records that are left out of it.

#include "run/driver/driver_state.h"

#include <stdio.h>

static weft_err write_bad(struct driver *driver)
{
    driver->summary.bad_count = bad_records_count(&driver->bad);
    if (driver->summary.bad_count > 0)
        output_set_left_out(driver->output);
    return bad_records_write(&driver->bad);
}

// The run has failed, and that is what it says in the end; that the list is missing is said before.
void driver_list_bad(struct driver *driver)
{
    char text[ERR_TEXT_BYTES_MAX];
    if (bad_records_count(&driver->bad) == 0 || write_bad(driver) == WEFT_OK)
        return;
    snprintf(text, sizeof text, "%s", err_text());
    report_warn(&driver->report, text);
    err_clear();
}

weft_err driver_judge_bad(struct driver *driver)
{
    driver->bad.is_judged = true;
    if (!driver->options->skip_bad.is_set)
        return WEFT_OK;
    // Those that tries have found were given to no attempt that counts.
    uint64_t records = driver_resume_records(driver) + driver->bad.found.count;
    for (uint32_t task = 0; task < driver->plan.stages[0].map_count; task++)
        records +=
            driver->tally.tasks[run_plan_number(&driver->plan, 0, SCHED_MAP, task)].records_in;
    const weft_err code = write_bad(driver);
    driver->summary.bad_records = driver->options->bad_records;
    return code != WEFT_OK ? code : bad_records_check(&driver->bad, records, true);
}
