// Reading the options of a job of commands.

#include "code/command/config.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "code/command/command.h"
#include "sys/file/file.h"

enum { KEY_FIELDS_MAX = 1000 };

static const char *const role_names[] = {"map", "combine", "reduce"};

// ---- Commands ---------------------------------------------------------------------------------------------

// A script that was brought along is found where the command runs, as if that were first in PATH.
static weft_err find_local_program(struct command_step *step, const char *directory)
{
    const char *name = step->words.words[0];
    struct file_stat status;
    if (strchr(name, '/'))
        return WEFT_OK;
    char *path = NULL;
    if (asprintf(&path, "%s/%s", directory ? directory : ".", name) < 0 ||
        asprintf(&step->local_program, "./%s", name) < 0) {
        free(path);
        return err_no_memory("for a command");
    }
    if (file_stat(path, &status) != WEFT_OK)
        err_clear();  // it is looked for in PATH then
    else if (status.kind == FILE_REGULAR)
        step->words.words[0] = step->local_program;
    free(path);
    return WEFT_OK;
}

static weft_err read_process(struct command_step *step, const struct command_config *config)
{
    if (config->is_shell) {
        const char *const by_shell[] = {"/bin/sh", "-c", step->line, NULL};
        memcpy(step->by_shell, by_shell, sizeof by_shell);
        step->arguments = step->by_shell;
        return step->line[strspn(step->line, " \t\n")]
                   ? WEFT_OK
                   : err_set(WEFT_INVALID_ARGUMENT, "the command is empty");
    }
    weft_err code = config->is_hadoop ? command_words_init_hadoop(&step->words, step->line)
                                      : command_words_init(&step->words, step->line);
    if (!code && config->is_hadoop)
        code = find_local_program(step, config->directory);
    step->arguments = step->words.words;
    return code;
}

static weft_err read_step(struct command_config *config, enum command_role role, const char *line)
{
    struct command_step *step = &config->steps[role];
    const bool may_aggregate = role != COMMAND_ROLE_MAP;
    step->line = line;
    if (!line)
        step->how = COMMAND_NONE;
    else if (!*line)
        step->how = role == COMMAND_ROLE_COMBINE ? COMMAND_NONE : COMMAND_IDENTITY;
    else if (may_aggregate && strcmp(line, "aggregate") == 0)
        step->how = COMMAND_AGGREGATE;
    else
        step->how = COMMAND_PROCESS;
    if (step->how != COMMAND_PROCESS)
        return WEFT_OK;
    return err_wrap(read_process(step, config), "--%s", role_names[role]);
}

// ---- Other options ------------------------------------------------------------------------------------------

static weft_err read_separator(const weft_args *args, char letter, const char *what,
                               const struct command_separator *by_default,
                               struct command_separator *separator)
{
    const char *text = weft_option(args, letter, 0);
    *separator = *by_default;
    if (!text || command_separator_init(separator, text))
        return WEFT_OK;
    return err_set(
        WEFT_INVALID_ARGUMENT,
        "the separator %s '%s' makes no sense\n  it has 1 to %d bytes; \\t, \\n, \\0 and \\\\ are TAB, "
        "line end, NUL and backslash",
        what, text, COMMAND_SEPARATOR_BYTES_MAX);
}

static weft_err read_separators(struct command_config *config, const weft_args *args)
{
    const struct command_separator tab = {"\t", 1};
    weft_err code = read_separator(args, COMMAND_SEPARATOR, "of fields", &tab, &config->separator);
    if (!code)
        code = read_separator(args, COMMAND_REDUCE_SEPARATOR, "for the reducer", &config->separator,
                              &config->reduce_separator);
    if (!code)
        code = read_separator(args, COMMAND_FIELD_SEPARATOR, "of key fields", &config->separator,
                              &config->field_separator);
    if (!code)
        code = read_separator(args, COMMAND_REDUCE_OUT_SEPARATOR, "of the reducer's fields", &tab,
                              &config->reduce_out_separator);
    if (!code)
        code = read_separator(args, COMMAND_OUTPUT_SEPARATOR, "of the output", &tab,
                              &config->output_separator);
    return code;
}

