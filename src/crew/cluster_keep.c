// The life of a cluster that a launcher keeps, as the processes that start it, look after it and end it see it.

#include "crew/cluster_keep.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "crew/cluster_up.h"
#include "crew/shelf.h"
#include "sys/file/file.h"
#include "sys/process/daemon.h"
#include "sys/time/clock.h"

enum {
    SHELF_PATIENCE_MS = 60000,  // a name node may restart
    LOOK_MS = 300,
    GRACE_DEFAULT_MS = 5000,
    END_EXTRA_MS = 20000,  // besides the time that members may take
};

static weft_err no_memory(void)
{
    return err_no_memory("for a cluster");
}

// ---- Here -------------------------------------------------------------------------------------------

static weft_err refuse_name(const char *name)
{
    return err_set(WEFT_ALREADY_EXISTS,
                   "the cluster %s is up already\n"
                   "  try: weft cluster down %s, or --name for another one",
                   name, name);
}

// A name that an earlier cluster had may be used again once that one has ended.
weft_err cluster_keep_check_name(const char *name)
{
    struct view view;
    bool is_alive = false;
    weft_err err = view_open(&view, name, NULL);
    if (!err)
        err = view_look(&view, &is_alive);
    view_close(&view);
    if (err == WEFT_NOT_FOUND) {
        err_clear();
        return WEFT_OK;
    }
    return !err && is_alive ? refuse_name(name) : err;
}

static weft_err list_settings(const struct crew_spec *spec, const struct launcher *launcher,
                              char **texts)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < spec->settings.count; i++) {
        struct buf text = {0};
        buf_format(&text, "%s=%s", spec->settings.items[i].name, spec->settings.items[i].value);
        texts[i] = text.has_failed ? NULL : strdup(buf_text(&text));
        buf_fini(&text);
        err = texts[i] ? launcher_check_setting(launcher, texts[i]) : no_memory();
    }
    return err;
}

static weft_err remember(const char *name, const char *on, struct keep_made *made)
{
    const struct view_record record = {(char *)on, made->id, (char *)buf_text(&made->shelf)};
    const weft_err err = view_record_save(name ? name : made->id, &record);
    return !err ? WEFT_OK
                : err_set(err,
                          "the cluster runs, as %s, and cannot be remembered: %s\n"
                          "  try: weft cluster status --on %s %s",
                          made->id, err_text(), on, made->id);
}

weft_err cluster_keep_send(const char *name, const struct crew_spec *spec,
                           const struct cluster_run_options *options, struct buf *id)
{
    const struct launcher *launcher;
    struct keep *keep = NULL;
    struct keep_made made = {0};
    char **settings = calloc(spec->settings.count + 1, sizeof *settings);
    weft_err err = settings ? launcher_find(options->on, &launcher) : no_memory();
    if (!err && name)
        err = cluster_keep_check_name(name);
    if (!err)
        err = view_make_place(NULL);
    if (!err)
        err = list_settings(spec, launcher, settings);
    const struct keep_options wanted = {
        .url = options->on, .settings = (const char *const *)settings, .name = name};
    if (!err)
        err = keep_open(launcher->keeper, &keep, &wanted);
    if (!err)
        err = cluster_keep_give(keep, name, spec, options, &made);
    if (!err) {
        buf_append_text(id, made.id);
        err = remember(name, options->on, &made);
    }
    keep_close(keep);
    keep_made_fini(&made);
    for (size_t i = 0; settings && i < spec->settings.count; i++)
        free(settings[i]);
    free(settings);
    return err;
}

// ---- There ---------------------------------------------------------------------------------------------------

static void say_started(void *owner)
{
    (void)owner;
}

static bool has_state(const char *directory)
{
    struct buf path = {0};
    struct file_stat stat = {0};
    buf_format(&path, "%s/" SHELF_STATE_NAME, directory);
    if (path.has_failed || file_stat(buf_text(&path), &stat))
        err_clear();
    buf_fini(&path);
    return stat.kind == FILE_REGULAR;
}

// The run has ended before it could say why.
static weft_err leave_word(struct store_place *place, const char *name, weft_err err)
{
    struct buf text = {0};
    struct err_kept kept;
    err_keep(&kept);
    json_open(&text, NULL, '{');
    json_append_text(&text, "name", name);
    json_append_bool(&text, "ended", true);
    json_append_int(&text, "exit_code", err_exit_code(err));
    json_append_text(&text, "why", kept.text);
    json_open(&text, "members", '[');
    json_close(&text, ']');
    json_close(&text, '}');
    buf_append_text(&text, "\n");
    if (text.has_failed || shelf_put(place, SHELF_STATE_NAME, buf_bytes(&text)))
        err_clear();  // the log of this process says it, too
    buf_fini(&text);
    err_put_back(&kept);
    return err;
}

