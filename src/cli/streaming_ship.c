// Shipping: files are linked, archives are unpacked by the usual programs.

#include "cli/streaming_ship.h"

#include <stdio.h>
#include <stdlib.h>

#include "sys/file/file.h"
#include "sys/process/command.h"

// ---- Files ---------------------------------------------------------------------------------------------

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// The program of a command: its first word, without "./" in front.
static size_t program_of(const char *command, const char **program)
{
    *program = strncmp(command, "./", 2) == 0 ? command + 2 : command;
    return strcspn(*program, " ");
}

static bool is_program(const char *command, const char *name)
{
    const char *program;
    if (!command)
        return false;
    const size_t length = program_of(command, &program);
    return strlen(name) == length && memcmp(program, name, length) == 0;
}

// Commands that name a shipped file, by the path it was shipped from or by its name there, run the
// shipped one, before any program in PATH.
static weft_err find_program(char **command, const char *path, const char *name)
{
    const char *program;
    if (!is_program(*command, path) && !is_program(*command, name))
        return WEFT_OK;
    struct buf text = {0};
    const size_t length = program_of(*command, &program);
    buf_format(&text, "./%s%s", name, program + length);
    char *copy = text.has_failed ? NULL : strdup(buf_text(&text));
    buf_fini(&text);
    if (!copy)
        return err_no_memory("for a command");
    free(*command);
    *command = copy;
    return WEFT_OK;
}

// PATH#NAME, or PATH under its own name. The caller frees *path; *name lives as long as it and the
// word.
static weft_err split_word(const char *word, char **path, const char **name)
{
    const char *hash = strrchr(word, '#');
    *path = strndup(word, hash ? (size_t)(hash - word) : strlen(word));
    if (!*path)
        return err_no_memory("for the name of a file");
    for (size_t length = strlen(*path); length > 1 && (*path)[length - 1] == '/';)
        (*path)[--length] = 0;
    *name = hash ? hash + 1 : base_name(*path);
    return WEFT_OK;
}

static weft_err ship_file(struct streaming_options *streaming, struct workdir *workdir,
                          const char *word)
{
    char *path;
    const char *name;
    weft_err err = split_word(word, &path, &name);
    if (err)
        return err;
    char **commands[] = {&streaming->map, &streaming->combine, &streaming->reduce};
    bool as_program = false;
    for (size_t i = 0; i < sizeof commands / sizeof *commands && !err; i++) {
        err = find_program(commands[i], path, name);
        as_program |= is_program(*commands[i], name);
    }
    if (!err)
        err = err_wrap(workdir_add(workdir, path, name, as_program), "-files");
    free(path);
    return err;
}

// ---- Archives ------------------------------------------------------------------------------------------

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcasecmp(text + length - end_length, end) == 0;
}

static weft_err run_unpacker(const char *program, char *const *arguments, const char *archive)
{
    char *path;
    int exit_code = 0;
    weft_err err = command_find(program, &path);
    if (err)
        return err_set(WEFT_NOT_FOUND,
                       "-archives %s cannot be unpacked: there is no program %s\n"
                       "  try: apt-get install %s",
                       archive, program, program);
    err = command_run(path, arguments, -1, &exit_code);
    free(path);
    if (!err && exit_code != 0)
        err = err_set(WEFT_INVALID_ARGUMENT,
                      "-archives %s cannot be unpacked: %s ended with %d\n"
                      "  its message is above\n"
                      "  try: %s %s",
                      archive, program, exit_code,
                      strcmp(program, "tar") == 0 ? "tar -tf" : "unzip -l", archive);
    return err;
}

static weft_err unpack(const char *archive, const char *directory)
{
    static const char *const tars[] = {".tar", ".tar.gz", ".tgz"};
    weft_err err = file_make_directory(directory);
    if (err)
        return err;
    if (ends_with(archive, ".zip") || ends_with(archive, ".jar")) {
        char *const words[] = {"unzip", "-q", "-o", (char *)archive, "-d", (char *)directory, NULL};
        return run_unpacker("unzip", words, archive);
    }
    for (size_t i = 0; i < sizeof tars / sizeof *tars; i++)
        if (ends_with(archive, tars[i])) {
            char *const words[] = {"tar", "-x", "-f", (char *)archive, "-C", (char *)directory,
                                   NULL};
            return run_unpacker("tar", words, archive);
        }
    return err_set(WEFT_UNIMPLEMENTED,
                   "Hadoop does not unpack this kind of file: -archives %s\n"
                   "  it unpacks .zip, .jar, .tar, .tar.gz and .tgz\n"
                   "  try: -files %s, and unpack it in the command",
                   archive, archive);
}

static weft_err ship_archive(struct workdir *workdir, const char *word)
{
    char *path;
    const char *name;
    struct file_stat status, there;
    struct buf target = {0};
    weft_err err = split_word(word, &path, &name);
    if (err)
        return err;
    buf_format(&target, "%s/%s", workdir->path, name);
    err = file_stat(path, &status);
    if (!err)
        err = file_stat(buf_text(&target), &there);
    if (!err && status.kind == FILE_MISSING)
        err = err_set(WEFT_NOT_FOUND, "there is no archive %s\n  try: ls -l %s", path, path);
    else if (!err && (!*name || strchr(name, '/') || name[0] == '.'))
        err = err_set(WEFT_INVALID_ARGUMENT, "-archives %s cannot be called %s\n  try: %s#NAME",
                      path, name, path);
    else if (!err && there.kind != FILE_MISSING)
        err = err_set(WEFT_ALREADY_EXISTS,
                      "-archives %s: another file is called %s already\n  try: %s#OTHERNAME", path,
                      name, path);
    char *absolute = err ? NULL : workdir_absolute(path);
    if (!err)
        err = absolute ? unpack(absolute, buf_text(&target))
                       : err_no_memory("for the name of an archive");
    free(absolute);
    free(path);
    buf_fini(&target);
    return err;
}

// ---- All -----------------------------------------------------------------------------------------------

weft_err streaming_ship(struct streaming_options *streaming, const char *tmp,
                        struct workdir *workdir)
{
    const char *from_environment = getenv("TMPDIR");
    if (streaming->files.count == 0 && streaming->archives.count == 0)
        return WEFT_OK;
    if (!tmp)
        tmp = from_environment && *from_environment ? from_environment : "/var/tmp";
    weft_err err = workdir_open(workdir, tmp);
    for (size_t i = 0; i < streaming->files.count && !err; i++)
        err = ship_file(streaming, workdir, streaming->files.items[i]);
    for (size_t i = 0; i < streaming->archives.count && !err; i++)
        err = ship_archive(workdir, streaming->archives.items[i]);
    return err;
}
