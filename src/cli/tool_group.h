// tool_group: weft GROUP VERB: tables of verbs that do something with one resource, and their help.
#ifndef CLI_TOOL_GROUP_H
#define CLI_TOOL_GROUP_H

#include "cli/tool_words.h"

// The request to a verb; the first member of a group's own struct, which has its options.
struct tool_request {
    struct tool_words words;
    struct remote remote;
};

// The work of a verb on the open resource; its output goes into `out`.
typedef weft_err tool_act_fn(struct tool_request *request, struct buf *out);

struct tool_verb {
    const char *name, *summary;
    cli_command_fn
        *run;  // does everything by itself; NULL: the members after `format_help` say how
    void (*format_help)(struct buf *buf);

    tool_act_fn *act;
    const char *arguments;  // "PATH KEY"
    size_t fewest, most;    // words
    bool must_exist;        // the verb does not create it
    bool is_list;           // of all resources: none is opened
    const struct args_option *options;
    const char *what, *examples, *exits;  // its help; no exits: the group's
};

struct tool_group {
    const char *name;
    const char *introduction;       // with examples
    const char *end;                // after the verbs
    const struct tool_verb *verbs;  // ended by a name that is NULL
    const char *exits;
    enum call_kind kind;
    bool takes_negatives;
    size_t request_bytes;
    weft_err (*read_option)(void *request, int id, const char *text);

    // Checks the words, and returns the attributes of a new resource. NULL: there is nothing to do.
    weft_err (*prepare)(struct tool_request *request, struct buf *attributes);
};

extern const struct tool_group queue_group, var_group, kv_group, barrier_group;

int tool_group_run(const struct tool_group *group, char *const *words, size_t count);
void tool_group_format_help(const struct tool_group *group, struct buf *buf);

// Our name for the verb of another tool, with its words; NULL: the word is not known.
const char *tool_group_translate(const char *group, const char *word);

// The group and verb for a word without a group, ours or another tool's; false: the word is not
// known.
bool tool_group_guess(const char *word, const char **group, const char **verb);

// The help of a verb. False if there is no such group.
bool tool_group_format_topic(struct buf *buf, const char *group, const char *verb, weft_err *err);

#endif
