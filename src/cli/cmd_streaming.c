// weft streaming: takes the words after `hadoop jar hadoop-streaming.jar` and makes the same part
// files.
//
//   words -> hadoop/streaming (their meaning) -> the words of `weft run` for command_job -> a run
//
// This file does the work on files: it reads -conf, finds the inputs, puts shipped files where the
// commands run (streaming_ship.c), and refuses an existing output before anything is read.

#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/streaming_ship.h"
#include "code/command/command.h"
#include "hadoop/conf.h"
#include "hadoop/inputs.h"
#include "run/options.h"
#include "run/program.h"
#include "sys/file/load.h"
#include "sys/file/workdir.h"
#include "sys/machine/machine.h"

// Options of `weft run` that change how a job runs, not its result.
static const char *const allowed[] = {
    "force",        "slots",        "workers",        "memory",   "tmp",
    "timeout",      "task-timeout", "record-timeout", "skip-bad", "bad-records",
    "max-attempts", "quiet",        "json",           "no-color", "dry-run",
};
enum { CONF_BYTES_MAX = 16 << 20 };
enum { ALLOWED_COUNT = sizeof allowed / sizeof *allowed };

static void list_own(struct args_option *own)
{
    size_t count = 0;
    for (const struct args_option *option = options_table; option->id; option++)
        for (size_t i = 0; i < ALLOWED_COUNT && option->name; i++)
            if (strcmp(allowed[i], option->name) == 0)
                own[count++] = *option;
    own[count] = (struct args_option){0};
}

static const char *find_own(const struct streaming_options *streaming, const char *beginning)
{
    const char *found = NULL;
    for (size_t i = 0; i < streaming->own.count; i++)
        if (strncmp(streaming->own.items[i], beginning, strlen(beginning)) == 0)
            found = streaming->own.items[i] + strlen(beginning);
    return found;
}

// ---- Output --------------------------------------------------------------------------------------------

// Hadoop creates the directories above the output, and never writes into an existing one.
static weft_err check_output(const struct streaming_options *streaming)
{
    struct file_stat status;
    weft_err err = file_stat(streaming->output, &status);
    if (err || find_own(streaming, "--force"))
        return err;
    if (status.kind != FILE_MISSING)
        return err_set(WEFT_ALREADY_EXISTS,
                       "the output directory %s exists already\n  Hadoop never replaces one"
                       "\n  try: another name, rm -r %s, or --force",
                       streaming->output, streaming->output);
    char *above = strdup(streaming->output);
    if (!above)
        return err_no_memory("for the name of the output");
    size_t length = strlen(above);
    while (length > 0 && above[length - 1] == '/')
        above[--length] = 0;
    char *slash = strrchr(above, '/');
    if (slash && slash > above) {
        *slash = 0;
        err = file_make_directory(above);
    }
    free(above);
    return err;
}

// ---- Configuration files -------------------------------------------------------------------------------

static weft_err read_conf(const char *path, struct streaming_list *words)
{
    struct buf text = {0};
    weft_err err = err_wrap(file_load(path, CONF_BYTES_MAX, &text), "-conf");
    if (!err)
        err = streaming_read_conf(path, buf_bytes(&text), words);
    buf_fini(&text);
    return err;
}

// The words with every -conf FILE replaced by its properties, in front of all others.
static weft_err expand_conf(char *const *words, size_t count, struct streaming_list *expanded)
{
    struct streaming_list rest = {0};
    weft_err err = WEFT_OK;
    for (size_t at = 0; at < count && !err;) {
        const size_t conf = at + streaming_find_conf(words + at, count - at);
        for (; at < conf && !err; at++)
            err = streaming_push(&rest, words[at]);
        if (at < count && !err)
            err = read_conf(words[at + 1], expanded);
        at += at < count ? 2 : 0;
    }
    for (size_t i = 0; i < rest.count && !err; i++)
        err = streaming_push(expanded, rest.items[i]);
    streaming_drop(&rest);
    return err;
}

// ---- The run -------------------------------------------------------------------------------------------

// The words of `weft run`; fails once.
struct spelling {
    struct streaming_list words;
    weft_err err;
};

