// journal_copy: the thread that writes.

#include "store/journal_copy.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "store/journal_copy_state.h"
#include "store/part.h"
#include "sys/thread/interrupt.h"
#include "sys/thread/thread.h"
#include "sys/time/clock.h"

enum {
    PAUSE_MS = 1000,  // what a lost machine takes with it
    BEAT_MS = 2000,
    PATIENCE_MS = 5000,
    STACK_BYTES = 512 << 10,
    NS_PER_MS = 1000000,
};

// A file of the journal, as far as it is there: the bytes before `begin` in full stretches, those up to `end` in one that grows.
struct grown {
    char name[COPY_NAME_BYTES];
    uint64_t begin, end;
};

struct journal_copy {
    char *url, *from, *to;
    uint32_t number;
    struct thread thread;
    atomic_bool is_stopped, is_lost;
    _Atomic uint64_t deadline_ns;  // of the end; 0: it is not ending

    struct mutex mutex;  // for waiting
    struct condition changed;

    // The thread's own.
    struct store_place *place;
    VEC(struct grown) files;  // in the order of their names
    bool has_folder, has_origin;
    uint64_t beat_ns;
};

static weft_err no_memory(void)
{
    return err_no_memory("to copy the journal");
}

static bool is_over(void *owner)
{
    const struct journal_copy *copy = owner;
    const uint64_t deadline_ns = atomic_load(&copy->deadline_ns);
    return atomic_load(&copy->is_stopped) || (deadline_ns && clock_now_ns() >= deadline_ns);
}

// ---- Files there -----------------------------------------------------------------------------------------

// The path of a file in the folder of this process.
static weft_err name_there(const struct journal_copy *copy, const char *name, struct buf *path)
{
    buf_format(path, "%s/%" PRIu32 "/%s", copy->to, copy->number, name);
    return path->has_failed ? no_memory() : WEFT_OK;
}

static weft_err put(struct journal_copy *copy, const char *name, struct store_content *content)
{
    struct buf path = {0};
    content->is_private = true;
    content->patience_ms = PATIENCE_MS;
    weft_err err = name_there(copy, name, &path);
    if (!err)
        err = copy->place->calls->put(copy->place, buf_text(&path), content);
    buf_fini(&path);
    return err;
}

static weft_err remove_there(struct journal_copy *copy, const char *name)
{
    struct buf path = {0};
    weft_err err = name_there(copy, name, &path);
    if (!err)
        err = copy->place->calls->remove(copy->place, buf_text(&path));
    buf_fini(&path);
    return err;
}

// ---- The folder ------------------------------------------------------------------------------------------

// The directory of the answer, where that of the journal is to be made: it went with another process, or is there.
static weft_err check_above(struct journal_copy *copy)
{
    struct store_entry entry;
    const char *slash = strrchr(copy->to, '/');
    char *above = strndup(copy->to, (size_t)(slash - copy->to));
    const weft_err err = above ? copy->place->calls->look(copy->place, above, &entry) : no_memory();
    free(above);
    if (!err && entry.kind == FILE_MISSING)
        atomic_store(&copy->is_lost, true);
    return err;
}

static weft_err make_folder(struct journal_copy *copy)
{
    struct buf path = {0};
    weft_err err = check_above(copy);
    if (err || atomic_load(&copy->is_lost))
        return err;
    buf_format(&path, "%s/%" PRIu32, copy->to, copy->number);
    err = path.has_failed ? no_memory() : copy->place->calls->make_directory(copy->place, copy->to);
    if (!err)
        err = copy->place->calls->make_directory(copy->place, buf_text(&path));
    buf_fini(&path);
    copy->has_folder = !err;
    return err;
}

static weft_err check_folder(struct journal_copy *copy)
{
    struct store_entry entry;
    struct buf path = {0};
    buf_format(&path, "%s/%" PRIu32, copy->to, copy->number);
    const weft_err err = path.has_failed
                             ? no_memory()
                             : copy->place->calls->look(copy->place, buf_text(&path), &entry);
    buf_fini(&path);
    if (!err && entry.kind == FILE_MISSING)
        atomic_store(&copy->is_lost, true);
    return err;
}

