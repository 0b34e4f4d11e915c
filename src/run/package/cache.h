// cache: what a client keeps of the code of jobs: files by the SHA-256 of their content, for the next job with the same code, and a
// private directory for each job that runs.
//
//     ${XDG_CACHE_HOME:-~/.cache}/weft/code/        0700
//         3a7bd3e2...                                a file by its hash, 0500; its time is that of its last use
//         jobs/4f1c9a.../                            the directory of a job; removed at its end
//         jobs/4f1c9a....lock                        locked while its client lives
//
// Nothing in it is trusted for its name: a file that is taken is hashed again, whichever process put it there. Links are not followed, and
// files of other users, or that others may write to, are not used. Clients of one user share it. Thread: any; files may be taken and kept by
// several threads and processes at once.
#ifndef RUN_PACKAGE_CACHE_H
#define RUN_PACKAGE_CACHE_H

#include "run/package/digest.h"

// Kept are the files used last, of at most that size together and not older.
#define CACHE_BYTES_MAX (UINT64_C(1) << 30)
enum { CACHE_DAYS_MAX = 30 };

struct cache;

// Opens or makes it; removes the directories of jobs whose clients were killed, and files beyond the limits. `directory` is for tests; NULL: the
// one above. PERMISSION_DENIED: it is a place that others can write to. FAILED_PRECONDITION: there is no home.
MUST_CHECK weft_err cache_open(const char *directory, struct cache **cache);
void cache_close(struct cache *cache);  // NULL is fine

// Opens the file with that content for reading. NOT_FOUND: it is not kept, or another content was kept there and is removed.
MUST_CHECK weft_err cache_find(struct cache *cache, const struct digest *digest, int *fd);

// Keeps a file, which the caller has hashed after its last change, and takes its name away. It must be on the cache's file
// system, in a job's directory.
MUST_CHECK weft_err cache_keep(struct cache *cache, const struct digest *digest, const char *path);

// Removes the least recently used files until the limits hold. A file that a job uses, by another name, stays.
void cache_prune(struct cache *cache, uint64_t bytes_max, uint32_t days_max);

// ---- The directory of a job

struct cache_job {
    char *path;  // absolute; NULL: none
    char *lock_path;
    int lock;
};

// Makes an empty one, for us alone. cache_close_job in every case, which removes it with everything in it.
MUST_CHECK weft_err cache_open_job(struct cache *cache, struct cache_job *job);
void cache_close_job(struct cache_job *job);

#endif
