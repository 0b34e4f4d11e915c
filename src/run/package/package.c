// package: what may be in one.

#include "run/package/package.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/sha256.h"
#include "base/text.h"
#include "code/codes.h"

static bool is_plain(const char *name, size_t size)
{
    if (size == 0 || (name[0] == '.' && (size == 1 || (size == 2 && name[1] == '.'))))
        return false;
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)name[i] < ' ' || name[i] == 0x7f || name[i] == '/')
            return false;
    return true;
}

bool package_is_name(const char *name)
{
    const size_t size = strnlen(name, PACKAGE_NAME_BYTES_MAX + 1);
    return size <= PACKAGE_NAME_BYTES_MAX && is_plain(name, size);
}

bool package_is_path(const char *path)
{
    if (strnlen(path, PACKAGE_NAME_BYTES_MAX + 1) > PACKAGE_NAME_BYTES_MAX)
        return false;
    for (;; path++) {
        const size_t size = strcspn(path, "/");
        if (!is_plain(path, size))
            return false;
        path += size;
        if (!*path)
            return true;
    }
}

// The name may hold anything.
static weft_err refuse_name(const char *name)
{
    struct buf shown = {0};
    text_append_escaped(&shown, (weft_bytes){name, strnlen(name, 64)});
    const weft_err code =
        err_set(WEFT_INVALID_ARGUMENT, "a file of a package is called \"%s\"", buf_text(&shown));
    buf_fini(&shown);
    return code;
}

static weft_err check_file(const Weft__CodeFile *file)
{
    if (file->role == PACKAGE_DATA ? !package_is_path(file->name) : !package_is_name(file->name))
        return refuse_name(file->name);
    if (file->role < PACKAGE_PROGRAM || file->role > PACKAGE_DATA)
        return err_set(WEFT_INVALID_ARGUMENT, "%s of a package has the role %" PRIu32, file->name,
                       file->role);
    if (file->sha256.len != SHA256_BYTES)
        return err_set(WEFT_INVALID_ARGUMENT, "%s of a package has a hash of %zu bytes", file->name,
                       file->sha256.len);
    if (file->mode > 07777)
        return err_set(WEFT_INVALID_ARGUMENT, "%s of a package has the mode %#" PRIo32, file->name,
                       file->mode);
    if (file->size > PACKAGE_BYTES_MAX)
        return err_set(WEFT_INVALID_ARGUMENT, "%s of a package has %" PRIu64 " bytes", file->name,
                       file->size);
    return WEFT_OK;
}

// Program and libraries are in one directory, data in another one.
static int compare_places(const void *left, const void *right)
{
    const Weft__CodeFile *const *a = left, *const *b = right;
    const bool is_data_a = (*a)->role == PACKAGE_DATA, is_data_b = (*b)->role == PACKAGE_DATA;
    return is_data_a != is_data_b ? is_data_a - is_data_b : strcmp((*a)->name, (*b)->name);
}

static weft_err check_places(const Weft__CodePackage *package)
{
    const Weft__CodeFile *sorted[PACKAGE_FILES_MAX];
    memcpy(sorted, package->files, package->n_files * sizeof *sorted);
    qsort(sorted, package->n_files, sizeof *sorted, compare_places);
    for (size_t i = 1; i < package->n_files; i++)
        if (compare_places(&sorted[i - 1], &sorted[i]) == 0)
            return err_set(WEFT_INVALID_ARGUMENT, "two files of a package are called %s",
                           sorted[i]->name);
    return WEFT_OK;
}

// Empty, or digits and dots.
static bool is_version(const char *text)
{
    const size_t size = strnlen(text, PACKAGE_VERSION_BYTES_MAX + 1);
    return size <= PACKAGE_VERSION_BYTES_MAX && strspn(text, "0123456789.") == size;
}

weft_err package_check(const Weft__CodePackage *package)
{
    uint64_t bytes = 0;
    size_t program_count = 0;
    weft_err code = WEFT_OK;
    if (!code_numbered(package->kind))
        return err_set(WEFT_INVALID_ARGUMENT, "a package is of kind %" PRIu32, package->kind);
    if (!is_version(package->version))
        return err_set(WEFT_INVALID_ARGUMENT, "a package is of a Weft without a version");
    if (!is_version(package->libc))
        return err_set(WEFT_INVALID_ARGUMENT, "a package needs a C library without a version");
    if (package->n_files == 0 || package->n_files > PACKAGE_FILES_MAX)
        return err_set(WEFT_INVALID_ARGUMENT, "a package has %zu files", package->n_files);
    for (size_t i = 0; i < package->n_files && code == WEFT_OK; i++) {
        const Weft__CodeFile *file = package->files[i];
        code = check_file(file);
        bytes += code == WEFT_OK ? file->size : 0;
        program_count += file->role == PACKAGE_PROGRAM;
    }
    if (code == WEFT_OK && bytes > PACKAGE_BYTES_MAX)
        code = err_set(WEFT_INVALID_ARGUMENT, "a package has %" PRIu64 " bytes", bytes);
    if (code == WEFT_OK && program_count != 1)
        code = err_set(WEFT_INVALID_ARGUMENT, "a package has %zu programs", program_count);
    return code == WEFT_OK ? check_places(package) : code;
}

// Fields that we do not know are left out: some that can be read cannot be written.
static Weft__CodePackage *copy_known(const Weft__CodePackage *package, Weft__CodeFile *files,
                                     Weft__CodeFile **list)
{
    Weft__CodePackage plain = *package;
    for (size_t i = 0; i < package->n_files; i++) {
        files[i] = *package->files[i];
        files[i].base.n_unknown_fields = 0;
        list[i] = &files[i];
    }
    plain.base.n_unknown_fields = 0;
    plain.files = list;
    const size_t size = weft__code_package__get_packed_size(&plain);
    uint8_t *bytes = malloc(size + 1);
    if (bytes)
        weft__code_package__pack(&plain, bytes);
    Weft__CodePackage *copy = bytes ? weft__code_package__unpack(NULL, size, bytes) : NULL;
    free(bytes);
    return copy;
}

Weft__CodePackage *package_copy(const Weft__CodePackage *package)
{
    Weft__CodeFile *files = calloc(package->n_files + 1, sizeof *files);
    Weft__CodeFile **list = calloc(package->n_files + 1, sizeof(Weft__CodeFile *));
    Weft__CodePackage *copy = files && list ? copy_known(package, files, list) : NULL;
    free(files);
    free(list);
    if (!copy)
        err_no_memory("for a list of files");
    return copy;
}
