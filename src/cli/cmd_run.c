// weft run [options] JOB [job options] INPUT...
//
// JOB is a built-in, which runs here, or a program, which this process executes: a program that
// calls weft_main knows the same options. A C source is compiled to a program first. A Python script is
// given to Python, which runs this command again with the job that the script means.

#include "cli/cli.h"

#include <stdlib.h>

#include "base/text.h"
#include "cli/run_on.h"
#include "code/native/compile.h"
#include "code/python/python.h"
#include "jobs/builtin.h"
#include "run/options.h"
#include "run/program.h"
#include "sys/file/file.h"
#include "sys/process/command.h"

enum { MESSAGES_BYTES_MAX = 700 };  // of a compiler, inside a JSON object

static weft_err unknown_job(const char *word)
{
    enum { NAMES_MAX = 64 };
    const char *names[NAMES_MAX + 1];
    size_t count = 0;
    struct buf list = {0};
    for (const weft_job *const *job = builtin_jobs; *job && count < NAMES_MAX; job++) {
        buf_format(&list, "%s%s", count ? ", " : "", (*job)->name);
        names[count++] = (*job)->name;
    }
    names[count] = NULL;
    const char *guess = args_guess(word, names);
    weft_err err;
    if (guess)
        err = err_set(WEFT_NOT_FOUND, "there is no job %s\n  did you mean %s?", word, guess);
    else
        err = err_set(WEFT_NOT_FOUND,
                      "there is no job %s\n  built in are: %s\n  a program is named with a slash "
                      "(./%s), a source ends with .c, .cpp or .py",
                      word, buf_text(&list), word);
    buf_fini(&list);
    return err;
}

static weft_err resolve_job(void *owner, const char *word, const weft_job **job)
{
    (void)owner;
    struct file_stat status;
    *job = strcmp(word, PYTHON_JOB_WORD) == 0 ? &python_job : builtin_find(word);
    if (*job)
        return WEFT_OK;
    if (!compile_is_source(word) && !python_is_script(word) && !strchr(word, '/'))
        return unknown_job(word);
    const weft_err err = file_stat(word, &status);
    if (err)
        return err;
    if (status.kind == FILE_MISSING)
        return err_set(WEFT_NOT_FOUND, "there is no job %s\n  there is no such file", word);
    if (status.kind != FILE_REGULAR)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "%s is not a job\n  a job is a program, a C source, a Python script or a "
                       "built-in",
                       word);
    return WEFT_OK;
}

// With --json the compiler's messages must not stand between the objects: they go into the error.
static weft_err compile_with_json(const char *source, char **program)
{
    char messages[MESSAGES_BYTES_MAX];
    int fd;
    size_t got = 0;
    weft_err err = file_create_nameless("/tmp", &fd);
    if (err)
        return err;
    err = compile_source(&(struct compile_spec){.source = source, .messages = fd}, program);
    if (err == WEFT_FAILED_PRECONDITION &&
        file_read_at(fd, "messages", messages, sizeof messages, 0, &got) == WEFT_OK && got > 0)
        err_set(err, "cannot build %s\n%.*s", source, (int)got, messages);
    file_close(fd);
    return err;
}

// What runs a script of that name; NULL: it is none, or we do not know.
static const char *interpreter_of(const char *name)
{
    static const char *const known[][2] = {
        {".py", "python3"}, {".sh", "sh"}, {".pl", "perl"}, {".rb", "ruby"}, {".awk", "awk -f"}};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof known / sizeof *known; i++)
        if (strcmp(dot, known[i][0]) == 0)
            return known[i][1];
    return NULL;
}

// A script is not a job, whatever its permissions; it may be a command of one.
static weft_err refuse_script(const char *name)
{
    struct buf command = {0}, word = {0};
    buf_format(&command, "%s %s", interpreter_of(name), name);
    text_append_shell_word(&word, buf_text(&command));
    const weft_err err =
        err_set(WEFT_INVALID_ARGUMENT,
                "%s is not a job\n"
                "  try: weft run --map %s INPUT..., for a script that reads lines and prints them",
                name, buf_text(&word));
    buf_fini(&word);
    buf_fini(&command);
    return err;
}

// Executes the program; returns only on failure.
static weft_err run_program(const struct run_options *options)
{
    char *program = NULL;
    size_t count = 0;
    weft_err err = WEFT_OK;
    if (python_is_script(options->job_word))
        return python_is_job(options->job_word)
                   ? python_run_script(options->job_word, options->program_words,
                                       options->program_option_count)
                   : refuse_script(options->job_word);
    if (!compile_is_source(options->job_word))
        err = command_find(options->job_word, &program);
    else if (options->json)
        err = compile_with_json(options->job_word, &program);
    else
        err = compile_source(&(struct compile_spec){.source = options->job_word, .messages = -1},
                             &program);
    if (err == WEFT_NOT_FOUND && !compile_is_source(options->job_word))
        err = err_set(WEFT_INVALID_ARGUMENT,
                      "%s is not a program that can be run\n  try: chmod +x %s", options->job_word,
                      options->job_word);
    if (!err)
        err = compile_check_program(program, options->job_word);
    if (err == WEFT_INVALID_ARGUMENT && interpreter_of(options->job_word))
        err = refuse_script(options->job_word);
    while (options->program_words[count])
        count++;
    char **arguments = err ? NULL : calloc(count + 2, sizeof *arguments);
    if (arguments) {
        arguments[0] = options->job_word;
        memcpy(arguments + 1, options->program_words, count * sizeof *arguments);
        err = command_become(program, arguments);
    } else if (!err) {
        err = err_no_memory("to run %s", program);
    }
    free(arguments);
    free(program);
    return err;
}

static int print_help(const struct run_options *options)
{
    return cmd_help((char *const[]){options->job ? (char *)options->job->name : "run"}, 1);
}

static int run_words(char *const *words, size_t count)
{
    struct run_options options;
    weft_err err =
        options_parse(&options, &(struct options_request){.resolve = resolve_job}, words, count);
    int exit_code = 0;
    if (!err && options.wants_help)
        exit_code = print_help(&options);
    else if (!err && options.job)
        exit_code = program_run(&options, "weft");
    else if (!err)
        err = run_program(&options);
    if (err)
        exit_code = cli_fail(err, options.json);
    options_fini(&options);
    return exit_code;
}

int cmd_run(char *const *words, size_t count)
{
    struct run_on on = {0};
    const weft_err err = run_on_start(&on, words, count);
    int exit_code = err ? cli_fail(err, false) : run_words(on.words, on.count);
    run_on_end(&on, &exit_code);
    return exit_code;
}
