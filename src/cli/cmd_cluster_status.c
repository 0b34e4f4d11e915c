// weft cluster status [NAME] and weft cluster down [NAME]: clusters in the background, once they are up.

#include "cli/cli.h"

#include <unistd.h>

#include "base/args.h"
#include "crew/cluster_up.h"
#include "sys/file/file.h"

enum { OPTION_JSON = 1, OPTION_ON, OPTION_QUIET, OPTION_HELP };

static const struct args_option options_table_status[] = {
    {OPTION_JSON, 0, "json", NULL, "one JSON object per cluster and line"},
    {OPTION_ON, 0, "on", "URL",
     "NAME is the id of a cluster that this launcher keeps: yarn://HOST"},
    {OPTION_HELP, 'h', "help", NULL, "this help"},
    {0},
};

static const struct args_option options_table_down[] = {
    {OPTION_ON, 0, "on", "URL",
     "NAME is the id of a cluster that this launcher keeps: yarn://HOST"},
    {OPTION_QUIET, 'q', "quiet", NULL, "only errors"},
    {OPTION_HELP, 'h', "help", NULL, "this help"},
    {0},
};

void help_format_cluster_status(struct buf *buf)
{
    buf_append_text(
        buf, "Shows the state of the members in the background: of all clusters, or of one.\n"
             "\n"
             "  weft cluster status\n"
             "  weft cluster status --json blue\n"
             "  weft cluster status --on yarn://rm application_1700000000000_0007\n"
             "\n"
             "Usage: weft cluster status [options] [NAME]\n"
             "\n"
             "Options:\n");
    args_format_help(buf, options_table_status, NULL);
    buf_append_text(
        buf,
        "\n"
        "A member is running; resting, before it is started again; done, when it ended with 0; failed;\n"
        "stopped, when it was asked to end; or lost, when the process that supervised it was killed.\n"
        "A cluster that a launcher keeps may be waiting, for a place. NAME may also be its id.\n"
        "Exit: 0, or 4 when there is no such cluster.\n");
}

void help_format_cluster_down(struct buf *buf)
{
    buf_append_text(
        buf, "Ends the members of a cluster in the background, waits for that, and removes its\n"
             "logs; those of a cluster that a launcher keeps stay.\n"
             "\n"
             "  weft cluster down\n"
             "  weft cluster down blue\n"
             "  weft cluster down --on yarn://rm application_1700000000000_0007\n"
             "\n"
             "Usage: weft cluster down [options] [NAME]\n"
             "\n"
             "Options:\n");
    args_format_help(buf, options_table_down, NULL);
    buf_append_text(buf, "\n"
                         "Without NAME it is the cluster called " CLUSTER_NAME_DEFAULT
                         ". Members get SIGTERM, "
                         "and SIGKILL when they\n"
                         "do not end in the time that weft cluster up --grace gave them.\n"
                         "Exit: 0, or 4 when there is no such cluster.\n");
}

struct request {
    const char *name, *on;
    bool json, quiet, wants_help;
};

static weft_err read_words(struct request *request, const struct args_option *options,
                           char *const *words, size_t count)
{
    struct args_reader reader;
    struct args_item item;
    args_start(&reader, words, count, options);
    for (;;) {
        const weft_err err = args_next(&reader, &item);
        if (err || item.kind == ARGS_END)
            return err;
        if (item.kind == ARGS_WORD && request->name)
            return err_set(WEFT_INVALID_ARGUMENT, "one cluster at a time, not both %s and %s",
                           request->name, item.text);
        if (item.kind == ARGS_WORD)
            request->name = item.text;
        else if (item.option->id == OPTION_ON)
            request->on = item.text;
        else if (item.option->id == OPTION_JSON)
            request->json = true;
        else if (item.option->id == OPTION_QUIET)
            request->quiet = true;
        else
            request->wants_help = true;
    }
}

static weft_err check_id(const struct request *request)
{
    if (request->on && !request->name)
        return err_set(
            WEFT_INVALID_ARGUMENT,
            "--on %s: no cluster is named\n  try: --on %s ID, as weft cluster up printed "
            "it",
            request->on, request->on);
    return WEFT_OK;
}

static void say(const char *text)
{
    if (file_write(STDERR_FILENO, "standard error", text, strlen(text)))
        err_clear();
}

int cmd_cluster_status(char *const *words, size_t count)
{
    struct request request = {0};
    struct buf text = {0};
    size_t cluster_count = 0;
    weft_err err = read_words(&request, options_table_status, words, count);
    if (!err && request.wants_help)
        return cmd_help((char *const[]){"cluster", "status"}, 2);
    if (!err)
        err = check_id(&request);
    if (!err)
        err = cluster_status(&text, request.name, request.on, request.json, &cluster_count);
    if (err) {
        buf_fini(&text);
        return cli_fail(err, request.json);
    }
    if (cluster_count == 0 && !request.json)
        say("weft: no cluster is up\n");
    return cli_print(&text);
}

int cmd_cluster_down(char *const *words, size_t count)
{
    struct request request = {0};
    weft_err err = read_words(&request, options_table_down, words, count);
    if (!err && request.wants_help)
        return cmd_help((char *const[]){"cluster", "down"}, 2);
    const char *name = request.name ? request.name : CLUSTER_NAME_DEFAULT;
    struct buf shelf = {0}, text = {0};
    if (!err)
        err = check_id(&request);
    if (!err)
        err = cluster_down(name, request.on, &shelf);
    if (err) {
        buf_fini(&shelf);
        return cli_fail(err, false);
    }
    buf_format(&text, "weft: the cluster %s is down\n", name);
    if (shelf.size > 0)
        buf_format(&text, "  its logs stay in %s; weft rm -r removes them\n", buf_text(&shelf));
    buf_fini(&shelf);
    if (!request.quiet)
        say(buf_text(&text));
    buf_fini(&text);
    return 0;
}
