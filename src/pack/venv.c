// venv: links to the interpreter lead to the one that travels, scripts are rewritten, and pyvenv.cfg no longer says where Python is.
//
// Python finds its standard library beside the file to which bin/python leads, and the packages of the venv beside the name by which
// it was called, because pyvenv.cfg is there. It needs no absolute path for that up to 3.13. From 3.14 on it finds a venv only by `home` in pyvenv.cfg:
// that line is written where the archive is unpacked (unpack.c).

#include "pack/venv.h"

#include <stdio.h>
#include <stdlib.h>

#include "pack/editable.h"
#include "pack/interpreter.h"
#include "pack/scripts.h"
#include "sys/file/file.h"

enum { TEXT_BYTES_MAX = 4 << 20, HOME_SINCE_MINOR = 14 };
static const char cfg_name[] = "pyvenv.cfg";

struct venv {
    const char *path;
    char *real;        // without links
    char *named;       // as bin/activate has it; NULL: it has none
    char *program;     // the interpreter's file, without links
    char version[16];  // "3.11"
    char packages[64];
    struct content *content;
    const struct gather_rules *rules;
};

static weft_err no_memory(void)
{
    return err_no_memory("to pack a venv");
}

bool venv_is_one(const char *path)
{
    struct buf cfg = {0};
    struct file_stat status;
    buf_format(&cfg, "%s/%s", path, cfg_name);
    const bool is = !cfg.has_failed && file_stat(buf_text(&cfg), &status) == WEFT_OK &&
                    status.kind == FILE_REGULAR;
    err_clear();
    buf_fini(&cfg);
    return is;
}

// ---- pyvenv.cfg ----------------------------------------------------------------------------------------------------

// Whether the line has that key; *value is its value, a copy without blanks around it.
static bool read_line(const char *line, size_t size, const char *key, char *value, size_t room)
{
    const char *end = line + size, *equals = memchr(line, '=', size);
    const size_t key_size = strlen(key);
    if (!equals || strncasecmp(line, key, key_size) != 0 || line + key_size > equals ||
        strspn(line + key_size, " \t") < (size_t)(equals - line) - key_size)
        return false;
    for (equals++; equals < end && (*equals == ' ' || *equals == '\t');)
        equals++;
    while (end > equals && (end[-1] == ' ' || end[-1] == '\r' || end[-1] == '\t'))
        end--;
    snprintf(value, room, "%.*s", (int)(end - equals), equals);
    return true;
}

static weft_err refuse_system(const struct venv *venv)
{
    return err_set(
        WEFT_INVALID_ARGUMENT,
        "cannot pack %s: it uses the packages of this system, which do not travel\n  its "
        "pyvenv.cfg has include-system-site-packages = true\n  try: a venv without "
        "--system-site-packages, in which these are installed",
        venv->path);
}

// Keeps the lines that are true everywhere, and notes the version.
static weft_err move_cfg(struct venv *venv)
{
    static const char *const local[] = {
        "home", "executable", "command", "base-executable", "base-prefix", "base-exec-prefix"};
    struct content_item *item = content_find(venv->content, cfg_name);
    struct buf cfg = {0}, moved = {0};
    char value[64];
    bool uses_system = false;
    weft_err code = item ? content_read(venv->content, item, TEXT_BYTES_MAX, &cfg)
                         : err_set(WEFT_NOT_FOUND, "%s/%s is left out", venv->path, cfg_name);
    const char *at = buf_text(&cfg);
    while (code == WEFT_OK && *at) {
        const size_t size = strcspn(at, "\n");
        bool is_local = false;
        for (size_t i = 0; i < sizeof local / sizeof *local; i++)
            is_local |= read_line(at, size, local[i], value, sizeof value);
        if (read_line(at, size, "include-system-site-packages", value, sizeof value))
            uses_system = strcasecmp(value, "true") == 0;
        if (!is_local)
            buf_format(&moved, "%.*s\n", (int)size, at);
        at += size + (at[size] == '\n');
    }
    if (code == WEFT_OK && uses_system)
        code = refuse_system(venv);
    if (code == WEFT_OK)
        code = moved.has_failed ? no_memory() : content_set_text(item, buf_bytes(&moved));
    buf_fini(&cfg);
    buf_fini(&moved);
    return code;
}

