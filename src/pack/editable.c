// editable: three kinds of installs, by what pip leaves in site-packages.
//
//     a .pth file with a line that is a path            the path's content is shipped     (setuptools develop, hatch, poetry, uv, flit)
//     a .pth file that imports __editable___X_finder    each package of its MAPPING is shipped     (setuptools)
//     anything else                                     refused by name
//
// Every editable package has a direct_url.json that says where its source is. When none of the shipped paths is there, it is
// of the third kind.

#include "pack/editable.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "sys/file/file.h"

enum { FILE_BYTES_MAX = 4 << 20 };
static const char finder_begin[] = "import __editable__", mapping_name[] = "MAPPING";

struct editable {
    struct content *content;
    const char *packages, *venv;
    const struct gather_rules *rules;
    size_t packages_size;
    unsigned count;       // of directories in .editable
    VEC(char *) shipped;  // paths without links
    struct buf up;        // from site-packages to the archive's root
};

static weft_err no_memory(void)
{
    return err_no_memory("to look for editable packages");
}

// The name of an item in site-packages itself, or NULL.
static const char *find_name(const struct editable *editable, const struct content_item *item)
{
    const size_t size = editable->packages_size;
    if (!item->path || strncmp(item->path, editable->packages, size) != 0 ||
        item->path[size] != '/')
        return NULL;
    return item->path + size + 1;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t size = strlen(text), end_size = strlen(end);
    return size > end_size && strcmp(text + size - end_size, end) == 0;
}

// ---- Shipping ------------------------------------------------------------------------------------------------------

static weft_err note_shipped(struct editable *editable, const char *path)
{
    char *real = file_real_path(path);
    if (real && VEC_PUSH(&editable->shipped, real))
        return WEFT_OK;
    free(real);
    return no_memory();
}

// Lists a file or a directory below `to`.
static weft_err ship(struct editable *editable, const char *from, const char *to)
{
    static const char *const excludes[] = {"node_modules", NULL};
    const struct gather_rules rules = {
        .excludes = editable->rules->excludes ? editable->rules->excludes : excludes,
        .keeps_all = editable->rules->keeps_all,
        .skips_venvs = true,
        .is_cancelled = editable->rules->is_cancelled,
    };
    struct file_stat status;
    weft_err code = file_stat(from, &status);
    if (code == WEFT_OK && status.kind == FILE_DIRECTORY) {
        code = content_add_directory(editable->content, to);
        if (code == WEFT_OK)
            code = gather_directory(editable->content, from, to, &rules);
    } else if (code == WEFT_OK && status.kind == FILE_REGULAR) {
        code = content_add_file(editable->content, to, status.is_executable, from, status.size,
                                status.mtime_ns);
    } else if (code == WEFT_OK) {
        code = err_set(WEFT_NOT_FOUND,
                       "the venv has an editable package in %s, which is not there\n  try: pip "
                       "uninstall it, or install it again",
                       from);
    }
    return code == WEFT_OK ? note_shipped(editable, from) : code;
}

// A new directory in .editable. *to is its path in the archive.
static weft_err add_place(struct editable *editable, struct buf *to)
{
    weft_err code = WEFT_OK;
    if (editable->count == 0)
        code = content_add_directory(editable->content, ".editable");
    buf_format(to, ".editable/%u", editable->count++);
    if (code == WEFT_OK)
        code =
            to->has_failed ? no_memory() : content_add_directory(editable->content, buf_text(to));
    return code;
}

// ---- Paths in .pth files -------------------------------------------------------------------------------------------

// A line of a .pth file that is an absolute path. Those inside the venv become relative, others are shipped.
static weft_err move_line(struct editable *editable, const char *line, struct buf *text)
{
    struct buf to = {0};
    struct file_stat status;
    const size_t venv_size = strlen(editable->venv);
    char *real = file_real_path(line);
    weft_err code = WEFT_OK;
    if (!real) {
        code = content_add_note(editable->content,
                                "a .pth file of the venv names %s, which is not there", line);
    } else if (strncmp(real, editable->venv, venv_size) == 0 &&
               (!real[venv_size] || real[venv_size] == '/')) {
        buf_format(text, "%s%s\n", buf_text(&editable->up),
                   real + venv_size + (real[venv_size] == '/'));
    } else if ((code = file_stat(real, &status)) == WEFT_OK) {
        code = add_place(editable, &to);
        // An egg is a file that Python imports from.
        if (status.kind != FILE_DIRECTORY)
            buf_format(&to, "/%s", strrchr(real, '/') + 1);
        if (code == WEFT_OK)
            code = ship(editable, real, buf_text(&to));
        buf_format(text, "%s%s\n", buf_text(&editable->up), buf_text(&to));
    }
    free(real);
    buf_fini(&to);
    return code;
}

