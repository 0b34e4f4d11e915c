// cache: files and trees by their hash, and the directories of jobs.
//
// The lock of a job's directory is made before it and removed after it, so the process that holds the lock may remove the directory: its client
// at the end, or the next client when that one was killed. The kernel lets go of the lock.

#include "store/cache/cache.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/cache/cache_state.h"
#include "sys/file/file.h"
#include "sys/file/own.h"
#include "sys/file/place.h"
#include "sys/secure/secret.h"

enum { JOB_NAME_BYTES = 16, JOB_TRIES = 100 };
static const char lock_end[] = ".lock";

const struct cache_kind cache_of_code = {
    "code", "the code of jobs", "weft client ...", UINT64_C(1) << 30, 30,
};

static weft_err no_memory(void)
{
    return err_no_memory("for the name of a file");
}

weft_err cache_make_path(char **path, const char *folder, const char *name, const char *end)
{
    if (asprintf(path, "%s/%s%s", folder, name, end) < 0)
        *path = NULL;
    return *path ? WEFT_OK : no_memory();
}

// ---- Directories of jobs -------------------------------------------------------------------------------------------

static weft_err lock_job(const char *jobs, const char *name, struct cache_job *job)
{
    *job = (struct cache_job){.lock = -1};
    weft_err code = cache_make_path(&job->path, jobs, name, "");
    if (code == WEFT_OK)
        code = cache_make_path(&job->lock_path, jobs, name, lock_end);
    if (code == WEFT_OK)
        code = file_lock(job->lock_path, &job->lock);
    return code;
}

static void forget_job(struct cache_job *job)
{
    free(job->path);
    free(job->lock_path);
    if (job->lock >= 0)
        file_close(job->lock);
    *job = (struct cache_job){.lock = -1};
}

void cache_close_job(struct cache_job *job)
{
    struct err_kept kept;
    err_keep(&kept);
    // What cannot be removed now is left to the next client: the lock stays with it.
    if (job->path && job->lock >= 0 && file_remove_tree(job->path) == WEFT_OK)
        (void)!file_remove(job->lock_path);
    forget_job(job);
    err_put_back(&kept);
}

weft_err cache_open_job(struct cache *cache, struct cache_job *job)
{
    weft_err code = WEFT_OK;
    for (int i = 0; i < JOB_TRIES; i++) {
        uint64_t number;
        char name[JOB_NAME_BYTES + 1];
        secret_random(&number, sizeof number);
        snprintf(name, sizeof name, "%016" PRIx64, number);
        code = lock_job(cache->jobs, name, job);
        if (code == WEFT_OK)
            return place_make_directory(job->path);
        forget_job(job);
        // Another client was quicker to look at the new lock, and may have removed it.
        if (code != WEFT_NOT_FOUND && code != WEFT_UNAVAILABLE)
            break;
    }
    return code;
}

// A job's directory or lock: removed unless its client lives.
static weft_err visit_job(void *owner, const char *entry)
{
    const struct cache *cache = owner;
    char name[JOB_NAME_BYTES + 1] = "";
    struct cache_job job;
    const size_t length = strspn(entry, "0123456789abcdef");
    if (length != JOB_NAME_BYTES || (entry[length] && strcmp(entry + length, lock_end) != 0))
        return WEFT_OK;
    memcpy(name, entry, length);
    if (lock_job(cache->jobs, name, &job) == WEFT_OK)
        cache_close_job(&job);
    forget_job(&job);
    err_clear();
    return WEFT_OK;
}

// ---- Files ---------------------------------------------------------------------------------------------------------

static weft_err make_file_path(const struct cache *cache, const struct digest *digest, char **path)
{
    char name[DIGEST_TEXT_BYTES];
    digest_write(digest->sha256, name);
    return cache_make_path(path, cache->path, name, "");
}

weft_err cache_find(struct cache *cache, const struct digest *digest, int *fd)
{
    char *path;
    struct digest found = {.size = 0};
    *fd = -1;
    weft_err code = make_file_path(cache, digest, &path);
    if (code != WEFT_OK)
        return code;
    code = own_open_kept(path, fd, &found.size);
    if (code == WEFT_OK && found.size == digest->size)
        code = digest_read(*fd, path, &found);
    const bool is_it = code == WEFT_OK && digest_is(&found, digest->size, digest->sha256);
    if (is_it) {
        file_touch(*fd);
    } else {
        if (*fd >= 0)
            file_close(*fd);
        *fd = -1;
        if (code != WEFT_NOT_FOUND && file_remove_tree(path) != WEFT_OK)
            err_clear();
        code = err_set(WEFT_NOT_FOUND, "%s is not kept", path);
    }
    free(path);
    return code;
}

weft_err cache_keep(struct cache *cache, const struct digest *digest, const char *path)
{
    char *kept;
    weft_err code = make_file_path(cache, digest, &kept);
    if (code == WEFT_OK)
        code = file_rename(path, kept);
    free(kept);
    return code;
}

// ---- The cache -----------------------------------------------------------------------------------------------------

// Its own directory, and that of all caches of ours, which may be there since long.
static weft_err make_default(const struct cache_kind *kind, char **path)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char *ours = NULL;
    weft_err code = WEFT_OK;
    if (base && base[0] == '/')
        code = cache_make_path(&ours, base, "weft", "");
    else if (home && home[0] == '/')
        code = cache_make_path(&ours, home, ".cache/weft", "");
    else
        code = err_set(WEFT_FAILED_PRECONDITION,
                       "there is no place for %s\n  neither XDG_CACHE_HOME nor HOME is set\n  try: "
                       "XDG_CACHE_HOME=DIR %s",
                       kind->what, kind->command);
    if (code == WEFT_OK)
        code = own_make_directory(ours);
    if (code == WEFT_OK)
        code = cache_make_path(path, ours, kind->folder, "");
    free(ours);
    return code;
}

static weft_err make_directories(struct cache *cache)
{
    weft_err code = own_make_directory(cache->path);
    if (code == WEFT_OK)
        code = own_check_above(cache->path);
    if (code == WEFT_OK)
        code = cache_make_path(&cache->jobs, cache->path, "jobs", "");
    if (code == WEFT_OK)
        code = own_make_directory(cache->jobs);
    return code;
}

weft_err cache_open(const struct cache_kind *kind, const char *directory, struct cache **cache)
{
    struct cache *made = *cache = calloc(1, sizeof *made);
    weft_err code = made ? WEFT_OK : err_no_memory("to keep %s", kind->what);
    if (made)
        made->kind = kind;
    if (code == WEFT_OK && directory)
        code = (made->path = strdup(directory)) ? WEFT_OK : no_memory();
    else if (code == WEFT_OK)
        code = make_default(kind, &made->path);
    if (code == WEFT_OK)
        code = make_directories(made);
    if (code == WEFT_PERMISSION_DENIED || code == WEFT_NOT_FOUND)  // so mkdir in /proc
        code =
            err_set(code,
                    "cannot keep %s%s%s: %s\n  try: XDG_CACHE_HOME=DIR, a directory that only "
                    "you can write to",
                    kind->what, made->path ? " in " : "", made->path ? made->path : "", err_text());
    if (code == WEFT_OK) {
        if (file_list(made->jobs, visit_job, made) != WEFT_OK)
            err_clear();
        cache_prune(made, kind->bytes_max, kind->days_max);
        return WEFT_OK;
    }
    cache_close(made);
    *cache = NULL;
    return code;
}

void cache_close(struct cache *cache)
{
    if (!cache)
        return;
    free(cache->path);
    free(cache->jobs);
    free(cache);
}
