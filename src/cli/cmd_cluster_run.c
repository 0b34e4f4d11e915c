// weft cluster run --role ROLE=N PROGRAM: all members of a cluster here, until they have ended.

#include "cli/cli.h"

#include <stdlib.h>

#include "app/cluster_run.h"
#include "base/args.h"
#include "base/text.h"

enum {
    OPTION_ROLE = 1,
    OPTION_CLUSTER,
    OPTION_RESTART,
    OPTION_JOURNAL,
    OPTION_TMP,
    OPTION_TIMEOUT,
    OPTION_GRACE,
    OPTION_KEEP_GOING,
    OPTION_STDIN,
    OPTION_CD,
    OPTION_NO_PREFIX,
    OPTION_NO_COLOR,
    OPTION_JSON,
    OPTION_QUIET,
    OPTION_VERBOSE,
    OPTION_HELP,
};

enum { RESTARTS_MAX = 1000000 };

static const struct args_option options_table_run[] = {
    {OPTION_ROLE, 0, "role", "ROLE=N",
     "N members of a role, at free ports of this machine; or ROLE=ADDRESS,..."},
    {OPTION_CLUSTER, 0, "cluster", "FILE",
     "instead of --role: a cluster file; its addresses have to be of this machine"},
    {OPTION_RESTART, 0, "restart", "[ROLE=]N",
     "start a member that fails again, up to N times (default 0); makes a directory for journals, "
     "WEFT_JOURNAL in the environment"},
    {OPTION_JOURNAL, 0, "journal", "DIR", "that directory, which is kept; made if it is missing"},
    {OPTION_TMP, 0, "tmp", "DIR", "where one that is not kept is made (default $TMPDIR or /tmp)"},
    {OPTION_TIMEOUT, 0, "timeout", "TIME", "stop everything after that time"},
    {OPTION_GRACE, 0, "grace", "TIME",
     "how long members that were asked to end may take before they are killed (default 5s)"},
    {OPTION_KEEP_GOING, 0, "keep-going", NULL, "do not stop the others when a member fails"},
    {OPTION_STDIN, 0, "stdin", "MEMBER",
     "the member that reads standard input, such as map/0 (default: nobody)"},
    {OPTION_CD, 0, "cd", "DIR", "where the program runs"},
    {OPTION_NO_PREFIX, 0, "no-prefix", NULL, "print lines as they are, without the member's name"},
    {OPTION_NO_COLOR, 0, "no-color", NULL, "no colours (also: NO_COLOR in the environment)"},
    {OPTION_JSON, 0, "json", NULL,
     "standard error carries one JSON object per line: what happens, and members' lines"},
    {OPTION_QUIET, 'q', "quiet", NULL, "only errors"},
    {OPTION_VERBOSE, 'v', "verbose", NULL, "also tell of every start and end, and sum up"},
    {OPTION_HELP, 'h', "help", NULL, "this help"},
    {0},
};

void help_format_cluster_run(struct buf *buf)
{
    buf_append_text(
        buf,
        "Starts all members of a cluster on this machine, each with TF_CONFIG in its environment,\n"
        "prints their lines with the member's name in front, and waits for their end.\n"
        "\n"
        "  weft cluster run --role files=1 --role reduce=1 --role map=2 ./count texts/*\n"
        "  weft cluster run --role worker=4 --restart 3 python3 train.py\n"
        "  weft cluster run --cluster cluster.json ./count texts/*\n"
        "\n"
        "Usage: weft cluster run [options] --role ROLE=N... PROGRAM [ARGUMENT...]\n"
        "\n"
        "Options come before PROGRAM: all that follows it is the program's.\n"
        "\n"
        "Options:\n");
    args_format_help(buf, options_table_run, NULL);
    buf_append_text(
        buf,
        "\n"
        "Also in the environment of a member: WEFT_ROLE and WEFT_INDEX. When a member fails for good\n"
        "the others get SIGTERM, and SIGKILL when they do not end in time. Ctrl-C likewise, a second\n"
        "one kills at once. Nothing that members have started outlives this command.\n"
        "Exit: 0 all members ended with 0; otherwise the exit code of the first that failed, 128 + N\n"
        "for signal N; 2 wrong usage, 3 a port is in use, 4 no such program or file, 5 not\n"
        "executable, 6 the time is over.\n");
}

struct request {
    struct cluster_spec spec;
    const char *path;  // of a cluster file
    struct cluster_run_options options;
    bool wants_help;
};

static weft_err refuse_restart(const char *text)
{
    return err_set(WEFT_INVALID_ARGUMENT,
                   "--restart %s: it is a number of times, or ROLE=N for one role", text);
}

