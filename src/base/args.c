// args: one word at a time, no state but the reader's.

#include "base/args.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/vec.h"

enum { HELP_INDENT = 24, HELP_COLUMNS = 90 };

// ---- Reading words -------------------------------------------------------------------------------

void args_start(struct args_reader *reader, char *const *words, size_t count,
                const struct args_option *options)
{
    *reader = (struct args_reader){.words = words, .count = count, .options = options};
}

bool args_has_letter(const char *letters, char letter, bool *takes_value)
{
    const char *found =
        letters && letter && letter != ':' && letter != '-' ? strchr(letters, letter) : NULL;
    *takes_value = found && found[1] == ':';
    return found != NULL;
}

const char *args_guess(const char *word, const char *const *names)
{
    const size_t length = strlen(word);
    const char *best = NULL;
    size_t best_distance = 1 + length / 4;
    for (; *names; names++) {
        const bool is_start = length >= 2 && strncmp(*names, word, length) == 0;
        const size_t distance = is_start ? 1 : text_distance(word, *names);
        // A guess that shares no letter does not help.
        if (distance >= length || distance > best_distance || (best && distance == best_distance))
            continue;
        best = *names;
        best_distance = distance;
    }
    return best;
}

// The word to write instead of this letter (0: none) or name; NULL when there is none.
static const char *find_hint(const struct args_hint *hints, char letter, weft_bytes name)
{
    for (; hints && (hints->letter || hints->name); hints++) {
        const bool is_name = hints->name && name.size == strlen(hints->name) &&
                             memcmp(hints->name, name.data, name.size) == 0;
        if ((letter && hints->letter == letter) || (name.size && is_name))
            return hints->instead;
    }
    return NULL;
}

static weft_err unknown_name(const struct args_reader *reader, const char *name, size_t length)
{
    enum { NAMES_MAX = 64 };
    const char *names[NAMES_MAX + 1];
    size_t count = 0;
    const char *hint = find_hint(reader->hints, 0, (weft_bytes){name, length});
    if (hint)
        return err_set(WEFT_INVALID_ARGUMENT, "there is no option --%.*s here\n  try: %s",
                       (int)length, name, hint);
    for (const struct args_option *options = reader->options;
         options && options->id && count < NAMES_MAX; options++)
        if (options->name)
            names[count++] = options->name;
    names[count] = NULL;
    char word[72];
    snprintf(word, sizeof word, "%.*s", (int)(length < 70 ? length : 70), name);
    const char *guess = args_guess(word, names);
    if (guess)
        return err_set(WEFT_INVALID_ARGUMENT, "unknown option --%s\n  did you mean --%s?", word,
                       guess);
    return err_set(WEFT_INVALID_ARGUMENT, "unknown option --%s\n  try: -h shows all options", word);
}

// The value that an option needs: the rest of its word, or the next word whatever it looks like.
static weft_err read_value(struct args_reader *reader, const char *rest, const char *dashes,
                           const char *name, const char *value, struct args_item *item)
{
    if (rest) {
        item->text = rest;
        return WEFT_OK;
    }
    if (reader->at == reader->count)
        return err_set(WEFT_INVALID_ARGUMENT, "option %s%s needs a value\n  write: %s%s %s", dashes,
                       name, dashes, name, value ? value : "VALUE");
    item->text = reader->words[reader->at++];
    return WEFT_OK;
}

static weft_err next_long(struct args_reader *reader, const char *name, struct args_item *item)
{
    const char *equals = strchr(name, '=');
    const size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const struct args_option *option = reader->options;
    while (option && option->id &&
           !(option->name && strlen(option->name) == length &&
             memcmp(option->name, name, length) == 0))
        option++;
    reader->is_unknown = !option || !option->id;
    if (reader->is_unknown)
        return unknown_name(reader, name, length);
    *item = (struct args_item){.kind = ARGS_OPTION, .option = option, .text = ""};
    if (option->value)
        return read_value(reader, equals ? equals + 1 : NULL, "--", option->name, option->value,
                          item);
    if (equals)
        return err_set(WEFT_INVALID_ARGUMENT, "option --%s takes no value\n  write: --%s",
                       option->name, option->name);
    return WEFT_OK;
}

const struct args_option *args_find_letter(const struct args_option *options, char letter)
{
    while (options && options->id && options->letter != letter)
        options++;
    return options && options->id ? options : NULL;
}

static weft_err unknown_letter(const struct args_reader *reader, const char *name)
{
    const char *hint = find_hint(reader->hints, name[0], weft_none());
    if (hint)
        return err_set(WEFT_INVALID_ARGUMENT, "there is no option -%s here\n  try: %s", name, hint);
    return err_set(WEFT_INVALID_ARGUMENT, "unknown option -%s\n  try: -h shows all options", name);
}

static weft_err next_letter(struct args_reader *reader, struct args_item *item)
{
    const char name[2] = {*reader->cluster++, 0};
    const char *rest = *reader->cluster ? reader->cluster : NULL;
    bool takes_value;
    if (args_has_letter(reader->job_letters, name[0], &takes_value)) {
        *item = (struct args_item){.kind = ARGS_JOB_LETTER, .letter = name[0], .text = ""};
        reader->cluster = takes_value ? NULL : rest;
        return takes_value ? read_value(reader, rest, "-", name, NULL, item) : WEFT_OK;
    }
    const struct args_option *option = args_find_letter(reader->options, name[0]);
    reader->is_unknown = !option;
    if (reader->is_unknown)
        return unknown_letter(reader, name);
    *item = (struct args_item){.kind = ARGS_OPTION, .option = option, .text = ""};
    reader->cluster = option->value ? NULL : rest;
    return option->value ? read_value(reader, rest, "-", name, option->value, item) : WEFT_OK;
}

