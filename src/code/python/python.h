// Jobs whose functions are Python: one interpreter for each slot, fed with frames
// (python/src/slot/slot.h draws them). The package `weft` finds out what a script or a call of weft.run()
// means, and starts this job with the words below; people do not write them.
#ifndef CODE_PYTHON_PYTHON_H
#define CODE_PYTHON_PYTHON_H

#include "base/args.h"

#define PYTHON_JOB_WORD "@python"  // names the job on a command line

// The job's options.
enum {
    PYTHON_KIND = 'K',  // map, sum, count, fold or reduce; with ",typed" after it output is pairs
    PYTHON_INTERPRETER = 'P',  // its path
    PYTHON_PACKAGE = 'L',      // the directory that holds the package weft
    PYTHON_SCRIPT = 'S',       // a file that the job is made of; any number. See python_name_there
    PYTHON_DESCRIPTION = 'J',  // the text that each slot is given: JSON
    PYTHON_SOURCE =
        'Q',  // records are items of a source, which ends with the process that started the run
    PYTHON_VALUES = 'V',   // of these items: the process that has them (run/driver/server/items.h)
    PYTHON_CAPTURE = 'C',  // a file that gets the record, instead of mapfn: for a replay
};

extern const weft_job python_job;

// Whether a word names a script.
bool python_is_script(const char *word);

// What a file of a job is called on other machines: the part of its path after the last "/./", as of a module in a package beside the
// script, or else its last name.
const char *python_name_there(const char *path);

// Whether the script speaks of mapfn: found by reading, as running it could do anything.
bool python_is_job(const char *script);

// Becomes the interpreter, which runs the script as a job. The first `option_count` words are our options from before the
// script; the others follow it, and are in its sys.argv. Returns only on failure.
MUST_CHECK weft_err python_run_script(const char *script, char *const *words, size_t option_count);

// What --debug of a replay needs: see struct code.
MUST_CHECK weft_err python_capture(const weft_args *args, const char *path, struct weft_args *to);
MUST_CHECK weft_err python_debug(const weft_args *args, int record_fd);

// The Python of this machine, for a job that came from another one: *here of the functions below.
struct python_here {
    char *interpreter, *package;
};

// See struct code. Finds them, and tries whether they work: the interpreter imports the package, which must be of that version of Weft.
// UNIMPLEMENTED: there is none; FAILED_PRECONDITION: it does not work, or is of another version.
MUST_CHECK weft_err python_find_here(const char *version, void **here);
void python_free_here(void *here);

// Changes interpreter, package and scripts.
MUST_CHECK weft_err python_settle_words(const void *here, const char *directory, char **words,
                                        size_t count);

// Becomes the interpreter, which runs `weft tasks` with the words. Returns only on failure.
MUST_CHECK weft_err python_run_tasks(char *const *words);

#endif
