// The age of a note is that of its file, counted from the newest one: no clock is needed, and one that was set
// back takes nothing away.

#include "run/replay_prune.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/vec.h"
#include "run/replay.h"
#include "sys/file/file.h"

#define DAY_NS (INT64_C(86400) * 1000000000)

struct note {
    char id[REPLAY_ID_BYTES];
    int64_t mtime_ns;
};

struct notes {
    const char *directory;
    VEC(struct note) list;
};

bool replay_is_id(const char *text, size_t size)
{
    return size > 0 && size < REPLAY_ID_BYTES && strspn(text, "0123456789abcdef") >= size;
}

static weft_err visit(void *owner, const char *name)
{
    struct notes *notes = owner;
    struct note note = {0};
    struct file_stat status;
    struct buf path = {0};
    const size_t length = strcspn(name, ".");
    if (!replay_is_id(name, length) || strcmp(name + length, REPLAY_NOTE_SUFFIX) != 0)
        return WEFT_OK;
    buf_format(&path, "%s/%s", notes->directory, name);
    weft_err code = file_stat(buf_text(&path), &status);
    buf_fini(&path);
    memcpy(note.id, name, length);
    note.mtime_ns = status.mtime_ns;
    if (code == WEFT_OK && status.kind == FILE_REGULAR && !VEC_PUSH(&notes->list, note))
        code = err_no_memory("for a list of notes");
    return code;
}

static int compare_newest_first(const void *left, const void *right)
{
    const struct note *a = left, *b = right;
    if (a->mtime_ns != b->mtime_ns)
        return a->mtime_ns > b->mtime_ns ? -1 : 1;
    return strcmp(a->id, b->id);
}

static void remove_note(const char *directory, const char *id)
{
    static const char *const suffixes[] = {REPLAY_RECORD_SUFFIX, REPLAY_NOTE_SUFFIX};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        struct buf path = {0};
        buf_format(&path, "%s/%s%s", directory, id, suffixes[i]);
        if (!path.has_failed && file_remove(buf_text(&path)) != WEFT_OK)
            err_clear();
        buf_fini(&path);
    }
}

void replay_prune(const char *directory, int64_t written_ns)
{
    struct notes notes = {.directory = directory};
    if (file_list(directory, visit, &notes) != WEFT_OK)
        err_clear();
    if (notes.list.count > 1)
        qsort(notes.list.items, notes.list.count, sizeof *notes.list.items, compare_newest_first);
    for (size_t i = 0; i < notes.list.count; i++)
        if (i >= REPLAY_NOTES_MAX ||
            written_ns - notes.list.items[i].mtime_ns > REPLAY_NOTE_DAYS * DAY_NS)
            remove_note(directory, notes.list.items[i].id);
    VEC_FINI(&notes.list);
}