// "3" or "map=3". Cuts the text at its '='.
static weft_err take_restart(struct request *request, char *text)
{
    char *equals = strchr(text, '=');
    const char *number = equals ? equals + 1 : text;
    uint64_t count = 0;
    if (strcmp(number, "0") != 0 && !text_read_count(number, RESTARTS_MAX, &count))
        return refuse_restart(text);
    if (equals == text)
        return refuse_restart(text);
    if (equals)
        *equals = 0;
    const struct cluster_run_restart restart = {equals ? text : NULL, (uint32_t)count};
    return VEC_PUSH(&request->options.restarts, restart)
               ? WEFT_OK
               : err_set(WEFT_RESOURCE_EXHAUSTED, "no memory");
}

static weft_err take_time(const char *name, const char *text, uint32_t *milliseconds)
{
    if (text_read_duration(text, milliseconds))
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT, "--%s %s: a time is written 10m, 30s or 500ms", name,
                   text);
}

static weft_err take_value(struct request *request, int id, const char *text)
{
    struct cluster_run_options *options = &request->options;
    switch (id) {
    case OPTION_ROLE:
        return err_wrap(cluster_spec_add_flag(&request->spec, text), "--role");
    case OPTION_RESTART:
        return take_restart(request, (char *)text);
    case OPTION_TIMEOUT:
        return take_time("timeout", text, &options->timeout_ms);
    case OPTION_GRACE:
        return take_time("grace", text, &options->grace_ms);
    case OPTION_CLUSTER:
        request->path = text;
        break;
    case OPTION_JOURNAL:
        options->journal = text;
        break;
    case OPTION_TMP:
        options->tmp = text;
        break;
    case OPTION_STDIN:
        options->input_member = text;
        break;
    default:
        options->directory = text;
        break;
    }
    return WEFT_OK;
}

static void take_flag(struct request *request, int id)
{
    struct cluster_run_options *options = &request->options;
    switch (id) {
    case OPTION_KEEP_GOING:
        options->keep_going = true;
        break;
    case OPTION_NO_PREFIX:
        options->no_prefix = true;
        break;
    case OPTION_NO_COLOR:
        options->no_color = true;
        break;
    case OPTION_JSON:
        options->json = true;
        break;
    case OPTION_QUIET:
        options->quiet = true;
        break;
    case OPTION_VERBOSE:
        options->verbose = true;
        break;
    default:
        request->wants_help = true;
        break;
    }
}

// Up to the program; what follows is its own.
static weft_err read_words(struct request *request, char *const *words, size_t count)
{
    struct args_reader reader;
    struct args_item item;
    args_start(&reader, words, count, options_table_run);
    for (;;) {
        weft_err err = args_next(&reader, &item);
        if (err || item.kind == ARGS_END)
            return err;
        if (item.kind == ARGS_WORD) {
            request->options.arguments = (const char *const *)words + reader.at - 1;
            return WEFT_OK;
        }
        if (item.option->value)
            err = take_value(request, item.option->id, item.text);
        else
            take_flag(request, item.option->id);
        if (err)
            return err;
    }
}

static weft_err read_cluster(struct request *request)
{
    const bool has_roles = request->spec.roles.count > 0;
    if (request->path && has_roles)
        return err_set(WEFT_INVALID_ARGUMENT, "the cluster is described twice: by %s and by --role",
                       request->path);
    if (!request->path && !has_roles)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "no cluster is described\n"
                       "  try: weft cluster run --role worker=2 PROGRAM, or --cluster FILE");
    if (!request->options.arguments)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "no program is named\n"
                       "  try: weft cluster run --role worker=2 PROGRAM [ARGUMENT...]");
    return request->path ? cluster_spec_load(&request->spec, request->path)
                         : cluster_spec_check(&request->spec);
}

int cmd_cluster_run(char *const *words, size_t count)
{
    struct request request = {0};
    int exit_code = 0;
    // With a NULL behind them, as a program wants its arguments.
    char **copy = calloc(count + 1, sizeof *copy);
    weft_err err = copy ? WEFT_OK : err_set(WEFT_RESOURCE_EXHAUSTED, "no memory");
    if (!err) {
        memcpy(copy, words, count * sizeof *copy);
        err = read_words(&request, copy, count);
    }
    if (!err && request.wants_help) {
        exit_code = cmd_help((char *const[]){"cluster", "run"}, 2);
    } else {
        if (!err)
            err = read_cluster(&request);
        if (!err)
            err = cluster_run(&request.spec, &request.options, &exit_code);
        if (err)
            exit_code = cli_fail(err, request.options.json);
    }
    VEC_FINI(&request.options.restarts);
    cluster_spec_fini(&request.spec);
    free(copy);
    return exit_code;
}
