// Slurm's options and sentences.
//
// The environment of a job is exact: without --export all of ours goes there, and with --export=NONE even PATH is lost, or the
// login of the user is run, which takes seconds. HOME comes from the node.

#include "launch/slurm/slurm_words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/args.h"

#define EXPORT "--export=PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

// Where the script of a job and its step meet: a directory for both, and in it a pipe with a name, which the step holds open as
// long as it lives. It says so by a byte, and the end of the pipe is its end, however it came. USR1 is the reminder.
static const char holder[] =
    "eval \"HOME=~$(id -un)\"; d=\n"
    "for t in /tmp /var/tmp \"$HOME\"; do\n"
    "  mkdir -m 700 \"$t/weft-job-$SLURM_JOB_ID\" 2>/dev/null && d=$t/weft-job-$SLURM_JOB_ID &&\n"
    "    mkfifo -m 600 \"$d/alive\" && break\n"
    "done\n"
    "[ -n \"$d\" ] || exit 1\n"
    "trap 'rm -rf \"$d\"' EXIT; trap 'exit 143' TERM INT HUP; trap 'alive=1' USR1\n"
    "exec 3<>\"$d/alive\"\n"
    "alive=1\n"
    "while [ $alive = 1 ]; do\n"
    "  alive=0\n"
    "  timeout %d head -c 1 <&3 >/dev/null & reader=$!\n"
    "  while :; do\n"
    "    wait $reader; status=$?\n"
    "    [ $status -gt 128 ] && kill -0 $reader 2>/dev/null || break\n"
    "  done\n"
    "  [ $status != 0 ] || break\n"
    "done\n"
    "[ $status = 0 ] || exit 0\n"
    "exec 4<\"$d/alive\" 3>&-\n"
    "cat <&4 >/dev/null & wait $!\n";

// The script of the job may begin a moment later than its step. All temporary files are in the directory of the job.
static const char step[] =
    "eval \"HOME=~$(id -un)\"; export HOME; i=0; d=\n"
    "while [ -z \"$d\" ] && [ $i -lt 200 ]; do\n"
    "  for t in /tmp /var/tmp \"$HOME\"; do\n"
    "    [ ! -p \"$t/weft-job-$SLURM_JOB_ID/alive\" ] || d=$t/weft-job-$SLURM_JOB_ID\n"
    "  done\n"
    "  [ -n \"$d\" ] || sleep 0.05; i=$((i + 1))\n"
    "done\n"
    "[ -n \"$d\" ] || { echo \"weft: the script of the job does not run\" >&2; exit 1; }\n"
    "exec 9>\"$d/alive\" && echo >&9\n"
    "TMPDIR=$d; export TMPDIR; s=$1; shift; sh -c \"$s\" weft \"$@\" 9>&-\n";

bool slurm_is_same_need(const struct slurm_need *a, const struct slurm_need *b)
{
    const char *x = a->constraint ? a->constraint : "", *y = b->constraint ? b->constraint : "";
    return a->memory_bytes == b->memory_bytes && a->cpus == b->cpus && a->gpus == b->gpus &&
           strcmp(x, y) == 0 && strcmp(a->role, b->role) == 0;
}

// ---- Words -------------------------------------------------------------------------------------------------

