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
    REQUEST_SET,
    REQUEST_NAME,
    REQUEST_SHELF,
    REQUEST_LOGS,
    REQUEST_RESTART,
    REQUEST_JOURNAL,
    REQUEST_TMP,
    REQUEST_TIMEOUT,
    REQUEST_GRACE,
    REQUEST_START_DEADLINE,
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
    REQUEST_SPEC,
    REQUEST_PRESET,
    REQUEST_TENSORBOARD,
    REQUEST_DRY_RUN,
    REQUEST_FIELD,  // and the number of a field (crew/spec/spec_fields.def)
};

// The options of both verbs, in the order of their help.
#define REQUEST_OPTIONS_OF_CLUSTER                                                                 \
    {REQUEST_ROLE, 0, "role", "ROLE=N",                                                            \
     "N instances of a role, at free ports where they run; or ROLE=ADDRESS,..."},                  \
        {REQUEST_SPEC, 0, "spec", "FILE",                                                          \
         "a description of the roles, job.json; flags win over it"},                               \
        {REQUEST_PRESET, 0, "preset", "NAME",                                                      \
         "the roles of single, ps, allreduce, torchrun or horovod; --role changes their numbers"}, \
        {REQUEST_TENSORBOARD, 0, "tensorboard", "DIR",                                             \
         "also a TensorBoard that shows the logs in DIR; stopped at the end"},                     \
        {REQUEST_CLUSTER, 0, "cluster", "FILE",                                                    \
         "instead of these: a cluster file; its addresses must belong to this machine"},           \
        {REQUEST_ON, 0, "on", "URL",                                                               \
         "where the members run: local:, ssh://HOST,HOST..., slurm:PARTITION or "                  \
         "yarn://HOST/QUEUE (default local:)"},                                                    \
        {REQUEST_SSH, 0, "ssh", "COMMAND",                                                         \
         "the command that reaches a host, such as 'ssh -F config' (default WEFT_SSH, or ssh)"},   \
        {REQUEST_SET, 0, "set", "NAME=VALUE",                                                      \
         "a setting of the launcher, such as tags=nightly; any number of times"},
#define REQUEST_OPTIONS_OF_ROLES                                                                   \
    {ARGS_HEADING, 0, NULL, NULL, "What members have; ROLE= for one role, otherwise for all:"},    \
        {REQUEST_FIELD + CREW_PROCESSES, 0, "processes", "[ROLE=]N",                               \
         "processes of each instance, at one place; each is a member (default 1)"},                \
        {REQUEST_FIELD + CREW_MEMORY, 0, "memory", "[ROLE=]SIZE", "of each instance"},             \
        {REQUEST_FIELD + CREW_CPUS, 0, "cpus", "[ROLE=]N", "of each instance"},                    \
        {REQUEST_FIELD + CREW_GPUS, 0, "gpus", "[ROLE=]N",                                         \
         "of each instance, in CUDA_VISIBLE_DEVICES; 0: members see none"},                        \
        {REQUEST_FIELD + CREW_CONSTRAINT, 0, "constraint", "[ROLE=]TEXT",                          \
         "on the places of instances, in the words of the launcher"},                              \
        {REQUEST_FIELD + CREW_RESOURCES, 0, "resource", "[ROLE:]NAME=N",                           \
         "of each instance, in the words of the launcher, such as yarn.io/fpga=1"},                \
        {REQUEST_FIELD + CREW_COMMAND, 0, "command", "[ROLE=]TEXT",                                \
         "a text for sh, in place of PROGRAM"},                                                    \
        {REQUEST_FIELD + CREW_ENV, 0, "env", "[ROLE:]NAME=VALUE",                                  \
         "a variable of the environment; any number of times"},                                    \
        {REQUEST_FIELD + CREW_FILES, 0, "file", "[ROLE:][NAME=]PATH",                              \
         "a file in the directory where members run; any number of times"},                        \
        {REQUEST_FIELD + CREW_ARCHIVE, 0, "archive", "[ROLE=]FILE",                                \
         "an environment made by weft pack, whose programs members find first"},                   \
        {REQUEST_FIELD + CREW_PRE_SCRIPT, 0, "pre-script", "[ROLE=]TEXT",                          \
         "a text for sh that runs first; when it fails, the member has failed"},
#define REQUEST_OPTIONS_OF_LIFE                                                                    \
    {REQUEST_RESTART, 0, "restart", "[ROLE=]N",                                                    \
     "start a failed member again, up to N times (default 0); makes a directory for "              \
     "journals, WEFT_JOURNAL in the environment"},                                                 \
        {REQUEST_JOURNAL, 0, "journal", "DIR",                                                     \
         "keep the journals in this directory; created if missing"},                               \
        {REQUEST_TMP, 0, "tmp", "DIR",                                                             \
         "where to create the directory that is not kept (default $TMPDIR or /tmp)"},              \
        {REQUEST_TIMEOUT, 0, "timeout", "TIME", "stop everything after that time"},                \
        {REQUEST_START_DEADLINE, 0, "start-deadline", "TIME",                                      \
         "give up when not all members have started in that time"},                                \
        {REQUEST_GRACE, 0, "grace", "TIME",                                                        \
         "how long members that were asked to end may take before they are killed (default 5s)"},  \
        {REQUEST_KEEP_GOING, 0, "keep-going", NULL, "do not stop the others when a member fails"}, \
        {REQUEST_UNTIL, 0, "until", "ROLE",                                                        \
         "stop the others when all members of that role have ended: for servers that never end"},

struct cluster_request {
    struct crew_spec spec;       // resolved
    struct crew_flags flags;     // of roles
    VEC(const char *) roles;     // `--role`
    VEC(const char *) settings;  // `--set`
    const char *path;            // of a cluster file; NULL: none
    const char *description;     // of a job.json; NULL: none
    const char *preset, *tensorboard;
    bool is_dry_run;
    const char *name;          // of a cluster in the background
    const char *shelf, *logs;  // of one that a launcher keeps
    struct cluster_run_options options;
    bool wants_help;
    char **words;  // ours, with a NULL at the end, as exec wants them
};

// Reads all words, and the cluster file or description; with wants_help only up to the help option. `verb` is for
// advice. Call cluster_request_fini in every case.
MUST_CHECK weft_err cluster_request_read(struct cluster_request *request, const char *verb,
                                         const struct args_option *options, char *const *words,
                                         size_t count);
void cluster_request_fini(struct cluster_request *request);

#endif