// 0 fields make a line all value in Hadoop's book, too: its loop looks for one separator at least.
static weft_err read_fields(const weft_args *args, char letter, uint32_t *fields)
{
    const char *text = weft_option(args, letter, 0);
    uint64_t count = 1;
    if (text && !text_read_count(text, KEY_FIELDS_MAX, &count))
        return err_set(
            WEFT_INVALID_ARGUMENT,
            "the number of key fields '%s' is not a number from 1 to %d\n  try: --key-fields 2",
            text, KEY_FIELDS_MAX);
    *fields = (uint32_t)count;
    return WEFT_OK;
}

static weft_err read_input(struct command_config *config, const weft_args *args)
{
    const char *text = weft_option(args, COMMAND_INPUT, 0);
    if (!text)
        return WEFT_OK;
    if (strcmp(text, "offset") == 0)
        config->input = COMMAND_INPUT_OFFSET;
    else if (strcmp(text, "pairs") == 0)
        config->input = COMMAND_INPUT_PAIRS;
    else
        return err_set(WEFT_INVALID_ARGUMENT, "a mapper's input is offset or pairs, not '%s'",
                       text);
    return WEFT_OK;
}

static weft_err read_variables(struct command_config *config, const weft_args *args)
{
    int count = 0;
    while (weft_option(args, COMMAND_ENVIRONMENT, count))
        count++;
    for (int i = count; i >= 0; i--) {
        // NULL, the end of the list, comes after the last one.
        const char *text = i > 0 ? weft_option(args, COMMAND_ENVIRONMENT, i - 1) : NULL;
        if (text && (text[0] == '=' || !strchr(text, '=')))
            return err_set(WEFT_INVALID_ARGUMENT,
                           "a variable for the commands is NAME=value, not '%s'", text);
        if (!VEC_PUSH(&config->variables, text))
            return err_no_memory("for the environment of commands");
    }
    return WEFT_OK;
}

static weft_err read_flags(struct command_config *config, const weft_args *args)
{
    config->is_shell = weft_option(args, COMMAND_SHELL, 0) != NULL;
    config->is_kept = weft_option(args, COMMAND_KEEP, 0) != NULL;
    config->is_hadoop = weft_option(args, COMMAND_HADOOP, 0) != NULL;
    config->is_per_file = config->is_hadoop || weft_option(args, COMMAND_PER_FILE, 0) != NULL;
    config->allows_any_exit = weft_option(args, COMMAND_ANY_EXIT, 0) != NULL;
    config->directory = weft_option(args, COMMAND_DIRECTORY, 0);
    weft_err code = read_input(config, args);
    if (!code)
        code = read_fields(args, COMMAND_KEY_FIELDS, &config->key_fields);
    if (!code)
        code = read_fields(args, COMMAND_REDUCE_KEY_FIELDS, &config->reduce_key_fields);
    return code;
}

weft_err command_config_init(struct command_config *config, const weft_args *args)
{
    static const char letters[] = {COMMAND_MAP, COMMAND_COMBINE, COMMAND_REDUCE};
    *config = (struct command_config){0};
    weft_err code = read_flags(config, args);
    if (!code)
        code = read_separators(config, args);
    if (!code)
        code = read_variables(config, args);
    if (!code)
        code = command_keys_init(&config->keys, weft_option(args, COMMAND_COMPARE, 0),
                                 weft_option(args, COMMAND_PARTITION, 0), &config->field_separator);
    for (int role = 0; role < COMMAND_ROLE_COUNT && !code; role++)
        code = read_step(config, (enum command_role)role, weft_option(args, letters[role], 0));
    if (!code && config->steps[COMMAND_ROLE_MAP].how == COMMAND_NONE)
        code = err_set(
            WEFT_INVALID_ARGUMENT,
            "there is no command to map with\n  try: --map COMMAND; --map '' passes lines on unchanged");
    return code;
}

void command_config_fini(struct command_config *config)
{
    for (int role = 0; role < COMMAND_ROLE_COUNT; role++) {
        command_words_fini(&config->steps[role].words);
        free(config->steps[role].local_program);
    }
    command_keys_fini(&config->keys);
    VEC_FINI(&config->variables);
    *config = (struct command_config){0};
}