// ---- Its Python ----------------------------------------------------------------------------------------------------

static bool is_python(const char *path)
{
    static const char prefix[] = "bin/python";
    return strncmp(path, prefix, sizeof prefix - 1) == 0 &&
           strspn(path + sizeof prefix - 1, "0123456789.") == strlen(path + sizeof prefix - 1);
}

// The links to the interpreter are made again.
static weft_err on_link_out(void *owner, const char *path, const char *real, bool *is_done)
{
    struct venv *venv = owner;
    *is_done = is_python(path);
    if (!*is_done || venv->program)
        return WEFT_OK;
    venv->program = strdup(real);
    return venv->program ? WEFT_OK : no_memory();
}

// lib/python3.11/site-packages gives the version.
static weft_err find_version(struct venv *venv)
{
    unsigned major, minor;
    for (size_t i = 0; i < venv->content->items.count; i++) {
        const char *path = venv->content->items.items[i].path;
        int end = 0;
        if (sscanf(path, "lib/python%2u.%3u/site-packages%n", &major, &minor, &end) == 2 &&
            end > 0 && !path[end]) {
            snprintf(venv->version, sizeof venv->version, "%u.%u", major, minor);
            snprintf(venv->packages, sizeof venv->packages, "%s", path);
            return WEFT_OK;
        }
    }
    return err_set(
        WEFT_INVALID_ARGUMENT,
        "cannot pack %s: it has a pyvenv.cfg, but no lib/pythonX.Y/site-packages\n  try: a "
        "venv made by CPython, python3 -m venv DIR",
        venv->path);
}

// A venv with copies of the interpreter says in pyvenv.cfg where they are from.
static weft_err find_home(struct venv *venv)
{
    struct buf path = {0}, cfg = {0};
    char home[TAR_PATH_BYTES_MAX + 1] = "";
    struct content_item *item = content_find(venv->content, cfg_name);
    weft_err code = item ? content_read(venv->content, item, TEXT_BYTES_MAX, &cfg) : WEFT_OK;
    for (const char *at = buf_text(&cfg); *at;) {
        const size_t size = strcspn(at, "\n");
        if (read_line(at, size, "home", home, sizeof home))
            break;
        at += size + (at[size] == '\n');
    }
    buf_format(&path, "%s/python%s", home, venv->version);
    if (code == WEFT_OK)
        venv->program = file_real_path(buf_text(&path));
    if (code == WEFT_OK && !venv->program)
        code = err_set(WEFT_NOT_FOUND,
                       "cannot pack %s: its Python is not there (%s)\n  try: make the venv again",
                       venv->path, buf_text(&path));
    buf_fini(&path);
    buf_fini(&cfg);
    return code;
}

// Every name of the interpreter in bin/ that is not a link to another name.
static weft_err link_python(struct venv *venv)
{
    struct buf target = {0}, name = {0};
    buf_format(&target, "../.python/bin/python%s", venv->version);
    buf_format(&name, "bin/python%s", venv->version);
    weft_err code = target.has_failed || name.has_failed ? no_memory() : WEFT_OK;
    const char *const names[] = {"bin/python", "bin/python3", buf_text(&name)};
    for (size_t i = 0; i < 3 && code == WEFT_OK; i++)
        code = content_add_link(venv->content, names[i], buf_text(&target));
    buf_fini(&target);
    buf_fini(&name);
    return code;
}

// ---- Scripts -------------------------------------------------------------------------------------------------------