weft_err args_next(struct args_reader *reader, struct args_item *item)
{
    *item = (struct args_item){.kind = ARGS_END};
    if (reader->cluster)
        return next_letter(reader, item);
    if (reader->at == reader->count)
        return WEFT_OK;
    const char *word = reader->words[reader->at++];
    const bool is_negative =
        reader->takes_negatives && word[0] == '-' && word[1] >= '0' && word[1] <= '9';
    if (reader->has_ended || word[0] != '-' || !word[1] || is_negative) {
        *item = (struct args_item){.kind = ARGS_WORD, .text = word};
        return WEFT_OK;
    }
    if (word[1] != '-') {
        reader->cluster = word + 1;
        return next_letter(reader, item);
    }
    if (word[2])
        return next_long(reader, word + 2, item);
    reader->has_ended = true;
    return args_next(reader, item);
}

// ---- Help ------------------------------------------------------------------------------------------

// Appends the text, from column HELP_INDENT on, broken between words.
static void append_wrapped(struct buf *buf, size_t column, const char *text)
{
    for (const char *word = text; *word;) {
        const size_t length = strcspn(word, " ");
        if (column > HELP_INDENT && column + 1 + length > HELP_COLUMNS) {
            buf_append_text(buf, "\n");
            column = 0;
        } else if (column > HELP_INDENT) {
            buf_append_text(buf, " ");
            column++;
        }
        for (; column < HELP_INDENT; column++)
            buf_append_text(buf, " ");
        buf_append(buf, word, length);
        column += length;
        word += length + (word[length] == ' ');
    }
    buf_append_text(buf, "\n");
}

static void format_option(struct buf *buf, const struct args_option *option)
{
    const size_t start = buf->size;
    if (option->letter)
        buf_format(buf, "  -%c%s", option->letter, option->name ? ", " : "");
    else
        buf_append_text(buf, "      ");
    if (option->name)
        buf_format(buf, "--%s", option->name);
    if (option->value)
        buf_format(buf, " %s", option->value);
    size_t column = buf->size - start;
    if (column + 2 > HELP_INDENT) {
        buf_append_text(buf, "\n");
        column = 0;
    }
    append_wrapped(buf, column, option->help);
}

void args_format_help(struct buf *buf, const struct args_option *options, const char *but)
{
    bool is_shown = true;
    for (; options->id; options++) {
        const bool is_heading = options->id == ARGS_HEADING;
        if (is_heading)
            is_shown = !but || strcmp(but, options->help) != 0;
        if (!options->help || !is_shown)
            continue;
        if (is_heading)
            buf_format(buf, "%s\n", options->help);
        else
            format_option(buf, options);
    }
}

// ---- The job's own ---------------------------------------------------------------------------------

void args_fini(struct weft_args *args)
{
    for (size_t i = 0; i < args->value_count; i++)
        free(args->values[i].text);
    for (size_t i = 0; i < args->argument_count; i++)
        free(args->arguments[i]);
    free(args->values);
    free(args->arguments);
    *args = (struct weft_args){0};
}

static weft_err no_memory(void)
{
    return err_no_memory("for the arguments");
}

weft_err args_add_option(struct weft_args *args, char letter, const char *text)
{
    struct args_value *value = vec_next((void **)&args->values, args->value_count,
                                        &args->value_capacity, sizeof *args->values);
    char *copy = value ? strdup(text) : NULL;
    if (!copy)
        return no_memory();
    *value = (struct args_value){letter, copy};
    args->value_count++;
    return WEFT_OK;
}

weft_err args_add_argument(struct weft_args *args, const char *text)
{
    char **argument = vec_next((void **)&args->arguments, args->argument_count,
                               &args->argument_capacity, sizeof *args->arguments);
    char *copy = argument ? strdup(text) : NULL;
    if (!copy)
        return no_memory();
    *argument = copy;
    args->argument_count++;
    return WEFT_OK;
}

size_t args_expected(const weft_job *job, const struct weft_args *args)
{
    for (const char *letter = job->argument_options; letter && *letter; letter++)
        if (weft_option(args, *letter, 0))
            return 0;
    return job->arguments;
}

static weft_err check_argument_count(const weft_job *job, const struct weft_args *args)
{
    const size_t expected = args_expected(job, args);
    if (args->argument_count == expected)
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT, "%s takes %zu argument%s, %zu given",
                   job->name ? job->name : "the job", expected, expected == 1 ? "" : "s",
                   args->argument_count);
}

weft_err args_parse_job(const weft_job *job, char *const *words, size_t count,
                        struct weft_args *args)
{
    struct args_reader reader;
    args_start(&reader, words, count, NULL);
    reader.job_letters = job->options;
    for (;;) {
        struct args_item item;
        weft_err err = args_next(&reader, &item);
        if (!err && item.kind == ARGS_END)
            return check_argument_count(job, args);
        if (!err)
            err = item.kind == ARGS_WORD ? args_add_argument(args, item.text)
                                         : args_add_option(args, item.letter, item.text);
        if (err)
            return err;
    }
}

const char *weft_option(const weft_args *args, char letter, int index)
{
    for (size_t i = 0; args && i < args->value_count; i++)
        if (args->values[i].letter == letter && index-- == 0)
            return args->values[i].text;
    return NULL;
}

const char *weft_argument(const weft_args *args, int index)
{
    return args && index >= 0 && (size_t)index < args->argument_count ? args->arguments[index]
                                                                      : NULL;
}
