// The supervisor of a cluster writes the exit code into the state before it ends: before it leaves its lock, or the launcher that keeps it
// knows of the end.

#include "crew/cluster_wait.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "crew/last_lines.h"
#include "crew/view.h"
#include "sys/time/clock.h"

enum { LOOK_MS = 50, LOOK_FAR_MS = 500 };

static weft_err await_end(struct view *view, uint32_t timeout_ms)
{
    const uint64_t begun_ns = clock_now_ns();
    for (;;) {
        bool is_alive = false;
        const weft_err err = view_look(view, &is_alive);
        if (err || !is_alive)
            return err;
        if (timeout_ms && clock_now_ns() - begun_ns >= (uint64_t)timeout_ms * 1000000)
            return err_set(WEFT_DEADLINE_EXCEEDED,
                           "the cluster %s has not ended in that time, and continues\n"
                           "  weft cluster status %s shows its members",
                           view->name, view->name);
        clock_sleep_ms(view_is_kept(view) ? LOOK_FAR_MS : LOOK_MS);
    }
}

// The last lines of a file; a first one that is cut is left out. A log that cannot be read is none.
static void append_tail(struct buf *text, struct view *view, const char *file)
{
    char bytes[LAST_BYTES_MAX];
    struct store_file log = {0};
    uint64_t size = 0;
    size_t got = 0;
    if (!view_measure(view, file, &size) && !view_open_file(view, file, &log)) {
        const uint64_t from = size > sizeof bytes ? size - sizeof bytes : 0;
        if (store_read_at(&log, bytes, sizeof bytes, from, &got))
            got = 0;
        last_lines_append_lines(text, (weft_bytes){bytes, got}, from > 0);
    }
    store_close(&log);
    err_clear();
}

static void append_failure(struct buf *text, struct view *view, const json_t *member)
{
    const char *name = json_string_value(json_object_get(member, "member"));
    const char *state = json_string_value(json_object_get(member, "state"));
    struct buf file = {0}, tail = {0};
    if (!name || !state || strcmp(state, "failed") != 0)
        return;
    view_name_log(name, &file);
    append_tail(&tail, view, buf_text(&file));
    buf_format(text, "weft: %s failed with exit code %" PRId64 "%s\n", name,
               (int64_t)json_integer_value(json_object_get(member, "exit_code")),
               tail.size > 0 ? "; its last lines:" : "");
    buf_append(text, tail.data, tail.size);
    buf_fini(&file);
    buf_fini(&tail);
}

// Of a cluster that could not start.
static void append_why(struct buf *talk, const json_t *state)
{
    const char *why = json_string_value(json_object_get(state, "why"));
    if (why)
        buf_format(talk, "weft: %s\n", why);
}

// A cluster that a launcher keeps may end without a word of its own.
static weft_err find_reason(struct view *view)
{
    struct keep_report *report = &view->report;
    const char *why =
        report->why.size > 0 ? buf_text(&report->why) : "the launcher does not say why";
    if (!view_is_kept(view))
        return err_set(WEFT_UNAVAILABLE,
                       "the process that supervised the cluster %s was killed, and its members "
                       "with it",
                       view->name);
    if (!view->is_forgotten && report->state == KEEP_KILLED)
        return err_set(WEFT_CANCELLED, "the cluster %s was killed: %s", view->name, why);
    if (!view->is_forgotten && report->attempt == 0)
        return err_set(WEFT_FAILED_PRECONDITION, "the cluster %s could not start: %s", view->name,
                       why);
    return err_set(WEFT_UNAVAILABLE,
                   "the cluster %s was lost with the process that supervised it: %s\n"
                   "  %s %s shows more",
                   view->name, why, view->keep->keeper->more, view->record.id);
}

static weft_err read_end(struct view *view, struct buf *talk, int *exit_code)
{
    struct buf text = {0};
    size_t i;
    const json_t *member;
    weft_err err = view_load(view, "state.json", VIEW_STATE_BYTES_MAX, &text);
    json_t *state = err ? NULL : json_loadb(text.data, text.size, 0, NULL);
    if ((!err || err == WEFT_NOT_FOUND) && !json_is_true(json_object_get(state, "ended")))
        err = find_reason(view);
    *exit_code = (int)json_integer_value(json_object_get(state, "exit_code"));
    append_why(talk, state);
    json_array_foreach(err ? NULL : json_object_get(state, "members"), i, member)
    {
        append_failure(talk, view, member);
    }
    json_decref(state);
    buf_fini(&text);
    return err;
}

weft_err cluster_wait(const char *name, const char *on, uint32_t timeout_ms, struct buf *talk,
                      int *exit_code)
{
    struct view view;
    weft_err err = view_open(&view, name, on);
    *exit_code = 0;
    if (!err)
        err = await_end(&view, timeout_ms);
    if (!err)
        err = read_end(&view, talk, exit_code);
    view_close(&view);
    return err;
}
