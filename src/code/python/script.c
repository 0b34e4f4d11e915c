// A script: finding the interpreter and the package that run it.
//
// The interpreter is $WEFT_PYTHON, else the python3 beside this program (both are then of one virtual
// environment), else the one in PATH. The package weft is beside this program in a build tree, in lib/
// where it was installed by make, and otherwise known to the interpreter.

#include "code/python/python.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/json.h"
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

// Finds our own path, the interpreter, and the package ("": the interpreter knows it).
static weft_err find_all(char **own, char **interpreter, struct buf *package)
{
    char *folder = NULL;
    weft_err code = command_own_path(own);
    if (!code)
        code = place_parent(*own, &folder);
    if (!code)
        code = find_interpreter(folder, interpreter);
    if (!code)
        find_package(folder, package);
    free(folder);
    return code;
}

// Becomes the interpreter with the words: "-c", our own path, that of the package, `script`, `number` unless it is NULL, `words`.
static weft_err become(const char *boot, const char *script, const char *number, char *const *words)
{
    char *own = NULL, *interpreter = NULL;
    struct buf package = {0};
    size_t count = 0;
    weft_err code = find_all(&own, &interpreter, &package);
    while (words[count])
        count++;
    const char **arguments = code ? NULL : calloc(count + 8, sizeof *arguments);
    if (arguments) {
        const char *const first[] = {interpreter,        "-c",   boot,  own,
                                     buf_text(&package), script, number};
        memcpy(arguments, first, sizeof first);
        memcpy(arguments + (number ? 7 : 6), words, count * sizeof *words);
        code = command_become(interpreter, (char *const *)arguments);
    } else if (!code) {
        code = err_no_memory("to run %s", script);
    }
    free(arguments);
    buf_fini(&package);
    free(interpreter);
    free(own);
    return code;
}

weft_err python_run_script(const char *script, char *const *words, size_t option_count)
{
    char number[24];
    snprintf(number, sizeof number, "%zu", option_count);
    return become(BOOT("from weft.script import main", "main()"), script, number, words);
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
    return become(boot, "weft tasks", NULL, words);
}

// ---- A job from another machine ------------------------------------------------------------------------------------

// Prints where the package is and its version.
static const char ask[] =
    "import sys\n"
    "sys.path[:1] = sys.argv[1:2] if sys.argv[1] else []\n"
    "import os, weft\n"
    "print(os.path.dirname(os.path.dirname(os.path.abspath(weft.__file__))))\n"
    "print(weft.__version__)\n";

static weft_err run_ask(const char *interpreter, const char *package, struct buf *answer)
{
    const char *const arguments[] = {interpreter, "-c", ask, package, NULL};
    enum { ANSWER_BYTES_MAX = 8 << 10 };
    char *room;
    int fd, exit_code = 0;
    size_t got = 0;
    weft_err code = file_create_nameless("/tmp", &fd);
    if (code)
        return code;
    code = command_run(interpreter, (char *const *)arguments, fd, &exit_code);
    room = buf_reserve(answer, ANSWER_BYTES_MAX);
    if (!code && !room)
        code = err_no_memory("for an answer of Python");
    if (!code)
        code = file_read_at(fd, "the answer of Python", room, ANSWER_BYTES_MAX, 0, &got);
    answer->size += code ? 0 : got;
    file_close(fd);
    if (!code && exit_code)
        code = err_set(WEFT_FAILED_PRECONDITION,
                       "%s has no package weft that works: %s\n  try: make, with the package "
                       "python3-dev, or pip install .",
                       interpreter, buf_text(answer));
    return code;
}

weft_err python_find_here(const char *version, void **found_here)
{
    char *own = NULL;
    struct buf package = {0}, answer = {0};
    struct python_here *here = *found_here = calloc(1, sizeof *here);
    if (!here)
        return err_no_memory("for the names of a Python");
    weft_err code = find_all(&own, &here->interpreter, &package);
    if (!code)
        code = run_ask(here->interpreter, buf_text(&package), &answer);
    weft_bytes rest = buf_bytes(&answer), place = {0}, found = {0};
    if (!code && (!weft_next_line(&rest, &place) || !weft_next_line(&rest, &found)))
        code = err_set(WEFT_FAILED_PRECONDITION, "%s does not answer", here->interpreter);
    if (!code && (found.size != strlen(version) || memcmp(found.data, version, found.size) != 0))
        code = err_set(WEFT_FAILED_PRECONDITION,
                       "the package weft of %s is version %.*s, and that of the server is %s\n"
                       "  try: install the same one on all machines",
                       here->interpreter, (int)found.size, found.data, version);
    if (!code && !(here->package = strndup(place.data, place.size)))
        code = err_no_memory("for the name of a package");
    buf_fini(&answer);
    buf_fini(&package);
    free(own);
    return code;
}

void python_free_here(void *made)
{
    struct python_here *here = made;
    if (!here)
        return;
    free(here->interpreter);
    free(here->package);
    free(here);
}

// The description with the directory where its script is (python/weft/code.py: load). It is JSON, but not read here: a path in it need not
// be UTF-8.
static char *settle_description(const char *text, const char *directory)
{
    struct buf settled = {0};
    json_open(&settled, NULL, '{');
    json_append_text(&settled, "here", directory);
    buf_format(&settled, ",%s", text + (text[0] == '{'));
    char *copy = settled.has_failed ? NULL : strdup(buf_text(&settled));
    buf_fini(&settled);
    return copy;
}

const char *python_name_there(const char *path)
{
    static const char mark[] = "/./";
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    for (const char *at = path; (at = strstr(at, mark)); at += sizeof mark - 2)
        name = at + sizeof mark - 1;
    return name;
}

static char *settle_script(const char *path, const char *directory)
{
    char *settled;
    return asprintf(&settled, "%s/%s", directory, python_name_there(path)) < 0 ? NULL : settled;
}

// The value of an option on this machine; NULL with is_same: as it is.
static char *settle_value(const struct python_here *here, const char *directory, char letter,
                          const char *value, bool *is_same)
{
    *is_same = false;
    switch (letter) {
    case PYTHON_INTERPRETER:
        return strdup(here->interpreter);
    case PYTHON_PACKAGE:
        return strdup(here->package);
    case PYTHON_SCRIPT:
        return settle_script(value, directory);
    case PYTHON_DESCRIPTION:
        return settle_description(value, directory);
    default:
        *is_same = true;
        return NULL;
    }
}

weft_err python_settle_words(const void *made, const char *directory, char **words, size_t count)
{
    const struct python_here *here = made;
    for (size_t i = 0; i < count; i++) {
        bool takes_value = false, is_same;
        const char letter = words[i][0] == '-' ? words[i][1] : 0;
        if (!letter || words[i][2] || !args_has_letter(python_job.options, letter, &takes_value) ||
            (takes_value && i + 1 == count))
            return err_set(WEFT_INVALID_ARGUMENT, "%.32s is not an option of a Python job",
                           words[i]);
        if (!takes_value)
            continue;
        i++;
        char *settled = settle_value(here, directory, letter, words[i], &is_same);
        if (!is_same && !settled)
            return err_no_memory("for the words of a job");
        if (!is_same)
            free(words[i]);
        words[i] = is_same ? words[i] : settled;
    }
    return WEFT_OK;
}
