// environments: a cache of trees (store/cache), and archives on their way into it.
//
// Bytes are collected in a file of a job's directory and hashed on the way. They are looked into only when the hash is right.

#include "pack/environments.h"

#include <stdio.h>
#include <stdlib.h>

#include "pack/unpack.h"
#include "store/cache/cache.h"
#include "sys/file/file.h"
#include "sys/file/place.h"

enum { COPY_BYTES = 1 << 20 };

static const struct cache_kind cache_of_environments = {
    "environments", "environments of weft pack", "weft unpack ...", UINT64_C(20) << 30, 30,
};

struct environments {
    struct cache *cache;
};

struct environment_intake {
    struct environments *environments;
    char hash[DIGEST_TEXT_BYTES];
    uint8_t wanted[SHA256_BYTES];
    struct cache_job job;
    char *path;  // of the archive; NULL: none of ours
    int fd;
    uint64_t size;
    const char *name;  // for sentences
    struct sha256 sha;
    weft_err failed;
};

weft_err environments_open(const char *directory, struct environments **environments)
{
    struct environments *made = *environments = calloc(1, sizeof *made);
    weft_err code = made ? cache_open(&cache_of_environments, directory, &made->cache)
                         : err_no_memory("for environments");
    if (code != WEFT_OK) {
        free(made);
        *environments = NULL;
    }
    return code;
}

void environments_close(struct environments *environments)
{
    if (!environments)
        return;
    cache_close(environments->cache);
    free(environments);
}

// ---- Have ----------------------------------------------------------------------------------------------------------

static weft_err read_hash(const char *hash, uint8_t sha256[SHA256_BYTES])
{
    if (digest_read_text(hash, sha256))
        return WEFT_OK;
    return err_set(
        WEFT_INVALID_ARGUMENT,
        "\"%.80s\" is not the hash of an archive\n  it has 64 digits from 0 to 9 and a to "
        "f, as weft pack prints them",
        hash);
}

weft_err environments_find(struct environments *environments, const char *hash,
                           struct environment *environment)
{
    uint8_t sha256[SHA256_BYTES];
    struct cache_tree tree = {.info = -1};
    char *text = NULL;
    *environment = (struct environment){.lock = -1};
    weft_err code = read_hash(hash, sha256);
    if (code == WEFT_OK)
        code = cache_find_tree(environments->cache, sha256, &tree);
    if (code == WEFT_OK)
        code = cache_read_tree(&tree, &text);
    if (code == WEFT_OK)
        code = label_read((weft_bytes){text, strlen(text)}, &environment->label);
    if (code == WEFT_OK && !(environment->hash = strdup(hash)))
        code = err_no_memory("for an environment");
    free(text);
    environment->directory = tree.path;
    environment->lock = tree.info;
    if (code != WEFT_OK)
        environment_release(environment);
    return code;
}

void environment_release(struct environment *environment)
{
    struct cache_tree tree = {environment->directory, environment->lock};
    if (environment->directory)
        cache_release_tree(&tree);
    free(environment->hash);
    *environment = (struct environment){.lock = -1};
}

// ---- Want ----------------------------------------------------------------------------------------------------------

static weft_err make_path(char **path, const char *folder, const char *name)
{
    if (asprintf(path, "%s/%s", folder, name) < 0)
        *path = NULL;
    return *path ? WEFT_OK : err_no_memory("for a path");
}

static weft_err open_intake(struct environments *environments, struct environment_intake **intake)
{
    struct environment_intake *made = *intake = calloc(1, sizeof *made);
    if (!made)
        return err_no_memory("for an environment");
    made->environments = environments;
    made->name = "the archive";
    made->fd = made->job.lock = -1;
    sha256_init(&made->sha);
    return cache_open_job(environments->cache, &made->job);
}

weft_err environment_intake_new(struct environments *environments, const char *hash,
                                struct environment_intake **intake)
{
    uint8_t sha256[SHA256_BYTES];
    *intake = NULL;
    weft_err code = read_hash(hash, sha256);
    if (code == WEFT_OK)
        code = open_intake(environments, intake);
    if (code == WEFT_OK) {
        struct environment_intake *made = *intake;
        memcpy(made->wanted, sha256, sizeof sha256);
        digest_write(sha256, made->hash);
        code = make_path(&made->path, made->job.path, "archive");
        if (code == WEFT_OK)
            code = file_create_private(made->path, &made->fd);
    }
    if (code != WEFT_OK) {
        environment_intake_free(*intake);
        *intake = NULL;
    }
    return code;
}

weft_err environment_intake_put(struct environment_intake *intake, const void *data, size_t size)
{
    if (intake->failed == WEFT_OK)
        intake->failed = file_write_at(intake->fd, intake->path, data, size, intake->size);
    if (intake->failed != WEFT_OK)
        return intake->failed;
    sha256_add(&intake->sha, data, size);
    intake->size += size;
    return WEFT_OK;
}