// ---- The finders of setuptools -------------------------------------------------------------------------------------

// The next text in quotes, before `end`; NULL: there is none.
static const char *read_quoted(const char *at, const char *end, struct buf *text)
{
    text->size = 0;
    while (at < end && *at != '\'' && *at != '"' && *at != '}')
        at++;
    if (at >= end || *at == '}')
        return NULL;
    const char quote = *at++;
    while (at < end && *at != quote) {
        at += *at == '\\' && at + 1 < end;
        buf_append(text, at++, 1);
    }
    return at < end ? at + 1 : NULL;
}

// A package or module "a.b" of MAPPING with the path of its directory, or of its file without the end ".py".
static weft_err ship_package(struct editable *editable, const char *place, const char *name,
                             const char *from)
{
    struct buf to = {0}, file = {0};
    struct file_stat status;
    weft_err code = WEFT_OK;
    buf_format(&to, "%s/", place);
    for (const char *at = name; *at && code == WEFT_OK; at++) {
        if (*at == '.')
            code = content_add_directory(editable->content, buf_text(&to));
        buf_append(&to, *at == '.' ? "/" : at, 1);
    }
    buf_append_text(&file, from);
    if (code == WEFT_OK)
        code = file_stat(from, &status);
    if (code == WEFT_OK && status.kind == FILE_MISSING) {
        buf_append_text(&file, ".py");
        buf_append_text(&to, ".py");
    } else if (code == WEFT_OK && status.kind == FILE_REGULAR) {
        buf_append_text(&to, strrchr(from, '.') ? strrchr(from, '.') : "");
    }
    if (code == WEFT_OK)
        code = to.has_failed || file.has_failed ? no_memory()
                                                : ship(editable, buf_text(&file), buf_text(&to));
    buf_fini(&to);
    buf_fini(&file);
    return code;
}

static weft_err ship_mapping(struct editable *editable, weft_bytes finder, const char *place)
{
    const char *at = memmem(finder.data, finder.size, mapping_name, sizeof mapping_name - 1);
    const char *end = (const char *)finder.data + finder.size;
    struct buf name = {0}, from = {0};
    weft_err code = WEFT_OK;
    const char *equals = at ? memchr(at, '=', (size_t)(end - at)) : NULL;
    at = equals ? memchr(equals, '{', (size_t)(end - equals)) : NULL;
    if (!at)
        return err_set(WEFT_INVALID_ARGUMENT, "a file of an editable package has no MAPPING");
    while (code == WEFT_OK && (at = read_quoted(at + (*at == '{'), end, &name)) &&
           (at = read_quoted(at, end, &from)))
        code = name.has_failed || from.has_failed
                   ? no_memory()
                   : ship_package(editable, place, buf_text(&name), buf_text(&from));
    buf_fini(&name);
    buf_fini(&from);
    return code;
}

// "import __editable___NAME_finder; __editable___NAME_finder.install()"
static weft_err move_finder(struct editable *editable, const char *line, struct buf *text)
{
    struct buf path = {0}, finder = {0}, to = {0};
    const char *name = line + strlen("import ");
    buf_format(&path, "%s/%.*s.py", editable->packages, (int)strcspn(name, "; \r"), name);
    struct content_item *item =
        path.has_failed ? NULL : content_find(editable->content, buf_text(&path));
    weft_err code =
        item ? content_read(editable->content, item, FILE_BYTES_MAX, &finder)
             : err_set(WEFT_INVALID_ARGUMENT,
                       "a .pth file of the venv imports %s, which is not there", buf_text(&path));
    // Marked now: adding to the content may move its items.
    if (code == WEFT_OK) {
        item->kind = TAR_OTHER;
        code = add_place(editable, &to);
    }
    if (code == WEFT_OK)
        code = ship_mapping(editable, buf_bytes(&finder), buf_text(&to));
    buf_format(text, "%s%s\n", buf_text(&editable->up), buf_text(&to));
    buf_fini(&path);
    buf_fini(&finder);
    buf_fini(&to);
    return code;
}

