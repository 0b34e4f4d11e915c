// The logs of a cluster in the background are files that only grow, one for each member, made before the
// members are started. So a reader needs no message from them: it reads on from where it was, and the lock
// of the cluster shows when nothing more will come.

#include "crew/cluster_logs.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "crew/cluster_up.h"
#include "crew/prefix.h"
#include "sys/file/file.h"
#include "sys/process/daemon.h"
#include "sys/time/clock.h"

enum { LOOK_MS = 100, READ_BYTES = 64 << 10, LABEL_BYTES = 128 };

static const char weft_label[] = "weft";  // of what weft says itself

struct log {
    char member[LABEL_BYTES];  // "map/0"
    char label[LABEL_BYTES];   // "map/0  | "
    char *path;
    int fd;
    uint64_t offset;
    struct prefix prefix;
};

struct logs {
    struct buf directory, lock;
    VEC(struct log) list;
};

// ---- Which -------------------------------------------------------------------------------------------------

// A word names a member, with or without '/' in front, or all of a role.
static bool is_named(const char *member, const char *word)
{
    word += *word == '/';
    const size_t role_size = strcspn(member, "/");
    return strcmp(member, word) == 0 ||
           (strlen(word) == role_size && memcmp(member, word, role_size) == 0);
}

static bool is_wanted(const struct cluster_logs_options *options, const char *member)
{
    for (size_t i = 0; i < options->member_count; i++)
        if (is_named(member, options->members[i]))
            return true;
    return options->member_count == 0;
}

static weft_err add_log(struct logs *logs, const char *member)
{
    struct log log = {.fd = -1};
    struct buf path = {0};
    snprintf(log.member, sizeof log.member, "%s", member);
    const char *slash = strchr(member, '/');
    if (slash)
        buf_format(&path, "%s/%.*s_%s.log", buf_text(&logs->directory), (int)(slash - member),
                   member, slash + 1);
    else
        buf_format(&path, "%s/%s.log", buf_text(&logs->directory), member);
    log.path = path.has_failed ? NULL : strdup(buf_text(&path));
    buf_fini(&path);
    if (log.path && VEC_PUSH(&logs->list, log))
        return WEFT_OK;
    free(log.path);
    return err_no_memory("for the name of a log");
}

static weft_err find_logs(struct logs *logs, const struct cluster_logs_options *options)
{
    struct buf text = {0};
    size_t count = 0, i;
    weft_err err = cluster_status(&text, options->name, true, &count);
    json_t *state = err ? NULL : json_loadb(text.data, text.size, 0, NULL), *member;
    json_array_foreach(json_object_get(state, "members"), i, member)
    {
        const char *name = json_string_value(json_object_get(member, "member"));
        if (!err && name && is_wanted(options, name))
            err = add_log(logs, name);
    }
    if (!err && is_wanted(options, weft_label))
        err = add_log(logs, weft_label);
    json_decref(state);
    buf_fini(&text);
    return err;
}

// Every word has to name something.
static weft_err check_words(const struct logs *logs, const struct cluster_logs_options *options)
{
    for (size_t i = 0; i < options->member_count; i++) {
        bool is_found = false;
        for (size_t k = 0; k < logs->list.count; k++)
            is_found |= is_named(logs->list.items[k].member, options->members[i]);
        if (!is_found)
            return err_set(WEFT_NOT_FOUND,
                           "the cluster %s has no member %s\n  try: weft cluster status %s",
                           options->name, options->members[i], options->name);
    }
    return WEFT_OK;
}

static void label_logs(struct logs *logs)
{
    int width = 0;
    for (size_t i = 0; i < logs->list.count; i++) {
        const int size = (int)strlen(logs->list.items[i].member);
        width = size > width ? size : width;
    }
    for (size_t i = 0; i < logs->list.count; i++) {
        struct log *log = &logs->list.items[i];
        if (logs->list.count > 1)
            snprintf(log->label, sizeof log->label, "%-*.100s| ", width, log->member);
        log->prefix = (struct prefix){.text = log->label};
    }
}

