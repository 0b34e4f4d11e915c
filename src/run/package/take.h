// take: a client takes the code of a job: the files that it lacks are fetched by its owner, everything is compared with its hash, and a private
// directory is made from which workers can be started.
//
//     JOB/code/    the program and its libraries     (not made when our own are the same files)
//     JOB/work/    files of the job, where workers and their commands run
//
// Hashing and copying is done beside the loop. Nothing of a file is used before its hash is right. Thread: that of the loop.
#ifndef RUN_PACKAGE_TAKE_H
#define RUN_PACKAGE_TAKE_H

#include "run/package/package.h"
#include "run/worker_program.h"
#include "store/cache/cache.h"

struct loop;
struct take;

// A file to be fetched, as transport/fetch_client.h wants it: `size` bytes of the server's `file`, from 0 on, into `fd` at 0.
struct take_wanted {
    uint64_t file, size;
    int fd;     // the take's, open until take_fetched
    void *tag;  // for take_fetched
};

struct take_figures {
    uint32_t fetched_files, kept_files,
        own_files;  // own: the same as our program and its libraries
    uint64_t fetched_bytes, total_bytes;
};

struct take_options {
    struct loop *loop;
    struct cache *cache;               // outlives the take
    const Weft__CodePackage *package;  // from outside: it is checked, and copied

    // Asks for a file, which is not empty; take_fetched reports its end, not from within. A failure ends the take.
    weft_err (*fetch)(void *owner, const struct take_wanted *wanted);
    // The code is there, or a failure with this thread's sentence: DATA_LOSS names a file that is not what the server promised;
    // RESOURCE_EXHAUSTED: no room on the disk; FAILED_PRECONDITION: the program cannot run on this machine. Once. May free the take.
    void (*done)(void *owner, weft_err code);
    void *owner;
};

// Begins. INVALID_ARGUMENT: not a package. *take is NULL on failure, and `done` is not called.
MUST_CHECK weft_err take_start(const struct take_options *options, struct take **take);

// A request of `fetch` has ended, well or with this thread's sentence.
void take_fetched(struct take *take, void *tag, weft_err code);

// What workers are started from; valid after a good `done`, until take_free.
const struct worker_program *take_program(const struct take *take);
struct take_figures take_figures(const struct take *take);

// Changes the words of a job that were spelled on the server so that they name the files of this machine, before JOB_START goes to a worker.
// Only jobs of Python have such words. INVALID_ARGUMENT.
MUST_CHECK weft_err take_settle(const struct take *take, Weft__JobStart *start);

// Removes the job's directory. Its workers must have ended, and no request may write to a descriptor of it any more. NULL is fine.
void take_free(struct take *take);

#endif
