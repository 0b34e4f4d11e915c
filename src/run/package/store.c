// store: files by their hash, and the directories of jobs.
//
// The lock of a job's directory is made before it and removed after it, so the process that holds the lock may remove the directory: its client
// at the end, or the next client when that one was killed. The kernel lets go of the lock.

#include "run/package/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/vec.h"
#include "sys/file/file.h"
#include "sys/file/own.h"
#include "sys/file/place.h"
#include "sys/secure/secret.h"
#include "sys/time/clock.h"

enum { JOB_NAME_BYTES = 16, JOB_TRIES = 100 };
#define DAY_S INT64_C(86400)
static const char lock_end[] = ".lock";

struct store {
    char *path, *jobs;
};

static weft_err no_memory(void)
{
    return err_no_memory("for the name of a file");
}

static weft_err make_path(char **path, const char *folder, const char *name, const char *end)
{
    if (asprintf(path, "%s/%s%s", folder, name, end) < 0)
        *path = NULL;
    return *path ? WEFT_OK : no_memory();
}

// ---- Directories of jobs -------------------------------------------------------------------------------------------

static weft_err lock_job(const char *jobs, const char *name, struct store_job *job)
{
    *job = (struct store_job){.lock = -1};
    weft_err code = make_path(&job->path, jobs, name, "");
    if (code == WEFT_OK)
        code = make_path(&job->lock_path, jobs, name, lock_end);
    if (code == WEFT_OK)
        code = file_lock(job->lock_path, &job->lock);
    return code;
}

static void forget_job(struct store_job *job)
{
    free(job->path);
    free(job->lock_path);
    if (job->lock >= 0)
        file_close(job->lock);
    *job = (struct store_job){.lock = -1};
}

void store_close_job(struct store_job *job)
{
    struct err_kept kept;
    err_keep(&kept);
    // What cannot be removed now is left to the next client: the lock stays with it.
    if (job->path && job->lock >= 0 && file_remove_tree(job->path) == WEFT_OK)
        (void)!file_remove(job->lock_path);
    forget_job(job);
    err_put_back(&kept);
}

