// A script: finding the interpreter and the package that run it.
//
// The interpreter is $WEFT_PYTHON, else the python3 beside this program (both are then of one virtual
// environment), else the one in PATH. The package weft is beside this program in a build tree, in lib/
// where it was installed by make, and otherwise known to the interpreter.

#include "code/python/python.h"

#include <stdlib.h>

#include "base/buf.h"
#include "sys/file/file.h"
#include "sys/file/place.h"
#include "sys/process/command.h"

bool python_is_script(const char *word)
{
    const size_t length = strlen(word);
    return length > 3 && strcmp(word + length - 3, ".py") == 0;
}

bool python_is_job(const char *script)
{
    enum { SCRIPT_BYTES_MAX = 4 << 20 };
    static const char mark[] = "mapfn";
    char *text = malloc(SCRIPT_BYTES_MAX);
    size_t got = 0;
    int fd = -1;
    const bool has_mark = text && file_open(script, &fd) == WEFT_OK &&
                          file_read_at(fd, script, text, SCRIPT_BYTES_MAX, 0, &got) == WEFT_OK &&
                          memmem(text, got, mark, sizeof mark - 1);
    file_close(fd);
    free(text);
    return has_mark;
}

static bool is_file(const char *path)
{
    struct file_stat status;
    const bool is_so = file_stat(path, &status) == WEFT_OK && status.kind == FILE_REGULAR;
    if (!is_so)
        err_clear();
    return is_so;
}

// The caller frees *path.
static weft_err find_interpreter(const char *folder, char **path)
{
    const char *asked = getenv("WEFT_PYTHON");
    struct buf beside = {0};
    buf_format(&beside, "%s/python3", folder);
    const bool is_beside = !beside.has_failed && is_file(buf_text(&beside));
    const weft_err code = command_find(asked && *asked ? asked
                                       : is_beside     ? buf_text(&beside)
                                                       : "python3",
                                       path);
    buf_fini(&beside);
    if (code != WEFT_NOT_FOUND)
        return code;
    return err_set(WEFT_UNIMPLEMENTED,
                   "there is no Python here\n  a script is run by %s, and that was not found\n"
                   "  try: apt-get install python3, or WEFT_PYTHON=/path/to/python3",
                   asked && *asked ? asked : "python3");
}

// "" where the interpreter must know the package by itself.
static void find_package(const char *folder, struct buf *path)
{
    static const char *const places[] = {"python", "../lib/weft/python"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        path->size = 0;
        buf_format(path, "%s/%s/weft/script.py", folder, places[i]);
        if (!path->has_failed && is_file(buf_text(path))) {
            path->size -= strlen("/weft/script.py");
            return;
        }
    }
    path->size = 0;
}

// What the interpreter runs first. With a package of ours, that one comes first; without, a missing one is a
// sentence. Files of the directory at hand are not taken for modules of Python.
#define BOOT(import, call)                                                                           \
    "import sys\n"                                                                                   \
    "sys.path[:1] = sys.argv[2:3] if sys.argv[2] else []\n"                                          \
    "try:\n"                                                                                         \
    "    " import "\nexcept ImportError as error:\n"                                                 \
    "    sys.exit('weft: cannot run %s\\n  %s has no package weft that works: %s\\n  try: make, "    \
    "with the package python3-dev, or pip install .' % (sys.argv[3], sys.executable, error))\n" call \
    "\n"

// Becomes the interpreter with the words: "-c", our own path, that of the package, `script`, `words`.
static weft_err become(const char *boot, const char *script, char *const *words)
{
    char *own = NULL, *folder = NULL, *interpreter = NULL;
    struct buf package = {0};
    size_t count = 0;
    weft_err code = command_own_path(&own);
    if (!code)
        code = place_parent(own, &folder);
    if (!code)
        code = find_interpreter(folder, &interpreter);
    if (!code)
        find_package(folder, &package);
    while (words[count])
        count++;
    const char **arguments = code ? NULL : calloc(count + 7, sizeof *arguments);
    if (arguments) {
        const char *const first[] = {interpreter, "-c", boot, own, buf_text(&package), script};
        memcpy(arguments, first, sizeof first);
        memcpy(arguments + 6, words, count * sizeof *words);
        code = command_become(interpreter, (char *const *)arguments);
    } else if (!code) {
        code = err_no_memory("to run %s", script);
    }
    free(arguments);
    buf_fini(&package);
    free(interpreter);
    free(folder);
    free(own);
    return code;
}

weft_err python_run_script(const char *script, char *const *words)
{
    return become(BOOT("from weft.script import main", "main()"), script, words);
}

weft_err python_run_tasks(char *const *words)
{
    // The processes that it starts find the package as it does.
    static const char boot[] =
        BOOT("from weft.tasks.__main__ import main",
             "import os\n"
             "if sys.argv[2]:\n"
             "    also = os.environ.get('PYTHONPATH')\n"
             "    os.environ['PYTHONPATH'] = sys.argv[2] + (os.pathsep + also if also else '')\n"
             "sys.exit(main(sys.argv[4:]))");
    return become(boot, "weft tasks", words);
}
