// scripts: a line for the kernel must have an absolute path, so that a script that may be anywhere begins with one for /bin/sh. That
// line and the next are a text to Python and a command to the shell:
//
//     #!/bin/sh
//     '''exec' "$(dirname -- "$(readlink -f -- "$0")")"/'python3' "$0" "$@"
//     ' '''

#include "pack/scripts.h"

#include <string.h>

static const char shell_line[] = "#!/bin/sh\n'''exec' ";

// The length of a root that the text begins with, followed by "/bin/"; 0: none.
static size_t match_root(const char *at, size_t size, const char *const *roots)
{
    static const char bin[] = "/bin/";
    for (; *roots; roots++) {
        const size_t length = strlen(*roots);
        if (size > length + sizeof bin - 1 && memcmp(at, *roots, length) == 0 &&
            memcmp(at + length, bin, sizeof bin - 1) == 0)
            return length + sizeof bin - 1;
    }
    return 0;
}

static size_t line_size(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline ? (size_t)(newline - at) : (size_t)(end - at);
}

static bool is_plain(const char *name, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (name[i] == '\'' || name[i] == '/' || name[i] == '\\')
            return false;
    return size > 0;
}

static void append_start(struct buf *moved, const char *name, size_t name_size, const char *options,
                         size_t options_size)
{
    buf_append_text(moved, shell_line);
    buf_append_text(moved, "\"$(dirname -- \"$(readlink -f -- \"$0\")\")\"/'");
    buf_append(moved, name, name_size);
    buf_append_text(moved, "'");
    if (options_size > 0)
        buf_append_text(moved, " ");
    buf_append(moved, options, options_size);
    buf_append_text(moved, " \"$0\" \"$@\"\n' '''\n");
}

// "#!/venv/bin/python3 -E"
static bool move_direct(weft_bytes script, const char *const *roots, struct buf *moved)
{
    const char *at = (const char *)script.data + 2, *end = (const char *)script.data + script.size;
    const char *line_end = at + line_size(at, end);
    while (at < line_end && *at == ' ')
        at++;
    const size_t root = match_root(at, (size_t)(line_end - at), roots);
    const char *name = at + root;
    size_t name_size = 0;
    while (name + name_size < line_end && !strchr(" \t\r", name[name_size]))
        name_size++;
    if (root == 0 || !is_plain(name, name_size))
        return false;
    const char *options = name + name_size;
    while (options < line_end && *options == ' ')
        options++;
    append_start(moved, name, name_size, options, (size_t)(line_end - options));
    buf_append(moved, line_end + (line_end < end), (size_t)(end - line_end) - (line_end < end));
    return true;
}

// The two lines of pip: "'''exec' /venv/bin/python3 "$0" "$@"", the path perhaps in quotes.
static bool move_long(weft_bytes script, const char *const *roots, struct buf *moved)
{
    const size_t begin = sizeof shell_line - 1;
    const char *at = (const char *)script.data + begin,
               *end = (const char *)script.data + script.size;
    const char *line_end = at + line_size(at, end);
    const bool is_quoted = at < line_end && *at == '"';
    at += is_quoted;
    const size_t root = match_root(at, (size_t)(line_end - at), roots);
    const char *name = at + root;
    size_t name_size = 0;
    while (name + name_size < line_end && !strchr("\" ", name[name_size]))
        name_size++;
    if (root == 0 || !is_plain(name, name_size))
        return false;
    const char *next = line_end + (line_end < end);
    next += line_size(next, end);
    next += next < end;
    append_start(moved, name, name_size, "", 0);
    buf_append(moved, next, (size_t)(end - next));
    return true;
}

bool scripts_move(weft_bytes script, const char *const *roots, struct buf *moved)
{
    if (script.size > sizeof shell_line &&
        memcmp(script.data, shell_line, sizeof shell_line - 1) == 0)
        return move_long(script, roots, moved);
    return script.size > 2 && memcmp(script.data, "#!", 2) == 0 &&
           move_direct(script, roots, moved);
}

// ---- activate ------------------------------------------------------------------------------------------------------

static const char find_itself[] =
    "# where this file is: weft pack put it here\n"
    "if [ -n \"${BASH_SOURCE:-}\" ]; then\n"
    "    weft_venv=$BASH_SOURCE\n"
    "elif [ -n \"${ZSH_VERSION:-}\" ]; then\n"
    "    eval 'weft_venv=${(%):-%x}'\n"
    "elif [ -n \"${KSH_VERSION:-}\" ]; then\n"
    "    eval 'weft_venv=${.sh.file}'\n"
    "else\n"
    "    weft_venv=${VIRTUAL_ENV:-.}/bin/activate\n"
    "fi\n"
    "weft_venv=$(cd -- \"$(dirname -- \"$weft_venv\")/..\" >/dev/null && pwd)\n"
    "\n";

static size_t match_whole(const char *at, size_t size, const char *const *roots)
{
    for (; *roots; roots++) {
        const size_t length = strlen(*roots);
        if (length > 0 && size >= length && memcmp(at, *roots, length) == 0 &&
            (size == length || strchr("\"'\n) ;", at[length])))
            return length;
    }
    return 0;
}

bool scripts_move_activate(weft_bytes script, const char *const *roots, struct buf *moved)
{
    const char *at = script.data, *end = at + script.size;
    bool has_moved = false;
    const size_t before = moved->size;
    buf_append_text(moved, find_itself);
    while (at < end) {
        const bool is_quoted = *at == '\'' || *at == '"';
        const char *text = at + is_quoted;
        const size_t root = match_whole(text, (size_t)(end - text), roots);
        if (root == 0 || (is_quoted && (text + root >= end || text[root] != *at))) {
            buf_append(moved, at++, 1);
            continue;
        }
        buf_append_text(moved, "\"$weft_venv\"");
        at = text + root + is_quoted;
        has_moved = true;
    }
    if (!has_moved)
        moved->size = before;
    return has_moved;
}