weft_err store_open_job(struct store *store, struct store_job *job)
{
    weft_err code = WEFT_OK;
    for (int i = 0; i < JOB_TRIES; i++) {
        uint64_t number;
        char name[JOB_NAME_BYTES + 1];
        secret_random(&number, sizeof number);
        snprintf(name, sizeof name, "%016" PRIx64, number);
        code = lock_job(store->jobs, name, job);
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
    const struct store *store = owner;
    char name[JOB_NAME_BYTES + 1] = "";
    struct store_job job;
    const size_t length = strspn(entry, "0123456789abcdef");
    if (length != JOB_NAME_BYTES || (entry[length] && strcmp(entry + length, lock_end) != 0))
        return WEFT_OK;
    memcpy(name, entry, length);
    if (lock_job(store->jobs, name, &job) == WEFT_OK)
        store_close_job(&job);
    forget_job(&job);
    err_clear();
    return WEFT_OK;
}

// ---- Files ---------------------------------------------------------------------------------------------------------

static weft_err make_file_path(const struct store *store, const struct digest *digest, char **path)
{
    char name[DIGEST_TEXT_BYTES];
    digest_write(digest->sha256, name);
    return make_path(path, store->path, name, "");
}

weft_err store_find(struct store *store, const struct digest *digest, int *fd)
{
    char *path;
    struct digest found = {.size = 0};
    *fd = -1;
    weft_err code = make_file_path(store, digest, &path);
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

weft_err store_keep(struct store *store, const struct digest *digest, const char *path)
{
    char *kept;
    weft_err code = make_file_path(store, digest, &kept);
    if (code == WEFT_OK)
        code = file_rename(path, kept);
    free(kept);
    return code;
}

// ---- Limits --------------------------------------------------------------------------------------------------------

struct kept {
    char *path;
    uint64_t size;
    int64_t mtime_ns;
    bool is_used;
};

struct kept_list {
    const struct store *store;
    VEC(struct kept) list;
};

static weft_err visit_file(void *owner, const char *name)
{
    struct kept_list *files = owner;
    struct kept file = {0};
    struct file_stat status;
    if (!digest_is_text(name))
        return WEFT_OK;
    weft_err code = make_path(&file.path, files->store->path, name, "");
    if (code == WEFT_OK)
        code = file_stat(file.path, &status);
    file.size = code == WEFT_OK ? status.size : 0;
    file.mtime_ns = code == WEFT_OK ? status.mtime_ns : 0;
    file.is_used = code == WEFT_OK && status.name_count > 1;
    if (code == WEFT_OK && VEC_PUSH(&files->list, file))
        return WEFT_OK;
    free(file.path);
    return code ? code : no_memory();
}

static int compare_newest_first(const void *left, const void *right)
{
    const struct kept *a = left, *b = right;
    if (a->mtime_ns != b->mtime_ns)
        return a->mtime_ns > b->mtime_ns ? -1 : 1;
    return strcmp(a->path, b->path);
}

void store_prune(struct store *store, uint64_t bytes_max, uint32_t days_max)
{
    struct kept_list files = {.store = store};
    const int64_t oldest_s = clock_calendar_s() - days_max * DAY_S;
    uint64_t bytes = 0;
    if (file_list(store->path, visit_file, &files) != WEFT_OK)
        err_clear();
    if (files.list.count > 1)
        qsort(files.list.items, files.list.count, sizeof *files.list.items, compare_newest_first);
    for (size_t i = 0; i < files.list.count; i++) {
        struct kept *file = &files.list.items[i];
        bytes += file->size;
        const bool is_over = bytes > bytes_max || file->mtime_ns / 1000000000 < oldest_s;
        if (is_over && !file->is_used) {
            bytes -= file->size;
            if (file_remove_tree(file->path) != WEFT_OK)
                err_clear();
        }
        free(file->path);
    }
    VEC_FINI(&files.list);
}

// ---- The store -----------------------------------------------------------------------------------------------------

// Its own directory, and that of all caches of ours, which may be there since long.
static weft_err make_default(char **path)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char *ours = NULL;
    weft_err code = WEFT_OK;
    if (base && base[0] == '/')
        code = make_path(&ours, base, "weft", "");
    else if (home && home[0] == '/')
        code = make_path(&ours, home, ".cache/weft", "");
    else
        code = err_set(WEFT_FAILED_PRECONDITION,
                       "there is no place for the code of jobs\n  neither XDG_CACHE_HOME nor HOME "
                       "is set\n  try: XDG_CACHE_HOME=DIR weft client ...");
    if (code == WEFT_OK)
        code = own_make_directory(ours);
    if (code == WEFT_OK)
        code = make_path(path, ours, "code", "");
    free(ours);
    return code;
}

static weft_err make_directories(struct store *store)
{
    weft_err code = own_make_directory(store->path);
    if (code == WEFT_OK)
        code = own_check_above(store->path);
    if (code == WEFT_OK)
        code = make_path(&store->jobs, store->path, "jobs", "");
    if (code == WEFT_OK)
        code = own_make_directory(store->jobs);
    return code;
}

weft_err store_open(const char *directory, struct store **store)
{
    struct store *made = *store = calloc(1, sizeof *made);
    weft_err code = made ? WEFT_OK : err_no_memory("to keep the code of jobs");
    if (code == WEFT_OK && directory)
        code = (made->path = strdup(directory)) ? WEFT_OK : no_memory();
    else if (code == WEFT_OK)
        code = make_default(&made->path);
    if (code == WEFT_OK)
        code = make_directories(made);
    if (code == WEFT_PERMISSION_DENIED)
        code = err_set(code,
                       "cannot keep the code of jobs%s%s: %s\n  try: XDG_CACHE_HOME=DIR, a "
                       "directory that only you can write to",
                       made->path ? " in " : "", made->path ? made->path : "", err_text());
    if (code == WEFT_OK) {
        if (file_list(made->jobs, visit_job, made) != WEFT_OK)
            err_clear();
        store_prune(made, STORE_BYTES_MAX, STORE_DAYS_MAX);
        return WEFT_OK;
    }
    store_close(made);
    *store = NULL;
    return code;
}

void store_close(struct store *store)
{
    if (!store)
        return;
    free(store->path);
    free(store->jobs);
    free(store);
}
