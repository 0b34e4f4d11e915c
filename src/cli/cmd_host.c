// weft host: queues, variables and maps without a cluster, for all programs that have the token.

#include <string.h>

#include "base/args.h"
#include "cli/cli.h"
#include "host/broker.h"
#include "host/repair.h"

enum {
    OPTION_LISTEN = 1,
    OPTION_JOURNAL,
    OPTION_PORT_FILE,
    OPTION_TOKEN_FILE,
    OPTION_REPAIR,
    OPTION_YES,
    OPTION_JSON,
    OPTION_QUIET,
    OPTION_HELP,
};

static const struct args_option host_options[] = {
    {OPTION_LISTEN, 0, "listen", "ADDR[:PORT]",
     "the address at which it listens (default localhost:18125); port 0: any free port, :PORT: all interfaces"},
    {OPTION_JOURNAL, 0, "journal", "DIR",
     "keep everything there: a host that is started again, even after a crash, continues with it"},
    {OPTION_PORT_FILE, 0, "port-file", "FILE",
     "write the port there when ready; removed at the end"},
    {OPTION_TOKEN_FILE, 0, "token-file", "FILE", "the file with the secret that clients must have"},
    {OPTION_REPAIR, 0, "repair", NULL,
     "do not host: show the intact and the lost part of a damaged journal, ask, and cut it there"},
    {OPTION_YES, 0, "yes", NULL, "repair without asking"},
    {OPTION_JSON, 0, "json", NULL, "messages in JSON, an object per line, on standard error"},
    {OPTION_QUIET, 'q', "quiet", NULL, "only messages that need attention"},
    {OPTION_HELP, 'h', "help", NULL, "this help"},
    {0},
};

void help_format_host(struct buf *buf)
{
    buf_append_text(
        buf,
        "Hosts queues, variables, maps and barriers for programs and scripts, until Ctrl-C.\n"
        "\n"
        "  weft host                                  for this user, on this machine\n"
        "  weft host --journal /var/lib/weft          survives restarts and crashes\n"
        "  weft host --listen :18125                  for other machines; prints how they join\n"
        "  weft host --listen localhost:0 --port-file port    a free port, for tests\n"
        "  weft host --journal /var/lib/weft --repair         shows the damage and asks\n"
        "\n"
        "  weft queue push jobs hello                 then, in another shell; in C: weft_connect(NULL)\n"
        "\n"
        "Usage: weft host [options]\n"
        "\n"
        "Options:\n");
    args_format_help(buf, host_options, NULL);
    buf_append_text(
        buf,
        "\n"
        "Clients need the secret: on localhost it is the user's own, in\n"
        "~/.config/weft/token; on any other address the token of --token-file\n"
        "or WEFT_TOKEN, or one that is made for this run and shown in the line that joins.\n"
        "Exit: 0 ended by a signal, or the journal is repaired; 1 the host failed, or the journal is\n"
        "damaged or of a newer weft; 2 wrong usage; 3 the port is taken, or the journal in use;\n"
        "4 there is no journal to repair; 5 no permission.\n");
}

struct request {
    struct broker_options broker;
    bool repairs, is_agreed, wants_help;
};

static void read_option(struct request *request, int id, const char *text)
{
    struct broker_options *options = &request->broker;
    switch (id) {
    case OPTION_LISTEN:
        options->listen = text;
        break;
    case OPTION_JOURNAL:
        options->journal = text;
        break;
    case OPTION_PORT_FILE:
        options->port_file = text;
        break;
    case OPTION_TOKEN_FILE:
        options->token_file = text;
        break;
    case OPTION_REPAIR:
        request->repairs = true;
        break;
    case OPTION_YES:
        request->is_agreed = true;
        break;
    case OPTION_JSON:
        options->json = true;
        break;
    case OPTION_QUIET:
        options->is_quiet = true;
        break;
    default:
        request->wants_help = true;
    }
}

static int repair(const struct request *request)
{
    const struct broker_options *options = &request->broker;
    if (!options->journal)
        return cli_fail(
            err_set(WEFT_INVALID_ARGUMENT,
                    "--repair needs the journal\n  try: weft host --journal DIR --repair"),
            options->json);
    if (options->listen || options->port_file || options->token_file)
        return cli_fail(err_set(WEFT_INVALID_ARGUMENT,
                                "--repair does not host: %s has no meaning with it",
                                options->listen      ? "--listen"
                                : options->port_file ? "--port-file"
                                                     : "--token-file"),
                        options->json);
    const struct host_repair_options how = {options->journal, request->is_agreed, options->json,
                                            options->is_quiet};
    const weft_err err = host_repair(&how);
    return err ? cli_fail(err, options->json) : 0;
}

static int run(const struct request *request)
{
    if (request->wants_help)
        return cmd_help((char *const[]){"host"}, 1);
    if (request->repairs)
        return repair(request);
    if (request->is_agreed)
        return cli_fail(err_set(WEFT_INVALID_ARGUMENT, "--yes is only for --repair"),
                        request->broker.json);
    if (request->broker.port_file && !*request->broker.port_file)
        return cli_fail(
            err_set(WEFT_INVALID_ARGUMENT, "--port-file: the name of the file is empty"),
            request->broker.json);
    const weft_err err = broker_run(&request->broker);
    return err ? cli_fail(err, request->broker.json) : 0;
}

int cmd_host(char *const *words, size_t count)
{
    struct request request = {0};
    struct args_reader reader;
    struct args_item item;
    weft_err err;
    args_start(&reader, words, count, host_options);
    while (!(err = args_next(&reader, &item)) && item.kind != ARGS_END) {
        if (item.kind != ARGS_OPTION && strcmp(item.text, "help") == 0)
            return cmd_help((char *const[]){"host"}, 1);
        if (item.kind != ARGS_OPTION)
            return cli_fail(err_set(WEFT_INVALID_ARGUMENT,
                                    "weft host takes no arguments, but got %s\n"
                                    "  try: --listen ADDR, --journal DIR",
                                    item.text),
                            request.broker.json);
        read_option(&request, item.option->id, item.text);
    }
    return err ? cli_fail(err, request.broker.json) : run(&request);
}
