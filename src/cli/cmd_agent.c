// weft agent: the far side of a launcher, for launchers alone.

#include "cli/cli.h"

#include "base/args.h"
#include "launch/far/host_agent.h"
#include "wire/hello.h"

enum { AGENT_JOIN = 1, AGENT_PLACE, AGENT_TOKEN_FILE, AGENT_HELP };

static const struct args_option options_table[] = {
    {AGENT_JOIN, 0, "join", "HOST:PORT", "connect to the launcher there"},
    {AGENT_PLACE, 0, "place", "NAME", "the place that the launcher has for this agent"},
    {AGENT_TOKEN_FILE, 0, "token-file", "FILE",
     "what both sides prove; also a token file of Hadoop"},
    {AGENT_HELP, 'h', "help", NULL, "this help"},
    {0},
};

static weft_err read_options(char *const *words, size_t count, struct host_agent_options *options,
                             bool *wants_help)
{
    struct args_reader reader;
    struct args_item item;
    args_start(&reader, words, count, options_table);
    for (;;) {
        const weft_err err = args_next(&reader, &item);
        if (err || item.kind == ARGS_END)
            return err;
        if (item.kind == ARGS_WORD)
            return err_set(WEFT_INVALID_ARGUMENT,
                           "%s: weft agent has no arguments: a launcher "
                           "starts it on a host",
                           item.text);
        if (item.option->id == AGENT_JOIN)
            options->join = item.text;
        else if (item.option->id == AGENT_PLACE)
            options->place = item.text;
        else if (item.option->id == AGENT_TOKEN_FILE)
            options->token_file = item.text;
        else
            *wants_help = true;
    }
}

static weft_err check_options(const struct host_agent_options *options)
{
    if (!options->join && (options->place || options->token_file))
        return err_set(WEFT_INVALID_ARGUMENT, "--place and --token-file go with --join");
    if (options->join && (!options->place || !options->token_file))
        return err_set(WEFT_INVALID_ARGUMENT, "--join needs --place and --token-file");
    if (options->place && strlen(options->place) >= HELLO_MEMBER_BYTES)
        return err_set(WEFT_INVALID_ARGUMENT, "--place: the name is too long");
    return WEFT_OK;
}

int cmd_agent(char *const *words, size_t count)
{
    struct host_agent_options options = {0};
    bool wants_help = false;
    weft_err err = read_options(words, count, &options, &wants_help);
    if (!err && wants_help)
        return cmd_help((char *const[]){"agent"}, 1);
    if (!err)
        err = check_options(&options);
    return err ? cli_fail(err, false) : host_agent_run(&options);
}
