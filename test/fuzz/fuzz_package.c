// Fuzzes the list of a job's code that a client gets from a server: the bytes are a CodePackage. One that is accepted is held
// against what the rest relies on without asking again: every name is that of one file below one directory, sizes add up, a hash has its length.
#include "run/package/package.h"
#include "store/cache/digest.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Whether the name, put into a directory, is an entry of that directory.
static bool is_entry(const char *name)
{
    for (const char *at = name; *at; at++)
        if (*at == '/' || (unsigned char)*at < 0x20 || *at == 0x7f)
            return false;
    return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strlen(name) < 256;
}

// Data may lie in directories.
static bool is_place(const char *path)
{
    char name[256];
    for (;; path++) {
        const size_t size = strcspn(path, "/");
        if (size >= sizeof name)
            return false;
        memcpy(name, path, size);
        name[size] = 0;
        if (!is_entry(name))
            return false;
        path += size;
        if (!*path)
            return true;
    }
}

static bool is_code(const Weft__CodeFile *file)
{
    return file->role == PACKAGE_PROGRAM || file->role == PACKAGE_LIBRARY;
}

static void check_accepted(const Weft__CodePackage *package)
{
    uint64_t bytes = 0;
    size_t programs = 0;
    ASSERT(package->n_files >= 1 && package->n_files <= 1024);
    for (size_t i = 0; i < package->n_files; i++) {
        const Weft__CodeFile *file = package->files[i];
        char text[DIGEST_TEXT_BYTES];
        ASSERT(file->role == PACKAGE_DATA ? is_place(file->name) : is_entry(file->name));
        ASSERT(file->sha256.len == 32 && file->size <= PACKAGE_BYTES_MAX - bytes);
        digest_write(file->sha256.data, text);
        ASSERT(digest_is_text(text));
        bytes += file->size;
        programs += file->role == PACKAGE_PROGRAM;
        for (size_t other = 0; other < i && i < 64; other++)
            ASSERT(is_code(file) != is_code(package->files[other]) ||
                   strcmp(file->name, package->files[other]->name) != 0);
    }
    ASSERT(programs == 1);
}

// What was accepted is the same after one more journey.
static void check_copy(const Weft__CodePackage *package)
{
    Weft__CodePackage *copy = package_copy(package);
    ASSERT(copy && package_check(copy) == WEFT_OK && copy->n_files == package->n_files);
    for (size_t i = 0; i < copy->n_files; i++)
        ASSERT(strcmp(copy->files[i]->name, package->files[i]->name) == 0 &&
               copy->files[i]->size == package->files[i]->size &&
               memcmp(copy->files[i]->sha256.data, package->files[i]->sha256.data, 32) == 0);
    message_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Weft__CodePackage *package = weft__code_package__unpack(NULL, size, data);
    if (!package)
        return 0;
    if (package_check(package) == WEFT_OK) {
        check_accepted(package);
        check_copy(package);
    } else {
        ASSERT(err_text()[0]);
    }
    message_free(package);
    return 0;
}
