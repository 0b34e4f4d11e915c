// One round of copying at a time. Of each log the shelf knows how many bytes lie there.

#include "crew/shelf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/vec.h"
#include "crew/view.h"
#include "sys/file/file.h"
#include "sys/file/load.h"
#include "sys/loop/errands.h"
#include "sys/time/clock.h"

enum {
    TICK_MS = 500,
    STRETCH_BYTES = 4 << 20,  // of one log in one round: others wait in the meantime
    LAST_MS = 10000,
    LAST_PAUSE_MS = 200,
};

struct shelf_log {
    char *name;
    uint64_t before;  // bytes that earlier attempts have left on the shelf
    uint64_t sent;    // of this one
    bool is_known;    // `before` is
};

struct shelf {
    struct shelf_options options;
    struct errands *errands;
    struct loop_timer *tick;
    VEC(struct shelf_log) logs;
    int64_t state_mtime_ns;
    uint64_t state_inode;
    char *room;
    bool is_busy, is_behind;  // of a round: it runs; it has left something for the next one
    bool is_asked, was_told;
    weft_err err;  // of the last round
    struct err_kept why;
    bool is_failing;
};

static weft_err no_memory(void)
{
    return err_no_memory("for the logs of a run");
}

// ---- Logs --------------------------------------------------------------------------------------------------

static bool is_log(const char *name)
{
    const size_t size = strlen(name);
    return size > 4 && strcmp(name + size - 4, ".log") == 0;
}

static weft_err note_name(void *owner, const char *name)
{
    struct shelf *shelf = owner;
    if (!is_log(name))
        return WEFT_OK;
    for (size_t i = 0; i < shelf->logs.count; i++)
        if (strcmp(shelf->logs.items[i].name, name) == 0)
            return WEFT_OK;
    const struct shelf_log log = {.name = strdup(name)};
    if (log.name && VEC_PUSH(&shelf->logs, log))
        return WEFT_OK;
    free(log.name);
    return no_memory();
}

static void name_files(const struct shelf *shelf, const char *name, struct buf *here,
                       struct buf *there)
{
    buf_format(here, "%s/%s", shelf->options.directory, name);
    buf_format(there, "%s/%s", shelf->options.place->path, name);
}

static weft_err find_before(struct shelf *shelf, struct shelf_log *log, const char *there)
{
    struct store_entry entry = {0};
    if (log->is_known)
        return WEFT_OK;
    const weft_err err = shelf->options.place->calls->look(shelf->options.place, there, &entry);
    if (!err) {
        log->before = entry.kind == FILE_REGULAR ? entry.size : 0;
        log->is_known = true;
    }
    return err;
}

static weft_err send_stretch(struct shelf *shelf, struct shelf_log *log, const char *here,
                             const char *there)
{
    size_t got = 0;
    int fd = -1;
    weft_err err = file_open(here, &fd);
    if (!err)
        err = file_read_at(fd, here, shelf->room, STRETCH_BYTES, log->sent, &got);
    if (fd >= 0)
        file_close(fd);
    if (!err)
        err = shelf->options.place->calls->append(
            shelf->options.place, there, log->before + log->sent, (weft_bytes){shelf->room, got});
    if (!err)
        log->sent += got;
    return err;
}

static weft_err send_log(struct shelf *shelf, struct shelf_log *log)
{
    struct buf here = {0}, there = {0};
    struct file_stat stat = {0};
    name_files(shelf, log->name, &here, &there);
    weft_err err = here.has_failed || there.has_failed ? no_memory() : WEFT_OK;
    if (!err)
        err = file_stat(buf_text(&here), &stat);
    if (!err && stat.size > log->sent) {
        err = find_before(shelf, log, buf_text(&there));
        if (!err)
            err = send_stretch(shelf, log, buf_text(&here), buf_text(&there));
    }
    shelf->is_behind |= stat.size > log->sent;
    buf_fini(&here);
    buf_fini(&there);
    return err;
}

// ---- State -------------------------------------------------------------------------------------------------

static weft_err put_beside(struct store_place *place, const char *path, weft_bytes text)
{
    int fd = -1;
    const char *tmp = getenv("TMPDIR");
    weft_err err = file_create_nameless(tmp && *tmp ? tmp : "/tmp", &fd);
    if (!err)
        err = file_write_at(fd, "a state", text.data, text.size, 0);
    const struct store_content content = {
        .fd = fd, .name = "a state", .bytes = text.size, .crc32c = crc32c(0, text.data, text.size)};
    if (!err)
        err = place->calls->put(place, path, &content);
    if (fd >= 0)
        file_close(fd);
    return err;
}

// A reader never finds half of it.
weft_err shelf_put(struct store_place *place, const char *name, weft_bytes text)
{
    struct buf path = {0}, fresh = {0};
    buf_format(&path, "%s/%s", place->path, name);
    buf_format(&fresh, "%s/.%s.new", place->path, name);
    weft_err err = path.has_failed || fresh.has_failed ? no_memory() : WEFT_OK;
    if (!err)
        err = put_beside(place, buf_text(&fresh), text);
    if (!err)
        err = place->calls->move(place, buf_text(&fresh), buf_text(&path), true, NULL);
    buf_fini(&path);
    buf_fini(&fresh);
    return err;
}

