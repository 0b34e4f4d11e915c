// The variables of the commands of a streaming job. Hadoop gives them its whole configuration,
// about eleven hundred names. These are the ones that describe the job: its properties, and those
// that Hadoop's StreamJob and JobSubmitter set for every job. Directories that do not exist here
// are not among them: those of staging, of the task's own output (mapreduce_task_output_dir), of
// the jar.

#include "hadoop/streaming.h"

#include <stdlib.h>

#define PACKAGE "org.apache.hadoop."
#define TEXT PACKAGE "io.Text"

// Collects variables; fails once.
struct collection {
    struct streaming_list *list;
    weft_err err;
};

static bool is_alphanumeric(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// All characters of a property's name except letters and digits become '_'.
static void put(struct collection *variables, const char *name, const char *value)
{
    struct buf text = {0};
    if (variables->err)
        return;
    for (const char *at = name; *at; at++)
        buf_append(&text, is_alphanumeric(*at) ? at : "_", 1);
    buf_append_text(&text, "=");
    buf_append_text(&text, value);
    variables->err = text.has_failed ? err_no_memory("for the variables")
                                     : streaming_push(variables->list, buf_text(&text));
    buf_fini(&text);
}

static void put_unless_given(struct collection *variables, const struct streaming_options *options,
                             const char *name, const char *value)
{
    if (!streaming_get(options, name))
        put(variables, name, value);
}

static void put_number(struct collection *variables, const char *name, size_t number)
{
    struct buf text = {0};
    buf_format(&text, "%zu", number);
    put(variables, name, buf_text(&text));
    buf_fini(&text);
}

// ---- Files -----------------------------------------------------------------------------------------------

// "file:/DIRECTORY/PATH", without slashes at the end.
static void append_address(struct buf *text, const char *directory, const char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    buf_append_text(text, "file:");
    if (path[0] != '/') {
        buf_append_text(text, directory);
        buf_append_text(text, "/");
    }
    buf_append(text, path, length);
}

static void put_address(struct collection *variables, const char *name, const char *directory,
                        const char *path)
{
    struct buf text = {0};
    append_address(&text, directory, path);
    put(variables, name, buf_text(&text));
    buf_fini(&text);
}

static void put_files(struct collection *variables, const struct streaming_options *options,
                      const struct streaming_facts *facts)
{
    struct buf inputs = {0};
    for (size_t i = 0; i < options->inputs.count; i++) {
        buf_append_text(&inputs, i > 0 ? "," : "");
        append_address(&inputs, facts->directory, options->inputs.items[i]);
    }
    put(variables, "mapreduce.input.fileinputformat.inputdir", buf_text(&inputs));
    buf_fini(&inputs);
    put_number(variables, "mapreduce.input.fileinputformat.numinputfiles", facts->input_count);
    put_address(variables, "mapreduce.output.fileoutputformat.outputdir", facts->directory,
                options->output);
    put_address(variables, "mapreduce.job.working.dir", "", facts->directory);
}

// ---- Commands --------------------------------------------------------------------------------------------

// The encoding of java.net.URLEncoder.
static void put_command(struct collection *variables, const char *name, const char *command)
{
    struct buf text = {0};
    if (!command)
        return;
    for (; *command; command++) {
        if (is_alphanumeric(*command) || strchr(".-*_", *command))
            buf_append(&text, command, 1);
        else if (*command == ' ')
            buf_append_text(&text, "+");
        else
            buf_format(&text, "%%%02X", (unsigned)(unsigned char)*command);
    }
    put(variables, name, buf_text(&text));
    buf_fini(&text);
}

static void put_commands(struct collection *variables, const struct streaming_options *options)
{
    static const char aggregate[] = PACKAGE "mapred.lib.aggregate.ValueAggregator";
    put_command(variables, "stream.map.streamprocessor", options->map);
    put_command(variables, "stream.combine.streamprocessor", options->combine);
    put_command(variables, "stream.reduce.streamprocessor", options->reduce);
    if (options->map) {
        put(variables, "mapred.mapper.class", PACKAGE "streaming.PipeMapper");
        put(variables, "mapred.map.runner.class", PACKAGE "streaming.PipeMapRunner");
    }
    if (options->combine)
        put(variables, "mapred.combiner.class", PACKAGE "streaming.PipeCombiner");
    if (options->reduce)
        put(variables, "mapred.reducer.class", PACKAGE "streaming.PipeReducer");
    if (!options->is_aggregate)
        return;
    struct buf name = {0};
    buf_format(&name, "%sReducer", aggregate);
    put(variables, "mapred.reducer.class", buf_text(&name));
    name.size = 0;
    buf_format(&name, "%sCombiner", aggregate);
    put(variables, "mapred.combiner.class", buf_text(&name));
    buf_fini(&name);
}

static void put_classes(struct collection *variables, const struct streaming_options *options)
{
    static const char *const inputs[] = {
        [STREAMING_LINES] = PACKAGE "mapred.TextInputFormat",
        [STREAMING_KEY_VALUES] = PACKAGE "mapred.KeyValueTextInputFormat",
        [STREAMING_N_LINES] = PACKAGE "mapred.lib.NLineInputFormat",
    };
    static const char *const texts[] = {
        "mapreduce.map.output.key.class",
        "mapreduce.map.output.value.class",
        "mapreduce.job.output.key.class",
        "mapreduce.job.output.value.class",
    };
    static const char *const sides[] = {"map", "reduce"};
    struct buf name = {0};
    put(variables, "mapred.input.format.class", inputs[options->input]);
    put(variables, "mapred.output.format.class",
        options->is_lazy ? PACKAGE "mapred.lib.LazyOutputFormat"
                         : PACKAGE "mapred.TextOutputFormat");
    if (options->partitions_by_fields)
        put_unless_given(variables, options, "mapred.partitioner.class",
                         PACKAGE "mapred.lib.KeyFieldBasedPartitioner");
    for (size_t i = 0; options->map && i < (options->is_aggregate ? 2 : 4); i++)
        put(variables, texts[i], TEXT);
    for (size_t i = 0; i < 2; i++) {
        name.size = 0;
        buf_format(&name, "stream.%s.input.writer.class", sides[i]);
        put(variables, buf_text(&name), PACKAGE "streaming.io.TextInputWriter");
        name.size = 0;
        buf_format(&name, "stream.%s.output.reader.class", sides[i]);
        put(variables, buf_text(&name), PACKAGE "streaming.io.TextOutputReader");
    }
    buf_fini(&name);
}

// ---- All -------------------------------------------------------------------------------------------------

static void put_constants(struct collection *variables, const struct streaming_options *options)
{
    static const char *const constants[][2] = {
        {"mapred.mapper.new-api", "false"},
        {"mapred.reducer.new-api", "false"},
        {"mapreduce.job.skiprecords", "false"},
        {"mapred.skip.on", "false"},
        {"mapreduce.client.genericoptionsparser.used", "true"},
        {"mapreduce.framework.name", "local"},
        {"mapreduce.job.name", "streaming"},
    };
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        put_unless_given(variables, options, constants[i][0], constants[i][1]);
}

static void put_properties(struct collection *variables, const struct streaming_options *options)
{
    for (size_t i = 0; i < options->property_count; i++) {
        const struct streaming_property *property = &options->properties[i];
        const bool is_ours = strcmp(property->name, "mapreduce.job.reduces") == 0 ||
                             strcmp(property->name, "mapreduce.job.maps") == 0;
        if (!is_ours && *property->value)
            put(variables, property->name, property->value);
    }
}

weft_err streaming_list_variables(const struct streaming_options *options,
                                  const struct streaming_facts *facts, struct streaming_list *list)
{
    struct collection variables = {.list = list};
    put_number(&variables, "mapreduce.job.reduces", options->reducers);
    put_constants(&variables, options);
    put_files(&variables, options, facts);
    put_commands(&variables, options);
    put_classes(&variables, options);
    put(&variables, "mapreduce.job.user.name", facts->user);
    put(&variables, "user.name", facts->user);
    put(&variables, "mapreduce.job.submithostname", facts->host);
    put_properties(&variables, options);
    for (size_t i = 0; !variables.err && i < options->environment.count; i++)
        variables.err = streaming_push(list, options->environment.items[i]);
    return variables.err;
}
