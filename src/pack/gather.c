// gather: a walk in depth. Of a directory the names are read first and then looked into: one descriptor is open at a time.

#include "pack/gather.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#include "pack/unpack.h"
#include "sys/file/find.h"
#include "sys/file/tree.h"

enum { NESTED_MAX = 8, DEPTH_MAX = 512 };

struct gather {
    struct content *content;
    const struct gather_rules *rules;
    char *real_root;  // without links
    struct buf from, path;
    size_t root_size;    // of `from`: the root and a slash
    size_t prefix_size;  // of `path`
    int depth, nested;   // nested: roots in place of links
};

struct name {
    char *text;
    struct tree_item item;
};

struct names {
    VEC(struct name) list;
};

static weft_err no_memory(void)
{
    return err_no_memory("to list a directory");
}

// ---- Left out ------------------------------------------------------------------------------------------------------

static bool is_cache(const char *name, bool is_directory)
{
    static const char *const directories[] = {
        "__pycache__",   ".git",        ".hg",  ".svn", ".mypy_cache",
        ".pytest_cache", ".ruff_cache", ".tox", ".nox", ".ipynb_checkpoints",
    };
    for (size_t i = 0; is_directory && i < sizeof directories / sizeof *directories; i++)
        if (strcmp(name, directories[i]) == 0)
            return true;
    return !is_directory && strcmp(name, ".DS_Store") == 0;
}

static bool is_excluded(const struct gather_rules *rules, const char *path, const char *name)
{
    for (const char *const *at = rules->excludes; at && *at; at++) {
        const char *pattern = *at;
        const size_t length = strlen(pattern);
        char *bare = length > 1 && pattern[length - 1] == '/' ? strndup(pattern, length - 1) : NULL;
        pattern = bare ? bare : pattern;
        const bool has_slash = strchr(pattern, '/');
        const bool matches =
            fnmatch(pattern + (pattern[0] == '/'), has_slash ? path : name, 0) == 0;
        free(bare);
        if (matches)
            return true;
    }
    return false;
}

bool gather_leaves_out(const struct gather_rules *rules, const char *path, bool is_directory)
{
    char part[TAR_PATH_BYTES_MAX + 1];
    for (const char *at = path;;) {
        const char *end = strchr(at, '/');
        const bool is_last = !end;
        snprintf(part, sizeof part, "%.*s", (int)(is_last ? strlen(path) : (size_t)(end - path)),
                 path);
        const char *name = part + (at - path);
        if ((!rules->keeps_all && is_cache(name, is_directory || !is_last)) ||
            is_excluded(rules, part, name))
            return true;
        if (is_last)
            return false;
        at = end + 1;
    }
}

// A compiled file of Python that is made again from its source; one without a source is the program itself.
static bool is_compiled(const struct names *names, const char *name)
{
    const size_t length = strlen(name);
    if (length < 5 || strcmp(name + length - 4, ".pyc") != 0)
        return false;
    for (size_t i = 0; i < names->list.count; i++) {
        const char *other = names->list.items[i].text;
        if (strlen(other) == length - 1 && strncmp(other, name, length - 1) == 0)
            return true;
    }
    return false;
}

// ---- Links ---------------------------------------------------------------------------------------------------------

static weft_err gather_entries(struct gather *gather);

// Whether a path without links lies below the root, and where.
static const char *find_below(const struct gather *gather, const char *real)
{
    const size_t size = strlen(gather->real_root);
    if (strncmp(real, gather->real_root, size) != 0 || (real[size] && real[size] != '/'))
        return NULL;
    return real[size] ? real + size + 1 : real + size;
}

// "../" for each directory between the archive's root and the link, then the way down.
static weft_err add_inside(struct gather *gather, const char *below)
{
    struct buf target = {0};
    const char *path = buf_text(&gather->path);
    const size_t prefix_size = gather->prefix_size;
    for (const char *at = path + prefix_size; (at = strchr(at, '/')); at++)
        buf_append_text(&target, "../");
    buf_append_text(&target, below);
    if (target.size > 1 && target.data[target.size - 1] == '/')
        target.size--;
    if (target.size == 0)
        buf_append_text(&target, ".");
    const weft_err code = target.has_failed
                              ? no_memory()
                              : content_add_link(gather->content, path, buf_text(&target));
    buf_fini(&target);
    return code;
}

static weft_err add_other_tree(struct gather *gather, const char *real)
{
    struct gather other = {.content = gather->content,
                           .rules = gather->rules,
                           .real_root = strdup(real),
                           .nested = gather->nested + 1};
    const char *path = buf_text(&gather->path);
    weft_err code = other.real_root ? WEFT_OK : no_memory();
    if (code == WEFT_OK && (other.nested > NESTED_MAX || find_below(&other, gather->real_root)))
        code = err_set(WEFT_INVALID_ARGUMENT,
                       "the link %s leads to %s, and so on without end\n  try: --exclude '%s'",
                       buf_text(&gather->from), real, path);
    if (code == WEFT_OK)
        code = content_add_directory(gather->content, path);
    buf_format(&other.from, "%s/", real);
    buf_format(&other.path, "%s/", path);
    other.root_size = other.from.size;
    other.prefix_size = other.path.size;
    if (code == WEFT_OK)
        code = gather_entries(&other);
    free(other.real_root);
    buf_fini(&other.from);
    buf_fini(&other.path);
    return code;
}

