// The built-in jobs. Each is an ordinary job, in a file of its own, that uses the public interface
// only: a user's job can do the same. A new one also needs a line in builtin.c, its results in
// test/e2e and a word in the manual.
#ifndef JOBS_BUILTIN_H
#define JOBS_BUILTIN_H

#include <weft/weft.h>

#include "base/args.h"

extern const weft_job builtin_wordcount;  // words and how often
extern const weft_job builtin_count;      // lines and how often
extern const weft_job builtin_sort;       // lines in order
extern const weft_job builtin_grep;       // lines that match
extern const weft_job builtin_index;      // words and the files they are in

// All of them, NULL-terminated, in the order in which help shows them.
extern const weft_job *const builtin_jobs[];

// The same and the job of `weft run --map`: all jobs that a worker of the command may have to run.
extern const weft_job *const builtin_all_jobs[];

// The job of that name; NULL if there is none.
const weft_job *builtin_find(const char *name);

// Our way to write a habit of the tool that the job is named after; NULL: none is known.
const struct args_hint *builtin_hints(const weft_job *job);

// The counter by which `grep -q` reports that it has found a line, and whether the job is run only
// for that: then it is exit code 1 if there is none.
#define BUILTIN_GREP_FOUND "grep.found"
bool builtin_is_question(const weft_job *job, const weft_args *args);

// Whether it is one of builtin_jobs, and not just a job with the same name.
bool builtin_has(const weft_job *job);

#endif
