// weft cluster up --role ROLE=N PROGRAM: all members of a cluster here, in the background.

#include "cli/cli.h"

#include <unistd.h>

#include "cli/cluster_request.h"
#include "crew/cluster_keep.h"
#include "crew/cluster_up.h"
#include "sys/file/file.h"

static const struct args_option options_table_up[] = {
    {REQUEST_NAME, 0, "name", "NAME", "the name of the cluster (default " CLUSTER_NAME_DEFAULT ")"},
    REQUEST_OPTIONS_OF_CLUSTER REQUEST_OPTIONS_OF_ROLES{ARGS_HEADING, 0, NULL, NULL, "The run:"},
    REQUEST_OPTIONS_OF_LIFE{REQUEST_CD, 0, "cd", "DIR", "where the program runs"},
    {REQUEST_QUIET, 'q', "quiet", NULL, "only errors"},
    {REQUEST_VERBOSE, 'v', "verbose", NULL, "also note every start and end in weft.log"},
    {REQUEST_HELP, 'h', "help", NULL, "this help"},
    {0},
};

void help_format_cluster_up(struct buf *buf)
{
    buf_append_text(
        buf,
        "Starts all members of a cluster as weft cluster run does, and leaves them running in the\n"
        "background, under a name. With --on yarn:... YARN keeps the cluster: this prints its id.\n"
        "\n"
        "  weft cluster up --role ps=1 --role worker=2 python3 train.py\n"
        "  weft cluster up --name blue --restart 10 --role server=3 ./server\n"
        "  weft cluster up --on yarn://rm/queue --spec job.json   needs this machine no more\n"
        "  weft cluster status                             how they are\n"
        "  weft cluster logs -f                            their output\n"
        "  weft cluster down                               ends them\n"
        "\n"
        "Usage: weft cluster up [options] --role ROLE=N... PROGRAM [ARGUMENT...]\n"
        "\n"
        "Options come before PROGRAM; everything after it belongs to the program.\n"
        "\n"
        "Options:\n");
    args_format_help(buf, options_table_up, NULL);
    buf_append_text(
        buf,
        "\n"
        "Returns when all members are started. weft cluster logs shows their output; it is in\n"
        "ROLE_INDEX.log, and the messages of weft in weft.log, below\n"
        "${XDG_STATE_HOME:-~/.local/state}/weft/clusters/NAME. Of a cluster that YARN keeps they are\n"
        "in HDFS, below .weft/runs of the user, and this returns before its members start.\n"
        "Exit: 0 started, 2 wrong usage, 3 a port is in use, 4 no such program or file, 5 not\n"
        "executable, or a cluster of that name is up already.\n");
}

// The members, and the commands to use next.
static int report(const char *name, bool is_quiet)
{
    struct buf text = {0}, talk = {0};
    size_t count;
    weft_err err = cluster_status(&text, name, NULL, false, &count);
    if (!err && !is_quiet) {
        buf_append_text(&talk, "weft: their output is in ");
        err = cluster_place(&talk, name);
        buf_format(&talk, "\n  weft cluster logs %s shows it, weft cluster down %s ends them\n",
                   name, name);
    }
    if (err) {
        buf_fini(&text);
        buf_fini(&talk);
        return cli_fail(err, false);
    }
    if (is_quiet)
        text.size = 0;
    const int exit_code = cli_print(&text);
    // The advice is not important: a closed standard error is not a failure.
    if (file_write(STDERR_FILENO, "standard error", talk.data, talk.size))
        err_clear();
    buf_fini(&talk);
    return exit_code;
}

// The id alone is the answer.
static int report_sent(const char *name, struct buf *id, bool is_quiet)
{
    struct buf talk = {0};
    const char *word = name ? name : buf_text(id);
    buf_format(&talk,
               "weft: weft cluster status %s shows how it is, weft cluster logs -f %s its "
               "output, weft cluster down %s ends it\n",
               word, word, word);
    buf_append_text(id, "\n");
    const int exit_code = cli_print(id);
    if (!is_quiet && file_write(STDERR_FILENO, "standard error", talk.data, talk.size))
        err_clear();
    buf_fini(&talk);
    return exit_code;
}

// A launcher that keeps clusters needs no process here.
static weft_err send(const struct cluster_request *request, bool *is_sent, int *exit_code)
{
    const struct launcher *launcher;
    struct buf id = {0};
    weft_err err = launcher_find(request->options.on, &launcher);
    *is_sent = !err && launcher->keeper;
    if (*is_sent)
        err = cluster_keep_send(request->name, &request->spec, &request->options, &id);
    if (*is_sent && !err)
        *exit_code = report_sent(request->name, &id, request->options.quiet);
    buf_fini(&id);
    return err;
}

int cmd_cluster_up(char *const *words, size_t count)
{
    struct cluster_request request;
    bool is_inside = false;
    int exit_code = 0;
    weft_err err = cluster_request_read(&request, "up", options_table_up, words, count);
    const char *name = request.name ? request.name : CLUSTER_NAME_DEFAULT;
    if (!err && request.wants_help) {
        exit_code = cmd_help((char *const[]){"cluster", "up"}, 2);
    } else {
        bool is_sent = false;
        if (!err)
            err = send(&request, &is_sent, &exit_code);
        if (!err && !is_sent)
            err = cluster_up(name, &request.spec, &request.options, &is_inside, &exit_code);
        if (err)
            exit_code = cli_fail(err, false);
        else if (!is_inside && !is_sent)
            exit_code = report(name, request.options.quiet);
    }
    cluster_request_fini(&request);
    return exit_code;
}
