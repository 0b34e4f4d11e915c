// The options of a run as data, and what their values may be. A new one also needs a line in the manual
// and the completions, and one in set_option.

#include "run/options_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "code/codes.h"
#include "mapreduce/slot_page.h"

enum option_id {
    OPTION_OUTPUT = 1,
    OPTION_FORCE,
    OPTION_FINAL,
    OPTION_TOP,
    OPTION_FORMAT,
    OPTION_DELIMITER,
    OPTION_NUL,
    OPTION_OUTPUT_FORMAT,
    OPTION_COMPRESS,
    OPTION_MAP,
    OPTION_COMBINE,
    OPTION_REDUCE,
    OPTION_SHELL,
    OPTION_KEEP,
    OPTION_PER_FILE,
    OPTION_FILE,
    OPTION_KEY_FIELDS,
    OPTION_SEPARATOR,
    OPTION_PARTITION_FIELDS,
    OPTION_SORT_FIELDS,
    OPTION_LINES_PER_TASK,
    OPTION_SLOTS,
    OPTION_WORKERS,
    OPTION_LISTEN,
    OPTION_ON,
    OPTION_SSH,
    OPTION_CLIENTS,
    OPTION_ARCHIVE,
    OPTION_CLIENT_MEMORY,
    OPTION_CLIENT_CPUS,
    OPTION_SET,
    OPTION_PORT_FILE,
    OPTION_TOKEN_FILE,
    OPTION_SHARED,
    OPTION_MEMORY,
    OPTION_TMP,
    OPTION_REDUCERS,
    OPTION_TIMEOUT,
    OPTION_TASK_TIMEOUT,
    OPTION_MAX_ATTEMPTS,
    OPTION_RECORD_TIMEOUT,
    OPTION_SKIP_MISSING,
    OPTION_SKIP_BAD,
    OPTION_BAD_RECORDS,
    OPTION_DRY_RUN,
    OPTION_QUIET,
    OPTION_VERBOSE,
    OPTION_JSON,
    OPTION_NO_COLOR,
    OPTION_HELP,
};

