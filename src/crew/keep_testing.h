// For tests: a launcher `fake:` that keeps runs without running them, and a store `shelf:PATH` in a folder of this machine, which fails
// when it is asked to. They take the place of launch/launch.c and store/open.c.
#ifndef CREW_KEEP_TESTING_H
#define CREW_KEEP_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/keep.h"
#include "launch/launch.h"
#include "launch/local/local.h"
#include "store/store.h"
#include "sys/file/folder_testing.h"
#include "sys/file/load.h"

#define SHELF_SCHEME "shelf:"

// ---- The store ----------------------------------------------------------------------------------------------

struct folder_place {
    struct store_place store;
    char path[300];
};

static struct {
    uint32_t failures;  // of calls that change something
    uint32_t puts, appends;
} folder;

static bool folder_fails(void)
{
    const bool is_now = folder.failures > 0;
    folder.failures -= is_now;
    if (is_now)
        (void)err_set(WEFT_UNAVAILABLE, "the store is away");
    return is_now;
}

static weft_err folder_look(struct store_place *place, const char *path, struct store_entry *entry)
{
    struct file_stat status;
    (void)place;
    const weft_err err = file_stat(path, &status);
    *entry = (struct store_entry){.kind = status.kind, .size = status.size};
    return err;
}

static weft_err folder_read(struct store_place *place, const char *path, size_t bytes_max,
                            struct buf *text)
{
    (void)place;
    return file_load(path, bytes_max, text);
}

static weft_err folder_make(struct store_place *place, const char *path)
{
    (void)place;
    return file_make_directory(path);
}

static weft_err folder_write(const char *path, weft_bytes bytes, uint64_t offset, bool is_new)
{
    int fd = -1;
    weft_err err = is_new ? file_create(path, &fd) : file_open_existing(path, &fd);
    if (!err)
        err = file_write_at(fd, path, bytes.data, bytes.size, offset);
    if (fd >= 0)
        file_close(fd);
    return err;
}

static weft_err folder_put(struct store_place *place, const char *path,
                           const struct store_content *content)
{
    char bytes[1 << 16];
    size_t got = 0;
    (void)place;
    if (folder_fails())
        return WEFT_UNAVAILABLE;
    folder.puts++;
    weft_err err = file_read_at(content->fd, content->name, bytes, sizeof bytes, 0, &got);
    return err ? err : folder_write(path, (weft_bytes){bytes, got}, 0, true);
}

static weft_err folder_append(struct store_place *place, const char *path, uint64_t offset,
                              weft_bytes bytes)
{
    struct store_entry entry;
    if (folder_fails())
        return WEFT_UNAVAILABLE;
    folder.appends++;
    const weft_err err = folder_look(place, path, &entry);
    assert_true(entry.size == offset);
    return err ? err : folder_write(path, bytes, offset, entry.kind == FILE_MISSING);
}

static weft_err folder_move(struct store_place *place, const char *from, const char *to,
                            bool replaces, const char *aside)
{
    (void)place, (void)aside;
    assert_true(replaces);
    return file_rename(from, to);
}

static void folder_close(struct store_place *place)
{
    free(place);
}

static const struct store_place_calls folder_calls = {
    .look = folder_look,
    .read = folder_read,
    .make_above = folder_make,
    .make_directory = folder_make,
    .put = folder_put,
    .append = folder_append,
    .move = folder_move,
    .close = folder_close,
};

bool store_is_far(const char *name)
{
    return strncmp(name, SHELF_SCHEME, strlen(SHELF_SCHEME)) == 0;
}

weft_err store_open(const char *path, const char *name, struct store_file *file)
{
    return store_open_plain(store_is_far(path) ? path + strlen(SHELF_SCHEME) : path, name, file);
}

weft_err store_open_place(const char *url, uint32_t patience_ms, struct store_place **place)
{
    struct folder_place *made = calloc(1, sizeof *made);
    (void)patience_ms;
    assert_non_null(made);
    assert_true(store_is_far(url));
    snprintf(made->path, sizeof made->path, "%s", url + strlen(SHELF_SCHEME));
    made->store = (struct store_place){&folder_calls, made->path};
    *place = &made->store;
    return WEFT_OK;
}

// ---- The launcher -------------------------------------------------------------------------------------------

static struct {
    enum keep_state state;
    uint32_t attempt;
    const char *why;
    weft_err report_err, submit_err;
    bool ends_when_asked;  // a file `stop` on the shelf ends it
    unsigned ends_after;   // or that many looks later; 0: it does not
    unsigned kills, submits, abandons;
    char words[2000];  // of the last run, with a blank after each
    char files[500];   // "target:bytes ", and + for those with a hash
    char tar[1 << 16];
} kept;

#define KEPT_ID "fake_1"

static weft_err kept_open(struct keep **keep, const struct keep_options *options);

static void kept_close(struct keep *keep)
{
    free(keep);
}