// Unpacks the archive, whose hash is known, and keeps what comes out.
static weft_err keep(struct environment_intake *intake, int fd, const char *name)
{
    struct label label;
    struct buf text = {0}, home = {0};
    char *made = NULL, *tree = NULL;
    // The job's directory is jobs/NUMBER below that of the cache.
    char *jobs_end = strrchr(intake->job.path, '/');
    buf_append(&home, intake->job.path, (size_t)(jobs_end - intake->job.path) - strlen("/jobs"));
    buf_format(&home, "/%s/tree", intake->hash);
    weft_err code = home.has_failed ? err_no_memory("for a path") : WEFT_OK;
    if (code == WEFT_OK)
        code = make_path(&made, intake->job.path, "made");
    if (code == WEFT_OK)
        code = make_path(&tree, made, "tree");
    if (code == WEFT_OK)
        code = place_make_directory(made);
    if (code == WEFT_OK)
        code = unpack_file(fd, name, tree, buf_text(&home), &label);
    if (code == WEFT_OK) {
        label_write(&label, &text);
        code = text.has_failed ? err_no_memory("to unpack an archive")
                               : cache_keep_tree(intake->environments->cache, intake->wanted, made,
                                                 label.bytes, buf_text(&text));
    }
    buf_fini(&text);
    buf_fini(&home);
    free(tree);
    free(made);
    return code;
}

weft_err environment_intake_end(struct environment_intake *intake, struct environment *environment)
{
    uint8_t got[SHA256_BYTES];
    char text[DIGEST_TEXT_BYTES];
    *environment = (struct environment){.lock = -1};
    if (intake->failed != WEFT_OK)
        return intake->failed;
    sha256_end(&intake->sha, got);
    digest_write(got, text);
    weft_err code = WEFT_OK;
    if (memcmp(got, intake->wanted, SHA256_BYTES) != 0)
        code =
            err_set(WEFT_DATA_LOSS, "%s has the hash %s, not %s", intake->name, text, intake->hash);
    if (code == WEFT_OK)
        code = keep(intake, intake->fd, intake->name);
    if (code == WEFT_OK)
        code = environments_find(intake->environments, intake->hash, environment);
    intake->failed = code;
    return code;
}

void environment_intake_free(struct environment_intake *intake)
{
    if (!intake)
        return;
    if (intake->fd >= 0)
        file_close(intake->fd);
    cache_close_job(&intake->job);
    free(intake->path);
    free(intake);
}

// ---- A file --------------------------------------------------------------------------------------------------------

// A file that others may change is copied, and the copy is hashed and unpacked.
static weft_err copy_file(struct environment_intake *intake, int from, const char *path)
{
    char *block = malloc(COPY_BYTES);
    size_t got = 1;
    weft_err code = block ? WEFT_OK : err_no_memory("to read %s", path);
    while (code == WEFT_OK && got > 0) {
        code = file_read_at(from, path, block, COPY_BYTES, intake->size, &got);
        if (code == WEFT_OK && got > 0)
            code = environment_intake_put(intake, block, got);
    }
    free(block);
    return code;
}

weft_err environments_take_file(struct environments *environments, const char *path,
                                struct environment *environment)
{
    struct digest digest;
    struct environment_intake *intake = NULL;
    char hash[DIGEST_TEXT_BYTES];
    int fd = -1;
    *environment = (struct environment){.lock = -1};
    weft_err code = file_open(path, &fd);
    if (code == WEFT_OK)
        code = digest_read(fd, path, &digest);
    if (code == WEFT_OK) {
        digest_write(digest.sha256, hash);
        code = environments_find(environments, hash, environment);
    }
    if (code == WEFT_NOT_FOUND && fd >= 0) {
        code = environment_intake_new(environments, hash, &intake);
        if (code == WEFT_OK) {
            intake->name = path;
            code = copy_file(intake, fd, path);
        }
        if (code == WEFT_OK)
            code = environment_intake_end(intake, environment);
        environment_intake_free(intake);
    }
    if (fd >= 0)
        file_close(fd);
    return code;
}

// ---- Programs ------------------------------------------------------------------------------------------------------

void environment_append_variables(const struct environment *environment, const char *path,
                                  struct buf *variables)
{
    const bool is_venv = environment->label.kind == LABEL_VENV;
    const char *directory = environment->directory;
    buf_format(variables, "WEFT_ENVIRONMENT=%s", directory);
    buf_append(variables, "", 1);
    buf_format(variables, "PATH=%s%s%s%s", directory, is_venv ? "/bin" : "",
               path && *path ? ":" : "", path ? path : "");
    buf_append(variables, "", 1);
    if (is_venv) {
        buf_format(variables, "VIRTUAL_ENV=%s", directory);
        buf_append(variables, "", 1);
    }
}
