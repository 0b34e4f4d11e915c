// The meaning of the options and properties of a streaming job together: defaults, classes by name,
// and which of them exclude each other. The rules are those of Hadoop's StreamJob, PipeMapRed and
// text formats.

#include "hadoop/given.h"

#include <inttypes.h>
#include <stdlib.h>
#include <strings.h>

#include "hadoop/property.h"

enum { FIELDS_MAX = 1000000, REDUCERS_MAX = 1000000, ATTEMPTS_MAX = 100 };

#define PACKAGE "org.apache.hadoop."
#define OLD_LIBRARY PACKAGE "mapred.lib."

static weft_err no_memory(void)
{
    return err_no_memory("for the options");
}

// ---- Values of properties ----------------------------------------------------------------------------

// The text of the user, for messages.
static const char *spelled(const struct streaming_options *options, const char *name)
{
    for (size_t i = 0; i < options->property_count; i++)
        if (strcmp(options->properties[i].name, name) == 0)
            return options->properties[i].given;
    return name;
}

static const char *get_text(const struct streaming_options *options, const char *name,
                            const char *otherwise)
{
    const char *value = streaming_get(options, name);
    return value ? value : otherwise;
}

// Hadoop takes every text except "true" and "false" for the default.
static bool get_bool(const struct streaming_options *options, const char *name, bool otherwise)
{
    const char *value = streaming_get(options, name);
    bool read = otherwise;
    if (value)
        (void)property_read_bool(value, &read);
    return read;
}

static weft_err get_number(const struct streaming_options *options, const char *name, uint64_t max,
                           uint64_t *number)
{
    const char *value = streaming_get(options, name);
    if (!value || property_read_number(value, max, number))
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT,
                   "-D %s=%s makes no sense\n  it is a whole number, %" PRIu64 " at most",
                   spelled(options, name), value, max);
}

static weft_err get_count(const struct streaming_options *options, const char *name, uint32_t max,
                          uint32_t *count)
{
    uint64_t number = *count;
    const weft_err err = get_number(options, name, max, &number);
    *count = (uint32_t)number;
    return err;
}

// Refuses a property unless it has the one value that changes nothing.
static weft_err expect(const struct streaming_options *options, const char *name, const char *value,
                       const char *advice)
{
    const char *found = streaming_get(options, name);
    if (!found || strcmp(found, value) == 0)
        return WEFT_OK;
    struct buf what = {0};
    buf_format(&what, "-D %s=%s", spelled(options, name), found);
    const weft_err err = streaming_refuse(buf_text(&what), advice);
    buf_fini(&what);
    return err;
}

// ---- Commands ----------------------------------------------------------------------------------------

static bool is_class(const char *text)
{
    return strncmp(text, PACKAGE, strlen(PACKAGE)) == 0 && !strpbrk(text, " /");
}

static weft_err refuse_class(const char *option, const char *name, const char *advice)
{
    struct buf what = {0};
    buf_format(&what, "%s %s", option, name);
    const weft_err err = streaming_refuse(buf_text(&what), advice);
    buf_fini(&what);
    return err;
}

// A command, or the class that passes everything on, which is NULL here.
static weft_err settle_command(char **to, const char *option, const char *text,
                               const char *identity)
{
    if (!text || strcmp(text, identity) == 0)
        return WEFT_OK;
    if (is_class(text))
        return refuse_class(option, text,
                            "a command; of Hadoop's own classes only IdentityMapper "
                            "and IdentityReducer of mapred.lib are known here");
    if (text[strspn(text, " ")] == 0)
        return err_set(WEFT_INVALID_ARGUMENT, "%s is empty\n  it needs a command", option);
    *to = strdup(text);
    return *to ? WEFT_OK : no_memory();
}

static weft_err settle_reducers(struct streaming_options *options,
                                const struct streaming_given *given)
{
    const char *count = given->reduce_count;
    uint64_t reducers = 1;
    weft_err err = WEFT_OK;
    if (count && !property_read_number(count, REDUCERS_MAX, &reducers))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "-numReduceTasks %s makes no sense\n  it is a whole number, 0 for a job "
                       "without a reducer",
                       count);
    if (!count)
        err = get_number(options, "mapreduce.job.reduces", REDUCERS_MAX, &reducers);
    options->reducers = (uint32_t)reducers;
    if (given->reducer && strcmp(given->reducer, "NONE") == 0)
        options->reducers = 0;
    return err;
}

static weft_err settle_commands(struct streaming_options *options,
                                const struct streaming_given *given)
{
    weft_err err =
        settle_command(&options->map, "-mapper", given->mapper, OLD_LIBRARY "IdentityMapper");
    if (!err)
        err = settle_reducers(options, given);
    // Without reducers the rest is not run.
    if (err || options->reducers == 0)
        return err;
    options->is_aggregate = given->reducer && strcasecmp(given->reducer, "aggregate") == 0;
    if (options->is_aggregate)  // brings its own combiner
        return WEFT_OK;
    err = settle_command(&options->combine, "-combiner", given->combiner,
                         OLD_LIBRARY "IdentityReducer");
    return err ? err
               : settle_command(&options->reduce, "-reducer", given->reducer,
                                OLD_LIBRARY "IdentityReducer");
}

