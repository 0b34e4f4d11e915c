// take: three errands one after the other, with the fetches between them.
//
//     look     in a thread: which files are our own or kept, which are missing
//     fetch    by the owner, all missing ones at once; each is then compared in the thread
//     place    in the thread: directories for the job
//
// Program and libraries are hard links of the kept files, which are never written. Files of the job are copies: its commands may
// change them.

#include "run/package/take.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/vec.h"
#include "code/codes.h"
#include "sys/file/file.h"
#include "sys/file/own.h"
#include "sys/file/place.h"
#include "sys/loop/errands.h"
#include "sys/process/libraries.h"
#include "sys/process/process.h"

enum { COPY_BYTES = 256 << 10, CODE_MODE = 0500, DATA_MODE = 0600, DATA_PROGRAM_MODE = 0700 };

struct item {
    struct take *take;
    const Weft__CodeFile *file;
    struct digest digest;
    int fd;        // its content, which is right; -1: not yet
    bool is_own;   // our program's or a library's of ours
    bool is_kept;  // was in the cache
    int part_fd;   // it is fetched to; -1: not
    char *part;
    // Of its comparison, until the loop has read it.
    weft_err code;
    char *failure;
};

struct take {
    struct take_options options;
    Weft__CodePackage *package;
    struct errands *errands;
    struct item *items;
    size_t pending;  // fetches and their comparisons that have not ended
    // The first failure. Errands that have the take for themselves write it, too.
    weft_err code;
    struct err_kept text;
    bool has_ended;
    struct cache_job job;
    char *code_path, *work_path, *program_path;
    struct worker_program program;
    const struct code *user;  // runs the job
    void *here;               // of `user`
    bool is_self;             // program and libraries are our own
};

static weft_err no_memory(void)
{
    return err_no_memory("for the code of a job");
}

static weft_err make_path(char **path, const char *folder, const char *name)
{
    if (asprintf(path, "%s/%s", folder, name) < 0)
        *path = NULL;
    return *path ? WEFT_OK : no_memory();
}

// The first failure counts.
static void note(struct take *take, weft_err code)
{
    if (code == WEFT_OK || take->code != WEFT_OK)
        return;
    take->code = code;
    err_keep(&take->text);
}

static void end(struct take *take)
{
    if (take->has_ended)
        return;
    take->has_ended = true;
    if (take->code != WEFT_OK)
        err_put_back(&take->text);
    take->options.done(take->options.owner, take->code);
}

// ---- Look ----------------------------------------------------------------------------------------------------------

static const struct item *find_item(const struct take *take, enum package_role role,
                                    const char *name)
{
    for (size_t i = 0; i < take->package->n_files; i++)
        if (take->items[i].file->role == role &&
            (!name || strcmp(take->items[i].file->name, name) == 0))
            return &take->items[i];
    return NULL;
}

// A file of ours that may be the item. That it is not, or cannot be read, only means that it is fetched.
static void try_own(struct item *item, const char *path)
{
    struct digest digest;
    struct file_stat status;
    int fd;
    if (file_open(path, &fd) != WEFT_OK)
        return;
    if (file_stat_fd(fd, path, &status) == WEFT_OK && status.size == item->file->size &&
        digest_recall(fd, path, &digest) == WEFT_OK &&
        digest_is(&digest, item->digest.size, item->digest.sha256)) {
        item->fd = fd;
        item->is_own = true;
    } else {
        file_close(fd);
    }
}

static weft_err visit_library(void *owner, const char *name, const char *path)
{
    struct item *item = (struct item *)find_item(owner, PACKAGE_LIBRARY, name);
    if (item)
        try_own(item, path);
    return WEFT_OK;
}

static void look_for_own(struct take *take)
{
    try_own((struct item *)find_item(take, PACKAGE_PROGRAM, NULL), PROCESS_SELF);
    if (libraries_visit(visit_library, take) != WEFT_OK)
        err_clear();
    take->is_self = true;
    for (size_t i = 0; i < take->package->n_files; i++)
        if (take->items[i].file->role != PACKAGE_DATA)
            take->is_self &= take->items[i].is_own;
}

