// journal_copy: the names, and reading.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/vec.h"
#include "store/journal_copy_state.h"

enum { ORIGIN_BYTES_MAX = 64 << 20 };

static const char front[] = "journal-";

static weft_err no_memory(void)
{
    return err_no_memory("to read the copy of a journal");
}

// ---- Names -----------------------------------------------------------------------------------------------

// How long the name of a journal's file is that a text begins with; 0: it begins with none.
static size_t journal_name_size(const char *text)
{
    const size_t digits = strncmp(text, front, sizeof front - 1) == 0
                              ? strspn(text + sizeof front - 1, "0123456789")
                              : 0;
    return digits > 0 && digits < COPY_NAME_BYTES / 4 ? sizeof front - 1 + digits : 0;
}

bool copy_is_journal(const char *name)
{
    const size_t size = journal_name_size(name);
    return size > 0 && !name[size];
}

void copy_format_name(char name[COPY_NAME_BYTES], const char *file, uint64_t begin, uint64_t end)
{
    snprintf(name, COPY_NAME_BYTES, "%.30s.%012" PRIu64 "-%012" PRIu64, file, begin, end);
}

struct stretch {
    char file[COPY_NAME_BYTES];
    uint64_t begin, end;
};

static bool parse_name(const char *name, struct stretch *stretch)
{
    const size_t size = journal_name_size(name);
    char *rest;
    if (size == 0 || name[size] != '.')
        return false;
    snprintf(stretch->file, sizeof stretch->file, "%.*s", (int)size, name);
    stretch->begin = strtoull(name + size + 1, &rest, 10);
    if (*rest != '-')
        return false;
    stretch->end = strtoull(rest + 1, &rest, 10);
    return !*rest && stretch->begin < stretch->end &&
           stretch->end - stretch->begin <= COPY_STRETCH_BYTES;
}

// ---- Folders ------------------------------------------------------------------------------------------

struct folders {
    uint32_t *items;
    size_t count, capacity;
};

static weft_err note_folder(void *owner, const char *name, const struct store_entry *entry)
{
    struct folders *folders = owner;
    char *rest;
    const unsigned long number = strtoul(name, &rest, 10);
    if (entry->kind != FILE_DIRECTORY || *rest || number == 0 || number >= UINT32_MAX)
        return WEFT_OK;
    return VEC_PUSH(folders, (uint32_t)number) ? WEFT_OK : no_memory();
}

struct folder {
    bool has_origin, is_alive;
    uint32_t sum;  // of all names, sizes and times
};

static weft_err look_at_file(void *owner, const char *name, const struct store_entry *entry)
{
    struct folder *folder = owner;
    folder->has_origin |= strcmp(name, JOURNAL_COPY_ORIGIN) == 0;
    folder->is_alive |= strcmp(name, COPY_ALIVE) == 0;
    folder->sum = crc32c(folder->sum, name, strlen(name));
    folder->sum = crc32c(folder->sum, &entry->size, sizeof entry->size);
    folder->sum = crc32c(folder->sum, &entry->mtime_ms, sizeof entry->mtime_ms);
    return WEFT_OK;
}

static weft_err look_at_folder(struct store_place *place, const char *directory, uint32_t number,
                               struct journal_copy_found *found)
{
    struct folder folder = {.sum = 0};
    struct buf path = {0};
    buf_format(&path, "%s/%" PRIu32, directory, number);
    const weft_err err = path.has_failed
                             ? no_memory()
                             : place->calls->list(place, buf_text(&path), look_at_file, &folder);
    buf_fini(&path);
    if (err)
        return err;
    if (folder.has_origin && number > found->number) {
        found->number = number;
        found->has_ended = !folder.is_alive;
    }
    found->highest = number > found->highest ? number : found->highest;
    found->pulse = found->pulse * 31 + number + folder.sum;
    return WEFT_OK;
}