const struct args_option options_table[] = {
    {ARGS_HEADING, 0, NULL, NULL, "Input"},
    {OPTION_FORMAT, 0, "format", "FORMAT",
     "records are: lines, chunks, files, csv, csv:header, jsonl, tfrecord, fixed:N"},
    {OPTION_DELIMITER, 0, "delimiter", "C",
     "records end with C (\\t, \\x1e) instead of a line end"},
    {OPTION_NUL, '0', "null", NULL, "records end with a zero byte"},
    {OPTION_LINES_PER_TASK, 0, "lines-per-task", "N", "give every map task N lines"},
    {ARGS_HEADING, 0, NULL, NULL, OPTIONS_OF_COMMANDS},
    {OPTION_MAP, 0, "map", "CMD",
     "map with a command: records on its stdin, key TAB value lines on its stdout"},
    {OPTION_COMBINE, 0, "combine", "CMD", "combine a map task's lines with a command"},
    {OPTION_REDUCE, 0, "reduce", "CMD",
     "reduce with a command: lines sorted by key on its stdin; or aggregate"},
    {OPTION_SHELL, 0, "shell", NULL,
     "run these commands by sh -c, with pipes and other shell syntax"},
    {OPTION_KEEP, 0, "keep", NULL, "keep a mapper alive from task to task (it must answer \\x1e)"},
    {OPTION_PER_FILE, 0, "per-file", NULL,
     "a mapper for each file (default: small files share one unless it uses their names)"},
    {OPTION_FILE, 0, "file", "FILE",
     "run commands in a directory of their own that has this file; repeatable"},
    {OPTION_SEPARATOR, 0, "separator", "C", "between the fields of a line (default: TAB)"},
    {OPTION_KEY_FIELDS, 0, "key-fields", "N",
     "the key is the first N fields of a line (default: 1)"},
    {OPTION_SORT_FIELDS, 0, "sort-fields", "KEYS", "order of keys, such as '-k1,1 -k2,2nr'"},
    {OPTION_PARTITION_FIELDS, 0, "partition-fields", "N",
     "keys with the same first N fields go to the same part; also -k1,2"},
    {ARGS_HEADING, 0, NULL, NULL, "Output"},
    {OPTION_OUTPUT, 'o', "output", "PATH",
     "write to a file; PATH/ makes a directory of part files with a manifest (default: stdout)"},
    {OPTION_FORCE, 0, "force", NULL, "replace an existing output, once the new one is complete"},
    {OPTION_REDUCERS, 0, "reducers", "N",
     "make N part files (default: from the input's size; 1 with --reduce)"},
    {OPTION_TOP, 0, "top", "N", "only the N largest counts, largest first (jobs that count)"},
    {OPTION_FINAL, 0, "final", NULL,
     "of a Python script: only its final, for the results of its last job"},
    {OPTION_OUTPUT_FORMAT, 0, "output-format", "FORMAT", "write text, csv, jsonl or tfrecord"},
    {OPTION_COMPRESS, 0, "compress", "CODEC", "compress the output: zstd, gzip or lz4"},
    {ARGS_HEADING, 0, NULL, NULL, "Resources"},
    {OPTION_SLOTS, 'n', "slots", "N", "run N tasks at a time (default: the cores it may use)"},
    {OPTION_WORKERS, 0, "workers", "N",
     "share the work among N processes, each with that many slots (default: 1)"},
    {OPTION_ON, 0, "on", "URL",
     "start clients on other machines to do the work: ssh://HOST,HOST..., slurm:PARTITION or yarn://HOST/QUEUE"},
    {OPTION_CLIENTS, 0, "clients", "N",
     "with --on: how many clients (default: one for each host of ssh)"},
    {OPTION_ARCHIVE, 0, "archive", "FILE",
     "with --on: an environment made by weft pack, whose programs clients find first"},
    {OPTION_CLIENT_MEMORY, 0, "client-memory", "SIZE",
     "with --on: of the place of a client, which keeps to three quarters of it (yarn: 2G)"},
    {OPTION_CLIENT_CPUS, 0, "client-cpus", "N",
     "with --on: of the place of a client, and its slots (yarn: 1)"},
    {OPTION_SET, 0, "set", "NAME=VALUE",
     "with --on: a setting of the launcher, such as tags=nightly; any number of times"},
    {OPTION_SSH, 0, "ssh", "COMMAND",
     "with --on: the command that reaches a host (default WEFT_SSH, or ssh)"},
    {OPTION_LISTEN, 0, "listen", "ADDR[:PORT]",
     "the clients that join by weft client do the work (see weft server)"},
    {OPTION_PORT_FILE, 0, "port-file", "FILE",
     "with --listen: write HOST:PORT there when clients can join; removed at the end"},
    {OPTION_TOKEN_FILE, 0, "token-file", "FILE",
     "with --listen: the file with the secret that clients must have"},
    {OPTION_SHARED, 0, "shared", NULL,
     "with --listen: clients write part files themselves; all see PATH/ under the same name (NFS)"},
    {OPTION_MEMORY, 0, "memory", "SIZE",
     "never use more than this, spill to disk instead: 64M, 4G (default: half of the free memory)"},
    {OPTION_TMP, 0, "tmp", "DIR", "where to spill; on a disk (default: $TMPDIR or /var/tmp)"},
    {ARGS_HEADING, 0, NULL, NULL, "Faults"},
    {OPTION_MAX_ATTEMPTS, 0, "max-attempts", "N", "try a failing task N times (default: 4)"},
    {OPTION_TIMEOUT, 0, "timeout", "TIME", "give up after this time: 30s, 10m, 2h"},
    {OPTION_TASK_TIMEOUT, 0, "task-timeout", "TIME", "stop an attempt at a task that takes longer"},
    {OPTION_RECORD_TIMEOUT, 0, "record-timeout", "TIME",
     "stop an attempt that stays at one record"},
    {OPTION_SKIP_MISSING, 0, "skip-missing", NULL, "leave out inputs that do not exist"},
    {OPTION_SKIP_BAD, 0, "skip-bad", "N",
     "leave out up to N records, or N% of them, that make the job fail"},
    {OPTION_BAD_RECORDS, 0, "bad-records", "FILE",
     "where to list them (default: _weft-bad-records.jsonl)"},
    {ARGS_HEADING, 0, NULL, NULL, "Messages"},
    {OPTION_DRY_RUN, 0, "dry-run", NULL, "only print the plan"},
    {OPTION_QUIET, 'q', "quiet", NULL, "no progress, no summary; errors only"},
    {OPTION_VERBOSE, 'v', "verbose", NULL, "a longer summary"},
    {OPTION_JSON, 0, "json", NULL, "progress and summary as JSON, one object per line on stderr"},
    {OPTION_NO_COLOR, 0, "no-color", NULL, "no colours (also: NO_COLOR in the environment)"},
    {OPTION_HELP, 'h', "help", NULL, "this help; after JOB the help of the job"},
    {0},
};

