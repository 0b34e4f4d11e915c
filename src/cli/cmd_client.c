// weft client HOST[:PORT][#TOKEN]: lends this machine to a server.

#include <stdlib.h>
#include <string.h>

#include "base/args.h"
#include "base/text.h"
#include "cli/cli.h"
#include "mapreduce/slot_page.h"
#include "run/client/client.h"
#include "run/options.h"

enum {
    OPTION_SLOTS = 1,
    OPTION_MEMORY,
    OPTION_TMP,
    OPTION_STAY,
    OPTION_GRACE,
    OPTION_TOKEN_FILE,
    OPTION_JSON,
    OPTION_QUIET,
    OPTION_HELP,
};

static const struct args_option client_options[] = {
    {OPTION_SLOTS, 'n', "slots", "N", "run N tasks at a time (default: the cores it may use)"},
    {OPTION_MEMORY, 0, "memory", "SIZE",
     "never use more than this: 64M, 4G (default: half of the free memory)"},
    {OPTION_TMP, 0, "tmp", "DIR", "where to spill; on a disk (default: $TMPDIR or /var/tmp)"},
    {OPTION_STAY, 0, "stay", NULL, "after the job wait for the next one at the same address"},
    {OPTION_GRACE, 0, "grace", "TIME",
     "when asked to end, stay at most that long to hand finished work over (default: 30s)"},
    {OPTION_TOKEN_FILE, 0, "token-file", "FILE", "the file with the server's secret"},
    {OPTION_JSON, 0, "json", NULL, "messages in JSON, an object per line, on standard error"},
    {OPTION_QUIET, 'q', "quiet", NULL, "only errors"},
    {OPTION_HELP, 'h', "help", NULL, "this help"},
    {0},
};

void help_format_client(struct buf *buf)
{
    buf_append_text(
        buf,
        "Joins a server (weft server), works for its job with this machine, and ends with it.\n"
        "\n"
        "  weft client big.example.org#TOKEN           as the server's first lines say\n"
        "  weft client -n 4 --memory 2G 10.0.0.5:18125#TOKEN    with a part of this machine\n"
        "  weft client --stay 10.0.0.5#TOKEN           for one job after the other\n"
        "\n"
        "Usage: weft client [options] HOST[:PORT][#TOKEN]\n"
        "\n"
        "Options:\n");
    args_format_help(buf, client_options, NULL);
    buf_append_text(
        buf,
        "\n"
        "Without #TOKEN the secret is that of --token-file, of WEFT_TOKEN, or the user's own.\n"
        "A server runs its code here, as you: join only those that you trust.\n"
        "SIGTERM and Ctrl-C: it takes no more tasks, hands its finished work over to others, and\n"
        "leaves with 0; others do again the work that --grace was too short for. The second one ends\n"
        "it at once.\n"
        "Exit: 0 the job has ended, or all work is handed over; 1 this machine could not work for it;\n"
        "2 wrong usage; 3 the server cannot be reached; 4 a file or directory cannot be used;\n"
        "5 another token; 130, 143 ended by a signal.\n");
}

static weft_err read_grace(const char *text, uint32_t *grace_ms)
{
    if (strcmp(text, "0") == 0 || strcmp(text, "0s") == 0)
        *grace_ms = 0;
    else if (!text_read_duration(text, grace_ms))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "--grace %s makes no sense\n  it is a time like 30s or 2m; 0: leave at once",
                       text);
    return WEFT_OK;
}

static weft_err read_option(struct client_options *options, int id, const char *text)
{
    uint64_t value;
    switch (id) {
    case OPTION_SLOTS:
        if (!text_read_count(text, SLOTS_MAX, &value))
            return err_set(WEFT_INVALID_ARGUMENT,
                           "--slots %s makes no sense\n  it is a whole number from 1 to %d", text,
                           SLOTS_MAX);
        options->slots = (uint32_t)value;
        break;
    case OPTION_MEMORY:
        if (!text_read_size(text, &options->memory_bytes) ||
            options->memory_bytes < OPTIONS_MEMORY_MIN)
            return err_set(WEFT_INVALID_ARGUMENT,
                           "--memory %s makes no sense\n  it is a size of at least 16M, like 512M "
                           "or 4G",
                           text);
        break;
    case OPTION_TMP:
        options->tmp = text;
        break;
    case OPTION_STAY:
        options->stays = true;
        break;
    case OPTION_GRACE:
        return read_grace(text, &options->grace_ms);
    case OPTION_TOKEN_FILE:
        options->token_file = text;
        break;
    case OPTION_JSON:
        options->json = true;
        break;
    default:
        options->is_quiet = true;
    }
    return WEFT_OK;
}

static weft_err read_words(struct client_options *options, char *const *words, size_t count,
                           bool *wants_help)
{
    struct args_reader reader;
    struct args_item item;
    weft_err err;
    args_start(&reader, words, count, client_options);
    while (!(err = args_next(&reader, &item)) && item.kind != ARGS_END) {
        if (item.kind == ARGS_OPTION && item.option->id == OPTION_HELP)
            *wants_help = true;
        else if (item.kind == ARGS_OPTION)
            err = read_option(options, item.option->id, item.text);
        else if (options->at)
            err = err_set(WEFT_INVALID_ARGUMENT, "weft client joins one server, but got %s as well",
                          item.text);
        else
            options->at = item.text;
        if (err)
            return err;
    }
    return err;
}

// The list of processes must not show the token.
static char *take_address(const char *word)
{
    char *copy = strdup(word), *token = strchr(word, '#');
    if (copy && token)
        memset(token, 0, strlen(token));
    return copy;
}

int cmd_client(char *const *words, size_t count)
{
    struct client_options options = {.grace_ms = CLIENT_GRACE_MS};
    bool wants_help = count == 1 && strcmp(words[0], "help") == 0;
    int exit_code = 0;
    weft_err err = wants_help ? WEFT_OK : read_words(&options, words, count, &wants_help);
    if (!err && wants_help)
        return cmd_help((char *const[]){"client"}, 1);
    if (!err && !options.at)
        err = err_set(WEFT_INVALID_ARGUMENT,
                      "no server is named\n  try: weft client HOST#TOKEN, as weft server says it");
    char *at = err ? NULL : take_address(options.at);
    options.at = at;
    if (!err && !at)
        err = err_no_memory("to join a server");
    if (!err)
        err = client_run(&options, &exit_code);
    free(at);
    return err ? cli_fail(err, options.json) : exit_code;
}