static weft_err look_for(struct item *item, size_t number)
{
    struct take *take = item->take;
    char name[32];
    weft_err code = WEFT_OK;
    if (item->fd < 0)
        code = cache_find(take->options.cache, &item->digest, &item->fd);
    item->is_kept = code == WEFT_OK && !item->is_own;
    if (code != WEFT_NOT_FOUND)
        return code;
    err_clear();
    snprintf(name, sizeof name, "part-%zu", number);
    code = make_path(&item->part, take->job.path, name);
    return code == WEFT_OK ? file_create_private(item->part, &item->part_fd) : code;
}

// Otherwise the loader would say so for every worker, on its standard error.
static weft_err check_libc(const struct take *take)
{
    if (take->is_self || libraries_has_libc(take->package->libc))
        return WEFT_OK;
    return err_set(WEFT_FAILED_PRECONDITION,
                   "the program of the server needs version %s of the C library, and this machine "
                   "has %s\n  try: a server on a machine as old as this one, or one of a static "
                   "weft",
                   take->package->libc, libraries_own_libc());
}

static void look(void *owner)
{
    struct take *take = owner;
    weft_err code = cache_open_job(take->options.cache, &take->job);
    if (code == WEFT_OK)
        look_for_own(take);
    if (code == WEFT_OK)
        code = check_libc(take);
    for (size_t i = 0; i < take->package->n_files && code == WEFT_OK; i++)
        code = look_for(&take->items[i], i);
    note(take, code);
}

// ---- Place ---------------------------------------------------------------------------------------------------------

static weft_err copy_bytes(const struct item *item, int to, const char *path)
{
    char *block = malloc(COPY_BYTES);
    weft_err code = block ? WEFT_OK : no_memory();
    struct sha256 sha;
    struct digest copied = {.size = 0};
    sha256_init(&sha);
    for (size_t got = 1; code == WEFT_OK && got > 0; copied.size += got) {
        code = file_read_at(item->fd, item->file->name, block, COPY_BYTES, copied.size, &got);
        if (code == WEFT_OK && got > 0)
            code = file_write_at(to, path, block, got, copied.size);
        if (code == WEFT_OK)
            sha256_add(&sha, block, got);
    }
    sha256_end(&sha, copied.sha256);
    free(block);
    if (code == WEFT_OK && !digest_is(&copied, item->digest.size, item->digest.sha256))
        code = err_set(WEFT_DATA_LOSS, "%s was changed while it was copied", item->file->name);
    return code;
}

static weft_err copy(const struct item *item, const char *path, unsigned mode)
{
    int to;
    weft_err code = file_create_new(path, &to);
    if (code != WEFT_OK)
        return code;
    code = copy_bytes(item, to, path);
    if (code == WEFT_OK)
        code = file_set_mode(to, path, mode);
    const weft_err closed = file_close_checked(to, path);
    return code == WEFT_OK ? closed : code;
}

// The directories of a path below `folder`, which is there.
static weft_err make_parents(char *path, size_t folder_size)
{
    struct file_stat status;
    weft_err code = WEFT_OK;
    for (char *slash = path + folder_size; code == WEFT_OK && (slash = strchr(slash + 1, '/'));) {
        *slash = 0;
        code = file_stat(path, &status);
        if (code == WEFT_OK && status.kind == FILE_MISSING)
            code = place_make_directory(path);
        *slash = '/';
    }
    return code;
}

static weft_err place_data(const struct item *item, char *path)
{
    const weft_err code = make_parents(path, strlen(item->take->work_path));
    if (code != WEFT_OK)
        return code;
    return copy(item, path, item->file->mode & 0111 ? DATA_PROGRAM_MODE : DATA_MODE);
}

static weft_err place_item(struct item *item)
{
    struct take *take = item->take;
    const bool is_data = item->file->role == PACKAGE_DATA;
    char *path;
    if (!is_data && take->is_self)
        return WEFT_OK;
    weft_err code = make_path(&path, is_data ? take->work_path : take->code_path, item->file->name);
    if (code != WEFT_OK)
        return code;
    if (is_data)
        code = place_data(item, path);
    else if (item->is_own || file_link(item->fd, item->file->name, path) != WEFT_OK)
        code = copy(item, path, CODE_MODE);
    if (item->file->role == PACKAGE_PROGRAM && code == WEFT_OK)
        take->program_path = path;
    else
        free(path);
    return code;
}

