// libraries: read from what the loader has in memory, so that each is the file that is in use, however it was found.

#include "sys/process/libraries.h"

#include <gnu/libc-version.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"

// An object that is loaded: the program itself, a library.
struct object {
    char *path;  // "" of the program
    uintptr_t base;
    const ElfW(Dyn) * dynamic;  // NULL: a static program
    bool is_needed;
};

struct objects {
    VEC(struct object) list;
    bool has_failed;
};

static int add_object(struct dl_phdr_info *info, size_t size, void *owner)
{
    struct objects *objects = owner;
    struct object object = {.path = strdup(info->dlpi_name ? info->dlpi_name : ""),
                            .base = info->dlpi_addr};
    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            object.dynamic = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    if (object.path && VEC_PUSH(&objects->list, object))
        return 0;
    free(object.path);
    objects->has_failed = true;
    return 1;
}

static uintptr_t find_entry(const struct object *object, ElfW(Sxword) tag)
{
    for (const ElfW(Dyn) *entry = object->dynamic; entry && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == tag)
            return entry->d_un.d_ptr;
    return 0;
}

// The loader makes an address of it where it may write there.
static const char *find_strings(const struct object *object)
{
    const uintptr_t strings = find_entry(object, DT_STRTAB);
    return (const char *)(strings < object->base ? strings + object->base : strings);
}

static bool is_called(const struct object *object, const char *name)
{
    const uintptr_t own = find_entry(object, DT_SONAME);
    const char *slash = strrchr(object->path, '/');
    return (own && strcmp(find_strings(object) + own, name) == 0) ||
           strcmp(slash ? slash + 1 : object->path, name) == 0 || strcmp(object->path, name) == 0;
}

bool libraries_is_of_system(const char *name)
{
    static const char *const beginnings[] = {
        "ld-linux",   "ld64.so",   "ld.so",     "ld-musl",       "linux-vdso", "linux-gate",
        "libc.so",    "libm.so",   "libdl.so",  "libpthread.so", "librt.so",   "libutil.so",
        "libmvec.so", "libanl.so", "libnsl.so", "libresolv.so",  "libc.musl",
    };
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

// Visits a library, once; it comes to the end of the list of those whose needs are to be looked at.
static weft_err visit_needed(struct objects *objects, const char *name, libraries_visit_fn *visit,
                             void *owner)
{
    if (libraries_is_of_system(name))
        return WEFT_OK;
    for (size_t i = 1; i < objects->list.count; i++) {
        struct object *object = &objects->list.items[i];
        if (!is_called(object, name))
            continue;
        if (object->is_needed)
            return WEFT_OK;
        object->is_needed = true;
        return visit(owner, name, object->path);
    }
    return err_set(WEFT_NOT_FOUND, "the library %s, which this program needs, is not loaded", name);
}

static weft_err visit_needs(struct objects *objects, const struct object *object,
                            libraries_visit_fn *visit, void *owner)
{
    const char *strings = find_strings(object);
    weft_err code = WEFT_OK;
    for (const ElfW(Dyn) *entry = object->dynamic; !code && entry && entry->d_tag != DT_NULL;
         entry++)
        if (entry->d_tag == DT_NEEDED)
            code = visit_needed(objects, strings + entry->d_un.d_val, visit, owner);
    return code;
}

// Visits the libraries that the program needs, and marks them.
static weft_err visit_objects(struct objects *objects, libraries_visit_fn *visit, void *owner)
{
    const size_t count = objects->list.count;
    bool *is_seen = calloc(count + 1, sizeof *is_seen);
    weft_err code =
        is_seen && !objects->has_failed ? WEFT_OK : err_no_memory("for a list of libraries");
    // The needs of one may be above it in the list: until nothing is new.
    for (bool is_new = true; is_new && !code;) {
        is_new = false;
        for (size_t i = 0; i < count && !code; i++) {
            const struct object *object = &objects->list.items[i];
            if (is_seen[i] || (i > 0 && !object->is_needed))
                continue;
            is_new = is_seen[i] = true;
            code = visit_needs(objects, object, visit, owner);
        }
    }
    free(is_seen);
    return code;
}

static void drop_objects(struct objects *objects)
{
    for (size_t i = 0; i < objects->list.count; i++)
        free(objects->list.items[i].path);
    VEC_FINI(&objects->list);
}

weft_err libraries_visit(libraries_visit_fn *visit, void *owner)
{
    struct objects objects = {0};
    dl_iterate_phdr(add_object, &objects);
    const weft_err code = visit_objects(&objects, visit, owner);
    drop_objects(&objects);
    return code;
}

// ---- Versions of the C library -----------------------------------------------------------------------------------

struct version {
    unsigned major, minor;
};

static bool read_version(const char *text, struct version *version)
{
    return sscanf(text, "%u.%u", &version->major, &version->minor) == 2;
}

static bool is_older(struct version a, struct version b)
{
    return a.major != b.major ? a.major < b.major : a.minor < b.minor;
}

// An object lists the versions of names that it uses, by library: GLIBC_2.34 among them.
static void find_newest(const struct object *object, struct version *newest)
{
    static const char mark[] = "GLIBC_";
    const uintptr_t needs = find_entry(object, DT_VERNEED);
    const char *strings = find_strings(object);
    size_t count = find_entry(object, DT_VERNEEDNUM);
    const char *at = (const char *)(needs < object->base ? needs + object->base : needs);
    for (; needs && count > 0; count--) {
        const ElfW(Verneed) *need = (const ElfW(Verneed) *)(const void *)at;
        const char *aux_at = at + need->vn_aux;
        for (unsigned i = 0; i < need->vn_cnt; i++) {
            const ElfW(Vernaux) *aux = (const ElfW(Vernaux) *)(const void *)aux_at;
            const char *name = strings + aux->vna_name;
            struct version version;
            if (strncmp(name, mark, sizeof mark - 1) == 0 &&
                read_version(name + sizeof mark - 1, &version) && is_older(*newest, version))
                *newest = version;
            aux_at += aux->vna_next;
        }
        at += need->vn_next;
    }
}

static weft_err visit_nothing(void *owner, const char *name, const char *path)
{
    (void)owner, (void)name, (void)path;
    return WEFT_OK;
}

weft_err libraries_needed_libc(char version[LIBRARIES_VERSION_BYTES])
{
    struct objects objects = {0};
    struct version newest = {0};
    dl_iterate_phdr(add_object, &objects);
    const weft_err code = visit_objects(&objects, visit_nothing, NULL);
    for (size_t i = 0; i < objects.list.count && !code; i++)
        if (i == 0 || objects.list.items[i].is_needed)
            find_newest(&objects.list.items[i], &newest);
    drop_objects(&objects);
    snprintf(version, LIBRARIES_VERSION_BYTES, "%u.%u", newest.major, newest.minor);
    if (newest.major == 0)
        version[0] = 0;
    return code;
}

const char *libraries_own_libc(void)
{
    return gnu_get_libc_version();
}

bool libraries_has_libc(const char *version)
{
    struct version asked, own;
    return !read_version(version, &asked) || !read_version(libraries_own_libc(), &own) ||
           !is_older(own, asked);
}
