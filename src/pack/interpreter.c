// interpreter: libraries are found as the loader finds them: in the lists of the files that need them, in /etc/ld.so.cache, in
// the directories that every system has.
//
//     /etc/ld.so.cache   "glibc-ld.so.cache1.1"  u32 count  u32 size of texts  u32 x 5  entries
//     an entry           i32 kind  u32 name  u32 path  u32 system  u64 hardware      name and path: offsets in the file

#include "pack/interpreter.h"

#include <stdio.h>
#include <stdlib.h>

#include "pack/elf.h"
#include "sys/file/file.h"
#include "sys/file/load.h"
#include "sys/process/libraries.h"

enum {
    PROGRAM_BYTES_MAX = 256 << 20,
    CACHE_BYTES_MAX = 64 << 20,
    CACHE_HEADER_BYTES = 48,
    CACHE_ENTRY_BYTES = 24,
};
static const char cache_path[] = "/etc/ld.so.cache", cache_magic[] = "glibc-ld.so.cache1.1";
static const char search_path[] = "$ORIGIN/../shared";

struct library {
    char *name, *path;
};

struct interpreter {
    struct content *content;
    const char *version;
    uint16_t machine;  // of the program's ELF header
    struct buf cache;
    VEC(struct library) libraries;  // found, and not all looked into yet
    VEC(char *) missing;
    // While a file's needs are visited:
    const char *needed_by;
    VEC(char *) needed;
    char *list;
};

static weft_err no_memory(void)
{
    return err_no_memory("to pack an interpreter");
}

// ---- Where libraries are -------------------------------------------------------------------------------------------

