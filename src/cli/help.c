// help: texts that lead with examples. Most people read only these of the manual: keep them short,
// under 100 columns, and true; test/golden has them all.

#include "cli/cli.h"

#include "base/args.h"
#include "cli/tool_group.h"
#include "jobs/builtin.h"
#include "run/options.h"

void help_format_verbs(struct buf *buf, bool has_all)
{
    for (const struct cli_command *command = cli_commands; command->name; command++)
        if (has_all || !command->is_plumbing)
            buf_format(buf, "  %-9s %s\n", command->name, command->summary);
}

void help_format_overview(struct buf *buf)
{
    buf_append_text(buf,
                    "weft runs MapReduce jobs over your files, at the speed of the hardware.\n"
                    "\n"
                    "  weft run wordcount books/*.txt         the words of some texts, counted\n"
                    "  weft run sort -n big.txt -o out.txt    a file larger than memory, sorted\n"
                    "  weft run --map ./map.py --reduce ./reduce.py data/    your own programs\n"
                    "\n"
                    "Verbs:\n");
    help_format_verbs(buf, false);
    buf_append_text(buf, "\n"
                         "weft help VERB or JOB explains it; weft help --all shows all verbs.\n");
}

// The first sentence of a job's usage, without its full stop.
static void append_first_sentence(struct buf *buf, const char *usage)
{
    const size_t length = strcspn(usage ? usage : "", ".\n");
    buf_append(buf, usage ? usage : "", length);
    buf_append_text(buf, "\n");
}

// The kinds of jobs, by example.
static void format_run_examples(struct buf *buf)
{
    buf_append_text(
        buf,
        "Runs a job over files, waits for it, and prints its answer.\n"
        "\n"
        "  weft run wordcount books/*.txt            words and how often they occur\n"
        "  weft run --top 10 wordcount -i books/     the ten most frequent, case folded\n"
        "  weft run sort -n numbers.txt -o out.txt   sorted into a file\n"
        "  weft run grep 'ERROR|WARN' logs/          the lines that match, also of .gz files\n"
        "  weft run --map 'cut -f 2' --reduce 'uniq -c' table.tsv    commands as map and reduce\n"
        "  weft run --map ./map.py --reduce ./reduce.py data/ -o out/\n"
        "  weft run job.py data/                     your own job in Python: def mapfn(line), fold = sum\n"
        "  weft run job.c data/ -o counts/           your own job in C: built, run, in part files\n"
        "\n"
        "Usage: weft run [options] JOB [job options] INPUT...\n"
        "       weft run --map CMD [--combine CMD] [--reduce CMD] [options] INPUT...\n"
        "\n");
}

static void format_run(struct buf *buf)
{
    format_run_examples(buf);
    buf_append_text(buf, "JOB is one of\n");
    for (const weft_job *const *job = builtin_jobs; *job; job++) {
        buf_format(buf, "  %-10s  ", (*job)->name);
        append_first_sentence(buf, (*job)->usage);
    }
    buf_append_text(
        buf,
        "  FILE.py     a Python script with mapfn, and fold or reducefn\n"
        "  FILE.c      a source that calls weft_main: built with $CC or cc, and kept\n"
        "  FILE.cpp    the same in C++: with $CXX or c++\n"
        "  ./PROGRAM   a program that calls weft_main\n"
        "weft run JOB -h explains a job and its own options.\n"
        "\n"
        "INPUT is, in the order given\n"
        "  FILE        a file\n"
        "  DIR         all files below it in byte order of their names; .names and _names are left out\n"
        "  'a/*.txt'   a pattern that the shell did not expand\n"
        "  @names.txt  a name per line\n"
        "  -           standard input; a pipe or a redirected file is read also without INPUT\n"
        "gzip, zstd, lz4, bzip2 and xz are recognized by their content.\n"
        "\n"
        "Options (after JOB, a letter that the job defines is the job's):\n");
    args_format_help(buf, options_table, NULL);
    buf_append_text(
        buf,
        "\n"
        "The answer goes to standard output, messages to standard error. The bytes of the answer\n"
        "do not depend on slots, memory or retries. The same command again continues an\n"
        "unfinished DIR/, and leaves a finished one alone.\n"
        "Exit: 0 done, 1 the job failed, 2 wrong usage, 4 not found, 5 refused (exists, no\n"
        "permission, no space), 6 timed out, 130 interrupted, 143 terminated.\n");
}

static void format_help(struct buf *buf)
{
    buf_append_text(buf, "Explains a verb or a built-in job.\n"
                         "\n"
                         "  weft help run           how to run a job, all options\n"
                         "  weft help sort          a job and its own options\n"
                         "  weft help --all         every verb, also those for scripts\n");
}

static void format_version(struct buf *buf)
{
    buf_append_text(buf, "Prints the version.\n"
                         "\n"
                         "  weft version\n");
}

