// Each check is a function that leaves a text with its result, or fails with a sentence. Hosts are examined one after
// the other, each by a launch of its own, so that one that is away does not hide the others.

#include "crew/doctor.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "crew/cluster_up.h"
#include "crew/here.h"
#include "launch/launch.h"
#include "launch/yarn/yarn_checkup.h"
#include "store/hdfs/checkup.h"
#include "store/hdfs/site.h"
#include "store/hdfs/url.h"
#include "sys/file/file.h"
#include "sys/file/own.h"
#include "sys/secure/secret.h"
#include "sys/time/clock.h"

enum {
    TIMEOUT_DEFAULT_MS = 30000,
    FILE_BYTES = 1 << 20,
    OUTPUT_BYTES_MAX = 4096,
    EXIT_WORDS_BYTES = 64,
};

struct doctor {
    const struct doctor_options *options;
    const struct launcher *launcher;  // NULL: files are examined, and no members
    weft_err worst;
};

static uint32_t timeout_of(const struct doctor *doctor)
{
    return doctor->options->timeout_ms ? doctor->options->timeout_ms : TIMEOUT_DEFAULT_MS;
}

typedef weft_err check_fn(struct doctor *doctor, struct buf *text);

// The first line of a sentence names the fault, the others the remedy.
static void report(struct doctor *doctor, const char *check, weft_err err, const char *text)
{
    char line[ERR_TEXT_BYTES_MAX] = "", advice[ERR_TEXT_BYTES_MAX] = "";
    const size_t length = strcspn(text, "\n");
    memcpy(line, text, length < sizeof line ? length : sizeof line - 1);
    const char *rest = text[length] ? text + length + 1 : "";
    rest += strspn(rest, " ");
    if (strncmp(rest, "try: ", 5) == 0)
        rest += 5;
    memcpy(advice, rest, strnlen(rest, sizeof advice - 1));
    if (err && !doctor->worst)
        doctor->worst = err;
    doctor->options->found(doctor->options->owner,
                           &(struct doctor_finding){check, err, line, advice});
}

static void examine(struct doctor *doctor, const char *name, check_fn *check)
{
    struct buf text = {0};
    const weft_err err = check(doctor, &text);
    report(doctor, name, err, err ? err_text() : buf_text(&text));
    err_clear();
    buf_fini(&text);
}

// ---- This machine ------------------------------------------------------------------------------------------------

static weft_err check_version(struct doctor *doctor, struct buf *text)
{
    (void)doctor;
    buf_format(text, "weft %s", weft_version());
    return WEFT_OK;
}

static weft_err check_machine(struct doctor *doctor, struct buf *text)
{
    struct here here;
    (void)doctor;
    const weft_err err = here_look(&here, getenv("CUDA_VISIBLE_DEVICES"), "/dev");
    if (err)
        return err;
    buf_format(text, "%u core%s, ", here.cores, here.cores == 1 ? "" : "s");
    text_append_bytes(text, here.memory_bytes);
    buf_format(text, " of memory free, %zu GPU%s", here.gpu_count, here.gpu_count == 1 ? "" : "s");
    here_fini(&here);
    return WEFT_OK;
}

// A file without a name, so that nothing can stay.
static weft_err write_and_read(const char *directory)
{
    char *written = malloc(FILE_BYTES), *read = malloc(FILE_BYTES);
    int fd = -1;
    weft_err err = written && read ? WEFT_OK : err_no_memory("for a file to try");
    for (size_t i = 0; !err && i < FILE_BYTES; i++)
        written[i] = (char)(i * 31 + i / 251);
    if (!err)
        err = file_create_nameless(directory, &fd);
    if (!err)
        err = file_write_at(fd, directory, written, FILE_BYTES, 0);
    size_t got = 0;
    if (!err)
        err = file_read_at(fd, directory, read, FILE_BYTES, 0, &got);
    if (!err && (got != FILE_BYTES || memcmp(written, read, FILE_BYTES) != 0))
        err = err_set(WEFT_DATA_LOSS,
                      "%s: a file that was written reads back with other bytes\n"
                      "  try: another disk; this one, or its driver, is damaged",
                      directory);
    if (fd >= 0)
        file_close(fd);
    free(written);
    free(read);
    return err;
}

