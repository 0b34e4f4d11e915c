// weft cluster VERB: commands for clusters of cooperating programs. Each verb is a file of its own,
// listed in cluster_commands.def; this one finds it.

#include "cli/cli.h"

#include <stdlib.h>

#include "base/args.h"
#include "cli/tool_group.h"

static const struct {
    const char *name;
    cli_command_fn *run;
    void (*format_help)(struct buf *buf);
    const char *summary;
} commands[] = {
#define CLUSTER_COMMAND(name, summary)                                                             \
    {#name, cmd_cluster_##name, help_format_cluster_##name, summary},
#include "cli/cluster_commands.def"
#undef CLUSTER_COMMAND
};

enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static size_t find(const char *name)
{
    size_t at = 0;
    while (at < COMMAND_COUNT && strcmp(commands[at].name, name) != 0)
        at++;
    return at;
}

bool cli_is_cluster_verb(const char *name)
{
    return find(name) < COMMAND_COUNT;
}

static weft_err unknown(const char *name)
{
    const char *answer = tool_group_translate("cluster", name);
    if (answer)
        return err_set(WEFT_INVALID_ARGUMENT, "there is no weft cluster %s\n  try: weft cluster %s",
                       name, answer);
    const char *names[COMMAND_COUNT + 1] = {0};
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i].name;
    const char *guess = args_guess(name, names);
    if (guess)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "there is no weft cluster %s\n  did you mean: weft cluster %s", name, guess);
    return err_set(WEFT_INVALID_ARGUMENT, "there is no weft cluster %s\n  try: weft help cluster",
                   name);
}

void help_format_cluster(struct buf *buf)
{
    buf_append_text(
        buf,
        "Runs and describes clusters of programs that work together, by roles and members.\n"
        "\n"
        "  weft cluster run --role files=1 --role map=2 --role reduce=1 ./count filenames.txt\n"
        "  weft cluster up --role server=3 ./server      in the background\n"
        "  weft cluster config cluster.json              a file to source for every member\n"
        "  weft cluster config --role ps=1 --role worker=2 -d config/    the same, all here\n"
        "\n"
        "Usage: weft cluster VERB ...\n"
        "\n"
        "Verbs:\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        buf_format(buf, "  %-9s %s\n", commands[i].name, commands[i].summary);
    buf_append_text(
        buf,
        "\n"
        "A cluster file is JSON: {\"ps\": [\"host1:2222\"], \"worker\": [\"host2\", \"host3\"]}, or\n"
        "a whole TF_CONFIG. weft cluster VERB -h explains a verb.\n");
}

weft_err help_format_cluster_topic(struct buf *buf, const char *topic)
{
    const size_t at = find(topic);
    if (at == COMMAND_COUNT)
        return unknown(topic);
    commands[at].format_help(buf);
    return WEFT_OK;
}

// Flags may stand before the verb here as well; only the help flags belong to this command.
int cmd_cluster(char *const *words, size_t count)
{
    size_t verb = 0;
    bool wants_help = count == 0;
    for (; verb < count && words[verb][0] == '-'; verb++)
        wants_help =
            wants_help || strcmp(words[verb], "-h") == 0 || strcmp(words[verb], "--help") == 0;
    if (verb == count && wants_help)
        return cmd_help((char *const[]){"cluster"}, 1);
    if (verb == count)
        return cli_fail(err_set(WEFT_INVALID_ARGUMENT,
                                "weft cluster %s does nothing without a verb\n"
                                "  try: weft help cluster",
                                words[0]),
                        false);
    const size_t at = find(words[verb]);
    if (at == COMMAND_COUNT && strcmp(words[verb], "help") == 0)
        return cli_help_in_group("cluster", words + verb + 1, count - verb - 1);
    if (at == COMMAND_COUNT)
        return cli_fail(unknown(words[verb]), false);
    char **rest = calloc(count, sizeof *rest);
    if (!rest)
        return cli_fail(err_no_memory("for the arguments"), false);
    memcpy(rest, words, verb * sizeof *rest);
    memcpy(rest + verb, words + verb + 1, (count - verb - 1) * sizeof *rest);
    const int exit_code = commands[at].run(rest, count - 1);
    free(rest);
    return exit_code;
}
