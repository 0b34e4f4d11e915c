// chain: copying, configuring and counting the jobs of a run.

#include "run/chain.h"

#include "base/sized.h"

#include <stdlib.h>

static uint32_t rounds_of(const weft_job *job)
{
    return job->rounds ? job->rounds : 1;
}

// The configure() of a user's job may fail without a sentence.
static weft_err configure(weft_job *job, const weft_args *args)
{
    if (!job->configure)
        return WEFT_OK;
    err_clear();
    const weft_err code = job->configure(job, args);
    if (code != WEFT_OK && err_text()[0] == 0)
        return err_set(code, "the job %s does not accept these options (%s); -h lists them",
                       job->name, weft_err_name(code));
    return code;
}

static weft_err check_job(const weft_job *job)
{
    if (!job->name || !job->name[0])
        return err_set(WEFT_INVALID_ARGUMENT, "the job has no name: set weft_job.name");
    if (!job->map && !job->map_block)
        return err_set(WEFT_INVALID_ARGUMENT, "the job %s has no map: set weft_job.map", job->name);
    if (job->map && job->map_block)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "the job %s has both map and map_block: set one of them", job->name);
    if (!job->reduce && job->combine)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "the job %s has a combiner but no reduce: set weft_job.reduce", job->name);
    return WEFT_OK;
}

static char *keep(struct chain *chain, weft_bytes bytes)
{
    char *copy = malloc(bytes.size + 1);
    if (!copy || !VEC_PUSH(&chain->kept, copy)) {
        free(copy);
        return NULL;
    }
    if (bytes.size)
        memcpy(copy, bytes.data, bytes.size);
    copy[bytes.size] = 0;
    return copy;
}

// A program may free the job that it has submitted while the run still needs it.
static bool keep_name_and_config(struct chain *chain, weft_job *job)
{
    job->name = keep(chain, weft_text(job->name));
    if (job->config.size)
        job->config.data = keep(chain, job->config);
    return job->name && (job->config.data || !job->config.size);
}

static weft_err add_job(struct chain *chain, const weft_job *theirs)
{
    weft_job kept = *theirs, *const job = &kept;
    const weft_err code = check_job(job);
    if (code != WEFT_OK)
        return code;
    if (job->map_block && (chain->jobs.count > 0 || rounds_of(job) > 1))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "the job %s has a map_block after another stage, where there are pairs and "
                       "no lines: set weft_job.map",
                       job->name);
    // Also what ends the search in a chain that bites its own tail.
    if (rounds_of(job) > CHAIN_STAGES_MAX - chain->stage_count)
        return err_set(WEFT_INVALID_ARGUMENT, "the job has more than %d stages", CHAIN_STAGES_MAX);
    if (!keep_name_and_config(chain, job) || !VEC_PUSH(&chain->jobs, *job))
        return err_no_memory("for the stages of a job");
    chain->stage_count += rounds_of(job);
    return WEFT_OK;
}

// The first job, configured. configure() changes the struct that its program knows, which may be longer than ours.
static weft_err configure_first(weft_job *first, const weft_job *job, size_t job_size,
                                const weft_args *args)
{
    weft_job *theirs = calloc(1, job_size > sizeof *job ? job_size : sizeof *job);
    if (!theirs)
        return err_no_memory("for a job");
    *theirs = *job;
    weft_err code = configure(theirs, args);
    if (code == WEFT_OK)
        code = chain_take_job(first, theirs, job_size > sizeof *job ? job_size : sizeof *job);
    free(theirs);
    return code;
}

weft_err chain_init(struct chain *chain, const weft_job *job, size_t job_size,
                    const weft_args *args)
{
    *chain = (struct chain){0};
    weft_job first, next;
    weft_err code = configure_first(&first, job, job_size, args);
    if (code == WEFT_OK)
        code = add_job(chain, &first);
    for (const weft_job *theirs = code == WEFT_OK ? first.next : NULL; code == WEFT_OK && theirs;
         theirs = next.next) {
        code = chain_take_job(&next, theirs, job_size);
        if (code == WEFT_OK)
            code = add_job(chain, &next);
    }
    return code;
}

void chain_fini(struct chain *chain)
{
    for (size_t i = 0; i < chain->kept.count; i++)
        free(chain->kept.items[i]);
    VEC_FINI(&chain->kept);
    VEC_FINI(&chain->jobs);
    chain->stage_count = 0;
}

uint32_t chain_job_of_stage(const struct chain *chain, uint32_t stage)
{
    uint32_t job = 0;
    for (uint32_t first = 0; job < chain->jobs.count; job++) {
        first += rounds_of(&chain->jobs.items[job]);
        if (stage < first)
            break;
    }
    return job;
}

weft_err chain_take_job(weft_job *ours, const weft_job *job, size_t job_size)
{
    return sized_take(ours, sizeof *ours, job, job_size ? job_size : sizeof *ours, "weft_job");
}
