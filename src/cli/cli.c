// cli: flags may stand before the verb too, so the verb is the first word that is neither an option
// nor the value of an option.

#include "cli/cli.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/args.h"
#include "cli/tool_group.h"
#include "code/native/compile.h"
#include "jobs/builtin.h"
#include "run/options.h"
#include "run/talk/progress.h"
#include "sys/file/file.h"

enum { COMMANDS_MAX = 32, OPTIONS_MAX = 64, OPTION_VERSION = 1000 };

const struct cli_command cli_commands[] = {
#define COMMAND(name, is_plumbing, summary) {#name, cmd_##name, is_plumbing, summary},
#include "cli/commands.def"
#undef COMMAND
    {0},
};

int cli_fail(weft_err code, bool json)
{
    return progress_report_error(STDERR_FILENO, "weft", json, code);
}

void cli_warn(const char *text, bool json)
{
    progress_report_warning(STDERR_FILENO, "weft", json, text);
}

int cli_print(struct buf *text)
{
    const weft_err err = text->has_failed
                             ? err_no_memory("for the output")
                             : file_write(STDOUT_FILENO, "standard output", text->data, text->size);
    buf_fini(text);
    return err ? cli_fail(err, false) : 0;
}

static const struct cli_command *find_command(const char *name)
{
    const struct cli_command *command = cli_commands;
    while (command->name && strcmp(command->name, name) != 0)
        command++;
    return command->name ? command : NULL;
}

static const char *guess_verb(const char *name)
{
    const char *names[COMMANDS_MAX];
    size_t count = 0;
    for (const struct cli_command *command = cli_commands; command->name; command++)
        names[count++] = command->name;
    names[count] = NULL;
    return args_guess(name, names);
}

static const char *guess_job(const char *name)
{
    const char *names[COMMANDS_MAX];
    size_t count = 0;
    for (const weft_job *const *job = builtin_jobs; *job && count + 1 < COMMANDS_MAX; job++)
        names[count++] = (*job)->name;
    names[count] = NULL;
    return args_guess(name, names);
}

// A user who leaves `run` out has named a job. Jobs are tried first, because some verbs are spelled
// like jobs (host, sort).
static weft_err unknown_verb(const char *name)
{
    if (builtin_find(name))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "there is no verb %s\n  %s is a job\n  try: weft run %s", name, name, name);
    if (strchr(name, '/') || compile_is_source(name))
        return err_set(WEFT_INVALID_ARGUMENT, "there is no verb %s\n  a job is run by: weft run %s",
                       name, name);
    const char *group = "cluster", *verb = name;
    if (cli_is_cluster_verb(name) || tool_group_guess(name, &group, &verb))
        return err_set(WEFT_INVALID_ARGUMENT, "there is no verb %s\n  did you mean: weft %s %s",
                       name, group, verb);
    const char *job = guess_job(name);
    verb = guess_verb(name);
    if (verb || job)
        return err_set(WEFT_INVALID_ARGUMENT, "there is no verb %s\n  did you mean: weft %s%s",
                       name, verb ? "" : "run ", verb ? verb : job);
    return err_set(WEFT_INVALID_ARGUMENT, "there is no verb %s\n  try: weft help", name);
}

// The options that may stand before the verb: those of run, and --version.
static void list_options(struct args_option *options)
{
    size_t count = 0;
    for (; options_table[count].id; count++) {
        ASSERT(count + 2 < OPTIONS_MAX);
        options[count] = options_table[count];
    }
    options[count++] = (struct args_option){.id = OPTION_VERSION, .name = "version"};
    options[count] = (struct args_option){0};
}

// The place of the verb; `count` if there is none. Reports whether --version or -h came before it.
static weft_err find_verb(char *const *words, size_t count, size_t *at, bool *wants_version)
{
    struct args_option options[OPTIONS_MAX];
    struct args_reader reader;
    list_options(options);
    args_start(&reader, words, count, options);
    *wants_version = false;
    for (;;) {
        struct args_item item;
        const weft_err err = args_next(&reader, &item);
        *wants_version |= !err && item.kind == ARGS_OPTION && item.option->id == OPTION_VERSION;
        *at = item.kind == ARGS_WORD ? reader.at - 1 : count;
        if (err || item.kind == ARGS_WORD || item.kind == ARGS_END)
            return err;
    }
}

static int run_command(const struct cli_command *command, char *const *words, size_t count,
                       size_t verb)
{
    char **rest = calloc(count, sizeof *rest);
    if (!rest)
        return cli_fail(err_no_memory("for the arguments"), false);
    memcpy(rest, words, verb * sizeof *rest);
    memcpy(rest + verb, words + verb + 1, (count - verb - 1) * sizeof *rest);
    const int exit_code = command->run(rest, count - 1);
    free(rest);
    return exit_code;
}

int cli_main(char *const *words, size_t count)
{
    struct buf text = {0};
    size_t verb = count;
    bool wants_version;
    const weft_err err = find_verb(words, count, &verb, &wants_version);
    if (err)
        return cli_fail(err, false);
    if (wants_version)
        return cmd_version(NULL, 0);
    if (verb == count) {
        help_format_overview(&text);
        return cli_print(&text);
    }
    const struct cli_command *command = find_command(words[verb]);
    return command ? run_command(command, words, count, verb)
                   : cli_fail(unknown_verb(words[verb]), false);
}