// ---- Reading -----------------------------------------------------------------------------------------------

// Puts the offset where the last `lines` lines begin.
static weft_err skip_lines(struct log *log, uint64_t lines)
{
    char bytes[READ_BYTES];
    uint64_t starts = 0, skipped = 0;
    weft_err err = WEFT_OK;
    for (int round = 0; round < 2 && !err;
         round++) {  // how many there are; then past the first ones
        const uint64_t skip = starts > lines ? starts - lines : 0;
        size_t got = sizeof bytes;
        bool is_at_start = true;
        for (uint64_t at = 0; got == sizeof bytes && !err; at += got) {
            err = file_read_at(log->fd, log->path, bytes, sizeof bytes, at, &got);
            for (size_t i = 0; i < got && !err; i++) {
                if (is_at_start && round == 0)
                    starts++;
                else if (is_at_start && skipped++ == skip) {
                    log->offset = at + i;
                    return WEFT_OK;
                }
                is_at_start = bytes[i] == '\n';
            }
            if (round && !err && got < sizeof bytes)
                log->offset = at + got;  // none of them
        }
    }
    return err;
}

static weft_err write_lines(struct buf *out)
{
    const weft_err err = out->has_failed
                             ? err_no_memory("for a line")
                             : file_write(STDOUT_FILENO, "standard output", out->data, out->size);
    out->size = 0;
    return err;
}

static weft_err read_on(struct log *log, struct buf *out)
{
    char bytes[READ_BYTES];
    size_t got = sizeof bytes;
    weft_err err = WEFT_OK;
    while (got == sizeof bytes && !err) {
        err = file_read_at(log->fd, log->path, bytes, sizeof bytes, log->offset, &got);
        if (err)
            break;
        log->offset += got;
        prefix_feed(&log->prefix, (weft_bytes){bytes, got}, out);
        err = write_lines(out);
    }
    return err;
}

static weft_err read_logs(struct logs *logs, bool follows)
{
    struct buf out = {0};
    weft_err err = WEFT_OK;
    for (bool goes_on = true; goes_on && !err;) {
        pid_t pid;
        // Asked first: lines that are written before the end are read after it.
        goes_on = follows && daemon_is_alive(buf_text(&logs->lock), &pid);
        for (size_t i = 0; i < logs->list.count && !err; i++)
            err = read_on(&logs->list.items[i], &out);
        if (goes_on && !err)
            clock_sleep_ms(LOOK_MS);
    }
    for (size_t i = 0; i < logs->list.count; i++)
        prefix_end(&logs->list.items[i].prefix, &out);
    if (!err)
        err = write_lines(&out);
    buf_fini(&out);
    return err;
}

static weft_err open_logs(struct logs *logs, uint64_t lines)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; i < logs->list.count && !err; i++) {
        err = file_open(logs->list.items[i].path, &logs->list.items[i].fd);
        if (!err && lines != UINT64_MAX)
            err = skip_lines(&logs->list.items[i], lines);
    }
    return err;
}

weft_err cluster_logs(const struct cluster_logs_options *options)
{
    struct logs logs = {0};
    weft_err err = cluster_place(&logs.directory, options->name);
    buf_format(&logs.lock, "%s/lock", buf_text(&logs.directory));
    if (!err)
        err = find_logs(&logs, options);
    if (!err)
        err = check_words(&logs, options);
    label_logs(&logs);
    if (!err)
        err = open_logs(&logs, options->lines);
    if (!err)
        err = read_logs(&logs, options->follows);
    for (size_t i = 0; i < logs.list.count; i++) {
        if (logs.list.items[i].fd >= 0)
            file_close(logs.list.items[i].fd);
        prefix_fini(&logs.list.items[i].prefix);
        free(logs.list.items[i].path);
    }
    VEC_FINI(&logs.list);
    buf_fini(&logs.directory);
    buf_fini(&logs.lock);
    return err;
}