// The path that bin/activate has: scripts may have it, too, where the venv was made by way of a link, or has been moved.
static weft_err find_named(struct venv *venv)
{
    static const char key[] = "VIRTUAL_ENV=";
    const struct content_item *item = content_find(venv->content, "bin/activate");
    struct buf text = {0};
    weft_err code = item && item->kind == TAR_FILE
                        ? content_read(venv->content, item, TEXT_BYTES_MAX, &text)
                        : WEFT_OK;
    const char *at = buf_text(&text);
    while (code == WEFT_OK && (at = strstr(at, key)) && !venv->named) {
        at += sizeof key - 1;
        const char quote = *at == '"' || *at == '\'' ? *at : 0;
        at += quote != 0;
        const size_t size = quote ? strcspn(at, (char[]){quote, 0}) : strcspn(at, " \t\r\n;");
        if (*at == '/' && !(venv->named = strndup(at, size)))
            code = no_memory();
    }
    buf_fini(&text);
    return code;
}

static bool is_other_shell(const char *name)
{
    static const char *const names[] = {"activate.csh", "activate.fish", "activate.nu",
                                        "activate.bat", "deactivate.bat"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static weft_err move_script(struct venv *venv, struct content_item *item, const char *const *roots)
{
    struct buf text = {0}, moved = {0};
    if (item->size > TEXT_BYTES_MAX)
        return WEFT_OK;
    weft_err code = content_read(venv->content, item, TEXT_BYTES_MAX, &text);
    const bool is_activate = strcmp(item->path, "bin/activate") == 0;
    const bool has_moved =
        code == WEFT_OK && (is_activate ? scripts_move_activate(buf_bytes(&text), roots, &moved)
                                        : scripts_move(buf_bytes(&text), roots, &moved));
    if (has_moved)
        code = moved.has_failed ? no_memory() : content_set_text(item, buf_bytes(&moved));
    buf_fini(&text);
    buf_fini(&moved);
    return code;
}

static weft_err move_scripts(struct venv *venv)
{
    const char *roots[4] = {venv->real};
    size_t count = 1;
    if (venv->path[0] == '/' && strcmp(venv->path, venv->real) != 0)
        roots[count++] = venv->path;
    if (venv->named)
        roots[count++] = venv->named;
    weft_err code = WEFT_OK;
    for (size_t i = 0; i < venv->content->items.count && code == WEFT_OK; i++) {
        struct content_item *item = &venv->content->items.items[i];
        if (strncmp(item->path, "bin/", 4) != 0 || strchr(item->path + 4, '/'))
            continue;
        if (is_other_shell(item->path + 4))
            item->kind = TAR_OTHER;
        else if (item->kind == TAR_FILE && !is_python(item->path))
            code = move_script(venv, item, roots);
    }
    return code;
}

// ---- All of it -----------------------------------------------------------------------------------------------------

static weft_err list_files(struct venv *venv)
{
    struct gather_rules rules = *venv->rules;
    rules.leads_out = on_link_out;
    rules.owner = venv;
    weft_err code = gather_directory(venv->content, venv->path, "", &rules);
    if (code == WEFT_OK)
        code = content_sort(venv->content);
    if (code == WEFT_OK)
        code = find_version(venv);
    if (code == WEFT_OK && !venv->program)
        code = find_home(venv);
    return code;
}

static weft_err move_files(struct venv *venv)
{
    weft_err code = find_named(venv);
    if (code == WEFT_OK)
        code = move_cfg(venv);
    if (code == WEFT_OK)
        code = move_scripts(venv);
    if (code == WEFT_OK)
        code = editable_list(venv->content, venv->packages, venv->real, venv->rules);
    if (code == WEFT_OK)
        code = interpreter_list(venv->program, venv->version, venv->rules, venv->content);
    return code == WEFT_OK ? link_python(venv) : code;
}

weft_err venv_list(const char *path, const struct gather_rules *rules, struct label *label,
                   struct content *content)
{
    struct venv venv = {
        .path = path, .real = file_real_path(path), .content = content, .rules = rules};
    unsigned minor = 0;
    weft_err code = venv.real ? list_files(&venv) : err_errno("cannot pack %s", path);
    if (code == WEFT_OK)
        code = move_files(&venv);
    label->kind = LABEL_VENV;
    snprintf(label->python, sizeof label->python, "%s", venv.version);
    if (sscanf(venv.version, "3.%u", &minor) == 1)
        label->needs_home = minor >= HOME_SINCE_MINOR;
    free(venv.real);
    free(venv.named);
    free(venv.program);
    return code;
}
