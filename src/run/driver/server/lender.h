// lender: the inputs of a run, as its server serves them to clients that do not have them. File i is input i.
#ifndef RUN_DRIVER_LENDER_H
#define RUN_DRIVER_LENDER_H

#include "run/driver/plan.h"

struct fetch_files;

// A file that is not the one of the plan any more is DATA_LOSS. The plan outlives the files.
void lender_serve(const struct run_plan *plan, struct fetch_files *files);

// Takes samples of each input (run_plan.heads), by which a client knows its own copy.
MUST_CHECK weft_err lender_read_heads(struct run_plan *plan);

#endif