weft_err journal_copy_look(struct store_place *place, const char *directory,
                           struct journal_copy_found *found)
{
    struct folders folders = {0};
    *found = (struct journal_copy_found){0};
    weft_err err = place->calls->list(place, directory, note_folder, &folders);
    for (size_t i = 0; !err && i < folders.count; i++)
        err = look_at_folder(place, directory, folders.items[i], found);
    // It goes with its process, or is being renamed just now.
    if (err == WEFT_NOT_FOUND) {
        err_clear();
        *found = (struct journal_copy_found){0};
        err = WEFT_OK;
    }
    found->has_ended &= found->number == found->highest;
    VEC_FINI(&folders);
    return err;
}

weft_err journal_copy_read_origin(struct store_place *place, const char *directory, uint32_t number,
                                  struct buf *origin)
{
    struct buf path = {0};
    buf_format(&path, "%s/%" PRIu32 "/%s", directory, number, JOURNAL_COPY_ORIGIN);
    const weft_err err = path.has_failed
                             ? no_memory()
                             : place->calls->read(place, buf_text(&path), ORIGIN_BYTES_MAX, origin);
    buf_fini(&path);
    return err;
}

// ---- All of it -------------------------------------------------------------------------------------------

struct stretches {
    struct stretch *items;
    size_t count, capacity;
};

static weft_err note_stretch(void *owner, const char *name, const struct store_entry *entry)
{
    struct stretches *stretches = owner;
    struct stretch stretch;
    if (!parse_name(name, &stretch) || entry->size != stretch.end - stretch.begin)
        return WEFT_OK;
    return VEC_PUSH(stretches, stretch) ? WEFT_OK : no_memory();
}

// By file and beginning; of those that begin at the same place the longest first.
static int compare(const void *one, const void *other)
{
    const struct stretch *a = one, *b = other;
    const int order = strcmp(a->file, b->file);
    if (order)
        return order;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->end > b->end ? -1 : a->end < b->end;
}

struct reading {
    struct store_place *place;
    const char *directory;
    uint32_t number;
    journal_copy_visit_fn *visit;
    void *owner;
};

static weft_err read_stretch(const struct reading *reading, const struct stretch *stretch)
{
    char name[COPY_NAME_BYTES];
    struct buf path = {0}, bytes = {0};
    copy_format_name(name, stretch->file, stretch->begin, stretch->end);
    buf_format(&path, "%s/%" PRIu32 "/%s", reading->directory, reading->number, name);
    weft_err err = path.has_failed ? no_memory()
                                   : reading->place->calls->read(reading->place, buf_text(&path),
                                                                 COPY_STRETCH_BYTES, &bytes);
    if (!err && bytes.size != stretch->end - stretch->begin)
        err = err_set(WEFT_DATA_LOSS, "%s has another size than its name says", buf_text(&path));
    if (!err)
        err = reading->visit(reading->owner, stretch->file, stretch->begin, buf_bytes(&bytes));
    buf_fini(&path);
    buf_fini(&bytes);
    return err;
}

// A stretch that is missing ends the copy: what comes after it is of no use.
weft_err journal_copy_read(struct store_place *place, const char *directory, uint32_t number,
                           journal_copy_visit_fn *visit, void *owner)
{
    const struct reading reading = {place, directory, number, visit, owner};
    struct stretches stretches = {0};
    struct buf path = {0};
    uint64_t at = 0;
    const char *file = "";
    buf_format(&path, "%s/%" PRIu32, directory, number);
    weft_err err = path.has_failed
                       ? no_memory()
                       : place->calls->list(place, buf_text(&path), note_stretch, &stretches);
    if (stretches.count)
        qsort(stretches.items, stretches.count, sizeof *stretches.items, compare);
    for (size_t i = 0; !err && i < stretches.count; i++) {
        const struct stretch *stretch = &stretches.items[i];
        if (strcmp(stretch->file, file) != 0)
            at = 0;
        file = stretch->file;
        if (stretch->begin > at)
            break;
        if (stretch->begin < at)
            continue;  // a shorter one, that was about to be removed
        err = read_stretch(&reading, stretch);
        at = stretch->end;
    }
    VEC_FINI(&stretches);
    buf_fini(&path);
    return err;
}
