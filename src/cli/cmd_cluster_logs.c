// weft cluster logs [NAME] [MEMBER...]: the output of the members of a cluster in the background.

#include "cli/cli.h"

#include <stdlib.h>

#include "base/args.h"
#include "base/text.h"
#include "crew/cluster_logs.h"
#include "crew/cluster_up.h"

enum { OPTION_FOLLOW = 1, OPTION_LINES, OPTION_ON, OPTION_HELP };

static const struct args_option options_table_logs[] = {
    {OPTION_FOLLOW, 'f', "follow", NULL, "follow new lines until the cluster has ended"},
    {OPTION_LINES, 'n', "lines", "N", "of each member only the last N lines"},
    {OPTION_ON, 0, "on", "URL",
     "NAME is the id of a cluster that this launcher keeps: yarn://HOST"},
    {OPTION_HELP, 'h', "help", NULL, "this help"},
    {0},
};

void help_format_cluster_logs(struct buf *buf)
{
    buf_append_text(
        buf,
        "Prints the output of the members of a cluster in the background: of all or of some.\n"
        "\n"
        "  weft cluster logs                     of all members, each line with its member's name\n"
        "  weft cluster logs -f                  and new lines, until the cluster has ended\n"
        "  weft cluster logs -n 10 worker/0      the last lines of one member\n"
        "  weft cluster logs blue worker         of a role of the cluster called blue\n"
        "  weft cluster logs --on yarn://rm application_1700000000000_0007 weft\n"
        "\n"
        "Usage: weft cluster logs [options] [NAME] [MEMBER...]\n"
        "\n"
        "Options:\n");
    args_format_help(buf, options_table_logs, NULL);
    buf_append_text(
        buf,
        "\n"
        "MEMBER is ROLE/INDEX; after NAME also ROLE, or weft for the messages of weft itself.\n"
        "Without NAME it is the cluster called " CLUSTER_NAME_DEFAULT ".\n"
        "Exit: 0, or 4 when there is no such cluster or member.\n");
}

static weft_err read_lines(struct cluster_logs_options *options, const char *text)
{
    if (text_read_count(text, UINT32_MAX, &options->lines))
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT, "-n is '%s', not a number of lines from 1 on", text);
}

// The first word is the cluster's name, unless it has the form of a member.
static weft_err read_words(struct cluster_logs_options *options, const char **members,
                           char *const *words, size_t count, bool *wants_help)
{
    struct args_reader reader;
    struct args_item item;
    weft_err err;
    bool has_word = false;
    args_start(&reader, words, count, options_table_logs);
    while (!(err = args_next(&reader, &item)) && item.kind != ARGS_END) {
        if (item.kind == ARGS_WORD && !has_word && !strchr(item.text, '/'))
            options->name = item.text;
        else if (item.kind == ARGS_WORD)
            members[options->member_count++] = item.text;
        else if (item.option->id == OPTION_FOLLOW)
            options->follows = true;
        else if (item.option->id == OPTION_ON)
            options->on = item.text;
        else if (item.option->id == OPTION_LINES)
            err = read_lines(options, item.text);
        else
            *wants_help = true;
        has_word |= item.kind == ARGS_WORD;
        if (err)
            return err;
    }
    return err;
}

int cmd_cluster_logs(char *const *words, size_t count)
{
    const char **members = calloc(count + 1, sizeof *members);
    struct cluster_logs_options options = {
        .name = CLUSTER_NAME_DEFAULT, .members = members, .lines = UINT64_MAX};
    bool wants_help = false;
    weft_err err = members ? read_words(&options, members, words, count, &wants_help)
                           : err_no_memory("for the names of members");
    if (!err && !wants_help)
        err = cluster_logs(&options);
    free(members);
    if (!err && wants_help)
        return cmd_help((char *const[]){"cluster", "logs"}, 2);
    return err ? cli_fail(err, false) : 0;
}
