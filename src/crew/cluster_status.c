// How clusters in the background are: what state.json says, held against who is really alive.

#include "crew/cluster_up.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "crew/view.h"
#include "sys/file/file.h"
#include "sys/time/clock.h"

#define ROW "%-10s %-12s %-8s %-8s %-8s %-22s %s\n"

// Reads state.json; NULL with the error set.
static json_t *load_state(struct view *view)
{
    struct buf text = {0};
    json_t *state = NULL;
    if (view_load(view, "state.json", VIEW_STATE_BYTES_MAX, &text) == WEFT_OK) {
        state = json_loadb(text.data ? text.data : "", text.size, 0, NULL);
        if (!json_is_object(state))
            (void)err_set(WEFT_DATA_LOSS, "the state of the cluster %s is damaged", view->name);
    }
    buf_fini(&text);
    return state;
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "?";
}

static int64_t number_of(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

// A member that runs according to the state, without a process that looks after it, was killed with that process.
static const char *state_of(const json_t *member, bool is_alive)
{
    const char *state = text_of(member, "state");
    const bool is_running = strcmp(state, "running") == 0 || strcmp(state, "resting") == 0;
    return is_running && !is_alive ? "lost" : state;
}

// In whole seconds, as far as one counts in these.
static void append_age(struct buf *text, int64_t since_s)
{
    const int64_t age_s = clock_calendar_s() - since_s;
    if (since_s == 0)
        buf_append_text(text, "-");  // it never started
    else if (age_s < 60)
        buf_format(text, "%" PRId64 " s", age_s > 0 ? age_s : 0);
    else
        text_append_duration(text, (uint64_t)age_s * 1000000000);
}

static void append_row(struct buf *text, const char *name, const json_t *member, bool is_alive)
{
    char pid[24] = "-", restarts[24];
    const char *state = state_of(member, is_alive);
    if (strcmp(state, "running") == 0)
        snprintf(pid, sizeof pid, "%" PRId64, number_of(member, "pid"));
    snprintf(restarts, sizeof restarts, "%" PRId64, number_of(member, "restarts"));
    struct buf age = {0};
    append_age(&age, number_of(member, "since"));
    buf_format(text, ROW, name, text_of(member, "member"), state, pid, restarts,
               text_of(member, "address"), buf_text(&age));
    buf_fini(&age);
}

// Of a cluster that a launcher keeps: what that one says of it.
static void add_kept(json_t *state, struct view *view)
{
    static const char *const words[] = {"waiting", "running", "succeeded", "failed", "killed"};
    struct keep_report *report = &view->report;
    json_object_set_new(state, "name", json_string(view->name));
    json_object_set_new(state, "id", json_string(view->record.id));
    json_object_set_new(state, "on", json_string(view->record.on));
    json_object_set_new(state, "shelf", json_string(view->record.shelf));
    json_object_set_new(state, "kept",
                        json_string(view->is_forgotten ? "forgotten" : words[report->state]));
    json_object_set_new(state, "attempt", json_integer(report->attempt));
    if (report->why.size > 0)
        json_object_set_new(state, "why", json_string(buf_text(&report->why)));
    if (report->where.size > 0)
        json_object_set_new(state, "page", json_string(buf_text(&report->where)));
}

static void append_object(struct buf *text, json_t *state, struct view *view, bool is_alive)
{
    size_t i;
    json_t *member;
    if (view_is_kept(view))
        add_kept(state, view);
    json_object_set_new(state, "alive", json_boolean(is_alive));
    json_array_foreach(json_object_get(state, "members"), i, member)
    {
        json_object_set_new(member, "state", json_string(state_of(member, is_alive)));
        if (!is_alive)
            json_object_set_new(member, "pid", json_integer(0));
    }
    char *line = json_dumps(state, JSON_COMPACT);
    buf_append_text(text, line ? line : "{}");
    buf_append(text, "\n", 1);
    free(line);
}

// A cluster that a launcher keeps, and that has not said anything yet.
static json_t *make_empty_state(void)
{
    err_clear();
    return json_pack("{s:b, s:i, s:[]}", "ended", 0, "exit_code", 0, "members");
}

// In place of members that are not known.
static const char *word_for(const json_t *state, const struct view *view, bool is_alive)
{
    const bool has_failed = json_is_true(json_object_get(state, "ended")) ||
                            (view->report.state == KEEP_FAILED && view->report.attempt == 0);
    return is_alive ? "waiting" : has_failed ? "failed" : "lost";
}

static void append_rows(struct buf *text, const json_t *state, struct view *view, bool is_alive)
{
    size_t i;
    const json_t *member, *members = json_object_get(state, "members");
    const char *why = json_string_value(json_object_get(state, "why"));
    json_array_foreach(members, i, member)
    {
        append_row(text, view->name, member, is_alive);
    }
    if (json_array_size(members) == 0)
        buf_format(text, ROW, view->name, "-", word_for(state, view, is_alive), "-", "-", "-", "-");
    if (!why && json_array_size(members) == 0 && view->report.why.size > 0)
        why = buf_text(&view->report.why);
    if (why)
        buf_format(text, "  %s\n", why);
}

// Appends one cluster. One that is just being put up or taken down is as good as not there.
static weft_err append_cluster(struct buf *text, const char *name, const char *on, bool json,
                               size_t *count)
{
    struct view view;
    bool is_alive = false;
    json_t *state = NULL;
    weft_err err = view_open(&view, name, on);
    if (!err)
        err = view_look(&view, &is_alive);
    if (!err) {
        state = load_state(&view);
        if (!state && view_is_kept(&view))
            state = make_empty_state();
        if (!state)
            err = err_set(WEFT_NOT_FOUND,
                          "there is no cluster %s\n  weft cluster status lists them", name);
    }
    if (state) {
        ++*count;
        if (json)
            append_object(text, state, &view, is_alive);
        else
            append_rows(text, state, &view, is_alive);
    }
    json_decref(state);
    view_close(&view);
    return err;
}

// ---- All of them -------------------------------------------------------------------------------------------

struct names {
    VEC(char *) list;
};

static weft_err note_name(void *owner, const char *name)
{
    struct names *names = owner;
    char *copy = strdup(name);
    if (copy && VEC_PUSH(&names->list, copy))
        return WEFT_OK;
    free(copy);
    return err_no_memory("for the names of members");
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// A cluster that another machine keeps may be out of reach: the others are shown nevertheless.
static void append_unknown(struct buf *text, const char *name, bool json, size_t *count)
{
    struct view_record record = {0};
    bool is_kept = false;
    struct err_kept kept;
    err_keep(&kept);
    if (view_record_load(name, &record, &is_kept))
        is_kept = false;
    err_clear();
    view_record_fini(&record);
    if (!is_kept)
        return;
    ++*count;
    if (json) {
        json_open(text, NULL, '{');
        json_append_text(text, "name", name);
        json_append_text(text, "kept", "unknown");
        json_append_text(text, "why", kept.text);
        json_close(text, '}');
        buf_append(text, "\n", 1);
    } else {
        buf_format(text, ROW "  %.*s\n", name, "-", "unknown", "-", "-", "-", "-",
                   (int)strcspn(kept.text, "\n"), kept.text);
    }
}

static weft_err append_all(struct buf *text, bool json, size_t *count)
{
    struct buf place = {0};
    struct names names = {0};
    weft_err err = cluster_place_of_all(&place);
    if (!err && file_list(buf_text(&place), note_name, &names) != WEFT_OK)
        err_clear();  // there never was one
    if (names.list.count > 0)
        qsort(names.list.items, names.list.count, sizeof *names.list.items, compare_names);
    for (size_t i = 0; i < names.list.count; i++) {
        if (!err && append_cluster(text, names.list.items[i], NULL, json, count))
            append_unknown(text, names.list.items[i], json, count);
        free(names.list.items[i]);
    }
    VEC_FINI(&names.list);
    buf_fini(&place);
    return err;
}

weft_err cluster_status(struct buf *text, const char *name, const char *on, bool json,
                        size_t *count)
{
    *count = 0;
    const size_t before = text->size;
    if (!json)
        buf_format(text, ROW, "CLUSTER", "MEMBER", "STATE", "PID", "RESTARTS", "ADDRESS", "FOR");
    const weft_err err =
        name ? append_cluster(text, name, on, json, count) : append_all(text, json, count);
    if (*count == 0)
        text->size = before;
    return err;
}