static weft_err move_pth(struct editable *editable, size_t number)
{
    struct buf pth = {0}, text = {0};
    bool has_moved = false;
    weft_err code = content_read(editable->content, &editable->content->items.items[number],
                                 FILE_BYTES_MAX, &pth);
    const char *at = buf_text(&pth);
    while (code == WEFT_OK && *at) {
        const size_t size = strcspn(at, "\n");
        char *line = strndup(at, size - (size > 0 && at[size - 1] == '\r'));
        const bool is_finder = line && strncmp(line, finder_begin, sizeof finder_begin - 1) == 0;
        if (!line)
            code = no_memory();
        else if (line[0] == '/')
            code = move_line(editable, line, &text);
        else if (is_finder)
            code = move_finder(editable, line, &text);
        else
            buf_format(&text, "%s\n", line);
        has_moved |= is_finder || (line && line[0] == '/');
        free(line);
        at += size + (at[size] == '\n');
    }
    if (code == WEFT_OK && text.has_failed)
        code = no_memory();
    if (code == WEFT_OK && has_moved)
        code = content_set_text(&editable->content->items.items[number], buf_bytes(&text));
    buf_fini(&pth);
    buf_fini(&text);
    return code;
}

// ---- Others --------------------------------------------------------------------------------------------------------

static bool is_shipped(const struct editable *editable, const char *source)
{
    char *real = file_real_path(source);
    bool is = false;
    for (size_t i = 0; real && i < editable->shipped.count && !is; i++) {
        const char *one = editable->shipped.items[i];
        const size_t size = strlen(real), one_size = strlen(one);
        const size_t common = size < one_size ? size : one_size;
        is = strncmp(one, real, common) == 0 &&
             (one[common] == '/' || real[common] == '/' || size == one_size);
    }
    free(real);
    return is;
}

static weft_err check_package(struct editable *editable, const struct content_item *item)
{
    struct buf text = {0};
    weft_err code = content_read(editable->content, item, FILE_BYTES_MAX, &text);
    json_t *object = code == WEFT_OK ? json_loadb(buf_text(&text), text.size, 0, NULL) : NULL;
    const char *url = json_string_value(json_object_get(object, "url"));
    if (json_is_true(json_object_get(json_object_get(object, "dir_info"), "editable")) && url &&
        strncmp(url, "file://", 7) == 0 && !is_shipped(editable, url + 7)) {
        const char *name = item->path + editable->packages_size + 1;
        code = err_set(
            WEFT_INVALID_ARGUMENT,
            "%.*s is installed in editable form in a way that weft pack does not know\n  its "
            "source is in %s\n  try: pip install it without -e, and weft pack again",
            (int)strcspn(name, "/"), name, url + 7);
    }
    json_decref(object);
    buf_fini(&text);
    return code;
}

weft_err editable_list(struct content *content, const char *packages, const char *venv,
                       const struct gather_rules *rules)
{
    struct editable editable = {.content = content,
                                .packages = packages,
                                .venv = venv,
                                .rules = rules,
                                .packages_size = strlen(packages)};
    const size_t count = content->items.count;
    buf_append_text(&editable.up, "../");
    for (const char *at = packages; (at = strchr(at, '/')); at++)
        buf_append_text(&editable.up, "../");
    weft_err code = editable.up.has_failed ? no_memory() : WEFT_OK;
    for (size_t i = 0; i < count && code == WEFT_OK; i++) {
        const char *name = find_name(&editable, &content->items.items[i]);
        if (name && !strchr(name, '/') && ends_with(name, ".pth") &&
            content->items.items[i].kind == TAR_FILE)
            code = move_pth(&editable, i);
    }
    for (size_t i = 0; i < count && code == WEFT_OK; i++) {
        const char *name = find_name(&editable, &content->items.items[i]);
        if (name && ends_with(name, ".dist-info/direct_url.json"))
            code = check_package(&editable, &content->items.items[i]);
    }
    for (size_t i = 0; i < count; i++)
        if (content->items.items[i].kind == TAR_OTHER)
            content_drop(&content->items.items[i]);
    for (size_t i = 0; i < editable.shipped.count; i++)
        free(editable.shipped.items[i]);
    VEC_FINI(&editable.shipped);
    buf_fini(&editable.up);
    return code;
}
