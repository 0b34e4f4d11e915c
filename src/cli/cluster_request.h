// cluster_request: the words after `weft cluster run` and `weft cluster up`: options, then a
// program and its own arguments.
#ifndef CLI_CLUSTER_REQUEST_H
#define CLI_CLUSTER_REQUEST_H

#include "base/args.h"
#include "crew/cluster_run.h"

enum {
    REQUEST_ROLE = 1,
    REQUEST_CLUSTER,
    REQUEST_ON,
    REQUEST_SSH,
    REQUEST_NAME,
    REQUEST_RESTART,
    REQUEST_JOURNAL,
    REQUEST_TMP,
    REQUEST_TIMEOUT,
    REQUEST_GRACE,
    REQUEST_KEEP_GOING,
    REQUEST_UNTIL,
    REQUEST_STDIN,
    REQUEST_CD,
    REQUEST_NO_PREFIX,
    REQUEST_NO_COLOR,
    REQUEST_JSON,
    REQUEST_QUIET,
    REQUEST_VERBOSE,
    REQUEST_HELP,
};

// The options of both verbs, in the order of their help.
#define REQUEST_OPTIONS_OF_CLUSTER                                                                 \
    {REQUEST_ROLE, 0, "role", "ROLE=N",                                                            \
     "N members of a role, at free ports where they run; or ROLE=ADDRESS,..."},                    \
        {REQUEST_CLUSTER, 0, "cluster", "FILE",                                                    \
         "instead of --role: a cluster file; its addresses must belong to this machine"},          \
        {REQUEST_ON, 0, "on", "URL",                                                               \
         "where the members run: local: or ssh://HOST,HOST... (default local:)"},                  \
        {REQUEST_SSH, 0, "ssh", "COMMAND",                                                         \
         "the command that reaches a host, such as 'ssh -F config' (default WEFT_SSH, or ssh)"},
#define REQUEST_OPTIONS_OF_LIFE                                                                    \
    {REQUEST_RESTART, 0, "restart", "[ROLE=]N",                                                    \
     "start a failed member again, up to N times (default 0); makes a directory for "              \
     "journals, WEFT_JOURNAL in the environment"},                                                 \
        {REQUEST_JOURNAL, 0, "journal", "DIR",                                                     \
         "keep the journals in this directory; created if missing"},                               \
        {REQUEST_TMP, 0, "tmp", "DIR",                                                             \
         "where to create the directory that is not kept (default $TMPDIR or /tmp)"},              \
        {REQUEST_TIMEOUT, 0, "timeout", "TIME", "stop everything after that time"},                \
        {REQUEST_GRACE, 0, "grace", "TIME",                                                        \
         "how long members that were asked to end may take before they are killed (default 5s)"},  \
        {REQUEST_KEEP_GOING, 0, "keep-going", NULL, "do not stop the others when a member fails"}, \
        {REQUEST_UNTIL, 0, "until", "ROLE",                                                        \
         "stop the others when all members of that role have ended: for servers that never end"},

struct cluster_request {
    struct cluster_spec spec;
    const char *path;  // of a cluster file; NULL: roles were given
    const char *name;  // of a cluster in the background
    struct cluster_run_options options;
    bool wants_help;
    char **words;  // ours, with a NULL at the end, as exec wants them
};

// Reads all words, and the cluster file; with wants_help only up to the help option. `verb` is for
// advice. Call cluster_request_fini in every case.
MUST_CHECK weft_err cluster_request_read(struct cluster_request *request, const char *verb,
                                         const struct args_option *options, char *const *words,
                                         size_t count);
void cluster_request_fini(struct cluster_request *request);

#endif
