// A record of where a cluster is, and the two ways to its files.

#include "crew/view.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "crew/cluster_up.h"
#include "sys/file/file.h"
#include "sys/file/load.h"
#include "sys/file/own.h"
#include "sys/process/daemon.h"

enum { RECORD_BYTES_MAX = 64 << 10, PATIENCE_MS = 15000 };

// ---- Records -----------------------------------------------------------------------------------------------

void view_record_fini(struct view_record *record)
{
    free(record->on);
    free(record->id);
    free(record->shelf);
    *record = (struct view_record){0};
}

static weft_err name_file(const char *name, const char *file, struct buf *path)
{
    const weft_err err = cluster_place(path, name);
    buf_format(path, "/%s", file);
    return err || !path->has_failed ? err : err_no_memory("for the name of a file");
}

weft_err view_make_place(const char *name)
{
    struct buf path = {0};
    weft_err err = name ? cluster_place(&path, name) : cluster_place_of_all(&path);
    if (!err && (err = own_make_directory(buf_text(&path))))
        err =
            err_set(err, "%s\n  try: export XDG_STATE_HOME=DIR, a directory that you may write to",
                    err_text());
    buf_fini(&path);
    return err;
}

weft_err view_record_save(const char *name, const struct view_record *record)
{
    struct buf path = {0}, text = {0};
    int fd = -1;
    json_open(&text, NULL, '{');
    json_append_text(&text, "on", record->on);
    json_append_text(&text, "id", record->id);
    json_append_text(&text, "shelf", record->shelf);
    json_close(&text, '}');
    buf_append_text(&text, "\n");
    weft_err err = view_make_place(name);
    if (!err)
        err = name_file(name, "kept.json", &path);
    if (!err)
        err = file_create_private(buf_text(&path), &fd);
    if (!err)
        err = file_write(fd, buf_text(&path), text.data, text.size);
    if (fd >= 0)
        file_close(fd);
    buf_fini(&path);
    buf_fini(&text);
    return err;
}

static char *copy_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? strdup(text) : NULL;
}

weft_err view_record_load(const char *name, struct view_record *record, bool *is_kept)
{
    struct buf path = {0}, text = {0};
    struct file_stat stat = {0};
    weft_err err = name_file(name, "kept.json", &path);
    if (!err)
        err = file_stat(buf_text(&path), &stat);
    *is_kept = !err && stat.kind == FILE_REGULAR;
    if (*is_kept)
        err = file_load(buf_text(&path), RECORD_BYTES_MAX, &text);
    if (*is_kept && !err) {
        json_t *object = json_loadb(text.data ? text.data : "", text.size, 0, NULL);
        *record = (struct view_record){copy_of(object, "on"), copy_of(object, "id"),
                                       copy_of(object, "shelf")};
        json_decref(object);
        if (!record->on || !record->id || !record->shelf)
            err = err_set(WEFT_DATA_LOSS, "%s is damaged\n  try: weft cluster down --on URL ID",
                          buf_text(&path));
    }
    buf_fini(&path);
    buf_fini(&text);
    return err;
}

// ---- By an id ------------------------------------------------------------------------------------------------

struct search {
    const char *id;
    char *name;
    struct view_record record;
    bool is_found;
};

// A record that cannot be read is passed over.
static weft_err compare_id(void *owner, const char *name)
{
    struct search *search = owner;
    struct view_record record = {0};
    bool is_there = false;
    if (search->is_found)
        return WEFT_OK;
    if (view_record_load(name, &record, &is_there))
        err_clear();
    if (is_there && record.id && record.on && record.shelf && strcmp(record.id, search->id) == 0) {
        search->record = record;
        search->is_found = true;
        search->name = strdup(name);
        return search->name ? WEFT_OK : err_no_memory("for the name of a cluster");
    }
    view_record_fini(&record);
    return WEFT_OK;
}

weft_err view_record_find(const char *id, char **name, struct view_record *record, bool *is_found)
{
    struct search search = {.id = id};
    struct buf place = {0};
    weft_err err = cluster_place_of_all(&place);
    if (!err && file_list(buf_text(&place), compare_id, &search))
        err_clear();  // there never was one
    buf_fini(&place);
    *name = search.name;
    *record = search.record;
    *is_found = search.is_found;
    return err;
}

// ---- Opening -------------------------------------------------------------------------------------------------

weft_err view_open_kept(struct view *view, struct keep *keep)
{
    view->keep = keep;
    weft_err err = WEFT_OK;
    if (!view->record.shelf) {
        err = keep_find(keep, view->record.id, &view->directory);
        view->record.shelf = err ? NULL : strdup(buf_text(&view->directory));
        if (!err && !view->record.shelf)
            err = err_no_memory("for the name of a shelf");
    } else {
        buf_append_text(&view->directory, view->record.shelf);
    }
    return err ? err : store_open_place(buf_text(&view->directory), PATIENCE_MS, &view->place);
}

static weft_err open_keeper(struct view *view)
{
    const struct launcher *launcher;
    struct keep *keep = NULL;
    const struct keep_options options = {.url = view->record.on};
    weft_err err = launcher_find(view->record.on, &launcher);
    if (!err && !launcher->keeper)
        err = err_set(WEFT_INVALID_ARGUMENT,
                      "--on %s: the launcher %s: keeps no clusters by itself: they are in the "
                      "background of the machine that started them\n"
                      "  try: weft cluster status, there",
                      view->record.on, launcher->scheme);
    if (!err)
        err = keep_open(launcher->keeper, &keep, &options);
    return err ? err : view_open_kept(view, keep);
}

