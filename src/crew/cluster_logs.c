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
#include "crew/prefix.h"
#include "crew/view.h"
#include "sys/file/file.h"
#include "sys/time/clock.h"

enum {
    LOOK_MS = 100,
    LOOK_FAR_MS = 1000,
    READ_BYTES = 64 << 10,
    LABEL_BYTES = 128,
};

static const char weft_label[] = "weft";  // of what weft says itself

struct log {
    char member[LABEL_BYTES];  // "map/0"
    char label[LABEL_BYTES];   // "map/0  | "
    char *name;                // of its file
    struct store_file file;    // closed: there is none yet
    uint64_t offset, bytes;    // that were read; that it had when it was opened

    struct prefix prefix;
};

struct logs {
    struct view view;
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
    struct log log = {0};
    struct buf file = {0};
    snprintf(log.member, sizeof log.member, "%s", member);
    view_name_log(member, &file);
    log.name = file.has_failed ? NULL : strdup(buf_text(&file));
    buf_fini(&file);
    if (log.name && VEC_PUSH(&logs->list, log))
        return WEFT_OK;
    free(log.name);
    return err_no_memory("for the name of a log");
}

// Nothing lies on the shelf yet, or it never came to that.
static weft_err explain_silence(struct view *view)
{
    bool is_alive = false;
    const weft_err err = view_look(view, &is_alive);
    if (err)
        return err;
    const char *why =
        view->report.why.size > 0 ? buf_text(&view->report.why) : "no reason is known";
    return is_alive
               ? err_set(WEFT_UNAVAILABLE, "the cluster %s has not started yet: %s", view->name,
                         why)
               : err_set(WEFT_NOT_FOUND, "the cluster %s has kept no logs: %s\n  %s %s shows more",
                         view->name, why, view->keep->keeper->more, view->record.id);
}

static weft_err find_logs(struct logs *logs, const struct cluster_logs_options *options)
{
    struct buf text = {0};
    size_t i;
    weft_err err = view_load(&logs->view, "state.json", VIEW_STATE_BYTES_MAX, &text);
    if (err == WEFT_NOT_FOUND && view_is_kept(&logs->view))
        err = explain_silence(&logs->view);
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
            err = store_read_at(&log->file, bytes, sizeof bytes, at, &got);
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
        err = store_read_at(&log->file, bytes, sizeof bytes, log->offset, &got);
        if (err)
            break;
        log->offset += got;
        prefix_feed(&log->prefix, (weft_bytes){bytes, got}, out);
        err = write_lines(out);
    }
    return err;
}

// One that lies elsewhere is as long as it was when it was opened.
static weft_err open_log(struct logs *logs, struct log *log)
{
    uint64_t bytes = 0;
    weft_err err = view_measure(&logs->view, log->name, &bytes);
    if (err == WEFT_NOT_FOUND && view_is_kept(&logs->view)) {
        err_clear();  // it has no lines yet
        return WEFT_OK;
    }
    if (err || (log->file.calls && (!view_is_kept(&logs->view) || bytes <= log->bytes)))
        return err;
    store_close(&log->file);
    log->bytes = bytes;
    return view_open_file(&logs->view, log->name, &log->file);
}

static weft_err read_log(struct logs *logs, struct log *log, struct buf *out)
{
    const weft_err err = open_log(logs, log);
    return err || !log->file.calls ? err : read_on(log, out);
}

static weft_err read_logs(struct logs *logs, bool follows)
{
    struct buf out = {0};
    weft_err err = WEFT_OK;
    for (bool goes_on = true; goes_on && !err;) {
        // Asked first: lines that are written before the end are read after it.
        if (follows)
            err = view_look(&logs->view, &goes_on);
        goes_on = goes_on && follows;
        for (size_t i = 0; i < logs->list.count && !err; i++)
            err = read_log(logs, &logs->list.items[i], &out);
        if (goes_on && !err)
            clock_sleep_ms(view_is_kept(&logs->view) ? LOOK_FAR_MS : LOOK_MS);
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
        struct log *log = &logs->list.items[i];
        err = open_log(logs, log);
        if (!err && log->file.calls && lines != UINT64_MAX)
            err = skip_lines(log, lines);
    }
    return err;
}

weft_err cluster_logs(const struct cluster_logs_options *options)
{
    struct logs logs = {0};
    weft_err err = view_open(&logs.view, options->name, options->on);
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
        store_close(&logs.list.items[i].file);
        prefix_fini(&logs.list.items[i].prefix);
        free(logs.list.items[i].name);
    }
    VEC_FINI(&logs.list);
    view_close(&logs.view);
    return err;
}