// A path that the loader can be given: it separates them by these, and puts others in the place of $NAME.
static weft_err check_program(const struct take *take)
{
    if (!take->program_path)
        return WEFT_OK;
    if (strpbrk(take->code_path, ":;$"))
        return err_set(WEFT_FAILED_PRECONDITION,
                       "a program cannot find its libraries in %s, for the : ; or $ in its name\n"
                       "  try: XDG_CACHE_HOME=DIR with another name",
                       take->code_path);
    if (!file_is_executable(take->program_path))
        return err_set(WEFT_FAILED_PRECONDITION,
                       "no program can be started from %s: it is on a disk that is mounted without "
                       "that (noexec)\n  try: XDG_CACHE_HOME=DIR on another disk",
                       take->code_path);
    return WEFT_OK;
}

static void place(void *owner)
{
    struct take *take = owner;
    bool has_libraries = false;
    weft_err code = make_path(&take->work_path, take->job.path, "work");
    if (code == WEFT_OK)
        code = place_make_directory(take->work_path);
    if (code == WEFT_OK)
        code = make_path(&take->code_path, take->job.path, "code");
    if (code == WEFT_OK && !take->is_self)
        code = place_make_directory(take->code_path);
    for (size_t i = 0; i < take->package->n_files && code == WEFT_OK; i++) {
        struct item *item = &take->items[i];
        has_libraries |= item->file->role == PACKAGE_LIBRARY;
        code = place_item(item);
        if (item->fd >= 0)
            file_close(item->fd);
        item->fd = -1;
    }
    if (code == WEFT_OK)
        code = check_program(take);
    if (code == WEFT_OK && take->user->find_here)
        code = take->user->find_here(take->package->version, &take->here);
    take->program = (struct worker_program){
        .path = take->program_path,
        .directory = take->work_path,
        .libraries = has_libraries && !take->is_self ? take->code_path : NULL,
    };
    note(take, code);
}

static void on_placed(void *owner)
{
    end(owner);
}

static void place_when_all_are_there(struct take *take)
{
    if (take->pending > 0)
        return;
    if (take->code == WEFT_OK)
        note(take, errands_do(take->errands, place, on_placed, take));
    if (take->code != WEFT_OK)
        end(take);
}

// ---- Fetch ---------------------------------------------------------------------------------------------------------

// A fetched file is closed for writing and then read: nothing can change between that and its use.
static weft_err compare(struct item *item)
{
    struct digest got;
    const char *name = item->file->name;
    weft_err code = file_set_mode(item->part_fd, name, CODE_MODE);
    const weft_err closed = file_close_checked(item->part_fd, name);
    item->part_fd = -1;
    code = code == WEFT_OK ? closed : code;
    if (code == WEFT_OK)
        code = own_open_kept(item->part, &item->fd, &got.size);
    if (code == WEFT_OK)
        code = digest_read(item->fd, name, &got);
    if (code == WEFT_OK && !digest_is(&got, item->digest.size, item->digest.sha256))
        return err_set(WEFT_DATA_LOSS,
                       "%s did not come as the server described it: %" PRIu64 " of %" PRIu64
                       " bytes%s\n  was it changed there while the job ran?",
                       name, got.size, item->digest.size,
                       got.size == item->digest.size ? ", with another SHA-256" : "");
    // A link to it follows, so it does not matter whether it can be kept.
    if (code == WEFT_OK && cache_keep(item->take->options.cache, &item->digest, item->part))
        err_clear();
    return code;
}

static void compare_fetched(void *owner)
{
    struct item *item = owner;
    item->code = compare(item);
    item->failure = item->code == WEFT_OK ? NULL : strdup(err_text());
}

static void on_compared(void *owner)
{
    struct item *item = owner;
    if (item->code != WEFT_OK)
        note(item->take,
             err_set(item->code, "%s", item->failure ? item->failure : "no memory for a sentence"));
    item->take->pending--;
    place_when_all_are_there(item->take);
}

