// The built-in jobs. Each is an ordinary job, in a file of its own, that uses the public interface only:
// what they can do, a user's job can do too. A new one also needs a line in builtin.c, its results in
// test/e2e and a word in the manual.
#ifndef LANG_BUILTIN_H
#define LANG_BUILTIN_H

#include <weft/weft.h>

extern const weft_job builtin_wordcount;  // words and how often
extern const weft_job builtin_count;      // lines and how often
extern const weft_job builtin_sort;       // lines in order
extern const weft_job builtin_grep;       // lines that match
extern const weft_job builtin_index;      // words and the files they are in

// All of them, NULL-terminated, in the order in which help shows them.
extern const weft_job *const builtin_jobs[];

// The same and the one behind `weft run --map`: all that a worker of the command may have to run.
extern const weft_job *const builtin_all_jobs[];

// The job of that name; NULL when there is none.
const weft_job *builtin_find(const char *name);

// Whether it is one of builtin_jobs, and not just called like one.
bool builtin_has(const weft_job *job);

#endif
