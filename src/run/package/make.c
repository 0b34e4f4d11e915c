// make: what a worker of this run needs.

#include "run/package/make.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/vec.h"
#include "code/codes.h"
#include "store/cache/digest.h"
#include "sys/file/file.h"
#include "sys/process/command.h"
#include "sys/process/libraries.h"
#include "sys/process/process.h"

struct made_file {
    Weft__CodeFile message;
    char *name;
    struct digest digest;
    int fd;
};

struct made_package {
    Weft__CodePackage message;
    uint64_t next_file;
    VEC(struct made_file *) files;
    Weft__CodeFile **list;  // of the message
    char libc[LIBRARIES_VERSION_BYTES];
};

static weft_err no_memory(void)
{
    return err_no_memory("for the code of the job");
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void free_file(struct made_file *file)
{
    if (file)
        file_close(file->fd);
    if (file)
        free(file->name);
    free(file);
}

static weft_err read_file(struct made_file *file, const char *path)
{
    struct file_stat status = {0};
    weft_err code = file_open(path, &file->fd);
    if (code == WEFT_OK)
        code = file_stat_fd(file->fd, path, &status);
    if (code == WEFT_OK && status.kind != FILE_REGULAR)
        code =
            err_set(WEFT_INVALID_ARGUMENT,
                    "%s is not a file, and only files travel with a job\n  try: an archive of it "
                    "(tar), which the command unpacks",
                    path);
    if (code == WEFT_OK)
        code = digest_recall(file->fd, path, &file->digest);
    file->message.mode = status.is_executable ? 0755 : 0644;
    return code;
}

// Opens and hashes a file and puts it on the list.
static weft_err add(struct made_package *package, enum package_role role, const char *name,
                    const char *path)
{
    struct made_file *file = calloc(1, sizeof *file);
    if (!file)
        return no_memory();
    file->fd = -1;
    weft__code_file__init(&file->message);
    weft_err code = (file->name = strdup(name)) ? WEFT_OK : no_memory();
    if (code == WEFT_OK)
        code = read_file(file, path);
    file->message.name = file->name;
    file->message.sha256 = (ProtobufCBinaryData){SHA256_BYTES, file->digest.sha256};
    file->message.size = file->digest.size;
    file->message.role = role;
    file->message.file = package->next_file;
    if (code == WEFT_OK && !VEC_PUSH(&package->files, file))
        code = no_memory();
    if (code != WEFT_OK)
        free_file(file);
    else
        package->next_file++;
    return code;
}

// ---- Its files ----------------------------------------------------------------------------------------------------

static weft_err add_program(struct made_package *package)
{
    char *path;
    weft_err code = command_own_path(&path);
    if (code != WEFT_OK)
        return code;
    const char *name = base_name(path);
    code = add(package, PACKAGE_PROGRAM, package_is_name(name) ? name : "program", PROCESS_SELF);
    free(path);
    return code;
}

static weft_err add_library(void *owner, const char *name, const char *path)
{
    if (!package_is_name(name))
        return err_set(
            WEFT_UNIMPLEMENTED,
            "this program needs the library %s by its path, where other machines need not "
            "have it\n  try: link it with -L and -l",
            name);
    return add(owner, PACKAGE_LIBRARY, name, path);
}

static weft_err add_data(struct made_package *package, const char *path, const char *name)
{
    if (!package_is_path(name))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "%s cannot travel with a job for its name\n  try: a name without control "
                       "characters, and no slash at its end",
                       path);
    for (size_t i = 0; i < package->files.count; i++) {
        const Weft__CodeFile *other = &package->files.items[i]->message;
        if (other->role == PACKAGE_DATA && strcmp(other->name, name) == 0)
            return err_set(WEFT_INVALID_ARGUMENT,
                           "two files of the job are called %s, and all of them are put in one "
                           "directory\n  try: give %s another name",
                           name, path);
    }
    return add(package, PACKAGE_DATA, name, path);
}

// Options whose values are files.
static weft_err add_files(struct made_package *package, const struct run_options *options)
{
    const struct code *user = code_of(options->job);
    weft_err code = WEFT_OK;
    for (size_t i = 0; i < options->args.value_count && code == WEFT_OK; i++) {
        const struct args_value *value = &options->args.values[i];
        if (user->word && user->word(value->letter) == CODE_WORD_FILE)
            code =
                add_data(package, value->text,
                         user->name_there ? user->name_there(value->text) : base_name(value->text));
    }
    return code;
}

static weft_err list_files(struct made_package *package)
{
    const size_t count = package->files.count;
    if (count > PACKAGE_FILES_MAX)
        return err_set(
            WEFT_INVALID_ARGUMENT,
            "a job travels with %d files at most, and this one has %zu\n  try: an archive "
            "of them (tar), which the command unpacks",
            PACKAGE_FILES_MAX, count);
    package->list = calloc(count + 1, sizeof(Weft__CodeFile *));
    if (!package->list)
        return no_memory();
    for (size_t i = 0; i < count; i++)
        package->list[i] = &package->files.items[i]->message;
    package->message.files = package->list;
    package->message.n_files = count;
    return package_check(&package->message);
}

// ---- Its life ------------------------------------------------------------------------------------------------------

weft_err package_make(const struct run_options *options, uint64_t first_file,
                      struct made_package **package)
{
    struct made_package *made = *package = calloc(1, sizeof *made);
    if (!made)
        return no_memory();
    weft__code_package__init(&made->message);
    made->next_file = first_file;
    const struct code *user = code_of(options->job);
    made->message.kind = user->number;
    made->message.version = (char *)weft_version();
    weft_err code = user->check_travel ? user->check_travel(&options->args) : WEFT_OK;
    if (code == WEFT_OK)
        code = add_program(made);
    if (code == WEFT_OK)
        code = libraries_visit(add_library, made);
    if (code == WEFT_OK)
        code = libraries_needed_libc(made->libc);
    made->message.libc = made->libc;
    if (code == WEFT_OK)
        code = add_files(made, options);
    if (code == WEFT_OK)
        code = list_files(made);
    if (code != WEFT_OK) {
        package_free(made);
        *package = NULL;
    }
    return code;
}

void package_free(struct made_package *package)
{
    if (!package)
        return;
    for (size_t i = 0; i < package->files.count; i++)
        free_file(package->files.items[i]);
    VEC_FINI(&package->files);
    free(package->list);
    free(package);
}

const Weft__CodePackage *package_message(const struct made_package *package)
{
    return &package->message;
}

weft_err package_serve(const struct made_package *package, struct fetch_files *files)
{
    weft_err code = WEFT_OK;
    for (size_t i = 0; i < package->files.count && code == WEFT_OK; i++) {
        const struct made_file *made = package->files.items[i];
        struct fetch_file file = {
            .id = made->message.file, .fd = made->fd, .size = made->message.size};
        snprintf(file.name, sizeof file.name, "%s", made->name);
        code = fetch_files_add(files, &file);
    }
    if (code != WEFT_OK)
        package_withdraw(package, files);
    return code;
}

void package_withdraw(const struct made_package *package, struct fetch_files *files)
{
    for (size_t i = 0; i < package->files.count; i++)
        fetch_files_remove(files, package->files.items[i]->message.file);
}