static void add_format(struct far_command *words, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add_format(struct far_command *words, const char *format, ...)
{
    struct buf text = {0};
    va_list list;
    va_start(list, format);
    char *formatted = NULL;
    if (vasprintf(&formatted, format, list) < 0)
        words->has_failed = true;
    else
        far_command_add(words, formatted);
    va_end(list);
    free(formatted);
    buf_fini(&text);
}

static void add_more(struct far_command *words, const char *more)
{
    while (more && *(more += strspn(more, " \t"))) {
        const size_t size = strcspn(more, " \t");
        add_format(words, "%.*s", (int)size, more);
        more += size;
    }
}

static void add_need(struct far_command *words, const struct slurm_need *need)
{
    const uint64_t megabyte = 1 << 20;
    if (need->cpus)
        add_format(words, "--cpus-per-task=%" PRIu32, need->cpus);
    if (need->memory_bytes)
        add_format(words, "--mem=%" PRIu64 "M", (need->memory_bytes + megabyte - 1) / megabyte);
    if (need->gpus)
        add_format(words, "--gres=gpu:%" PRIu32, need->gpus);
    if (need->constraint)
        add_format(words, "--constraint=%s", need->constraint);
}

static void add_request(struct far_command *words, const struct slurm_request *request)
{
    add_format(words, "--job-name=%s-%s", request->run ? request->run : "weft", request->need.role);
    add_format(words, "--comment=%s", request->mark);
    if (*request->partition)
        add_format(words, "--partition=%s", request->partition);
    add_need(words, &request->need);
    if (request->exclude && *request->exclude)
        add_format(words, "--exclude=%s", request->exclude);
    add_more(words, request->more);
}

weft_err slurm_make_submit(const struct slurm_request *request, struct far_command *words)
{
    static const char *const usual[] = {"sbatch",
                                        "--parsable",
                                        "--nodes=1",
                                        "--ntasks=1",
                                        "--chdir=/",
                                        "--input=/dev/null",
                                        "--output=/dev/null",
                                        "--error=/dev/null",
                                        "--no-requeue",
                                        EXPORT};
    struct buf script = {0};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        far_command_add(words, usual[i]);
    add_format(words, "--array=0-%" PRIu32, request->count - 1);
    add_request(words, request);
    buf_format(&script, holder, SLURM_PATIENCE_S);
    add_format(words, "--wrap=%s", buf_text(&script));
    words->has_failed = words->has_failed || script.has_failed;
    buf_fini(&script);
    return far_command_end(words);
}

// Unbuffered: frames are not lines. Overlapping: the step has everything of its job.
weft_err slurm_make_step(uint32_t job, const struct slurm_need *need, const char *script,
                         const char *const *arguments, struct far_command *words)
{
    static const char *const usual[] = {"srun",         "--overlap",  "--nodes=1", "--ntasks=1",
                                        "--unbuffered", "--mpi=none", "--chdir=/", EXPORT};
    const char *const last[] = {"sh", "-c", step, "weft", script};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        far_command_add(words, usual[i]);
    add_format(words, "--jobid=%" PRIu32, job);
    if (need->cpus)  // a step does not inherit these
        add_format(words, "--cpus-per-task=%" PRIu32, need->cpus);
    if (need->gpus)
        add_format(words, "--gres=gpu:%" PRIu32, need->gpus);
    for (size_t i = 0; i < sizeof last / sizeof *last; i++)
        far_command_add(words, last[i]);
    for (size_t i = 0; arguments[i]; i++)
        far_command_add(words, arguments[i]);
    return words->has_failed ? err_no_memory("for a command") : WEFT_OK;
}

weft_err slurm_make_list(struct far_command *words)
{
    static const char *const all[] = {"squeue", "--me", "--noheader", "--array",
                                      "--format=%F_%K|%k"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        far_command_add(words, all[i]);
    return far_command_end(words);
}

weft_err slurm_make_watch(const char *arrays, struct far_command *words)
{
    static const char *const usual[] = {"squeue", "--noheader", "--array", "--states=all",
                                        "--format=%F|%K|%A|%T|%N|%r"};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        far_command_add(words, usual[i]);
    add_format(words, "--jobs=%s", arrays);
    return far_command_end(words);
}

// ---- Answers -----------------------------------------------------------------------------------------------

static bool read_number(const char *text, uint32_t *value)
{
    char *end = NULL;
    const unsigned long long number = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || number > UINT32_MAX)
        return false;
    *value = (uint32_t)number;
    return true;
}

bool slurm_read_report(char *line, struct slurm_report *report)
{
    char *fields[6], *at = line;
    line[strcspn(line, "\n")] = 0;
    for (size_t i = 0; i < 6; i++) {
        fields[i] = i < 5 ? strsep(&at, "|") : at;
        if (!fields[i])
            return false;
    }
    report->state = fields[3];
    report->node = fields[4];
    report->reason = fields[5];
    return read_number(fields[0], &report->array) && read_number(fields[1], &report->index) &&
           read_number(fields[2], &report->job);
}

const char *slurm_read_marked(char *line, const char *mark)
{
    char *comment = line;
    line[strcspn(line, "\n")] = 0;
    const char *name = strsep(&comment, "|");
    return comment && strcmp(comment, mark) == 0 ? name : NULL;
}

bool slurm_read_array(const char *text, uint32_t *array)
{
    char number[16] = "";
    const size_t size = strcspn(text, ";\n");
    if (size == 0 || size >= sizeof number)
        return false;
    memcpy(number, text, size);
    return read_number(number, array);
}

// Lines that say nothing themselves.
static bool is_noise(const char *line, size_t size)
{
    static const char *const words[] = {"Exited with exit code", "for more information",
                                        "Terminated"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (memmem(line, size, words[i], strlen(words[i])))
            return true;
    return size == 0;
}

// The last line that says something, without the name of the command.
static void find_last_line(const char *errors, char line[SLURM_NAME_BYTES_MAX])
{
    static const char *const names[] = {"sbatch: ", "srun: ", "error: "};
    *line = 0;
    for (const char *at = errors; *at;) {
        const char *begin = at, *end = at + strcspn(at, "\n");
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strncmp(begin, names[i], strlen(names[i])) == 0)
                begin += strlen(names[i]);
        if (!is_noise(begin, (size_t)(end - begin)))
            snprintf(line, SLURM_NAME_BYTES_MAX, "%.*s", (int)(end - begin), begin);
        at = end + (*end == '\n');
    }
}

static weft_err refuse_partition(const char *partition, const char *partitions)
{
    enum { NAMES_MAX = 64 };
    const char *names[NAMES_MAX + 1] = {0};
    struct buf list = {0};
    char *text = partitions ? strdup(partitions) : NULL, *at = text;
    size_t count = 0;
    for (char *name; count < NAMES_MAX && (name = strsep(&at, "\n"));) {
        if (!*name)
            continue;
        buf_format(&list, "%s%s", count ? ", " : "", name);
        names[count++] = name;
    }
    const char *guess = args_guess(partition, names);
    const weft_err err =
        guess ? err_set(WEFT_NOT_FOUND, "Slurm has no partition %s\n  did you mean: --on slurm:%s",
                        partition, guess)
        : count ? err_set(WEFT_NOT_FOUND, "Slurm has no partition %s\n  it has: %s", partition,
                          buf_text(&list))
                : err_set(WEFT_NOT_FOUND, "Slurm has no partition %s\n  try: sinfo", partition);
    buf_fini(&list);
    free(text);
    return err;
}

static weft_err refuse_need(const char *why)
{
    return err_set(
        WEFT_RESOURCE_EXHAUSTED,
        "no node of Slurm has what a member asks for: %s\n"
        "  try: less of --cpus, --memory or --gpus, or another partition; sinfo -N -l lists all nodes",
        why);
}

bool slurm_is_hopeless(const char *reason)
{
    return strcmp(reason, "PartitionConfig") == 0 || strcmp(reason, "BadConstraints") == 0;
}

weft_err slurm_explain_hopeless(const char *reason)
{
    return refuse_need(reason);
}

weft_err slurm_explain_refusal(const char *partition, const char *errors, const char *partitions)
{
    char line[SLURM_NAME_BYTES_MAX];
    find_last_line(errors, line);
    if (strstr(errors, "invalid partition") || strstr(errors, "Invalid partition"))
        return refuse_partition(partition, partitions);
    if (strstr(errors, "Unable to contact slurm controller") ||
        strstr(errors, "Could not establish") || strstr(errors, "Socket timed out"))
        return err_set(
            WEFT_UNAVAILABLE,
            "the controller of Slurm does not answer: %s\n  try: sinfo, or scontrol ping", line);
    if (strstr(errors, "Requested node configuration is not available") ||
        strstr(errors, "Invalid feature") || strstr(errors, "Invalid generic resource") ||
        strstr(errors, "Memory specification can not be satisfied") ||
        strstr(errors, "CPU count per node can not be satisfied"))
        return refuse_need(line);
    return err_set(
        WEFT_PERMISSION_DENIED,
        "sbatch refused: %s\n  try: WEFT_SLURM='--account=NAME --time=60' for options of sbatch",
        line);
}

weft_err slurm_explain_end(const char *job, const char *errors)
{
    static const struct {
        const char *errors, *format;
    } known[] = {
        {"DUE TO PREEMPTION", "%s was preempted by a job of higher priority"},
        {"DUE TO TIME LIMIT", "%s has reached its time limit"},
        {"Node failure", "the node of %s has failed"},
        {"DUE TO NODE FAILURE", "the node of %s has failed"},
        {"CANCELLED", "%s was cancelled"},
        {"Job/step already completing or completed", "%s was cancelled"},
        {"Invalid job id", "%s was cancelled"},
    };
    char line[SLURM_NAME_BYTES_MAX], words[2 * SLURM_NAME_BYTES_MAX];
    find_last_line(errors, line);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(errors, known[i].errors)) {
            const char *at = strstr(known[i].format, "%s");
            snprintf(words, sizeof words, "%.*s%s%s", (int)(at - known[i].format), known[i].format,
                     job, at + 2);
            return err_set(WEFT_UNAVAILABLE, "%s", words);
        }
    return err_set(WEFT_UNAVAILABLE, "the step in %s has ended%s%s", job, *line ? ": " : "", line);
}

