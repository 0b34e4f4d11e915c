// Files of commands.

#include "code/command/files.h"

#include <stdlib.h>

#include "code/command/command.h"
#include "code/command/words.h"
#include "sys/file/file.h"

static const struct {
    char letter;
    const char *option;
} commands[] = {{COMMAND_MAP, "map"}, {COMMAND_COMBINE, "combine"}, {COMMAND_REDUCE, "reduce"}};
enum { COMMANDS = sizeof commands / sizeof *commands };

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const char *file_at(const weft_args *args, int index)
{
    return weft_option(args, COMMAND_FILE, index);
}

// ---- Files -------------------------------------------------------------------------------------------------

static weft_err check_file(const weft_args *args, int index)
{
    const char *path = file_at(args, index), *name = base_name(path);
    struct file_stat status;
    const weft_err code = file_stat(path, &status);
    if (code)
        return err_wrap(code, "--file");
    if (status.kind == FILE_MISSING)
        return err_set(WEFT_NOT_FOUND, "--file %s: there is no such file\n  try: ls -l %s", path,
                       path);
    if (status.kind != FILE_REGULAR || !*name)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "--file %s is not a file\n  try: --file for each file in it, or an archive "
                       "(tar) that the command unpacks",
                       path);
    for (int other = 0; other < index; other++)
        if (strcmp(base_name(file_at(args, other)), name) == 0)
            return err_set(WEFT_INVALID_ARGUMENT,
                           "--file %s: another file is called %s already, and commands find both "
                           "in one directory\n  try: give it another name",
                           path, name);
    return WEFT_OK;
}

// The words of a command, where it is not for a shell, which could expand them to anything.
static bool split(const weft_args *args, size_t index, struct command_words *words)
{
    const char *line = weft_option(args, commands[index].letter, 0);
    *words = (struct command_words){0};
    if (!line || !*line || weft_option(args, COMMAND_SHELL, 0))
        return false;
    const bool is_split = command_words_init(words, line) == WEFT_OK;
    err_clear();  // the job says what is wrong with it
    return is_split;
}

// A command that names a file as it is called here does not find it where it runs.
static weft_err check_words(const weft_args *args, size_t index)
{
    struct command_words words;
    weft_err code = WEFT_OK;
    const char *path;
    if (split(args, index, &words))
        for (size_t i = 0; i < words.count && !code; i++)
            for (int at = 0; (path = file_at(args, at)) && !code; at++) {
                const char *name = base_name(path), *word = words.words[i];
                const bool is_bare = i == 0 && strcmp(word, name) == 0;
                const bool is_here = strchr(path, '/') && strcmp(word, path) == 0 &&
                                     !(path[0] == '.' && path + 2 == name);
                if (is_bare || is_here)
                    code = err_set(WEFT_INVALID_ARGUMENT,
                                   "--%s names %s, but commands run in a directory that has the "
                                   "file as %s\n  try: %s%s in the command",
                                   commands[index].option, word, name, i == 0 ? "./" : "", name);
            }
    command_words_fini(&words);
    return code;
}

weft_err command_check_files(const weft_args *args)
{
    weft_err code = WEFT_OK;
    for (int i = 0; file_at(args, i) && !code; i++)
        code = check_file(args, i);
    for (size_t i = 0; i < COMMANDS && file_at(args, 0) && !code; i++)
        code = check_words(args, i);
    return code;
}

weft_err command_put_files(const weft_args *args, const char *tmp, struct workdir *workdir)
{
    const char *from_environment = getenv("TMPDIR");
    *workdir = (struct workdir){.alive = -1};
    if (!file_at(args, 0))
        return WEFT_OK;
    if (!tmp)
        tmp = from_environment && *from_environment ? from_environment : "/var/tmp";
    weft_err code = workdir_open(workdir, tmp);
    for (int i = 0; file_at(args, i) && !code; i++)
        code = err_wrap(workdir_add(workdir, file_at(args, i), base_name(file_at(args, i)), false),
                        "--file");
    return code;
}

// ---- Other machines ----------------------------------------------------------------------------------------

static bool is_brought(const weft_args *args, const char *word)
{
    const char *path;
    for (int i = 0; (path = file_at(args, i)); i++)
        if (strncmp(word, "./", 2) == 0 && strcmp(base_name(path), word + 2) == 0)
            return true;
    return false;
}

weft_err command_check_travel(const weft_args *args)
{
    weft_err code = WEFT_OK;
    if (weft_option(args, COMMAND_DIRECTORY, 0))
        return err_set(
            WEFT_UNIMPLEMENTED,
            "the files of this job cannot travel to other machines\n  try: --file, which "
            "brings files along");
    for (size_t i = 0; i < COMMANDS && !code; i++) {
        struct command_words words;
        const char *program = split(args, i, &words) ? words.words[0] : "";
        if (program[0] != '/' && strchr(program, '/') && !is_brought(args, program))
            code = err_set(WEFT_INVALID_ARGUMENT,
                           "--%s runs %s, which other machines do not have\n  try: --file %s, and "
                           "./%s in the command",
                           commands[i].option, program, program, base_name(program));
        command_words_fini(&words);
    }
    return code;
}