void take_fetched(struct take *take, void *tag, weft_err code)
{
    struct item *item = tag;
    note(take, err_wrap(code, "cannot fetch %s", item->file->name));
    if (take->code == WEFT_OK)
        note(take, errands_do(take->errands, compare_fetched, on_compared, item));
    if (take->code == WEFT_OK)
        return;
    take->pending--;
    place_when_all_are_there(take);
}

static void on_looked(void *owner)
{
    struct take *take = owner;
    take->pending = 1;  // until all are asked for
    for (size_t i = 0; i < take->package->n_files && take->code == WEFT_OK; i++) {
        struct item *item = &take->items[i];
        if (item->part_fd < 0)
            continue;
        const struct take_wanted wanted = {
            .file = item->file->file, .size = item->file->size, .fd = item->part_fd, .tag = item};
        take->pending++;
        // Of an empty file there is nothing to ask for.
        const weft_err code = item->file->size
                                  ? take->options.fetch(take->options.owner, &wanted)
                                  : errands_do(take->errands, compare_fetched, on_compared, item);
        take->pending -= code != WEFT_OK;
        note(take, code);
    }
    take->pending--;
    place_when_all_are_there(take);
}

// ---- Its life ------------------------------------------------------------------------------------------------------

static weft_err make_items(struct take *take)
{
    take->items = calloc(take->package->n_files, sizeof *take->items);
    if (!take->items)
        return no_memory();
    for (size_t i = 0; i < take->package->n_files; i++) {
        struct item *item = &take->items[i];
        *item =
            (struct item){.take = take, .file = take->package->files[i], .fd = -1, .part_fd = -1};
        item->digest.size = item->file->size;
        memcpy(item->digest.sha256, item->file->sha256.data, SHA256_BYTES);
    }
    return WEFT_OK;
}

weft_err take_start(const struct take_options *options, struct take **take)
{
    *take = NULL;
    weft_err code = package_check(options->package);
    if (code != WEFT_OK)
        return code;
    struct take *made = calloc(1, sizeof *made);
    if (!made)
        return no_memory();
    *made = (struct take){
        .options = *options, .job = {.lock = -1}, .user = code_numbered(options->package->kind)};
    made->package = package_copy(options->package);
    made->errands = made->package ? errands_new(options->loop) : NULL;
    code = made->errands ? make_items(made) : WEFT_RESOURCE_EXHAUSTED;
    if (code == WEFT_OK)
        code = errands_do(made->errands, look, on_looked, made);
    if (code == WEFT_OK)
        *take = made;
    else
        take_free(made);
    return code;
}

const struct worker_program *take_program(const struct take *take)
{
    return &take->program;
}

weft_err take_settle(const struct take *take, Weft__JobStart *start)
{
    if (!take->user->settle_words)
        return WEFT_OK;
    return take->user->settle_words(take->here, take->work_path, start->args, start->n_args);
}

struct take_figures take_figures(const struct take *take)
{
    struct take_figures figures = {0};
    for (size_t i = 0; i < take->package->n_files; i++) {
        const struct item *item = &take->items[i];
        figures.total_bytes += item->file->size;
        figures.own_files += item->is_own;
        figures.kept_files += item->is_kept;
        figures.fetched_files += item->part != NULL;
        figures.fetched_bytes += item->part ? item->file->size : 0;
    }
    return figures;
}

void take_free(struct take *take)
{
    if (!take)
        return;
    struct err_kept kept;
    err_keep(&kept);
    errands_free(take->errands);
    for (size_t i = 0; take->items && i < take->package->n_files; i++) {
        file_close(take->items[i].fd);
        file_close(take->items[i].part_fd);
        free(take->items[i].part);
        free(take->items[i].failure);
    }
    free(take->items);
    cache_close_job(&take->job);
    message_free(take->package);
    free(take->code_path);
    free(take->work_path);
    free(take->program_path);
    if (take->user && take->user->free_here)
        take->user->free_here(take->here);
    free(take);
    err_put_back(&kept);
}