weft_err options_set_text(char **to, const char *name, const char *text)
{
    if (!*text)
        return err_set(WEFT_INVALID_ARGUMENT, "--%s is empty\n  try: -h shows what it needs", name);
    char *copy = strdup(text);
    if (!copy)
        return options_no_memory();
    free(*to);
    *to = copy;
    return WEFT_OK;
}

static weft_err set_count(uint32_t *to, const char *name, const char *text, uint32_t max)
{
    uint64_t value;
    if (!text_read_count(text, max, &value))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "--%s %s makes no sense\n  it is a whole number from 1 to %" PRIu32, name,
                       text, max);
    *to = (uint32_t)value;
    return WEFT_OK;
}

static weft_err set_time(uint32_t *to, const char *name, const char *text)
{
    if (text_read_duration(text, to))
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT,
                   "--%s %s is not a time\n  write it like 500ms, 30s, 10m or 2h", name, text);
}

static weft_err set_memory(uint64_t *to, const char *text)
{
    if (!text_read_size(text, to))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "--memory %s is not a size\n  write it like 64M, 512M or 4G", text);
    if (*to < OPTIONS_MEMORY_MIN)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "--memory %s is too little to work in\n  try: --memory 16M, the least, or "
                       "more: it is faster",
                       text);
    return WEFT_OK;
}

static weft_err set_skip_bad(struct skip_limit *limit, const char *text)
{
    char *end;
    *limit = (struct skip_limit){.is_set = true};
    if (text_read_count(text, UINT64_MAX / 2, &limit->count))
        return WEFT_OK;
    limit->percent = strtod(text, &end);
    limit->is_share = true;
    if (end != text && strcmp(end, "%") == 0 && limit->percent > 0 && limit->percent <= 100)
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT,
                   "--skip-bad %s makes no sense\n  it is a number of records, or a share of them "
                   "such as 0.1%%",
                   text);
}

static weft_err set_output_format(struct run_options *options, const char *text)
{
    if (record_output_find(text, &options->output_format))
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT,
                   "there is no output format %s\n  it is text, csv, jsonl or tfrecord", text);
}

static weft_err set_codec(struct run_options *options, const char *text)
{
    if (codec_find(text, &options->compress) && options->compress < CODEC_BZIP2)
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT, "there is no compression %s\n  it is zstd, gzip or lz4",
                   text);
}

// ---- Commands

weft_err options_refuse_of_command(const char *name)
{
    return err_set(WEFT_INVALID_ARGUMENT,
                   "--%s is for commands, and this job runs none\n  try: weft run --map CMD "
                   "--reduce CMD INPUT...",
                   name);
}

static weft_err set_of_command(struct run_options *options, const struct args_option *option,
                               const char *text)
{
    const struct code *user = code_of(options->job);
    const char letter = user->letter ? user->letter(option->name) : 0;
    if (!options->job && option->id == OPTION_FILE)
        return options->has_file = true,
               WEFT_OK;  // JOB may be a Python script, which it is passed to
    if (!letter)
        return options_refuse_of_command(option->name);
    char fields[32];
    uint32_t count = 0;
    if (option->id == OPTION_KEY_FIELDS) {
        const weft_err err = set_count(&count, option->name, text, 1000);
        if (err)
            return err;
    } else if (option->id == OPTION_PARTITION_FIELDS && text[0] != '-') {
        const weft_err err = set_count(&count, option->name, text, 1000);
        if (err)
            return err;
        snprintf(fields, sizeof fields, "fields:-k1,%" PRIu32, count);
        text = fields;
    } else if (option->id == OPTION_PARTITION_FIELDS) {
        snprintf(fields, sizeof fields, "fields:%.20s", text);
        text = fields;
    }
    return args_add_option(&options->args, letter, text);
}

// ---- Which option is which field ----------------------------------------------------------------

#define AT(field) offsetof(struct run_options, field)

static const struct {
    enum option_id id;
    size_t at;
} flags[] =
    {
        {OPTION_FORCE, AT(force)},       {OPTION_FINAL, AT(final_alone)},
        {OPTION_QUIET, AT(quiet)},       {OPTION_VERBOSE, AT(verbose)},
        {OPTION_JSON, AT(json)},         {OPTION_NO_COLOR, AT(no_color)},
        {OPTION_NUL, AT(ends_with_nul)}, {OPTION_DRY_RUN, AT(dry_run)},
        {OPTION_HELP, AT(wants_help)},   {OPTION_SKIP_MISSING, AT(skip_missing)},
        {OPTION_SHARED, AT(shared)},
},
  texts[] =
      {
          {OPTION_OUTPUT, AT(output)},
          {OPTION_TMP, AT(tmp)},
          {OPTION_FORMAT, AT(format)},
          {OPTION_DELIMITER, AT(delimiter)},
          {OPTION_BAD_RECORDS, AT(bad_records)},
          {OPTION_LISTEN, AT(listen)},
          {OPTION_PORT_FILE, AT(port_file)},
          {OPTION_TOKEN_FILE, AT(token_file)},
          {OPTION_ON, AT(on)},
          {OPTION_SSH, AT(ssh)},
          {OPTION_ARCHIVE, AT(archive)},
          {OPTION_CLIENT_MEMORY, AT(client_memory)},
          {OPTION_CLIENT_CPUS, AT(client_cpus)},
          {OPTION_SET, AT(setting)},
},
  times[] = {
      {OPTION_TIMEOUT, AT(timeout_ms)},
      {OPTION_TASK_TIMEOUT, AT(task_timeout_ms)},
      {OPTION_RECORD_TIMEOUT, AT(record_timeout_ms)},
};

