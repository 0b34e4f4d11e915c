// chain: the jobs of a run one after the other, as driver and worker both see them.
//
// A job names the next one; each is run `rounds` times. The first job's configure() may change it,
// also which job is next, so both sides copy the job, call configure with the same words, and only
// then look at the chain. Thread: any, one owner.
#ifndef RUN_CHAIN_H
#define RUN_CHAIN_H

#include "base/args.h"
#include "base/err.h"
#include "base/vec.h"

enum { CHAIN_STAGES_MAX = 1000 };  // the scheduler takes a few more: ours, for --top

struct chain {
    VEC(weft_job) jobs;  // copies, with names and configs; jobs.items[i].next is not to be followed
    VEC(char *) kept;    // the memory of these
    uint32_t stage_count;  // all rounds
};

// Copies the job, configures it, and checks that it can run at all (INVALID_ARGUMENT: no map, no
// name). The job is one of ours, see chain_take_job; those after it are the program's, of its size. chain_fini in
// every case.
MUST_CHECK weft_err chain_init(struct chain *chain, const weft_job *job, size_t job_size,
                               const weft_args *args);
void chain_fini(struct chain *chain);

// Which job of the chain a stage runs; jobs.count for stages after the last one.
uint32_t chain_job_of_stage(const struct chain *chain, uint32_t stage);

// A copy of a job of the program, whose struct may be older or newer: base/sized.h.
MUST_CHECK weft_err chain_take_job(weft_job *ours, const weft_job *job, size_t job_size);

#endif
