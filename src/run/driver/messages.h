// messages: what a worker is told of the plan; each worker of a run, whoever it works for.
#ifndef RUN_DRIVER_MESSAGES_H
#define RUN_DRIVER_MESSAGES_H

#include "run/driver/agent.h"
#include "run/driver/plan.h"

// The job and its inputs: the first that a worker is sent.
MUST_CHECK weft_err run_plan_send_job(const struct run_plan *plan, struct agent *agent,
                                      uint32_t slot_count);

#endif