static weft_err send_state(struct shelf *shelf)
{
    struct buf here = {0}, there = {0}, text = {0};
    struct file_stat stat = {0};
    name_files(shelf, SHELF_STATE_NAME, &here, &there);
    weft_err err = here.has_failed ? no_memory() : file_stat(buf_text(&here), &stat);
    const bool is_new = stat.kind == FILE_REGULAR && (stat.inode != shelf->state_inode ||
                                                      stat.mtime_ns != shelf->state_mtime_ns);
    if (!err && is_new)
        err = file_load(buf_text(&here), VIEW_STATE_BYTES_MAX, &text);
    if (!err && is_new)
        err = shelf_put(shelf->options.place, SHELF_STATE_NAME, buf_bytes(&text));
    if (!err && is_new) {
        shelf->state_inode = stat.inode;
        shelf->state_mtime_ns = stat.mtime_ns;
    }
    buf_fini(&here);
    buf_fini(&there);
    buf_fini(&text);
    return err;
}

// ---- Rounds ------------------------------------------------------------------------------------------------

static weft_err look_for_stop(struct shelf *shelf)
{
    struct store_entry entry = {0};
    struct buf path = {0};
    buf_format(&path, "%s/" SHELF_STOP_NAME, shelf->options.place->path);
    const weft_err err =
        path.has_failed
            ? no_memory()
            : shelf->options.place->calls->look(shelf->options.place, buf_text(&path), &entry);
    if (!err && entry.kind == FILE_REGULAR)
        shelf->is_asked = true;
    buf_fini(&path);
    return err;
}

// Logs first: a state that says how a member has ended comes after its last lines.
static void copy_round(void *owner)
{
    struct shelf *shelf = owner;
    shelf->is_behind = false;
    weft_err err = look_for_stop(shelf);
    if (!err)
        err = file_list(shelf->options.directory, note_name, shelf);
    for (size_t i = 0; !err && i < shelf->logs.count; i++)
        err = send_log(shelf, &shelf->logs.items[i]);
    if (!err)
        err = send_state(shelf);
    shelf->err = err;
    if (err)
        err_keep(&shelf->why);
    err_clear();
}

static void tell_news(struct shelf *shelf)
{
    struct buf text = {0};
    const bool was_failing = shelf->is_failing;
    shelf->is_failing = shelf->err != WEFT_OK;
    if (shelf->is_failing == was_failing)
        return;
    if (shelf->is_failing)
        buf_format(&text, "the logs cannot be kept at present, and are sent later: %s",
                   shelf->why.text);
    else
        buf_append_text(&text, "the logs are kept again");
    shelf->options.news(shelf->options.owner, buf_text(&text));
    buf_fini(&text);
}

static void round_done(void *owner)
{
    struct shelf *shelf = owner;
    shelf->is_busy = false;
    tell_news(shelf);
    if (!shelf->is_asked || shelf->was_told)
        return;
    shelf->was_told = true;
    shelf->options.asked(shelf->options.owner);
}

static void tick(void *owner)
{
    struct shelf *shelf = owner;
    if (shelf->is_busy)
        return;
    shelf->is_busy = errands_do(shelf->errands, copy_round, round_done, shelf) == WEFT_OK;
    if (!shelf->is_busy)
        err_clear();
}

struct shelf *shelf_new(const struct shelf_options *options)
{
    struct shelf *shelf = calloc(1, sizeof *shelf);
    if (!shelf || !(shelf->room = malloc(STRETCH_BYTES))) {
        free(shelf);
        (void)no_memory();
        return NULL;
    }
    shelf->options = *options;
    shelf->errands = errands_new(options->loop);
    if (shelf->errands)
        shelf->tick = loop_timer_new(options->loop, TICK_MS, TICK_MS, tick, shelf);
    if (shelf->tick)
        return shelf;
    errands_free(shelf->errands);
    free(shelf->room);
    free(shelf);
    return NULL;
}

static void copy_rest(struct shelf *shelf)
{
    const uint64_t deadline_ns = clock_now_ns() + (uint64_t)LAST_MS * 1000000;
    for (;;) {
        copy_round(shelf);
        if ((!shelf->err && !shelf->is_behind) || clock_now_ns() >= deadline_ns)
            return;
        if (shelf->err)
            clock_sleep_ms(LAST_PAUSE_MS);
    }
}

void shelf_free(struct shelf *shelf)
{
    if (!shelf)
        return;
    struct err_kept kept;
    err_keep(&kept);
    loop_timer_free(shelf->tick);
    errands_free(shelf->errands);
    copy_rest(shelf);
    for (size_t i = 0; i < shelf->logs.count; i++)
        free(shelf->logs.items[i].name);
    VEC_FINI(&shelf->logs);
    free(shelf->room);
    free(shelf);
    err_put_back(&kept);
}