static const struct {
    enum option_id id;
    size_t at;
    uint32_t max;
} counts[] = {
    {OPTION_TOP, AT(top), UINT32_MAX},
    {OPTION_SLOTS, AT(slots), SLOTS_MAX},
    {OPTION_WORKERS, AT(workers), OPTIONS_WORKERS_MAX},
    {OPTION_REDUCERS, AT(reducers), OPTIONS_REDUCERS_MAX},
    {OPTION_MAX_ATTEMPTS, AT(max_attempts), OPTIONS_ATTEMPTS_MAX},
    {OPTION_LINES_PER_TASK, AT(lines_per_task), UINT32_MAX},
    {OPTION_CLIENTS, AT(clients), UINT32_MAX},
};

#define COUNT_OF(list) (sizeof(list) / sizeof *(list))

// Options that are more than a field.
static weft_err set_special(struct run_options *options, const struct args_option *option,
                            const char *text)
{
    switch ((enum option_id)option->id) {
    case OPTION_SKIP_BAD:
        return set_skip_bad(&options->skip_bad, text);
    case OPTION_MEMORY:
        return set_memory(&options->memory_bytes, text);
    case OPTION_OUTPUT_FORMAT:
        return set_output_format(options, text);
    case OPTION_COMPRESS:
        return set_codec(options, text);
    default:
        return set_of_command(options, option, text);
    }
}

weft_err options_set(struct run_options *options, const struct args_option *option,
                     const char *text)
{
    char *base = (char *)options;
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        if ((int)flags[i].id == option->id) {
            *(bool *)(void *)(base + flags[i].at) = true;
            return WEFT_OK;
        }
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if ((int)texts[i].id == option->id)
            return options_set_text((char **)(void *)(base + texts[i].at), option->name, text);
    for (size_t i = 0; i < COUNT_OF(times); i++)
        if ((int)times[i].id == option->id)
            return set_time((uint32_t *)(void *)(base + times[i].at), option->name, text);
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        if ((int)counts[i].id == option->id)
            return set_count((uint32_t *)(void *)(base + counts[i].at), option->name, text,
                             counts[i].max);
    return set_special(options, option, text);
}

// A server does not map or reduce: slots and workers are those of its clients.
weft_err options_check_slots(const struct run_options *options)
{
    // weft run has taken these words away.
    if ((options->on && strcmp(options->on, "local:") != 0) || options->ssh || options->clients ||
        options->archive || options->client_memory || options->client_cpus || options->setting)
        return err_set(
            WEFT_INVALID_ARGUMENT,
            "--on, --set, --ssh, --clients, --client-... and --archive are for weft run\n  try: weft run --on ssh://a,b PROGRAM ...");
    if (options->listen && options->slots)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "-n is for clients: a server runs no tasks itself\n"
                       "  try: weft client -n %" PRIu32 " ...",
                       options->slots);
    if (options->listen && options->workers)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "--workers is for weft run: the workers of a server are on its clients\n"
                       "  try: weft server without it, and weft client on each machine");
    return WEFT_OK;
}

// Only part files have one writer each.
weft_err options_check_shared(const struct run_options *options)
{
    const size_t size = options->output ? strlen(options->output) : 0;
    if (!options->shared)
        return WEFT_OK;
    if (!options->listen)
        return err_set(WEFT_INVALID_ARGUMENT, "--shared is for the clients of a server\n"
                                              "  try: weft server --shared ...");
    if (size == 0 || options->output[size - 1] != '/')
        return err_set(WEFT_INVALID_ARGUMENT,
                       "--shared needs a directory for the output, where each part is a file of "
                       "its own\n  try: -o %s/",
                       size && strcmp(options->output, "-") != 0 ? options->output : "DIR");
    return WEFT_OK;
}