// ---- Formats -----------------------------------------------------------------------------------------

static bool is_format(const char *name, const char *simple)
{
    static const char package[] = PACKAGE "mapred.";
    return strcmp(name, simple) == 0 || (strncmp(name, package, strlen(package)) == 0 &&
                                         strcmp(name + strlen(package), simple) == 0);
}

static weft_err settle_input_format(struct streaming_options *options, const char *name)
{
    options->input = STREAMING_LINES;
    if (!name || is_format(name, "TextInputFormat"))
        return WEFT_OK;
    if (is_format(name, "KeyValueTextInputFormat"))
        options->input = STREAMING_KEY_VALUES;
    else if (strcmp(name, OLD_LIBRARY "NLineInputFormat") == 0)
        options->input = STREAMING_N_LINES;
    else
        return refuse_class("-inputformat", name,
                            "TextInputFormat, KeyValueTextInputFormat or "
                            "org.apache.hadoop.mapred.lib.NLineInputFormat");
    return WEFT_OK;
}

static weft_err settle_input(struct streaming_options *options, const struct streaming_given *given)
{
    weft_err err = settle_input_format(options, given->input_format);
    options->has_keys =
        !get_bool(options, "stream.map.input.ignoreKey", options->input == STREAMING_LINES);
    if (!err && options->input == STREAMING_KEY_VALUES && !options->has_keys)
        err = streaming_refuse("-D stream.map.input.ignoreKey=true with KeyValueTextInputFormat",
                               "leave the key out in the mapper");
    options->is_recursive =
        get_bool(options, "mapreduce.input.fileinputformat.input.dir.recursive", false);
    options->lines_per_task = 1;
    if (!err)
        err = get_count(options, "mapreduce.input.lineinputformat.linespermap", UINT32_MAX,
                        &options->lines_per_task);
    if (!err && options->lines_per_task == 0)
        options->lines_per_task = UINT32_MAX;  // never reached: the file is one task
    if (!err)
        err = get_number(options, "mapreduce.input.fileinputformat.split.minsize", UINT64_MAX / 2,
                         &options->split_min);
    if (!err)
        err = get_number(options, "fs.local.block.size", UINT64_MAX / 2, &options->block_bytes);
    return err;
}

static weft_err settle_codec(struct streaming_options *options)
{
    static const char codec[] = "mapreduce.output.fileoutputformat.compress.codec";
    if (!get_bool(options, "mapreduce.output.fileoutputformat.compress", false))
        return WEFT_OK;
    const char *name = streaming_get(options, codec);
    static const char advice[] = "-D mapreduce.output.fileoutputformat.compress.codec="
                                 "org.apache.hadoop.io.compress.GzipCodec (or ZStandardCodec)";
    if (!name)
        return streaming_refuse("-D mapreduce.output.fileoutputformat.compress=true with Hadoop's "
                                "default codec",
                                advice);
    if (strcmp(name, PACKAGE "io.compress.GzipCodec") == 0)
        options->codec = STREAMING_GZIP;
    else if (strcmp(name, PACKAGE "io.compress.ZStandardCodec") == 0)
        options->codec = STREAMING_ZSTD;
    else
        return expect(options, codec, "", advice);
    return WEFT_OK;
}

static weft_err settle_output(struct streaming_options *options,
                              const struct streaming_given *given)
{
    const char *name = given->output_format;
    options->output_separator =
        get_text(options, "mapreduce.output.textoutputformat.separator", "\t");
    if (name && strcmp(name, PACKAGE "mapred.TextOutputFormat") != 0)
        return refuse_class("-outputformat", name,
                            "org.apache.hadoop.mapred.TextOutputFormat, the default");
    return settle_codec(options);
}

// ---- Keys --------------------------------------------------------------------------------------------