static uint32_t load32(const char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static bool is_for(const struct interpreter *python, const char *path)
{
    char head[20];
    int fd;
    size_t got = 0;
    if (file_open(path, &fd) != WEFT_OK) {
        err_clear();
        return false;
    }
    if (file_read_at(fd, path, head, sizeof head, 0, &got) != WEFT_OK)
        err_clear();
    file_close(fd);
    uint16_t machine = 0;
    if (got == sizeof head && memcmp(head, "\177ELF\2", 5) == 0)
        memcpy(&machine, head + 18, sizeof machine);
    return machine == python->machine;
}

static weft_err try_path(const struct interpreter *python, const char *folder, size_t folder_size,
                         const char *name, char **path)
{
    struct buf tried = {0};
    static const char origin[] = "$ORIGIN";
    const size_t origin_size = sizeof origin - 1;
    if (folder_size >= origin_size && memcmp(folder, origin, origin_size) == 0) {
        const char *slash = strrchr(python->needed_by, '/');
        buf_append(&tried, python->needed_by, slash ? (size_t)(slash - python->needed_by) : 0);
        folder += origin_size;
        folder_size -= origin_size;
    }
    buf_append(&tried, folder, folder_size);
    buf_format(&tried, "/%s", name);
    weft_err code = tried.has_failed ? no_memory() : WEFT_OK;
    if (code == WEFT_OK && is_for(python, buf_text(&tried)) && !(*path = strdup(buf_text(&tried))))
        code = no_memory();
    buf_fini(&tried);
    return code;
}

static weft_err try_list(const struct interpreter *python, const char *list, const char *name,
                         char **path)
{
    weft_err code = WEFT_OK;
    for (const char *at = list; code == WEFT_OK && at && *at && !*path;) {
        const size_t size = strcspn(at, ":");
        code = try_path(python, at, size, name, path);
        at += size + (at[size] == ':');
    }
    return code;
}

static weft_err try_cache(const struct interpreter *python, const char *name, char **path)
{
    const struct buf *cache = &python->cache;
    if (cache->size < CACHE_HEADER_BYTES || memcmp(cache->data, cache_magic, 20) != 0)
        return WEFT_OK;
    const uint32_t count = load32(cache->data + 20);
    for (uint32_t i = 0; i < count && !*path; i++) {
        const uint64_t at = CACHE_HEADER_BYTES + (uint64_t)i * CACHE_ENTRY_BYTES;
        if (at + CACHE_ENTRY_BYTES > cache->size)
            break;
        const uint32_t key = load32(cache->data + at + 4), value = load32(cache->data + at + 8);
        // The buffer has a zero at its end.
        if (key >= cache->size || value >= cache->size || strcmp(cache->data + key, name) != 0)
            continue;
        if (is_for(python, cache->data + value) && !(*path = strdup(cache->data + value)))
            return no_memory();
    }
    return WEFT_OK;
}

static weft_err find_library(const struct interpreter *python, const char *name, char **path)
{
    *path = NULL;
    weft_err code = WEFT_OK;
    if (strchr(name, '/')) {
        *path = strdup(name);
        return *path ? WEFT_OK : no_memory();
    }
    code = try_list(python, python->list, name, path);
    if (code == WEFT_OK && !*path)
        code = try_cache(python, name, path);
    if (code == WEFT_OK && !*path)
        code = try_list(python, "/lib64:/usr/lib64:/lib:/usr/lib:/usr/local/lib", name, path);
    return code;
}

// ---- Which libraries -----------------------------------------------------------------------------------------------

static bool is_known(const struct interpreter *python, const char *name)
{
    for (size_t i = 0; i < python->libraries.count; i++)
        if (strcmp(python->libraries.items[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < python->missing.count; i++)
        if (strcmp(python->missing.items[i], name) == 0)
            return true;
    return false;
}

static weft_err note_need(void *owner, const char *name, bool is_path)
{
    struct interpreter *python = owner;
    char *copy = strdup(name);
    if (copy && is_path) {
        free(python->list);
        python->list = copy;
        return WEFT_OK;
    }
    if (copy && VEC_PUSH(&python->needed, copy))
        return WEFT_OK;
    free(copy);
    return no_memory();
}

static weft_err add_library(struct interpreter *python, const char *name)
{
    struct library library = {0};
    if (libraries_is_of_system(name) || is_known(python, name))
        return WEFT_OK;
    weft_err code = find_library(python, name, &library.path);
    library.name = strdup(name);
    const bool is_found = library.path != NULL;
    if (code == WEFT_OK && library.name &&
        (is_found ? VEC_PUSH(&python->libraries, library)
                  : VEC_PUSH(&python->missing, library.name)))
        return WEFT_OK;
    free(library.name);
    free(library.path);
    return code != WEFT_OK ? code : no_memory();
}

// Notes the libraries that a file needs.
static weft_err look_into(struct interpreter *python, const char *path, weft_bytes file)
{
    python->needed_by = path;
    weft_err code = elf_visit(file, note_need, python);
    for (size_t i = 0; i < python->needed.count; i++) {
        if (code == WEFT_OK)
            code = add_library(python, python->needed.items[i]);
        free(python->needed.items[i]);
    }
    python->needed.count = 0;
    free(python->list);
    python->list = NULL;
    return code;
}

// ---- Files ---------------------------------------------------------------------------------------------------------

static weft_err add_program(struct interpreter *python, const char *program)
{
    struct buf file = {0}, path = {0};
    weft_err code = file_load(program, PROGRAM_BYTES_MAX, &file);
    buf_format(&path, ".python/bin/python%s", python->version);
    if (code == WEFT_OK && file.size >= 20)
        memcpy(&python->machine, file.data + 18, sizeof python->machine);
    if (code == WEFT_OK)
        code = look_into(python, program, buf_bytes(&file));
    if (code == WEFT_OK && elf_is_one(buf_bytes(&file)) &&
        !elf_set_path(file.data, file.size, search_path))
        code = content_add_note(
            python->content, "%s has no room for the place of its libraries: hosts must have them",
            program);
    if (code == WEFT_OK)
        code = path.has_failed
                   ? no_memory()
                   : content_add_text(python->content, buf_text(&path), true, buf_bytes(&file));
    buf_fini(&path);
    buf_fini(&file);
    return code;
}

// Extension modules of the standard library. One that has a list of directories of its own would not look in ours.
static weft_err look_into_modules(struct interpreter *python, size_t first)
{
    weft_err code = WEFT_OK;
    struct buf file = {0};
    for (size_t i = first; i < python->content->items.count && code == WEFT_OK; i++) {
        struct content_item *item = &python->content->items.items[i];
        const size_t size = item->path ? strlen(item->path) : 0;
        if (item->kind != TAR_FILE || !item->from || size < 3 ||
            strcmp(item->path + size - 3, ".so") != 0)
            continue;
        file.size = 0;
        code = content_read(python->content, item, PROGRAM_BYTES_MAX, &file);
        if (code == WEFT_OK)
            code = look_into(python, item->from, buf_bytes(&file));
        // Looked for before the file is changed.
        bool has_changed = false;
        if (code == WEFT_OK && file.size > 0) {
            char *before = malloc(file.size);
            if (before)
                memcpy(before, file.data, file.size);
            elf_set_path(file.data, file.size, NULL);
            has_changed = before && memcmp(before, file.data, file.size) != 0;
            free(before);
        }
        if (code == WEFT_OK && has_changed)
            code = content_set_text(item, buf_bytes(&file));
    }
    buf_fini(&file);
    return code;
}

static weft_err add_shared(struct interpreter *python)
{
    struct buf file = {0}, path = {0};
    weft_err code = content_add_directory(python->content, ".python/shared");
    // The list grows on the way: libraries need libraries.
    for (size_t i = 0; i < python->libraries.count && code == WEFT_OK; i++) {
        const struct library library = python->libraries.items[i];
        file.size = 0;
        code = file_load(library.path, PROGRAM_BYTES_MAX, &file);
        if (code == WEFT_OK)
            code = look_into(python, library.path, buf_bytes(&file));
        if (code != WEFT_OK)
            break;
        elf_set_path(file.data, file.size, NULL);
        path.size = 0;
        const char *slash = strrchr(library.name, '/');
        buf_format(&path, ".python/shared/%s", slash ? slash + 1 : library.name);
        code = path.has_failed
                   ? no_memory()
                   : content_add_text(python->content, buf_text(&path), false, buf_bytes(&file));
    }
    for (size_t i = 0; i < python->missing.count && code == WEFT_OK; i++)
        code = content_add_note(python->content, "the library %s was not found: hosts must have it",
                                python->missing.items[i]);
    buf_fini(&path);
    buf_fini(&file);
    return code;
}

// The directory lib/python3.11 or lib64/python3.11 of the closest directory above the program that has it.
static weft_err find_standard(const char *program, const char *version, char **path)
{
    static const char *const folders[] = {"lib", "lib64"};
    char *above = strdup(program);
    weft_err code = above ? WEFT_OK : no_memory();
    *path = NULL;
    for (char *slash; code == WEFT_OK && !*path && (slash = strrchr(above, '/'));) {
        *slash = 0;
        for (size_t i = 0; i < 2 && code == WEFT_OK && !*path; i++) {
            struct buf tried = {0};
            struct file_stat status;
            buf_format(&tried, "%s/%s/python%s", above, folders[i], version);
            const size_t size = tried.size;
            buf_append_text(&tried, "/os.py");
            code = tried.has_failed ? no_memory() : file_stat(buf_text(&tried), &status);
            if (code == WEFT_OK && status.kind == FILE_REGULAR &&
                !(*path = strndup(tried.data, size)))
                code = no_memory();
            buf_fini(&tried);
        }
    }
    free(above);
    if (code == WEFT_OK && !*path)
        code = err_set(WEFT_NOT_FOUND,
                       "there is no standard library of Python %s near %s\n  try: a venv made by "
                       "CPython, python3 -m venv DIR",
                       version, program);
    return code;
}

static weft_err add_standard(struct interpreter *python, const char *program,
                             const struct gather_rules *rules)
{
    static const char *const excludes[] = {"/test", "/config-*", "/site-packages", "/dist-packages",
                                           NULL};
    const struct gather_rules own = {.excludes = excludes, .is_cancelled = rules->is_cancelled};
    struct buf prefix = {0};
    char *path;
    const uint64_t left_out = python->content->left_out;
    const size_t first = python->content->items.count;
    weft_err code = find_standard(program, python->version, &path);
    buf_format(&prefix, ".python/lib/python%s", python->version);
    if (code == WEFT_OK)
        code = content_add_directory(python->content, ".python/lib");
    if (code == WEFT_OK)
        code = prefix.has_failed ? no_memory()
                                 : content_add_directory(python->content, buf_text(&prefix));
    if (code == WEFT_OK)
        code = gather_directory(python->content, path, buf_text(&prefix), &own);
    python->content->left_out = left_out;  // not the user's
    if (code == WEFT_OK)
        code = look_into_modules(python, first);
    free(path);
    buf_fini(&prefix);
    return code;
}

static void fini(struct interpreter *python)
{
    for (size_t i = 0; i < python->libraries.count; i++) {
        free(python->libraries.items[i].name);
        free(python->libraries.items[i].path);
    }
    for (size_t i = 0; i < python->missing.count; i++)
        free(python->missing.items[i]);
    VEC_FINI(&python->libraries);
    VEC_FINI(&python->missing);
    VEC_FINI(&python->needed);
    free(python->list);
    buf_fini(&python->cache);
}

weft_err interpreter_list(const char *program, const char *version,
                          const struct gather_rules *rules, struct content *content)
{
    struct interpreter python = {.content = content, .version = version};
    weft_err code = file_load(cache_path, CACHE_BYTES_MAX, &python.cache);
    if (code == WEFT_NOT_FOUND) {
        err_clear();
        code = WEFT_OK;
    }
    buf_text(&python.cache);
    if (code == WEFT_OK)
        code = content_add_directory(content, ".python");
    if (code == WEFT_OK)
        code = content_add_directory(content, ".python/bin");
    if (code == WEFT_OK)
        code = add_program(&python, program);
    if (code == WEFT_OK)
        code = add_standard(&python, program, rules);
    python.needed_by = program;
    if (code == WEFT_OK)
        code = add_library(&python, "libstdc++.so.6");
    if (code == WEFT_OK)
        code = add_library(&python, "libgcc_s.so.1");
    if (code == WEFT_OK)
        code = add_shared(&python);
    fini(&python);
    return code;
}