static weft_err add_outside(struct gather *gather, const char *real)
{
    const char *path = buf_text(&gather->path);
    struct tree_item item;
    bool is_done = false;
    weft_err code = WEFT_OK;
    if (gather->rules->leads_out)
        code = gather->rules->leads_out(gather->rules->owner, path, real, &is_done);
    if (code != WEFT_OK || is_done)
        return code;
    code = tree_look(real, &item);
    if (code == WEFT_OK && item.kind == TREE_DIRECTORY)
        return add_other_tree(gather, real);
    if (code == WEFT_OK && item.kind == TREE_FILE)
        return content_add_file(gather->content, path, item.is_executable, real, item.size,
                                item.mtime_ns);
    return code != WEFT_OK ? code
                           : content_add_note(gather->content,
                                              "%s is left out: it leads to %s, which is not a file",
                                              buf_text(&gather->from), real);
}

static weft_err add_link(struct gather *gather)
{
    const char *from = buf_text(&gather->from), *path = buf_text(&gather->path);
    char *target, *real;
    weft_err code = tree_read_link(from, &target);
    if (code != WEFT_OK)
        return code;
    real = file_real_path(from);
    const char *below = real ? find_below(gather, real) : NULL;
    // As it is, unless it leads out by way of another link.
    if (unpack_is_link(path + gather->prefix_size, target) && (below || !real))
        code = content_add_link(gather->content, path, target);
    else if (below)
        code = add_inside(gather, below);
    else if (real)
        code = add_outside(gather, real);
    else
        code = content_add_note(gather->content,
                                "%s is left out: it is a link to %s, which is not there", from,
                                target);
    free(real);
    free(target);
    return code;
}

// ---- Directories ---------------------------------------------------------------------------------------------------

static weft_err note_name(void *owner, const struct tree_item *item)
{
    struct names *names = owner;
    struct name name = {.text = strdup(item->name), .item = *item};
    if (name.text && VEC_PUSH(&names->list, name))
        return WEFT_OK;
    free(name.text);
    return no_memory();
}

static bool is_venv(struct gather *gather)
{
    struct file_stat status = {.kind = FILE_MISSING};
    const size_t size = gather->from.size;
    buf_append_text(&gather->from, "/pyvenv.cfg");
    if (file_stat(buf_text(&gather->from), &status) != WEFT_OK)
        err_clear();
    gather->from.size = size;
    buf_text(&gather->from);
    return status.kind == FILE_REGULAR;
}

static weft_err add_name(struct gather *gather, const struct names *names, const struct name *name)
{
    const bool is_directory = name->item.kind == TREE_DIRECTORY;
    const char *from = buf_text(&gather->from), *path = buf_text(&gather->path);
    if (gather->from.has_failed || gather->path.has_failed)
        return no_memory();
    const struct gather_rules *rules = gather->rules;
    const bool is_left_out =
        !rules->keeps_all &&
        (is_cache(name->text, is_directory) || (!is_directory && is_compiled(names, name->text)));
    if (is_left_out || is_excluded(rules, path + gather->prefix_size, name->text) ||
        (is_directory && rules->skips_venvs && is_venv(gather))) {
        gather->content->left_out++;
        return WEFT_OK;
    }
    if (!unpack_is_path(path))
        return err_set(WEFT_INVALID_ARGUMENT, "%s cannot be packed: its path is too long", from);
    switch (name->item.kind) {
    case TREE_FILE:
        return content_add_file(gather->content, path, name->item.is_executable, from,
                                name->item.size, name->item.mtime_ns);
    case TREE_LINK:
        return add_link(gather);
    case TREE_DIRECTORY: {
        const weft_err code = content_add_directory(gather->content, path);
        if (code != WEFT_OK)
            return code;
        buf_append_text(&gather->from, "/");
        buf_append_text(&gather->path, "/");
        return gather_entries(gather);
    }
    default:
        return content_add_note(gather->content,
                                "%s is left out: it is neither a file nor a directory nor a link",
                                from);
    }
}

// `from` and `path` end with a slash, or are empty, and are so again afterwards.
static weft_err gather_entries(struct gather *gather)
{
    struct names names = {0};
    const size_t from_size = gather->from.size, path_size = gather->path.size;
    weft_err code = WEFT_OK;
    if (gather->from.has_failed || gather->path.has_failed)
        return no_memory();
    if (gather->rules->is_cancelled && gather->rules->is_cancelled())
        return err_set(WEFT_CANCELLED, "interrupted");
    if (++gather->depth > DEPTH_MAX)
        code =
            err_set(WEFT_INVALID_ARGUMENT, "%s is too deep to be packed", buf_text(&gather->from));
    if (code == WEFT_OK)
        code = tree_list(buf_text(&gather->from), note_name, &names);
    for (size_t i = 0; i < names.list.count; i++) {
        struct name *name = &names.list.items[i];
        buf_append_text(&gather->from, name->text);
        buf_append_text(&gather->path, name->text);
        if (code == WEFT_OK)
            code = add_name(gather, &names, name);
        gather->from.size = from_size;
        gather->path.size = path_size;
    }
    for (size_t i = 0; i < names.list.count; i++)
        free(names.list.items[i].text);
    VEC_FINI(&names.list);
    gather->depth--;
    return code;
}

weft_err gather_directory(struct content *content, const char *root, const char *prefix,
                          const struct gather_rules *rules)
{
    struct gather gather = {.content = content, .rules = rules, .real_root = file_real_path(root)};
    if (!gather.real_root)
        return err_errno("cannot pack %s", root);
    buf_format(&gather.from, "%s/", gather.real_root);
    if (*prefix)
        buf_format(&gather.path, "%s/", prefix);
    gather.root_size = gather.from.size;
    gather.prefix_size = gather.path.size;
    const weft_err code = gather_entries(&gather);
    free(gather.real_root);
    buf_fini(&gather.from);
    buf_fini(&gather.path);
    return code;
}