// Whether members of an earlier attempt have run to the end: the process that looked after them was lost before its launcher knew.
static weft_err look_for_end(struct store_place *place, bool *has_ended, int *exit_code)
{
    struct buf path = {0}, text = {0};
    buf_format(&path, "%s/" SHELF_STATE_NAME, place->path);
    weft_err err = path.has_failed
                       ? no_memory()
                       : place->calls->read(place, buf_text(&path), VIEW_STATE_BYTES_MAX, &text);
    if (err == WEFT_NOT_FOUND) {
        err_clear();
        err = WEFT_OK;
    }
    json_t *state = err ? NULL : json_loadb(text.data ? text.data : "", text.size, 0, NULL);
    *has_ended = json_is_true(json_object_get(state, "ended")) &&
                 json_array_size(json_object_get(state, "members")) > 0;
    if (*has_ended)
        *exit_code = (int)json_integer_value(json_object_get(state, "exit_code"));
    json_decref(state);
    buf_fini(&path);
    buf_fini(&text);
    return err;
}

static weft_err write_log(const char *directory)
{
    struct buf log = {0};
    weft_err err = file_make_directory(directory);
    buf_format(&log, "%s/weft.log", directory);
    if (!err)
        err = log.has_failed ? no_memory() : daemon_write_to(buf_text(&log));
    buf_fini(&log);
    return err;
}

weft_err cluster_keep_run(const struct crew_spec *spec, struct cluster_run_options *options,
                          const char *shelf, const char *directory, int *exit_code)
{
    bool has_ended = false;
    weft_err err = store_open_place(shelf, SHELF_PATIENCE_MS, &options->shelf);
    if (!err)
        err = look_for_end(options->shelf, &has_ended, exit_code);
    if (!err && !has_ended)
        err = write_log(directory);
    if (err || has_ended) {
        store_close_place(options->shelf);
        options->shelf = NULL;
        return err_wrap(err, "the shelf of the run");
    }
    options->state_directory = directory;
    options->no_prefix = true;
    options->quiet = false;
    options->started = say_started;
    err = cluster_run(spec, options, exit_code);
    if (err && !has_state(directory))
        err = leave_word(options->shelf, options->name, err);
    store_close_place(options->shelf);
    options->shelf = NULL;
    return err;
}

// ---- The end -------------------------------------------------------------------------------------------------

// How long members may take when they are asked to end.
static uint32_t find_grace(struct view *view)
{
    struct buf text = {0};
    int64_t grace_ms = GRACE_DEFAULT_MS;
    if (view_load(view, SHELF_STATE_NAME, VIEW_STATE_BYTES_MAX, &text))
        err_clear();
    json_t *state = json_loadb(text.data ? text.data : "", text.size, 0, NULL);
    if (json_integer_value(json_object_get(state, "grace_ms")) > 0)
        grace_ms = json_integer_value(json_object_get(state, "grace_ms"));
    json_decref(state);
    buf_fini(&text);
    return grace_ms < UINT32_MAX - END_EXTRA_MS ? (uint32_t)grace_ms : UINT32_MAX - END_EXTRA_MS;
}

static weft_err await_end(struct view *view, uint32_t milliseconds, bool *is_alive)
{
    const uint64_t deadline_ns = clock_now_ns() + (uint64_t)milliseconds * 1000000;
    for (;;) {
        const weft_err err = view_look(view, is_alive);
        if (err || !*is_alive || clock_now_ns() >= deadline_ns)
            return err;
        clock_sleep_ms(LOOK_MS);
    }
}

static weft_err forget(const char *id)
{
    struct view_record record = {0};
    struct buf directory = {0};
    char *name = NULL;
    bool is_found = false;
    weft_err err = view_record_find(id, &name, &record, &is_found);
    if (!err && is_found)
        err = cluster_place(&directory, name);
    if (!err && is_found)
        err = file_remove_tree(buf_text(&directory));
    view_record_fini(&record);
    buf_fini(&directory);
    free(name);
    return err;
}

// One that waits for a place has no members that could be asked.
weft_err cluster_keep_end(struct view *view)
{
    bool is_alive = false;
    weft_err err = view_look(view, &is_alive);
    if (!err && is_alive && view->report.state == KEEP_RUNNING) {
        if (shelf_put(view->place, SHELF_STOP_NAME, weft_text("stop\n")))
            err_clear();  // the launcher is asked instead
        else
            err = await_end(view, find_grace(view) + END_EXTRA_MS, &is_alive);
    }
    if (!err && is_alive)
        err = keep_kill(view->keep, view->record.id, "ended by weft cluster down");
    return err ? err : forget(view->record.id);
}
