// worker: the process that runs a job's functions, never the driver's. One control thread reads what the
// driver sends and hands it to slot threads; slots answer for themselves. It decides nothing.
#ifndef RUN_WORKER_WORKER_H
#define RUN_WORKER_WORKER_H

#include <weft/weft.h>

// The exit code of a worker whose driver broke the rules; it has said which before.
enum { WORKER_EXIT_REFUSED = 76 };

// Serves the driver at the other end of `fd` until it says BYE or is gone; returns the exit code of the
// process. `jobs`, NULL-terminated, are those this program knows, and job_size is their size in its header.
int worker_main(int fd, int page_fd, const weft_job *const *jobs, size_t job_size);

#endif
