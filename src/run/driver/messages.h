// messages: the plan as a worker is told it, and what changes with the run where it matters to a worker: pieces that
// are written, samples, records to leave out.
#ifndef RUN_DRIVER_MESSAGES_H
#define RUN_DRIVER_MESSAGES_H

#include "run/driver/resume.h"

// The job and its inputs: the first that a worker is sent.
MUST_CHECK weft_err run_plan_send_job(const struct run_plan *plan, struct agent *agent,
                                      uint32_t slot_count);
// A stage begins. `pieces` are those of the last stage; what an earlier worker has committed stays.
MUST_CHECK weft_err run_plan_send_stage_open(const struct run_plan *plan, struct agent *agent,
                                             uint32_t stage, const struct output *output,
                                             const struct output_piece *pieces,
                                             const struct resume *resume);
// The sample of a whole stage; `samples` are the ends of all its sample tasks, NULL for those that did not run.
MUST_CHECK weft_err run_plan_send_stage_plan(const struct run_plan *plan, struct agent *agent,
                                             uint32_t stage, Weft__TaskEnd *const *samples,
                                             const struct resume *resume);
MUST_CHECK weft_err run_plan_send_task(const struct run_plan *plan, struct agent *agent,
                                       const struct sched_action *action,
                                       const struct bad_records *bad);

#endif