static weft_err open_here(struct view *view)
{
    struct file_stat stat = {0};
    weft_err err = cluster_place(&view->directory, view->name);
    buf_format(&view->lock, "%s/lock", buf_text(&view->directory));
    if (!err)
        err = file_stat(buf_text(&view->lock), &stat);
    if (!err && stat.kind == FILE_MISSING)
        err = err_set(WEFT_NOT_FOUND, "there is no cluster %s\n  weft cluster status lists them",
                      view->name);
    return err;
}

// A word that is not a name may be an id. The cluster goes by its name then.
static weft_err open_id(struct view *view, bool *is_kept)
{
    char *name = NULL;
    const weft_err err = view_record_find(view->name, &name, &view->record, is_kept);
    if (name) {
        free(view->name);
        view->name = name;
    }
    return err;
}

weft_err view_open(struct view *view, const char *name, const char *on)
{
    bool is_kept = on != NULL;
    weft_err err = WEFT_OK;
    *view = (struct view){.name = strdup(name)};
    if (!view->name)
        return err_no_memory("for the name of a cluster");
    if (on) {
        view->record = (struct view_record){.on = strdup(on), .id = strdup(name)};
        if (!view->record.on || !view->record.id)
            err = err_no_memory("for the name of a cluster");
    } else {
        err = view_record_load(name, &view->record, &is_kept);
        if (!err && !is_kept)
            err = open_id(view, &is_kept);
    }
    if (err)
        return err;
    return is_kept ? open_keeper(view) : open_here(view);
}

void view_close(struct view *view)
{
    struct err_kept kept;
    err_keep(&kept);
    store_close_place(view->place);
    keep_close(view->keep);
    keep_report_fini(&view->report);
    view_record_fini(&view->record);
    buf_fini(&view->directory);
    buf_fini(&view->lock);
    free(view->name);
    *view = (struct view){0};
    err_put_back(&kept);
}

// ---- Looking -------------------------------------------------------------------------------------------------

// A launcher forgets runs that ended long ago; the shelf stays.
weft_err view_look(struct view *view, bool *is_alive)
{
    pid_t pid;
    *is_alive = false;
    if (!view_is_kept(view)) {
        *is_alive = daemon_is_alive(buf_text(&view->lock), &pid);
        return WEFT_OK;
    }
    keep_report_fini(&view->report);
    const weft_err err = keep_report(view->keep, view->record.id, &view->report);
    view->is_forgotten = err == WEFT_NOT_FOUND;
    if (view->is_forgotten) {
        struct store_entry entry = {0};
        struct err_kept kept;
        err_keep(&kept);
        if (view->place->calls->look(view->place, view->place->path, &entry) ||
            entry.kind != FILE_DIRECTORY) {
            err_put_back(&kept);
            return err;
        }
        err_clear();
        return WEFT_OK;
    }
    *is_alive = !err && view->report.state <= KEEP_RUNNING;
    return err;
}

// ---- Files ---------------------------------------------------------------------------------------------------

// Below the place's own path, or the directory.
static weft_err find_file(const struct view *view, const char *file, struct buf *path)
{
    if (view->place)
        buf_append_text(path, view->place->path);
    else
        buf_append(path, view->directory.data, view->directory.size);
    buf_format(path, "/%s", file);
    return path->has_failed ? err_no_memory("for the name of a file") : WEFT_OK;
}

weft_err view_load(struct view *view, const char *file, size_t bytes_max, struct buf *text)
{
    struct buf path = {0};
    weft_err err = find_file(view, file, &path);
    if (!err && view->place)
        err = view->place->calls->read(view->place, buf_text(&path), bytes_max, text);
    else if (!err)
        err = file_load(buf_text(&path), bytes_max, text);
    buf_fini(&path);
    return err;
}

weft_err view_measure(struct view *view, const char *file, uint64_t *bytes)
{
    struct buf path = {0};
    struct store_entry entry = {0};
    struct file_stat stat = {0};
    weft_err err = find_file(view, file, &path);
    if (!err && view->place) {
        err = view->place->calls->look(view->place, buf_text(&path), &entry);
    } else if (!err) {
        err = file_stat(buf_text(&path), &stat);
        entry = (struct store_entry){.kind = stat.kind, .size = stat.size};
    }
    if (!err && entry.kind != FILE_REGULAR)
        err = err_set(WEFT_NOT_FOUND, "there is no %s", buf_text(&path));
    *bytes = err ? 0 : entry.size;
    buf_fini(&path);
    return err;
}

weft_err view_open_file(struct view *view, const char *file, struct store_file *opened)
{
    struct buf path = {0};
    buf_append(&path, view->directory.data, view->directory.size);
    buf_format(&path, "/%s", file);
    *opened = (struct store_file){0};
    const weft_err err = path.has_failed ? err_no_memory("for the name of a file")
                                         : store_open(buf_text(&path), "a log", opened);
    buf_fini(&path);
    return err;
}

void view_name_log(const char *member, struct buf *file)
{
    const char *slash = strchr(member, '/');
    if (slash)
        buf_format(file, "%.*s_%s.log", (int)(slash - member), member, slash + 1);
    else
        buf_format(file, "%s.log", member);
}