static void put(struct spelling *spelling, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put(struct spelling *spelling, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    if (spelling->err)
        return;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    spelling->err =
        text ? streaming_push(&spelling->words, text) : err_no_memory("for the options");
    free(text);
}

static void put_options(struct spelling *spelling, const struct streaming_options *streaming)
{
    size_t length = strlen(streaming->output);
    while (length > 1 && streaming->output[length - 1] == '/')
        length--;
    put(spelling, "--output=%.*s/", (int)length, streaming->output);
    if (streaming->reducers > 0)
        put(spelling, "--reducers=%u", streaming->reducers);
    if (streaming->max_attempts > 0)
        put(spelling, "--max-attempts=%u", streaming->max_attempts);
    if (streaming->codec != STREAMING_PLAIN)
        put(spelling, "--compress=%s", streaming->codec == STREAMING_GZIP ? "gzip" : "zstd");
    if (streaming->input == STREAMING_N_LINES)
        put(spelling, "--lines-per-task=%u", streaming->lines_per_task);
    for (size_t i = 0; i < streaming->own.count; i++)
        put(spelling, "%s", streaming->own.items[i]);
}

static weft_err spell(const struct streaming_options *streaming,
                      const struct streaming_list *variables, const char *directory,
                      const struct streaming_list *inputs, struct spelling *spelling)
{
    put_options(spelling, streaming);
    if (!spelling->err)
        spelling->err = streaming_spell_job(streaming, variables, directory, &spelling->words);
    put(spelling, "--");
    for (size_t i = 0; i < inputs->count; i++)
        put(spelling, "%s", inputs->items[i]);
    return spelling->err;
}

static int run_words(const struct streaming_options *streaming, const struct streaming_list *words)
{
    struct run_options options;
    int exit_code;
    const struct options_request request = {.job = &command_job};
    const weft_err err = options_parse(&options, &request, words->items, words->count);
    if (err) {
        exit_code = cli_fail(err, options.json);
    } else {
        options.is_hadoop = true;
        options.hadoop = (struct plan_hadoop_options){
            .split_min = streaming->split_min,
            .block_bytes = streaming->block_bytes,
            .reducers = streaming->reducers,
            .has_cuts = streaming->input == STREAMING_N_LINES,
        };
        options.is_lazy = streaming->is_lazy;
        exit_code = program_run(&options, "weft");
    }
    options_fini(&options);
    return exit_code;
}

static weft_err list_variables(const struct streaming_options *streaming, size_t input_count,
                               struct streaming_list *variables)
{
    char user[MACHINE_NAME_BYTES_MAX], host[MACHINE_NAME_BYTES_MAX];
    const char *given = getenv("HADOOP_USER_NAME");
    char *directory = getcwd(NULL, 0);
    if (!directory)
        return err_errno("cannot find the working directory");
    machine_user_name(user);
    machine_host_name(host);
    const struct streaming_facts facts = {.user = given && *given ? given : user,
                                          .host = host,
                                          .directory = directory,
                                          .input_count = input_count};
    const weft_err err = streaming_list_variables(streaming, &facts, variables);
    free(directory);
    return err;
}

static weft_err find_inputs(const struct streaming_options *streaming,
                            struct streaming_list *inputs)
{
    struct streaming_list left_out = {0};
    const weft_err err = streaming_find_inputs(streaming, inputs, &left_out);
    const bool is_quiet = find_own(streaming, "--quiet") != NULL;
    for (size_t i = 0; i < left_out.count && !err && !is_quiet; i++) {
        char text[512];
        snprintf(text, sizeof text, "%.300s was left out: the output of a run is not its input",
                 left_out.items[i]);
        cli_warn(text, find_own(streaming, "--json") != NULL);
    }
    streaming_drop(&left_out);
    return err;
}

static int run(struct streaming_options *streaming)
{
    struct workdir workdir = {.alive = -1};
    struct streaming_list inputs = {0}, variables = {0};
    struct spelling spelling = {0};
    for (size_t i = 0; i < streaming->notes.count; i++)
        cli_warn(streaming->notes.items[i], find_own(streaming, "--json") != NULL);
    weft_err err = check_output(streaming);
    if (!err)
        err = find_inputs(streaming, &inputs);
    if (!err)
        err = list_variables(streaming, inputs.count, &variables);
    if (!err)
        err = streaming_ship(streaming, find_own(streaming, "--tmp="), &workdir);
    if (!err)
        err = spell(streaming, &variables, workdir.path, &inputs, &spelling);
    const int exit_code = err ? cli_fail(err, find_own(streaming, "--json") != NULL)
                              : run_words(streaming, &spelling.words);
    workdir_close(&workdir);
    streaming_drop(&spelling.words);
    streaming_drop(&variables);
    streaming_drop(&inputs);
    return exit_code;
}

int cmd_streaming(char *const *words, size_t count)
{
    struct streaming_options streaming;
    struct args_option own[ALLOWED_COUNT + 1];
    struct buf text = {0};
    int exit_code;
    list_own(own);
    struct streaming_list expanded = {0};
    weft_err err = expand_conf(words, count, &expanded);
    streaming = (struct streaming_options){0};
    if (!err)
        err = streaming_parse(&streaming, expanded.items, expanded.count, own);
    if (err) {
        exit_code = cli_fail(err, find_own(&streaming, "--json") != NULL);
    } else if (streaming.wants_help) {
        help_format_streaming(&text);
        exit_code = cli_print(&text);
    } else {
        exit_code = run(&streaming);
    }
    streaming_fini(&streaming);
    streaming_drop(&expanded);
    return exit_code;
}

static const char help_of_options[] =
    "Runs a Hadoop Streaming job here, with the options of hadoop jar hadoop-streaming.jar.\n"
    "\n"
    "  weft streaming -files map.py,sum.py -input books -output counts \\\n"
    "      -mapper map.py -reducer sum.py\n"
    "  weft streaming -D mapreduce.job.reduces=0 -input 'logs/*.gz' -output errors \\\n"
    "      -mapper 'sed -n /ERROR/p'\n"
    "\n"
    "The part files are those that Hadoop 3 makes. Options (-x or --x):\n"
    "  -input PATH...       files, directories, patterns; give it again for more\n"
    "  -output DIR          where part-00000... go; it must not exist\n"
    "  -mapper COMMAND      a command; without a shell, quotes group words\n"
    "  -combiner COMMAND    likewise, over the lines of a map task\n"
    "  -reducer COMMAND     likewise; NONE: no reducer; aggregate: the built-in one\n"
    "  -numReduceTasks N    parts (default: 1); 0: the output of the mappers\n"
    "  -files A,B#NAME      files that the commands find in their directory; also -file PATH...\n"
    "  -archives A,B#NAME   zip, jar, tar, tar.gz, unpacked there as directories\n"
    "  -cmdenv NAME=VALUE   a variable for the commands\n"
    "  -D NAME=VALUE        a property; also -jobconf\n"
    "  -conf FILE           properties from a file of Hadoop; -D overrides them\n"
    "  -partitioner CLASS   HashPartitioner, KeyFieldBasedPartitioner of mapred.lib\n"
    "  -inputformat CLASS   TextInputFormat, KeyValueTextInputFormat,\n"
    "                       org.apache.hadoop.mapred.lib.NLineInputFormat\n"
    "  -lazyOutput          no parts without a line\n"
    "  -verbose, -help, -h\n"
    "Ignored, with a message: -libjars, -mapdebug, -reducedebug, -tokenCacheFile.\n"
    "Of weft run: --slots, --workers, --memory, --tmp, --timeout, --task-timeout,\n"
    "--record-timeout, --max-attempts, --skip-bad, --bad-records, --force, --dry-run, --quiet,\n"
    "--json, --no-color; weft help run explains them.\n"
    "\n";

static const char help_of_properties[] =
    "Properties that are understood, by these or older names:\n"
    "  mapreduce.job.reduces, stream.map.output.field.separator,\n"
    "  stream.num.map.output.key.fields, stream.reduce.input.field.separator,\n"
    "  stream.reduce.output.field.separator, stream.num.reduce.output.key.fields,\n"
    "  stream.map.input.ignoreKey, stream.non.zero.exit.is.failure,\n"
    "  mapreduce.map.output.key.field.separator, mapreduce.partition.keypartitioner.options,\n"
    "  mapreduce.partition.keycomparator.options, mapreduce.job.output.key.comparator.class,\n"
    "  mapreduce.output.textoutputformat.separator, mapreduce.output.fileoutputformat.compress,\n"
    "  mapreduce.input.lineinputformat.linespermap,\n"
    "  mapreduce.input.fileinputformat.input.dir.recursive, mapreduce.map.maxattempts\n"
    "Those that cannot change a result (memory, names, queues) are accepted; your own reach\n"
    "the commands as variables; any other is refused by its name.\n";

void help_format_streaming(struct buf *buf)
{
    buf_append_text(buf, help_of_options);
    buf_append_text(buf, help_of_properties);
}
