// A streaming job as the words of command_job.

#include "hadoop/streaming.h"

#include <stdlib.h>

#include "code/command/command.h"

// Collects words; fails once.
struct spelling {
    struct streaming_list *words;
    weft_err err;
};

static void put(struct spelling *spelling, const char *text)
{
    if (!spelling->err)
        spelling->err = streaming_push(spelling->words, text);
}

static void put_flag(struct spelling *spelling, char letter, bool is_set)
{
    if (is_set)
        put(spelling, (char[]){'-', letter, 0});
}

static void put_text(struct spelling *spelling, char letter, const char *text)
{
    put_flag(spelling, letter, true);
    put(spelling, text);
}

static void put_format(struct spelling *spelling, char letter, const char *format, const char *text)
{
    struct buf joined = {0};
    buf_append_text(&joined, format);
    buf_append_text(&joined, text);
    if (joined.has_failed && !spelling->err)
        spelling->err = err_no_memory("for the options");
    put_text(spelling, letter, buf_text(&joined));
    buf_fini(&joined);
}

static void put_count(struct spelling *spelling, char letter, uint32_t count)
{
    struct buf text = {0};
    buf_format(&text, "%u", count);
    put_text(spelling, letter, buf_text(&text));
    buf_fini(&text);
}

// A separator, if it is not the default of command_job. Backslashes have a meaning there.
static void put_separator(struct spelling *spelling, char letter, const char *separator,
                          const char *by_default)
{
    struct buf escaped = {0};
    if (strcmp(separator, by_default) == 0)
        return;
    for (; *separator; separator++)
        buf_append(&escaped, *separator == '\\' ? "\\\\" : separator, *separator == '\\' ? 2 : 1);
    put_text(spelling, letter, buf_text(&escaped));
    buf_fini(&escaped);
}

static void put_commands(struct spelling *spelling, const struct streaming_options *options)
{
    put_text(spelling, COMMAND_MAP, options->map ? options->map : "");
    if (options->reducers == 0)
        return;
    if (options->combine)
        put_text(spelling, COMMAND_COMBINE, options->combine);
    put_text(spelling, COMMAND_REDUCE,
             options->is_aggregate ? "aggregate"
             : options->reduce     ? options->reduce
                                   : "");
}

static void put_input(struct spelling *spelling, const struct streaming_options *options)
{
    // A mapper that passes lines on also passes their keys on.
    if (options->has_keys || !options->map)
        put_text(spelling, COMMAND_INPUT,
                 options->input == STREAMING_KEY_VALUES ? "pairs" : "offset");
}

static void put_keys(struct spelling *spelling, const struct streaming_options *options)
{
    const bool has_numbers = !options->map && options->input != STREAMING_KEY_VALUES;
    if (options->map_key_fields != 1)
        put_count(spelling, COMMAND_KEY_FIELDS, options->map_key_fields);
    put_separator(spelling, COMMAND_SEPARATOR, options->map_separator, "\t");
    if (options->reducers == 0)
        return;
    put_separator(spelling, COMMAND_FIELD_SEPARATOR, options->key_separator,
                  options->map_separator);
    if (options->partitions_by_fields)
        put_format(spelling, COMMAND_PARTITION, "fields:", options->partition_options);
    else
        put_text(spelling, COMMAND_PARTITION, "hash");
    if (options->compares_by_fields && *options->compare_options)
        put_text(spelling, COMMAND_COMPARE, options->compare_options);
    else if (has_numbers)
        put_text(spelling, COMMAND_COMPARE, "-n");
}

static void put_output(struct spelling *spelling, const struct streaming_options *options)
{
    if (options->reducers > 0) {
        put_separator(spelling, COMMAND_REDUCE_SEPARATOR, options->reduce_input_separator,
                      options->map_separator);
        if (options->reduce_key_fields != 1)
            put_count(spelling, COMMAND_REDUCE_KEY_FIELDS, options->reduce_key_fields);
        put_separator(spelling, COMMAND_REDUCE_OUT_SEPARATOR, options->reduce_separator, "\t");
    }
    put_separator(spelling, COMMAND_OUTPUT_SEPARATOR, options->output_separator, "\t");
    put_flag(spelling, COMMAND_ANY_EXIT, options->ignores_exit_codes);
}

weft_err streaming_spell_job(const struct streaming_options *options,
                             const struct streaming_list *variables, const char *directory,
                             struct streaming_list *words)
{
    struct spelling spelling = {.words = words};
    put_flag(&spelling, COMMAND_HADOOP, true);
    put_commands(&spelling, options);
    put_input(&spelling, options);
    put_keys(&spelling, options);
    put_output(&spelling, options);
    if (directory)
        put_text(&spelling, COMMAND_DIRECTORY, directory);
    for (size_t i = 0; i < variables->count; i++)
        put_text(&spelling, COMMAND_ENVIRONMENT, variables->items[i]);
    return spelling.err;
}