static weft_err beat(struct journal_copy *copy)
{
    struct store_content nothing = {.fd = -1, .name = "an empty file"};
    const uint64_t now_ns = clock_now_ns();
    if (copy->beat_ns && now_ns < copy->beat_ns + (uint64_t)BEAT_MS * NS_PER_MS)
        return WEFT_OK;
    const weft_err err = put(copy, COPY_ALIVE, &nothing);
    copy->beat_ns = err ? 0 : now_ns;
    return err;
}

// ---- New bytes -----------------------------------------------------------------------------------------

static weft_err put_stretch(struct journal_copy *copy, const struct grown *file, int fd,
                            uint64_t end)
{
    char name[COPY_NAME_BYTES], before[COPY_NAME_BYTES];
    struct store_content content = {.fd = fd, .name = file->name, .offset = file->begin};
    copy_format_name(name, file->name, file->begin, end);
    copy_format_name(before, file->name, file->begin, file->end);
    weft_err err =
        part_sum(fd, file->name, file->begin, end - file->begin, &content.bytes, &content.crc32c);
    if (!err)
        err = put(copy, name, &content);
    return err || file->end == file->begin ? err : remove_there(copy, before);
}

static weft_err copy_file(struct journal_copy *copy, struct grown *file)
{
    struct file_stat status;
    struct buf path = {0};
    int fd = -1;
    buf_format(&path, "%s/%s", copy->from, file->name);
    weft_err err = path.has_failed ? no_memory() : file_open(buf_text(&path), &fd);
    if (!err)
        err = file_stat_fd(fd, buf_text(&path), &status);
    while (!err && file->end < status.size) {
        const uint64_t full = file->begin + COPY_STRETCH_BYTES;
        const uint64_t end = status.size < full ? status.size : full;
        err = put_stretch(copy, file, fd, end);
        if (!err)
            file->end = end;
        if (!err && end == full)
            file->begin = full;
    }
    file_close(fd);
    buf_fini(&path);
    return err;
}

static weft_err note_file(void *owner, const char *name)
{
    struct journal_copy *copy = owner;
    struct grown file = {.begin = 0};
    size_t at = copy->files.count;
    if (!copy_is_journal(name))
        return WEFT_OK;
    while (at > 0 && strcmp(copy->files.items[at - 1].name, name) > 0)
        at--;
    if (at > 0 && strcmp(copy->files.items[at - 1].name, name) == 0)
        return WEFT_OK;
    snprintf(file.name, sizeof file.name, "%s", name);
    if (!VEC_PUSH(&copy->files, file))
        return no_memory();
    struct grown *place = &copy->files.items[at];
    memmove(place + 1, place, (copy->files.count - 1 - at) * sizeof *place);
    *place = file;
    return WEFT_OK;
}

static weft_err copy_news(struct journal_copy *copy)
{
    weft_err err = file_list(copy->from, note_file, copy);
    for (size_t i = 0; !err && i < copy->files.count; i++)
        err = copy_file(copy, &copy->files.items[i]);
    return err;
}

// ---- Complete --------------------------------------------------------------------------------------------

static weft_err remove_other(void *owner, const char *name, const struct store_entry *entry)
{
    struct journal_copy *copy = owner;
    struct buf path = {0};
    (void)entry;
    if (strtoul(name, NULL, 10) == copy->number)
        return WEFT_OK;
    buf_format(&path, "%s/%s", copy->to, name);
    const weft_err err =
        path.has_failed ? no_memory() : copy->place->calls->remove(copy->place, buf_text(&path));
    buf_fini(&path);
    return err;
}

