// weft cluster run --role ROLE=N PROGRAM: all members of a cluster here, until they have ended.

#include "cli/cli.h"

#include "cli/cluster_request.h"
#include "launch/launch.h"

static const struct args_option options_table_run[] = {
    REQUEST_OPTIONS_OF_CLUSTER REQUEST_OPTIONS_OF_ROLES{ARGS_HEADING, 0, NULL, NULL, "The run:"},
    REQUEST_OPTIONS_OF_LIFE{REQUEST_STDIN, 0, "stdin", "MEMBER",
                            "the member that reads standard input, such as map/0 (default: none)"},
    {REQUEST_CD, 0, "cd", "DIR", "where the program runs"},
    {REQUEST_DRY_RUN, 0, "dry-run", NULL,
     "start nothing; print the roles, with --json as a job.json"},
    {REQUEST_NO_PREFIX, 0, "no-prefix", NULL, "print lines as they are, without the member's name"},
    {REQUEST_NO_COLOR, 0, "no-color", NULL, "no colours (also: NO_COLOR in the environment)"},
    {REQUEST_JSON, 0, "json", NULL,
     "standard error carries one JSON object per line: what happens, and members' lines"},
    {REQUEST_QUIET, 'q', "quiet", NULL, "only errors"},
    {REQUEST_VERBOSE, 'v', "verbose", NULL, "also report every start and end, and a summary"},
    {REQUEST_HELP, 'h', "help", NULL, "this help"},
    {0},
};

void help_format_cluster_run(struct buf *buf)
{
    buf_append_text(
        buf,
        "Starts all members of a cluster on this machine, each with TF_CONFIG in its environment,\n"
        "prints their lines with the member's name in front, and waits for their end.\n"
        "\n"
        "  weft cluster run --role files=1 --role reduce=1 --role map=2 ./count filenames.txt\n"
        "  weft cluster run --role worker=4 --restart 3 python3 train.py\n"
        "  weft cluster run --cluster cluster.json ./count filenames.txt\n"
        "  weft cluster run --spec job.json\n"
        "  weft cluster run --preset ps --memory worker=2G python3 train.py\n"
        "  weft cluster run --on yarn://rm:8032/research --role worker=4 --memory 2G ./train\n"
        "\n"
        "Usage: weft cluster run [options] --role ROLE=N... PROGRAM [ARGUMENT...]\n"
        "\n"
        "Options come before PROGRAM; everything after it belongs to the program.\n"
        "\n"
        "Options:\n");
    args_format_help(buf, options_table_run, NULL);
    buf_append_text(
        buf,
        "\n"
        "Also in the environment of a member: WEFT_ROLE, WEFT_INDEX, RANK, MASTER_ADDR and others\n"
        "(man weft-cluster). When a member fails for good the others get SIGTERM, and SIGKILL when\n"
        "they do not end in time. Ctrl-C likewise, a second one kills at once. Nothing that members\n"
        "have started outlives this command.\n"
        "Exit: 0 all members ended with 0; otherwise the exit code of the first that failed, 128 + N\n"
        "for signal N; 2 wrong usage, 3 a port is in use, 4 no such program or file, 5 not\n"
        "executable, 6 the time is over.\n");
}

static weft_err print_plan(struct cluster_request *request, int *exit_code)
{
    const struct launcher *launcher;
    struct crew_spec *spec = &request->spec;
    struct buf text = {0};
    weft_err err = launcher_find(request->options.on, &launcher);
    if (!err && request->options.on && request->options.on != spec->on)
        err = crew_spec_set_text(&spec->on, request->options.on);
    if (err)
        return err;
    if (request->options.json)
        crew_spec_write(&text, spec);
    else
        crew_spec_write_plan(&text, spec);
    if (text.has_failed) {
        buf_fini(&text);
        return err_no_memory("for the plan");
    }
    *exit_code = cli_print(&text);
    buf_fini(&text);
    return WEFT_OK;
}

int cmd_cluster_run(char *const *words, size_t count)
{
    struct cluster_request request;
    int exit_code = 0;
    weft_err err = cluster_request_read(&request, "run", options_table_run, words, count);
    if (!err && request.wants_help)
        exit_code = cmd_help((char *const[]){"cluster", "run"}, 2);
    else if (!err)
        err = request.is_dry_run ? print_plan(&request, &exit_code)
                                 : cluster_run(&request.spec, &request.options, &exit_code);
    if (err)
        exit_code = cli_fail(err, request.options.json);
    cluster_request_fini(&request);
    return exit_code;
}
