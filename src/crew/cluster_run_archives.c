// The archives of roles: unpacked into the cache of this machine, once each, or measured for the hosts, which unpack them.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "crew/cluster_run_state.h"
#include "pack/environments.h"
#include "sys/file/file.h"

struct run_archive {
    const char *path;
    struct environment environment;  // on this machine
    uint8_t hash[SHA256_BYTES];      // for others
    uint64_t size;
    char target[32];
};

static struct run_archive *find_archive(const struct run *run, const char *path)
{
    for (size_t i = 0; i < run->archive_count; i++)
        if (strcmp(run->archives[i].path, path) == 0)
            return &run->archives[i];
    return NULL;
}

// The hash by which hosts know it. It takes a second for 300 MB, and hosts that are reached do not wait for long.
static weft_err measure(struct run_archive *archive)
{
    enum { BLOCK_BYTES = 1 << 20 };
    char *block = malloc(BLOCK_BYTES);
    struct sha256 sha;
    size_t got = 1;
    int fd = -1;
    weft_err err = block ? file_open(archive->path, &fd) : err_no_memory("for an archive");
    sha256_init(&sha);
    while (!err && got > 0) {
        err = file_read_at(fd, archive->path, block, BLOCK_BYTES, archive->size, &got);
        sha256_add(&sha, block, err ? 0 : got);
        archive->size += err ? 0 : got;
    }
    sha256_end(&sha, archive->hash);
    if (!err && archive->size == 0)
        err = err_set(WEFT_INVALID_ARGUMENT, "%s is empty\n  try: weft pack DIR", archive->path);
    if (fd >= 0)
        file_close(fd);
    free(block);
    return err;
}

static weft_err take_archives(struct run *run)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < run->spec->roles.count; i++) {
        const struct crew_role *role = &run->spec->roles.items[i];
        if (!role->archive || role->instances == 0 || find_archive(run, role->archive))
            continue;
        struct run_archive *archive = &run->archives[run->archive_count];
        archive->path = role->archive;
        snprintf(archive->target, sizeof archive->target, ".weft-archive-%zu", run->archive_count);
        err = run->launcher->is_far
                  ? measure(archive)
                  : environments_take_file(run->environments, role->archive, &archive->environment);
        run->archive_count += !err;
        err = err_wrap(err, "roles.%s: archive", role->name);
    }
    return err;
}

weft_err run_open_archives(struct run *run)
{
    bool has_archive = false;
    for (size_t i = 0; i < run->spec->roles.count; i++)
        has_archive = has_archive || run->spec->roles.items[i].archive;
    if (!has_archive)
        return WEFT_OK;
    run->archives = calloc(run->spec->roles.count, sizeof *run->archives);
    if (!run->archives)
        return err_no_memory("for the archives of roles");
    weft_err err = WEFT_OK;
    if (!run->launcher->is_far)
        err = environments_open(NULL, &run->environments);
    return err ? err : take_archives(run);
}

void run_close_archives(struct run *run)
{
    for (size_t i = 0; i < run->archive_count; i++)
        environment_release(&run->archives[i].environment);
    environments_close(run->environments);
    free(run->archives);
}

// A variable that the description gives wins here too.
static bool is_given(const struct crew_role *role, const char *variable)
{
    const size_t length = strcspn(variable, "=");
    for (size_t i = 0; i < role->variables.count; i++)
        if (strlen(role->variables.items[i].name) == length &&
            strncmp(role->variables.items[i].name, variable, length) == 0)
            return true;
    return false;
}

weft_err run_add_archive(const struct run_member *member, struct crew_environment *variables)
{
    const struct crew_role *role = member->seat.role;
    const struct run_archive *archive =
        role->archive ? find_archive(member->run, role->archive) : NULL;
    struct buf list = {0};
    weft_err err = WEFT_OK;
    if (!archive || member->run->launcher->is_far)
        return WEFT_OK;
    environment_append_variables(&archive->environment, getenv("PATH"), &list);
    if (list.has_failed)
        err = err_no_memory("for the variables of an archive");
    for (size_t at = 0; !err && at < list.size; at += strlen(list.data + at) + 1)
        if (!is_given(role, list.data + at))
            err = crew_environment_add(variables, list.data + at);
    buf_fini(&list);
    return err;
}

void run_list_archive(const struct run_member *member, struct launch_file *files, size_t *count)
{
    const struct crew_role *role = member->seat.role;
    const struct run_archive *archive =
        role->archive ? find_archive(member->run, role->archive) : NULL;
    if (archive)
        files[(*count)++] = (struct launch_file){.path = archive->path,
                                                 .target = archive->target,
                                                 .is_archive = true,
                                                 .hash = archive->hash,
                                                 .size = archive->size};
}
