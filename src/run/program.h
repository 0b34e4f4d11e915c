// program: how a program with jobs starts. The same binary is the driver a person started and the
// worker that the driver starts: these decide which one this process is, and run jobs as a command does.
#ifndef RUN_PROGRAM_H
#define RUN_PROGRAM_H

#include "run/options.h"

// Call first in main(). In a worker's copy runs the worker for one of these jobs (NULL-terminated, all of job_size)
// and does not return.
void program_start(const weft_job *const *jobs, size_t job_size);

// Runs the job of the parsed options to its end, with reports on standard error. Returns the exit
// code. `program` is our name in errors before the run.
int program_run(struct run_options *options, const char *program);

#endif
