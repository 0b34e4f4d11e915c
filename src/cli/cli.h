// cli: the command `weft`. main.c is the process; this finds the verb among its words and passes
// the rest on. Verbs are listed in commands.def; each is a cmd_*.c. Thread: main.
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/buf.h"
#include "base/err.h"

// A verb: the words without the program and the verb itself; returns the exit code.
typedef int cli_command_fn(char *const *words, size_t count);

#define COMMAND(name, is_plumbing, summary) cli_command_fn cmd_##name;
#include "cli/commands.def"
#undef COMMAND

// The verbs of `weft cluster` with their help, as cluster_commands.def lists them.
#define CLUSTER_COMMAND(name, summary)                                                             \
    cli_command_fn cmd_cluster_##name;                                                             \
    void help_format_cluster_##name(struct buf *buf);
#include "cli/cluster_commands.def"
#undef CLUSTER_COMMAND

struct cli_command {
    const char *name;
    cli_command_fn *run;
    bool is_plumbing;     // shown by `weft help --all` only
    const char *summary;  // a phrase
};

// Whether `weft cluster NAME` is one.
bool cli_is_cluster_verb(const char *name);

// Ended by a name that is NULL.
extern const struct cli_command cli_commands[];

// Runs the command of the words (argv without the program's name) and returns the exit code.
int cli_main(char *const *words, size_t count);

// Shows this thread's error, as an object when `json` is set, and returns its exit code.
int cli_fail(weft_err code, bool json);

// Prints a message that does not end the command on standard error, as an object when `json` is
// set.
void cli_warn(const char *text, bool json);

// Prints the text to standard output and frees it; the exit code.
int cli_print(struct buf *text);

// `weft GROUP help [VERB]`: the same as `weft help GROUP [VERB]`. The words follow "help".
int cli_help_in_group(const char *group, char *const *words, size_t count);

// ---- Help texts: they lead with examples ---------------------------------------------------------------

// `weft` alone, and `weft help`; with `all` also the verbs for scripts.
void help_format_overview(struct buf *buf);
void help_format_verbs(struct buf *buf, bool has_all);

// Of `weft streaming`, whose options are Hadoop's.
void help_format_streaming(struct buf *buf);

// Of `weft tasks`, which is written in Python.
void help_format_tasks(struct buf *buf);

// Of `weft host`.
void help_format_server(struct buf *buf);
void help_format_client(struct buf *buf);
void help_format_host(struct buf *buf);

// Of archives of environments.
void help_format_pack(struct buf *buf);
void help_format_unpack(struct buf *buf);

// Of `weft doctor`.
void help_format_doctor(struct buf *buf);

// Of the verbs for files in HDFS.
void help_format_ls(struct buf *buf);
void help_format_cat(struct buf *buf);
void help_format_get(struct buf *buf);
void help_format_put(struct buf *buf);
void help_format_rm(struct buf *buf);

// Of `weft cluster`, and of one of its verbs: INVALID_ARGUMENT with a guess if there is no such
// verb.
void help_format_cluster(struct buf *buf);
MUST_CHECK weft_err help_format_cluster_topic(struct buf *buf, const char *topic);

// Of a verb or a built-in job. NOT_FOUND with a guess if it is neither.
MUST_CHECK weft_err help_format_topic(struct buf *buf, const char *topic);

#endif
