// weft keep: what a launcher that keeps a cluster starts to look after its members. Not for people.

#include "cli/cli.h"

#include "cli/cluster_request.h"
#include "crew/cluster_keep.h"
#include "launch/launch.h"

static const struct args_option options_table_keep[] = {
    {REQUEST_SHELF, 0, "shelf", "URL", "where state and logs are put for others"},
    {REQUEST_LOGS, 0, "logs", "DIR", "where they are written first (default .)"},
    {REQUEST_NAME, 0, "name", "NAME", "the name of the cluster"},
    REQUEST_OPTIONS_OF_CLUSTER REQUEST_OPTIONS_OF_ROLES{ARGS_HEADING, 0, NULL, NULL, "The run:"},
    REQUEST_OPTIONS_OF_LIFE{REQUEST_CD, 0, "cd", "DIR", "where the program runs"},
    {REQUEST_VERBOSE, 'v', "verbose", NULL, "also note every start and end"},
    {REQUEST_HELP, 'h', "help", NULL, "this help"},
    {0},
};

static weft_err check(const struct cluster_request *request)
{
    if (!request->shelf)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "weft keep needs --shelf: a launcher starts it for weft cluster up");
    return WEFT_OK;
}

int cmd_keep(char *const *words, size_t count)
{
    struct cluster_request request;
    int exit_code = 0;
    weft_err err = launchers_arrive();
    if (err)
        return cli_fail(err, false);
    err = cluster_request_read(&request, "up", options_table_keep, words, count);
    if (!err && request.wants_help) {
        cluster_request_fini(&request);
        return cmd_help((char *const[]){"keep"}, 1);
    }
    if (!err)
        err = check(&request);
    if (!err) {
        request.options.name = request.name;
        err = cluster_keep_run(&request.spec, &request.options, request.shelf,
                               request.logs ? request.logs : ".", &exit_code);
    }
    if (err)
        exit_code = cli_fail(err, false);
    cluster_request_fini(&request);
    return exit_code;
}