static void format_agent(struct buf *buf)
{
    buf_append_text(
        buf,
        "Starts members of a cluster on this host. A launcher runs it, such as that of\n"
        "weft cluster run --on ssh://HOST, and speaks to it on its standard input and output.\n"
        "\n"
        "Usage: weft agent\n"
        "       weft agent --join HOST:PORT --place NAME --token-file FILE\n"
        "\n"
        "With --join it connects to the launcher instead. The file has the secret of the two,\n"
        "and may be a token file of Hadoop.\n"
        "\n"
        "It ends, and kills its members, when its standard input or the connection ends, or the\n"
        "launcher has not been heard for 4 seconds.\n");
}

static void format_keep(struct buf *buf)
{
    buf_append_text(
        buf,
        "Looks after the members of a cluster that a launcher keeps. The launcher runs it at one of\n"
        "its places, as weft cluster up --on yarn://HOST asks it to; it has the members started by\n"
        "the same launcher, and puts their state and their output on a shelf, a directory in HDFS.\n"
        "\n"
        "Usage: weft keep --shelf URL [--logs DIR] [options of weft cluster up]\n"
        "\n"
        "A file called stop on the shelf asks it to end the members.\n");
}

static void format_rendezvous(struct buf *buf)
{
    buf_append_text(
        buf,
        "Lets the processes of a Horovod job meet: a small web server that keeps their\n"
        "addresses until all have read them. weft cluster run --preset horovod starts it.\n"
        "\n"
        "Usage: WEFT_PORT=PORT weft rendezvous\n"
        "\n"
        "Everyone who reaches the port can read and write, as with horovodrun's own server.\n");
}

static void format_verify(struct buf *buf)
{
    buf_append_text(
        buf, "Checks an output directory: that it is finished, and that every part has\n"
             "the size and the checksum that its manifest lists.\n"
             "\n"
             "  weft verify counts/\n"
             "\n"
             "Usage: weft verify DIR\n"
             "\n"
             "Exit: 0 all is as written, 1 a part is not, 2 wrong usage, 4 there is no such\n"
             "directory, or it is not a finished output.\n");
}

static void format_replay(struct buf *buf)
{
    buf_append_text(
        buf, "Runs a job on just one record: the one that an earlier run has failed on, which\n"
             "printed the ID. Prints the pairs that the job emits for it.\n"
             "\n"
             "  weft replay 3f9a2c11            once more, alone\n"
             "  weft replay 3f9a2c11 --debug    in gdb, before it runs; a Python job in pdb\n");
}

static void format_queue(struct buf *buf)
{
    tool_group_format_help(&queue_group, buf);
}

static void format_var(struct buf *buf)
{
    tool_group_format_help(&var_group, buf);
}

static void format_kv(struct buf *buf)
{
    tool_group_format_help(&kv_group, buf);
}

static void format_barrier(struct buf *buf)
{
    tool_group_format_help(&barrier_group, buf);
}

static const struct {
    const char *name;
    void (*format)(struct buf *buf);
} topics[] = {
    {"run", format_run},
    {"help", format_help},
    {"version", format_version},
    {"verify", format_verify},
    {"keep", format_keep},
    {"agent", format_agent},
    {"rendezvous", format_rendezvous},
    {"doctor", help_format_doctor},
    {"ls", help_format_ls},
    {"cat", help_format_cat},
    {"get", help_format_get},
    {"put", help_format_put},
    {"rm", help_format_rm},
    {"pack", help_format_pack},
    {"unpack", help_format_unpack},
    {"replay", format_replay},
    {"streaming", help_format_streaming},
    {"cluster", help_format_cluster},
    {"server", help_format_server},
    {"client", help_format_client},
    {"host", help_format_host},
    {"queue", format_queue},
    {"var", format_var},
    {"kv", format_kv},
    {"barrier", format_barrier},
    {"tasks", help_format_tasks},
};

static weft_err unknown_topic(const char *topic)
{
    enum { NAMES_MAX = 64 };
    const char *names[NAMES_MAX + 1];
    size_t count = 0;
    for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
        names[count++] = topics[i].name;
    for (const weft_job *const *job = builtin_jobs; *job && count < NAMES_MAX; job++)
        names[count++] = (*job)->name;
    names[count] = NULL;
    const char *guess = args_guess(topic, names);
    if (guess)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "there is no help on %s\n  did you mean: weft help %s", topic, guess);
    return err_set(WEFT_INVALID_ARGUMENT, "there is no help on %s\n  try: weft help", topic);
}

weft_err help_format_topic(struct buf *buf, const char *topic)
{
    for (size_t i = 0; i < sizeof topics / sizeof *topics; i++) {
        if (strcmp(topics[i].name, topic) == 0) {
            topics[i].format(buf);
            return WEFT_OK;
        }
    }
    const weft_job *job = builtin_find(topic);
    if (!job)
        return unknown_topic(topic);
    struct buf program = {0};
    buf_format(&program, "weft run %s", topic);
    options_format_job_help(buf, buf_text(&program), job);
    buf_fini(&program);
    return WEFT_OK;
}
