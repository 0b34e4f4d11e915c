// blame: sentences about attempts and workers that came to a bad end, and what to try next. Pure: a plan and facts
// in, words out. Thread: any.
#ifndef RUN_DRIVER_BLAME_H
#define RUN_DRIVER_BLAME_H

#include "run/driver/plan.h"

struct blame {
    const struct run_plan *plan;
    char why[ERR_TEXT_BYTES_MAX];
    char next[ERR_TEXT_BYTES_MAX];  // what to try about it; "": nothing comes to mind
};

// A worker is gone. `inside` are the attempts in it that are tasks of this stage; crash_slot is SCHED_NO_SLOT when none
// is known to have done it.
void blame_explain_loss(struct blame *blame, uint32_t stage, const struct agent_loss *loss,
                        const struct agent_attempt *const *inside, uint32_t inside_count,
                        uint32_t crash_slot);
// An attempt is beyond its time; `is_record`: at one record.
void blame_explain_timeout(struct blame *blame, uint32_t stage, const struct agent_attempt *at,
                           bool is_record);
void blame_explain_failure(struct blame *blame, const Weft__TaskEnd *end);

// "500ms", "30s", "10m": as the option is written.
void blame_format_duration(uint32_t milliseconds, char *text, size_t text_size);

#endif