const char *slurm_describe_reason(const char *reason)
{
    static const struct {
        const char *reason, *words;
    } known[] = {
        {"Resources", "no node with enough room is free (Resources)"},
        {"Priority", "other jobs come first (Priority)"},
        {"PartitionDown", "the partition is down (PartitionDown)"},
        {"PartitionInactive", "the partition takes no jobs (PartitionInactive)"},
        {"PartitionNodeLimit",
         "the partition has not as many nodes, or they are down (PartitionNodeLimit)"},
        {"PartitionTimeLimit",
         "it asks for more time than the partition gives (PartitionTimeLimit)"},
        {"PartitionConfig", "no node of the partition is large enough (PartitionConfig)"},
        {"BadConstraints", "no node fits its constraints (BadConstraints)"},
        {"None", "Slurm has not considered it yet"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].reason, reason) == 0)
            return known[i].words;
    return reason;
}

weft_err slurm_read_url(const char *url, char partition[SLURM_NAME_BYTES_MAX])
{
    const char *name = strchr(url, ':');
    name = name ? name + 1 : "";
    const char *plain = name + strspn(name, "/");
    if (plain != name)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "--on %s: a partition has no slashes\n  did you mean: --on slurm:%.*s", url,
                       (int)strcspn(plain, "/"), plain);
    if (strlen(name) >= SLURM_NAME_BYTES_MAX ||
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,") !=
            strlen(name))
        return err_set(
            WEFT_INVALID_ARGUMENT,
            "--on %s: not the name of a partition\n  try: --on slurm:PARTITION; sinfo lists them",
            url);
    if (partition)
        strcpy(partition, name);
    return WEFT_OK;
}