static weft_err settle_separators(struct streaming_options *options)
{
    const struct {
        const char *name;
        const char **to;
    } all[] = {
        {"stream.map.output.field.separator", &options->map_separator},
        {"stream.reduce.input.field.separator", &options->reduce_input_separator},
        {"stream.reduce.output.field.separator", &options->reduce_separator},
        {"mapreduce.map.output.key.field.separator", &options->key_separator},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        *all[i].to = get_text(options, all[i].name, "\t");
    options->map_key_fields = options->reduce_key_fields = 1;
    weft_err err = get_count(options, "stream.num.map.output.key.fields", FIELDS_MAX,
                             &options->map_key_fields);
    if (!err)
        err = get_count(options, "stream.num.reduce.output.key.fields", FIELDS_MAX,
                        &options->reduce_key_fields);
    // For Hadoop 0 is the same as 1: it looks for a separator before it counts.
    options->map_key_fields += options->map_key_fields == 0;
    options->reduce_key_fields += options->reduce_key_fields == 0;
    return err;
}

static weft_err settle_partition(struct streaming_options *options, const char *given)
{
    const char *name = given ? given : streaming_get(options, "mapred.partitioner.class");
    options->partition_options =
        get_text(options, "mapreduce.partition.keypartitioner.options", "");
    if (!name || strcmp(name, OLD_LIBRARY "HashPartitioner") == 0)
        return WEFT_OK;
    if (strcmp(name, OLD_LIBRARY "KeyFieldBasedPartitioner") != 0)
        return refuse_class("-partitioner", name,
                            "HashPartitioner (the default) or KeyFieldBasedPartitioner of "
                            "org.apache.hadoop.mapred.lib");
    options->partitions_by_fields = true;
    if (!streaming_get(options, "num.key.fields.for.partition"))
        return WEFT_OK;
    // The older property wins.
    uint32_t fields = 0;
    const weft_err err = get_count(options, "num.key.fields.for.partition", FIELDS_MAX, &fields);
    struct buf text = {0};
    if (fields > 0)
        buf_format(&text, "-k1,%u", fields);
    options->room = strdup(buf_text(&text));
    buf_fini(&text);
    options->partition_options = options->room;
    return err || options->room ? err : no_memory();
}

static weft_err settle_compare(struct streaming_options *options)
{
    const char *name = streaming_get(options, "mapreduce.job.output.key.comparator.class");
    options->compare_options = get_text(options, "mapreduce.partition.keycomparator.options", "");
    if (!name)
        return WEFT_OK;
    if (strcmp(name, OLD_LIBRARY "KeyFieldBasedComparator") != 0 &&
        strcmp(name, PACKAGE "mapreduce.lib.partition.KeyFieldBasedComparator") != 0)
        return expect(options, "mapreduce.job.output.key.comparator.class", "",
                      "org.apache.hadoop.mapred.lib.KeyFieldBasedComparator");
    options->compares_by_fields = true;
    return WEFT_OK;
}

// The key of a line without a mapper is a number. Hadoop cannot pass it to a command as text, and
// partitions by that number.
static weft_err check_identity(const struct streaming_options *options)
{
    const bool has_numbers = !options->map && options->input != STREAMING_KEY_VALUES;
    const bool has_command = options->reduce || options->combine || options->is_aggregate;
    if (!has_numbers || (!has_command && options->reducers <= 1))
        return WEFT_OK;
    return streaming_refuse(has_command ? "a reducer of lines that no command maps"
                                        : "more than one part of lines that no command maps",
                            "-mapper cat, or -inputformat KeyValueTextInputFormat");
}

// ---- All ---------------------------------------------------------------------------------------------

static weft_err settle_rest(struct streaming_options *options)
{
    uint32_t map_attempts = 0, reduce_attempts = 0;
    options->ignores_exit_codes = !get_bool(options, "stream.non.zero.exit.is.failure", true);
    weft_err err = get_count(options, "mapreduce.map.maxattempts", ATTEMPTS_MAX, &map_attempts);
    if (!err)
        err = get_count(options, "mapreduce.reduce.maxattempts", ATTEMPTS_MAX, &reduce_attempts);
    options->max_attempts = map_attempts > reduce_attempts ? map_attempts : reduce_attempts;
    return err;
}

static weft_err check_expected(const struct streaming_options *options, const char *io)
{
    static const struct {
        const char *name, *value, *advice;
    } all[] = {
        {"stream.map.input", "text", "commands that read and write lines"},
        {"stream.map.output", "text", "commands that read and write lines"},
        {"stream.reduce.input", "text", "commands that read and write lines"},
        {"stream.reduce.output", "text", "commands that read and write lines"},
        {"stream.map.input.field.separator", "\t", "cut at the TAB in the mapper"},
        {"mapreduce.input.keyvaluelinerecordreader.key.value.separator", "\t",
         "plain lines, and cut them in the mapper"},
        {"textinputformat.record.delimiter", "\n", "sed or tr, to make lines of the records first"},
        {"stream.stderr.reporter.prefix", "reporter:",
         "leave it out; counters are counted by lines of reporter:counter:GROUP,NAME,N"},
        {"mapreduce.map.failures.maxpercent", "0",
         "leave it out; --skip-bad N leaves out records that make a command fail"},
        {"mapreduce.reduce.failures.maxpercent", "0",
         "leave it out; --skip-bad N leaves out records that make a command fail"},
    };
    if (io && strcmp(io, "text") != 0)
        return refuse_class("-io", io, "commands that read and write lines");
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < sizeof all / sizeof *all; i++)
        err = expect(options, all[i].name, all[i].value, all[i].advice);
    const char *files = streaming_get(options, "fs.defaultFS");
    if (!err && files && strncmp(files, "file:", 5) != 0 && strcmp(files, "local") != 0)
        err = expect(options, "fs.defaultFS", "file:///", "local files, and leave it out");
    return err;
}

weft_err streaming_settle(struct streaming_options *options, const struct streaming_given *given)
{
    weft_err err = check_expected(options, given->io);
    if (!err)
        err = settle_commands(options, given);
    if (!err)
        err = settle_input(options, given);
    if (!err)
        err = settle_output(options, given);
    if (!err)
        err = settle_separators(options);
    if (!err)
        err = settle_partition(options, given->partitioner);
    if (!err)
        err = settle_compare(options);
    if (!err)
        err = check_identity(options);
    return err ? err : settle_rest(options);
}