static weft_err put_origin(struct journal_copy *copy)
{
    struct store_content content = {.fd = -1, .name = JOURNAL_COPY_ORIGIN};
    struct buf path = {0};
    buf_format(&path, "%s/%s", copy->from, JOURNAL_COPY_ORIGIN);
    weft_err err = path.has_failed ? no_memory() : file_open(buf_text(&path), &content.fd);
    if (!err)
        err = part_sum(content.fd, buf_text(&path), 0, UINT64_MAX, &content.bytes, &content.crc32c);
    if (!err)
        err = put(copy, JOURNAL_COPY_ORIGIN, &content);
    file_close(content.fd);
    buf_fini(&path);
    copy->has_origin = !err;
    return err ? err : copy->place->calls->list(copy->place, copy->to, remove_other, copy);
}

// ---- The thread ------------------------------------------------------------------------------------------

static weft_err make_round(struct journal_copy *copy)
{
    weft_err err = WEFT_OK;
    if (!copy->place)
        err = store_open_place(copy->url, PATIENCE_MS, &copy->place);
    if (!err)
        err = copy->has_folder ? check_folder(copy) : make_folder(copy);
    if (err || atomic_load(&copy->is_lost))
        return err;
    err = beat(copy);
    if (!err)
        err = copy_news(copy);
    return err || copy->has_origin ? err : put_origin(copy);
}

static void await_next(struct journal_copy *copy)
{
    const uint64_t until_ns = clock_now_ns() + (uint64_t)PAUSE_MS * NS_PER_MS;
    mutex_lock(&copy->mutex);
    while (clock_now_ns() < until_ns && !atomic_load(&copy->is_stopped) &&
           !atomic_load(&copy->deadline_ns))
        condition_wait_until(&copy->changed, &copy->mutex, until_ns);
    mutex_unlock(&copy->mutex);
}

// A place that takes nothing now may take it in the next round. Without the copy the job has the same answer, so no failure here ends it.
static void copy_run(void *argument)
{
    struct journal_copy *copy = argument;
    bool is_last = false;
    interrupt_set_own(is_over, copy);
    while (!is_last && !atomic_load(&copy->is_lost)) {
        await_next(copy);
        is_last = atomic_load(&copy->deadline_ns) != 0;
        if (atomic_load(&copy->is_stopped))
            break;
        weft_err err = make_round(copy);
        if (!err && is_last && !atomic_load(&copy->is_lost))
            err = remove_there(copy, COPY_ALIVE);
        if (err)
            err_clear();
    }
    store_close_place(copy->place);
}

// ---- The owner -------------------------------------------------------------------------------------------

weft_err journal_copy_start(const struct journal_copy_spec *spec, struct journal_copy **started)
{
    struct journal_copy *copy = calloc(1, sizeof *copy);
    *started = NULL;
    if (!copy)
        return no_memory();
    mutex_init(&copy->mutex);
    condition_init(&copy->changed);
    copy->url = strdup(spec->url);
    copy->from = strdup(spec->from);
    copy->to = strdup(spec->to);
    copy->number = spec->number;
    weft_err err = copy->url && copy->from && copy->to ? WEFT_OK : no_memory();
    if (!err)
        err = thread_start(&copy->thread, copy_run, copy, STACK_BYTES);
    if (!err) {
        *started = copy;
        return WEFT_OK;
    }
    free(copy->url);
    free(copy->from);
    free(copy->to);
    condition_fini(&copy->changed);
    mutex_fini(&copy->mutex);
    free(copy);
    return err;
}

bool journal_copy_is_lost(const struct journal_copy *copy)
{
    return copy && atomic_load(&copy->is_lost);
}

static void end(struct journal_copy *copy)
{
    mutex_lock(&copy->mutex);
    condition_broadcast(&copy->changed);
    mutex_unlock(&copy->mutex);
    thread_join(&copy->thread);
    VEC_FINI(&copy->files);
    condition_fini(&copy->changed);
    mutex_fini(&copy->mutex);
    free(copy->url);
    free(copy->from);
    free(copy->to);
    free(copy);
}

void journal_copy_finish(struct journal_copy *copy)
{
    atomic_store(&copy->deadline_ns, clock_now_ns() + (uint64_t)PATIENCE_MS * NS_PER_MS);
    end(copy);
}

void journal_copy_free(struct journal_copy *copy)
{
    if (!copy)
        return;
    atomic_store(&copy->is_stopped, true);
    end(copy);
}
