// The list of built-in jobs.

#include "jobs/builtin.h"
#include "code/command/command.h"
#include "code/python/python.h"
#include "jobs/hints.h"

const weft_job *const builtin_jobs[] = {
    &builtin_wordcount, &builtin_count, &builtin_sort, &builtin_grep, &builtin_index, NULL,
};

const weft_job *const builtin_all_jobs[] = {
    &builtin_wordcount, &builtin_count, &builtin_sort, &builtin_grep,
    &builtin_index,     &command_job,   &python_job,   NULL,
};

const weft_job *builtin_find(const char *name)
{
    for (const weft_job *const *job = builtin_jobs; *job; job++)
        if (strcmp((*job)->name, name) == 0)
            return *job;
    return NULL;
}

const struct args_hint *builtin_hints(const weft_job *job)
{
    return job == &builtin_grep   ? builtin_grep_hints
           : job == &builtin_sort ? builtin_sort_hints
                                  : NULL;
}

bool builtin_is_question(const weft_job *job, const weft_args *args)
{
    return job == &builtin_grep && weft_option(args, 'q', 0);
}

bool builtin_has(const weft_job *job)
{
    const weft_job *const *known = builtin_jobs;
    while (*known && *known != job)
        known++;
    return *known;
}
