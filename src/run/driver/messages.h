// messages: the plan as a worker receives it, and the changes during the run that matter to a worker: pieces that
// are written, samples, records to leave out.
#ifndef RUN_DRIVER_MESSAGES_H
#define RUN_DRIVER_MESSAGES_H

#include "run/driver/answer/shelves.h"
#include "run/driver/resume/resume.h"
#include "run/driver/server/clients.h"
#include "run/driver/server/holdings.h"
#include "run/driver/server/items.h"

// Where workers find what others have made.
struct whereabouts {
    const struct shelves *shelves;    // on this machine,
    const struct holdings *holdings;  // or with clients
    const struct clients *clients;    // NULL: there are none
    struct items *items;              // NULL: records are all there is
};

// The job and its inputs: the first that a worker is sent. Several workers share the work.
MUST_CHECK weft_err run_plan_send_job(const struct run_plan *plan, struct agent *agent,
                                      uint32_t slot_count, uint32_t worker_count);
// A stage begins. `pieces` are those of the last stage; what an earlier worker has committed stays.
MUST_CHECK weft_err run_plan_send_stage_open(const struct run_plan *plan, struct agent *agent,
                                             uint32_t stage, const struct output *output,
                                             const struct output_piece *pieces,
                                             const struct resume *resume);
// The sample of a whole stage, whose hash goes to `cuts`; `samples` are the ends of all its sample tasks, NULL for those that did not run.
MUST_CHECK weft_err run_plan_send_stage_plan(const struct run_plan *plan, struct agent *agent,
                                             uint32_t stage, Weft__TaskEnd *const *samples,
                                             struct resume *resume,
                                             uint8_t cuts[IDENTITY_KEY_BYTES]);
// The map output of all workers: where they share, before the first reduce task of a worker.
MUST_CHECK weft_err run_plan_send_seals(struct agent *agent, uint32_t stage,
                                        const struct resume *resume,
                                        const struct whereabouts *where);
MUST_CHECK weft_err run_plan_send_task(const struct run_plan *plan, struct agent *agent,
                                       const struct sched_action *action,
                                       const struct bad_records *bad,
                                       const struct whereabouts *where);

#endif
