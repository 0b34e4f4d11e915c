// weft cluster up --role ROLE=N PROGRAM: all members of a cluster here, in the background.

#include "cli/cli.h"

#include <unistd.h>

#include "cli/cluster_request.h"
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
        "Starts all members of a cluster on this machine as weft cluster run does, and leaves them\n"
        "running in the background, under a name.\n"
        "\n"
        "  weft cluster up --role ps=1 --role worker=2 python3 train.py\n"
        "  weft cluster up --name blue --restart 10 --role server=3 ./server\n"
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
        "${XDG_STATE_HOME:-~/.local/state}/weft/clusters/NAME.\n"
        "Exit: 0 started, 2 wrong usage, 3 a port is in use, 4 no such program or file, 5 not\n"
        "executable, or a cluster of that name is up already.\n");
}

// The members, and the commands to use next.
static int report(const char *name, bool is_quiet)
{
    struct buf text = {0}, talk = {0};
    size_t count;
    weft_err err = cluster_status(&text, name, false, &count);
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
        if (!err)
            err = cluster_up(name, &request.spec, &request.options, &is_inside, &exit_code);
        if (err)
            exit_code = cli_fail(err, false);
        else if (!is_inside)
            exit_code = report(name, request.options.quiet);
    }
    cluster_request_fini(&request);
    return exit_code;
}
