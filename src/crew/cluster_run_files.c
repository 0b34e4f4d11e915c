// The files of roles, where members are processes of this machine: links in a directory of the run, in which the
// members then run, as they would on another machine. Far launchers get the list and send the files. Archives of weft
// pack are unpacked into the cache of this machine, once each.

#include <stdlib.h>
#include <string.h>

#include "crew/cluster_run_state.h"
#include "pack/environments.h"
#include "sys/file/file.h"

static bool has_files(const struct crew_spec *spec)
{
    for (size_t i = 0; i < spec->roles.count; i++)
        if (spec->roles.items[i].instances > 0 && spec->roles.items[i].files.count > 0)
            return true;
    return false;
}

// One file may belong to several roles; spec_check has seen to it that it is the same one.
static weft_err add_file(struct run *run, const struct crew_pair *file)
{
    struct buf target = {0};
    struct file_stat stat = {0};
    buf_format(&target, "%s/%s", run->files.path, file->name);
    char *path = strdup(buf_text(&target));
    char *slash = path ? strrchr(path, '/') : NULL;
    weft_err err = slash ? file_stat(path, &stat) : err_no_memory("for the files of a role");
    if (!err && stat.kind == FILE_MISSING) {
        *slash = 0;
        struct workdir parent = {.path = path, .alive = -1};
        err = file_make_directory(path);
        if (!err)
            err = file_stat(file->value, &stat);
        if (!err && stat.kind == FILE_MISSING)
            err = err_set(WEFT_NOT_FOUND, "there is no %s", file->value);
        if (!err)
            err = workdir_add(&parent, file->value, slash + 1, false);
    }
    free(path);
    buf_fini(&target);
    return err;
}

weft_err run_open_files(struct run *run)
{
    const char *tmp = run->options->tmp ? run->options->tmp : getenv("TMPDIR");
    run->files.alive = -1;
    if (run->launcher->is_far || !has_files(run->spec))
        return WEFT_OK;
    if (run->options->directory)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "--cd: members that have files run in the directory of these files\n"
                       "  leave --cd out, or the files");
    weft_err err = workdir_open(&run->files, tmp && *tmp ? tmp : "/tmp");
    for (size_t i = 0; !err && i < run->spec->roles.count; i++) {
        const struct crew_role *role = &run->spec->roles.items[i];
        for (size_t k = 0; !err && role->instances > 0 && k < role->files.count; k++)
            err = err_wrap(add_file(run, &role->files.items[k]), "roles.%s: files", role->name);
    }
    return err;
}

// A program that is named by a path relative to this directory is not on another machine: it is sent, too. With --cd the path is
// one of the hosts.
static bool is_own_program(const struct run *run, const char *program)
{
    struct file_stat stat;
    if (run->options->directory || *program == '/' || !strchr(program, '/'))
        return false;
    if (file_stat(program, &stat)) {
        err_clear();
        return false;
    }
    return stat.kind == FILE_REGULAR;
}

weft_err run_list_files(const struct run_member *member, struct launch_file **files, size_t *count)
{
    const struct crew_role *role = member->seat.role;
    const struct crew_pairs *pairs = &role->files;
    const char *program = role->command.items[0];
    *files = NULL;
    *count = 0;
    if (!member->run->launcher->is_far)
        return WEFT_OK;
    *files = calloc(pairs->count + 1, sizeof **files);
    if (!*files)
        return err_no_memory("for the files of a role");
    for (size_t i = 0; i < pairs->count; i++)
        (*files)[(*count)++] = (struct launch_file){pairs->items[i].value, pairs->items[i].name};
    if (!is_own_program(member->run, program))
        return WEFT_OK;
    const char *target = program;
    while (strncmp(target, "./", 2) == 0)
        target += 2;
    for (size_t i = 0; i < pairs->count; i++)
        if (strcmp(pairs->items[i].name, target) == 0)
            return WEFT_OK;
    if (strncmp(target, "../", 3) == 0)
        return err_set(
            WEFT_INVALID_ARGUMENT,
            "%s is not below this directory, and cannot have that path on another machine\n"
            "  try: --file %s, and the program ./%s",
            program, program, strrchr(program, '/') + 1);
    (*files)[(*count)++] = (struct launch_file){program, target};
    return WEFT_OK;
}

// ---- Archives --------------------------------------------------------------------------------------------------

struct run_archive {
    const char *path;
    struct environment environment;
};

static struct run_archive *find_archive(const struct run *run, const char *path)
{
    for (size_t i = 0; i < run->archive_count; i++)
        if (strcmp(run->archives[i].path, path) == 0)
            return &run->archives[i];
    return NULL;
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
        err = environments_take_file(run->environments, role->archive, &archive->environment);
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
    if (run->launcher->is_far)
        return err_set(WEFT_UNIMPLEMENTED, "archives are unpacked on this machine only\n"
                                           "  leave --archive out, or use --on local:");
    run->archives = calloc(run->spec->roles.count, sizeof *run->archives);
    if (!run->archives)
        return err_no_memory("for the archives of roles");
    const weft_err err = environments_open(NULL, &run->environments);
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
    if (!archive)
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