static weft_err check_place(const char *path, const char *variable, struct buf *text)
{
    const weft_err err = write_and_read(path);
    if (err && !strchr(err_text(), '\n'))
        return err_set(err, "%s\n  try: export %s=DIR, a directory with room that you may write to",
                       err_text(), variable);
    buf_format(text, "%s: a file written and read", path);
    return err;
}

static weft_err check_own_place(const char *path, const char *variable, struct buf *text)
{
    const weft_err err = own_make_directory(path);
    if (err)
        return err_set(err, "%s\n  try: export %s=DIR, a directory that you may write to",
                       err_text(), variable);
    return check_place(path, variable, text);
}

static weft_err check_state(struct doctor *doctor, struct buf *text)
{
    struct buf path = {0};
    (void)doctor;
    weft_err err = cluster_place_of_all(&path);
    if (!err)
        err = check_own_place(buf_text(&path), "XDG_STATE_HOME", text);
    buf_fini(&path);
    return err;
}

static weft_err check_cache(struct doctor *doctor, struct buf *text)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct buf path = {0};
    (void)doctor;
    if (cache && *cache)
        buf_format(&path, "%s/weft", cache);
    else if (home && *home)
        buf_format(&path, "%s/.cache/weft", home);
    else
        return err_set(WEFT_FAILED_PRECONDITION,
                       "there is no directory for caches: HOME is not set\n"
                       "  try: export XDG_CACHE_HOME=DIR");
    const weft_err err = check_own_place(buf_text(&path), "XDG_CACHE_HOME", text);
    buf_fini(&path);
    return err;
}

static weft_err check_tmp(struct doctor *doctor, struct buf *text)
{
    const char *tmp = getenv("TMPDIR");
    (void)doctor;
    return check_place(tmp && *tmp ? tmp : "/tmp", "TMPDIR", text);
}

static weft_err check_token(struct doctor *doctor, struct buf *text)
{
    struct secret secret;
    (void)doctor;
    const weft_err err = secret_load(NULL, &secret);
    if (!err)
        buf_format(text, "a token of %zu bits, which others cannot read", 8 * secret.size);
    secret_clear(&secret);
    return err;
}

// ---- A member ------------------------------------------------------------------------------------------------------

// What happens to the one member of a launch.
struct trial {
    struct loop *loop;
    struct launch *launch;
    struct launch_want want;  // borrowed by the launch
    struct buf out, errors;
    weft_err err;
    struct err_kept why;
    bool is_placed, has_started, has_ended;
};

static const char script[] =
    "f=${TMPDIR:-/tmp}/weft-doctor-$$ && trap 'rm -f \"$f\"' EXIT && "
    "dd if=/dev/zero of=\"$f\" bs=65536 count=16 2>/dev/null && "
    "test \"$(cksum <\"$f\")\" = \"$(dd if=/dev/zero bs=65536 count=16 2>/dev/null | cksum)\" || "
    "{ echo \"a file in ${TMPDIR:-/tmp} could not be written and read\" >&2; exit 1; }; "
    "uname -sm";

static void give_up(struct trial *trial, weft_err err)
{
    if (!trial->err) {
        trial->err = err;
        err_keep(&trial->why);
    }
    loop_stop(trial->loop);
}

static void placed(void *owner)
{
    struct trial *trial = owner;
    const char *const words[] = {"sh", "-c", script, NULL}, *const none[] = {NULL};
    const struct launch_start start = {
        .arguments = words, .environment = none, .input = NURSERY_INPUT_NONE};
    trial->is_placed = true;
    const weft_err err = launch_start_member(trial->launch, 0, &start);
    if (err)
        give_up(trial, err);
}

static void failed(void *owner, weft_err err)
{
    give_up(owner, err);
}

static void member_failed(void *owner, size_t member, weft_err err)
{
    (void)member;
    give_up(owner, err);
}

static void started(void *owner, size_t member, pid_t pid)
{
    struct trial *trial = owner;
    (void)member;
    (void)pid;
    trial->has_started = true;
}

