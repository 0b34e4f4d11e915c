// The files of roles, where members are processes of this machine: links in a directory of the run, in which the
// members then run, as they would on another machine. Far launchers get the list and send the files.

#include <stdlib.h>
#include <string.h>

#include "crew/cluster_run_state.h"
#include "crew/own_program.h"
#include "sys/file/file.h"
#include "sys/file/find.h"

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

// ---- For other machines ----------------------------------------------------------------------------------------

// A file or directory that is being listed, and the list.
struct listing {
    struct run_sent *sent;
    const struct crew_pair *named;
};

static weft_err add_sent(struct run_sent *sent, const char *path, const char *target)
{
    struct crew_pair file = {.name = strdup(target), .value = strdup(path)};
    if (file.name && file.value && VEC_PUSH(&sent->files, file))
        return WEFT_OK;
    free(file.name);
    free(file.value);
    return err_no_memory("for the files of a role");
}

static weft_err list_below(void *owner, const struct found *found)
{
    const struct listing *listing = owner;
    const char *below = found->path + strlen(listing->named->value);
    struct buf target = {0};
    buf_format(&target, "%s/%s", listing->named->name, below + strspn(below, "/"));
    const weft_err err = target.has_failed
                             ? err_no_memory("for the files of a role")
                             : add_sent(listing->sent, found->path, buf_text(&target));
    buf_fini(&target);
    return err;
}

// What Python made of its sources it makes again.
static weft_err enter(void *owner, const struct found *directory, bool *is_left_out)
{
    static const char name[] = "/__pycache__/";
    const size_t size = strlen(directory->path);
    (void)owner;
    *is_left_out = size >= strlen(name) && strcmp(directory->path + size - strlen(name), name) == 0;
    return WEFT_OK;
}

static weft_err list_named(struct run_sent *sent, const struct crew_pair *named)
{
    struct listing listing = {sent, named};
    struct found found;
    const struct find_calls calls = {.visit = list_below, .enter = enter};
    weft_err err = find_look(named->value, &found);
    if (err)
        return err;
    if (found.kind == FILE_DIRECTORY)
        return find_walk(named->value, &calls, &listing);
    return add_sent(sent, named->value, named->name);
}

// What each role has on its hosts: its files, and all files of its directories, as they are now.
static weft_err list_sent(struct run *run)
{
    weft_err err = WEFT_OK;
    run->sent = calloc(run->spec->roles.count, sizeof *run->sent);
    if (!run->sent)
        return err_no_memory("for the files of roles");
    for (size_t i = 0; !err && i < run->spec->roles.count; i++) {
        const struct crew_role *role = &run->spec->roles.items[i];
        for (size_t k = 0; !err && role->instances > 0 && k < role->files.count; k++)
            err = err_wrap(list_named(&run->sent[i], &role->files.items[k]), "roles.%s: files",
                           role->name);
    }
    return err;
}

void run_close_files(struct run *run)
{
    for (size_t i = 0; run->sent && i < run->spec->roles.count; i++) {
        for (size_t k = 0; k < run->sent[i].files.count; k++) {
            free(run->sent[i].files.items[k].name);
            free(run->sent[i].files.items[k].value);
        }
        VEC_FINI(&run->sent[i].files);
    }
    free(run->sent);
    workdir_close(&run->files);
}

weft_err run_open_files(struct run *run)
{
    const char *tmp = run->options->tmp ? run->options->tmp : getenv("TMPDIR");
    run->files.alive = -1;
    if (run->launcher->is_far)
        return list_sent(run);
    if (!has_files(run->spec))
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

weft_err run_list_files(const struct run_member *member, struct launch_file **files, size_t *count)
{
    const struct crew_role *role = member->seat.role;
    const char *program = role->command.items[0];
    *files = NULL;
    *count = 0;
    if (!member->run->launcher->is_far)
        return WEFT_OK;
    const struct run_sent *pairs = &member->run->sent[role - member->run->spec->roles.items];
    *files = calloc(pairs->files.count + 2, sizeof **files);
    if (!*files)
        return err_no_memory("for the files of a role");
    for (size_t i = 0; i < pairs->files.count; i++)
        (*files)[(*count)++] = (struct launch_file){.path = pairs->files.items[i].value,
                                                    .target = pairs->files.items[i].name};
    run_list_archive(member, *files, count);
    const char *target;
    const weft_err err = own_program_find(program, member->run->options->directory, &target);
    if (err || !target)
        return err;
    for (size_t i = 0; i < pairs->files.count; i++)
        if (strcmp(pairs->files.items[i].name, target) == 0)
            return WEFT_OK;
    (*files)[(*count)++] = (struct launch_file){.path = program, .target = target};
    return WEFT_OK;
}