static void kept_shelf(char path[300])
{
    snprintf(path, 300, "%s/shelf", testing_folder);
}

static weft_err kept_find(struct keep *keep, const char *id, struct buf *shelf)
{
    char path[300];
    (void)keep;
    if (strcmp(id, KEPT_ID) != 0)
        return err_set(WEFT_INVALID_ARGUMENT, "%s is not an id", id);
    kept_shelf(path);
    buf_format(shelf, SHELF_SCHEME "%s", path);
    return WEFT_OK;
}

static weft_err kept_begin(struct keep *keep, struct keep_made *made)
{
    char path[300];
    kept_shelf(path);
    snprintf(made->id, sizeof made->id, "%s", KEPT_ID);
    buf_append_text(&made->inner_shelf, "inner:shelf");
    buf_append_text(&made->inner_url, "inner:");
    assert_int_equal(file_make_directory(path), WEFT_OK);
    return kept_find(keep, KEPT_ID, &made->shelf);
}

static weft_err kept_submit(struct keep *keep, const struct keep_made *made,
                            const struct keep_run *run)
{
    struct buf words = {0}, files = {0};
    size_t got = 0;
    (void)keep, (void)made;
    if (kept.submit_err)
        return err_set(kept.submit_err, "no");
    kept.submits++;
    for (size_t i = 0; run->words[i]; i++)
        buf_format(&words, "%s ", run->words[i]);
    for (size_t i = 0; i < run->file_count; i++)
        buf_format(&files, "%s:%s ", run->files[i].target, run->files[i].hash ? "+" : "");
    snprintf(kept.words, sizeof kept.words, "%s", buf_text(&words));
    snprintf(kept.files, sizeof kept.files, "%s", buf_text(&files));
    assert_int_equal(file_read_at(run->files[0].fd, "tar", kept.tar, sizeof kept.tar, 0, &got),
                     WEFT_OK);
    assert_int_equal(got, run->files[0].bytes);
    buf_fini(&words);
    buf_fini(&files);
    return WEFT_OK;
}

static bool kept_abandon(struct keep *keep, const struct keep_made *made)
{
    (void)keep, (void)made;
    kept.abandons++;
    return kept.submit_err != WEFT_UNAVAILABLE;
}

static weft_err kept_report(struct keep *keep, const char *id, struct keep_report *report)
{
    (void)keep;
    *report = (struct keep_report){0};
    assert_string_equal(id, KEPT_ID);
    if (kept.report_err)
        return err_set(kept.report_err, "the launcher does not know %s", id);
    const bool is_asked = access(testing_path("shelf/stop"), F_OK) == 0;
    if (is_asked && kept.ends_after > 0 && --kept.ends_after == 0)
        kept.ends_when_asked = true;
    if (kept.ends_when_asked && is_asked)
        kept.state = KEEP_KILLED;
    report->state = kept.state;
    report->attempt = kept.attempt;
    if (kept.why)
        buf_append_text(&report->why, kept.why);
    return WEFT_OK;
}

static weft_err kept_kill(struct keep *keep, const char *id, const char *why)
{
    (void)keep, (void)id, (void)why;
    kept.kills++;
    kept.state = KEEP_KILLED;
    return WEFT_OK;
}

static const struct keeper fake_keeper = {.open = kept_open,
                                          .close = kept_close,
                                          .begin = kept_begin,
                                          .submit = kept_submit,
                                          .abandon = kept_abandon,
                                          .find = kept_find,
                                          .report = kept_report,
                                          .kill = kept_kill,
                                          .more = "fake logs"};

static weft_err kept_open(struct keep **keep, const struct keep_options *options)
{
    (void)options;
    *keep = calloc(1, sizeof **keep);
    assert_non_null(*keep);
    (*keep)->keeper = &fake_keeper;
    return WEFT_OK;
}

static const struct launcher fake_launcher = {
    .scheme = "fake", .is_far = true, .keeper = &fake_keeper};

weft_err launcher_find(const char *url, const struct launcher **launcher)
{
    *launcher = url && strncmp(url, "fake:", 5) == 0 ? &fake_launcher : &launch_local;
    return WEFT_OK;
}

weft_err launcher_check_setting(const struct launcher *launcher, const char *setting)
{
    return launcher == &fake_launcher && strncmp(setting, "tags=", 5) == 0
               ? WEFT_OK
               : err_set(WEFT_INVALID_ARGUMENT, "there is no setting %s", setting);
}

// ---- Files of both ------------------------------------------------------------------------------------------

static inline void write_file(const char *name, const char *text)
{
    FILE *file = fopen(testing_path(name), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static inline void expect_file(const char *name, const char *text)
{
    struct buf got = {0};
    assert_int_equal(file_load(testing_path(name), 1 << 20, &got), WEFT_OK);
    assert_string_equal(buf_text(&got), text);
    buf_fini(&got);
}

#endif