static void output(void *owner, size_t member, unsigned which, weft_bytes bytes)
{
    struct trial *trial = owner;
    struct buf *to = which == CHILD_OUT ? &trial->out : &trial->errors;
    (void)member;
    if (to->size + bytes.size < OUTPUT_BYTES_MAX)
        buf_append(to, bytes.data, bytes.size);
}

static void ended(void *owner, size_t member, const struct launch_exit *end)
{
    struct trial *trial = owner;
    char words[EXIT_WORDS_BYTES];
    (void)member;
    const bool is_well = end->process.is_known && !end->process.was_signalled &&
                         end->process.number == 0 && !end->lost;
    process_describe_exit(&end->process, words, sizeof words);
    trial->has_ended = true;
    if (!is_well && trial->errors.size > 0)
        trial->errors.data[strcspn(buf_text(&trial->errors), "\n")] = 0;
    if (is_well)
        loop_stop(trial->loop);
    else
        give_up(trial, err_set(WEFT_UNAVAILABLE, "a member was started, and %s: %s",
                               end->lost ? "lost" : words,
                               end->lost ? end->lost : buf_text(&trial->errors)));
}

static void lost(void *owner, const char *host, const char *why)
{
    give_up(owner, err_set(WEFT_UNAVAILABLE, "%s is lost: %s", host, why));
}

static void ignore_moved(void *owner, size_t member)
{
    (void)owner;
    (void)member;
}

static void ignore_news(void *owner, const char *text)
{
    (void)owner;
    (void)text;
}

static void late(void *owner)
{
    struct trial *trial = owner;
    struct buf why = {0};
    if (!trial->is_placed)
        launch_describe(trial->launch, 0, &why);
    give_up(trial, err_set(WEFT_DEADLINE_EXCEEDED,
                           "%s%s%s\n  try: --timeout with a longer time, if it is only slow",
                           trial->has_started ? "a member was started and did not end in time"
                           : trial->is_placed ? "a member did not start in time"
                                              : "there was no answer in time",
                           why.size ? ": " : "", buf_text(&why)));
    buf_fini(&why);
}

static const struct launch_calls calls = {
    .placed = placed,
    .failed = failed,
    .moved = ignore_moved,
    .not_moved = member_failed,
    .started = started,
    .not_started = member_failed,
    .output = output,
    .ended = ended,
    .lost = lost,
    .news = ignore_news,
};

static weft_err run_trial(struct doctor *doctor, struct trial *trial, struct nursery *nursery,
                          const char *url)
{
    const struct doctor_options *options = doctor->options;
    const struct launch_options wanted = {.url = url,
                                          .loop = trial->loop,
                                          .nursery = nursery,
                                          .wants = &trial->want,
                                          .count = 1,
                                          .ssh = options->ssh,
                                          .calls = &calls,
                                          .owner = trial};
    if (!loop_timer_new(trial->loop, timeout_of(doctor), 0, late, trial))
        return WEFT_RESOURCE_EXHAUSTED;
    weft_err err = launch_open(doctor->launcher, &trial->launch, &wanted);
    if (!err)
        err = launch_place_all(trial->launch);
    if (!err && !trial->err && !trial->has_ended)
        loop_run(trial->loop);
    if (!err && trial->err) {
        err = trial->err;
        err_put_back(&trial->why);
    }
    return err;
}

static weft_err try_member(struct doctor *doctor, const char *url, struct buf *text)
{
    struct trial trial = {.want.name = "doctor/0"};
    struct err_kept kept;
    const uint64_t begun_ns = clock_now_ns();
    struct nursery *nursery = nursery_new();
    trial.loop = nursery ? loop_new(NULL, NULL) : NULL;
    weft_err err = trial.loop ? run_trial(doctor, &trial, nursery, url) : WEFT_RESOURCE_EXHAUSTED;
    if (!err) {
        const struct launch_place place = launch_get_place(trial.launch, 0);
        buf_append_text(text, "a member started, a file written and read in ");
        text_append_duration(text, clock_now_ns() - begun_ns);
        buf_format(text, "; %.*s, members listen at %s", (int)strcspn(buf_text(&trial.out), "\n"),
                   buf_text(&trial.out), place.address);
    }
    err_keep(&kept);
    launch_close(trial.launch);
    loop_free(trial.loop);
    nursery_free(nursery);
    buf_fini(&trial.out);
    buf_fini(&trial.errors);
    err_put_back(&kept);
    return err;
}

