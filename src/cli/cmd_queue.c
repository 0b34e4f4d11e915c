// weft queue VERB: queues from the command line.

#include "cli/cmd_queue.h"

#define VERB(name, summary)                                                                        \
    {                                                                                              \
#name, cmd_queue_##name, help_format_queue_##name, summary                                 \
    }

static const struct tool_verb verbs[] = {
    VERB(push, "put items in: words, or the lines of standard input"),
    VERB(take, "take items out, or run a command for each"),
    VERB(peek, "show the first items, which stay"),
    VERB(size, "how many items it holds"),
    VERB(close, "nothing more will come: who takes ends when it is empty"),
    VERB(rm, "remove it, for everyone"),
    VERB(ls, "what the host holds"),
    {0},
};

const struct tool_group queue_group = {
    .name = "queue",
    .introduction =
        "Queues that programs and scripts share, on a host (weft host) or a member of a cluster.\n"
        "\n"
        "  weft queue push --at localhost jobs a.txt b.txt    two items\n"
        "  ls *.txt | weft queue push --at localhost jobs     an item per line\n"
        "  while item=$(weft queue take --at localhost jobs); do wc \"$item\"; done\n"
        "  weft queue take --at localhost jobs -n 4 -- wc     four at a time, with retries\n"
        "  weft queue close --at localhost jobs               both of these end when it is empty\n",
    .end = "PATH is the queue's name on the host of --at, or /ROLE/INDEX/NAME in the cluster of\n"
           "TF_CONFIG. export WEFT_AT=localhost saves the --at.\n",
    .verbs = verbs,
};

int cmd_queue(char *const *words, size_t count)
{
    return tool_group_run(&queue_group, words, count);
}
