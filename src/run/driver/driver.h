// driver: one run of a job from its inputs to its committed output.
//
//   inputs -> plan -> sched -> [wire] -> worker -> [wire] -> sched -> output
//
// The driver is the process around the coordinator (run/driver/coordinator/coordinator.h): it finds the inputs, opens the output,
// runs the loop, answers signals and limits of time, and prints how it ended. Everything but driver_cancel happens in
// the thread that calls driver_run.
#ifndef RUN_DRIVER_DRIVER_H
#define RUN_DRIVER_DRIVER_H

#include "run/options.h"
#include "run/talk/summary.h"

struct driver;

struct driver_spec {
    const weft_job *job;                // as the program declared it; copied
    const struct run_options *options;  // completed; borrowed until driver_free
    bool owns_process;                  // may answer signals; false inside a user's program
};

// Copies and configures the job. *driver is NULL on failure: the job cannot run, wrong options.
MUST_CHECK weft_err driver_new(struct driver **driver, const struct driver_spec *spec);

// Runs the job to its end, with reports on standard error as the options say. The code says how
// it ended, with the sentence set. Once.
MUST_CHECK weft_err driver_run(struct driver *driver);

// Ends the run soon, with CANCELLED. Any thread, at any time between new and free.
void driver_cancel(struct driver *driver);

// The figures of the run, after it; borrowed.
const struct summary *driver_summary(const struct driver *driver);

void driver_free(struct driver *driver);

#endif