static void examine_member(struct doctor *doctor, const char *name, const char *url)
{
    struct buf text = {0};
    const weft_err err = try_member(doctor, url, &text);
    report(doctor, name, err, err ? err_text() : buf_text(&text));
    err_clear();
    buf_fini(&text);
}

// "ssh://a,b" is a launch for a and one for b.
static void examine_hosts(struct doctor *doctor, const char *url)
{
    const char *start = strstr(url, "://");
    const size_t scheme = start ? (size_t)(start - url) + 3 : strlen(url);
    const char *host = url + scheme;
    if (!doctor->launcher->is_far || strchr(host, ',') == NULL) {
        examine_member(doctor, doctor->launcher->is_far && *host ? host : "member", url);
        return;
    }
    while (*host) {
        const size_t length = strcspn(host, ",");
        struct buf name = {0}, one = {0};
        buf_append(&name, host, length);
        buf_append(&one, url, scheme);
        buf_append(&one, host, length);
        examine_member(doctor, buf_text(&name), buf_text(&one));
        buf_fini(&name);
        buf_fini(&one);
        host += length + (host[length] == ',');
    }
}

// ---- Files far away --------------------------------------------------------------------------------------------------

static void found_there(void *owner, const char *check, weft_err err, const char *text)
{
    report(owner, check, err, text);
}

static void examine_files(struct doctor *doctor, const char *url)
{
    const struct hdfs_checkup checkup = {
        .url = url, .timeout_ms = timeout_of(doctor), .found = found_there, .owner = doctor};
    hdfs_checkup(&checkup);
}

// ---- YARN ------------------------------------------------------------------------------------------------------------

static bool is_yarn(const char *url)
{
    return strncmp(url, "yarn:", 5) == 0;
}

// A check of the files is part of it where the configuration names an HDFS: programs and logs go there.
static bool examine_yarn(struct doctor *doctor, const char *url)
{
    const struct yarn_checkup checkup = {
        .url = url, .timeout_ms = timeout_of(doctor), .found = found_there, .owner = doctor};
    struct site site;
    const bool has_manager = yarn_checkup(&checkup);
    if (site_find("", &site) == WEFT_OK)
        examine_files(doctor, "hdfs:///");
    err_clear();
    return has_manager;
}

// ---- All -------------------------------------------------------------------------------------------------------------

static weft_err check_url(const char *url)
{
    struct hdfs_url *read = malloc(sizeof *read);
    const weft_err err = read ? hdfs_url_read(url, read) : err_no_memory("for a URL");
    free(read);
    return err;
}

static weft_err find_target(struct doctor *doctor, const char *on)
{
    return on && hdfs_is_url(on) ? check_url(on) : launcher_find(on, &doctor->launcher);
}

static void examine_target(struct doctor *doctor, const char *on)
{
    if (!doctor->launcher) {
        examine_files(doctor, on);
        return;
    }
    if (!is_yarn(on))
        examine_hosts(doctor, on);
    else if (examine_yarn(doctor, on))
        examine_member(doctor, "member", on);
}

weft_err doctor_examine(const struct doctor_options *options, weft_err *worst)
{
    struct doctor doctor = {.options = options};
    const weft_err err = find_target(&doctor, options->on);
    if (err)
        return err;
    examine(&doctor, "version", check_version);
    examine(&doctor, "machine", check_machine);
    examine(&doctor, "state", check_state);
    examine(&doctor, "cache", check_cache);
    examine(&doctor, "tmp", check_tmp);
    examine(&doctor, "token", check_token);
    examine_target(&doctor, options->on ? options->on : "local:");
    *worst = doctor.worst;
    return WEFT_OK;
}
