// journal: appending to segments and beginning new ones. rewrite.c replaces old ones.
//
// Records wait in one buffer. It is written at the offset after the bytes that are known to be written, so that a
// write that failed half way is simply done again, or found as a torn tail by the next one who opens.
//
// Rotation syncs the segment before the next one is made: only the last one can have a torn tail.
//
// A journal that syncs often has segments of version 2, in files that were written before: see tail.c and
// spares.c. Where that does not work, on a disk that is nearly full for one, the file grows as
// the others do. A tail of the other version is not continued but ended, and a segment begun after it.

#include "store/journal/journal.h"

#include <stdlib.h>

#include "store/journal/journal_state.h"
#include "sys/file/file.h"
#include "sys/file/own.h"

enum { BUFFER_BYTES_DEFAULT = 1 << 16, BUFFER_BYTES_OFTEN = 1 << 20 };

// ---- The tail -------------------------------------------------------------------------------------

weft_err journal_fail(struct journal *journal, weft_err err)
{
    journal->failed = err;
    memcpy(journal->failed_text, err_text(), strlen(err_text()) + 1);
    return err;
}

static weft_err check_failed(const struct journal *journal)
{
    return journal->failed ? err_set(journal->failed, "%s", journal->failed_text) : WEFT_OK;
}

static uint32_t version_of(const struct journal *journal)
{
    return journal->syncs_often ? SEGMENT_IS_PREWRITTEN : SEGMENT_GROWS;
}

void journal_make_header(const struct journal *journal, uint64_t number, uint64_t first_sequence,
                         uint64_t whole_bytes, char *to)
{
    struct segment_header header = {
        .version = version_of(journal),
        .number = number,
        .first_sequence = first_sequence,
        .whole_bytes = whole_bytes,
    };
    memcpy(header.kind, journal->kind, sizeof header.kind);
    segment_write_header(to, &header);
}

// The tail in a file that was written ahead, with its header.
static weft_err begin_ahead(struct journal *journal, struct tail *tail, const char *header)
{
    weft_err err = spares_take(&journal->spares, tail->number, header);
    tail->written = SEGMENT_HEADER_BYTES;
    return err ? err : tail_open_blocks(tail);
}

// The tail in an empty file. The header waits with the records.
static weft_err begin_growing(struct journal *journal, struct tail *tail, const char *header)
{
    if (!buf_reserve(&journal->waiting, SEGMENT_HEADER_BYTES)) {
        journal->waiting.has_failed = false;
        return err_no_memory("for the journal in %s", journal->directory);
    }
    const weft_err err = file_create_private(tail->path, &tail->fd);
    if (!err)
        buf_append(&journal->waiting, header, SEGMENT_HEADER_BYTES);
    return err;
}

// Makes an empty segment the tail, which is untouched on failure.
weft_err journal_begin_segment(struct journal *journal, uint64_t number, enum replay_name name)
{
    char header[SEGMENT_HEADER_BYTES];
    journal_make_header(journal, number, journal->sequence, 0, header);
    weft_err err = WEFT_UNIMPLEMENTED;
    struct tail tail = {.fd = -1};
    for (int growing = !journal->syncs_often || name == REPLAY_HALF; err && growing < 2;
         growing++) {
        tail_fini(&tail);
        tail.number = number;
        tail.path = replay_path(journal->directory, number, name);
        if (!tail.path)
            return WEFT_RESOURCE_EXHAUSTED;
        err_clear();
        err = growing ? begin_growing(journal, &tail, header) : begin_ahead(journal, &tail, header);
    }
    if (err) {
        tail_fini(&tail);
        return err;
    }
    journal->tail = tail;
    journal->has_new_name = true;
    return WEFT_OK;
}

// ---- Opening ----------------------------------------------------------------------------------------

static void set_found(struct journal_found *found, const struct replay *replay)
{
    if (found)
        *found = replay->found;
}

weft_err journal_read(const char *directory, const char *kind,
                      const struct journal_options *options, journal_visit_fn *visit, void *owner,
                      struct journal_found *found)
{
    struct replay replay = {.directory = directory,
                            .kind = kind,
                            .keeps_good_prefix = options && options->keeps_good_prefix};
    const weft_err err = replay_run(&replay, visit, owner);
    set_found(found, &replay);
    replay_fini(&replay);
    return err;
}

weft_err journal_remove(const struct journal *journal, const uint64_t *numbers, size_t count,
                        enum replay_name name)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; i < count && !err; i++) {
        char *path = replay_path(journal->directory, numbers[i], name);
        err = path ? file_remove(path) : WEFT_RESOURCE_EXHAUSTED;
        free(path);
    }
    return err;
}

// Continues in a segment that was written ahead. Old bytes after its end must be gone when that place is
// reached: a commit that was never acknowledged left them, and its records would be sound.
static weft_err open_ahead(struct journal *journal, const struct replay *replay)
{
    struct tail *tail = &journal->tail;
    uint64_t zeros_from = replay->last_size;
    weft_err err = WEFT_OK;
    if (replay->last_used > replay->end) {
        zeros_from = replay->end;
        err = file_truncate(tail->fd, tail->path, zeros_from);
    }
    if (err)
        return err;
    const weft_err filled =
        spares_write_zeros(tail->fd, tail->path, zeros_from, journal->spares.bytes);
    err = file_sync(tail->fd, tail->path);
    if (err || !filled)
        return err ? err : tail_open_blocks(tail);
    err_clear();  // no room to write ahead: then it grows
    return WEFT_OK;
}

// Opens the segment in which the records end and cuts the bytes after them.
static weft_err open_tail(struct journal *journal, const struct replay *replay)
{
    struct tail *tail = &journal->tail;
    tail->number = replay->numbers.items[replay->last];
    tail->path = replay_path(journal->directory, tail->number, REPLAY_SEGMENT);
    tail->written = replay->end;
    const bool is_of_our_version = replay->last_version == version_of(journal);
    weft_err err = tail->path ? file_open_private(tail->path, &tail->fd) : WEFT_RESOURCE_EXHAUSTED;
    if (!err && is_of_our_version && journal->syncs_often)
        return open_ahead(journal, replay);
    if (!err && replay->end < replay->last_size)
        err = file_truncate(tail->fd, tail->path, replay->end);
    if (err || is_of_our_version)
        return err;
    err = file_sync(tail->fd, tail->path);
    journal->before_bytes += replay->end;
    const uint64_t next = tail->number + 1;
    tail_fini(tail);
    return err ? err : journal_begin_segment(journal, next, REPLAY_SEGMENT);
}

// Spares of a journal that begins again are not kept: their records might be taken for its own.
static weft_err take_spares(struct journal *journal, const struct replay *replay, bool is_kept)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < replay->spares.count; i++) {
        const uint64_t *number = &replay->spares.items[i];
        err = is_kept && journal->syncs_often ? spares_add(&journal->spares, *number)
                                              : journal_remove(journal, number, 1, REPLAY_SPARE);
    }
    return err;
}

// Removes segments that no longer count and makes ready for more. Those after the end go first, the
// latest first: killed in between, the end is found at the same place again.
weft_err journal_take_over(struct journal *journal, const struct replay *replay)
{
    const uint64_t *numbers = replay->numbers.items;
    weft_err err = journal_remove(journal, replay->halves.items, replay->halves.count, REPLAY_HALF);
    for (size_t i = replay->numbers.count; !err && i-- > replay->last + 1;)
        err = journal_remove(journal, &numbers[i], 1, REPLAY_SEGMENT);
    if (!err)
        err = journal_remove(journal, numbers, replay->first, REPLAY_SEGMENT);
    if (err)
        return err;
    journal->sequence = replay->sequence;
    journal->before_bytes = replay->size;
    const bool is_empty = replay->numbers.count == 0;
    if (!is_empty && replay->end > 0) {
        journal->first_number = numbers[replay->first];
        err = take_spares(journal, replay, true);
        return err ? err : open_tail(journal, replay);
    }
    // Nothing of the last segment is kept. The first one of a journal is number 1, or a snapshot.
    const bool is_first = is_empty || replay->last == replay->first;
    if (!is_empty)
        err = journal_remove(journal, &numbers[replay->last], 1, REPLAY_SEGMENT);
    if (!err)
        err = take_spares(journal, replay, !is_first);
    journal->first_number = is_first ? 1 : numbers[replay->first];
    if (is_first)
        journal->sequence = 1;
    const uint64_t number = is_first ? 1 : numbers[replay->last - 1] + 1;
    return err ? err : journal_begin_segment(journal, number, REPLAY_SEGMENT);
}

weft_err journal_lock(struct journal *journal)
{
    struct buf path = {0};
    buf_format(&path, "%s/journal-lock", journal->directory);
    weft_err err = own_make_named_directory(journal->directory);
    if (!err)
        err = file_lock(buf_text(&path), &journal->lock);
    if (err == WEFT_UNAVAILABLE)
        err = err_wrap(err, "%s is in use", journal->directory);
    buf_fini(&path);
    return err;
}

static void set_options(struct journal *journal, const struct journal_options *options)
{
    const struct journal_options given = options ? *options : (struct journal_options){0};
    journal->syncs_often = given.syncs_often;
    journal->segment_bytes_max =
        given.segment_bytes_max ? given.segment_bytes_max : JOURNAL_SEGMENT_BYTES_DEFAULT;
    journal->buffer_bytes = given.buffer_bytes  ? given.buffer_bytes
                            : given.syncs_often ? BUFFER_BYTES_OFTEN
                                                : BUFFER_BYTES_DEFAULT;
    // The last record may reach beyond the size at which the next segment is begun.
    const uint64_t bytes = journal->segment_bytes_max + journal->segment_bytes_max / 64;
    const uint64_t blocks = (bytes - 1) / FILE_BLOCK_BYTES + 1;
    journal->spares.directory = journal->directory;
    journal->spares.bytes = blocks * FILE_BLOCK_BYTES;
}

struct journal *journal_new(const char *directory, const char *kind,
                            const struct journal_options *options)
{
    struct journal *journal = calloc(1, sizeof *journal);
    char *copy = strdup(directory);
    if (!journal || !copy) {
        free(journal);
        free(copy);
        err_no_memory("for the journal in %s", directory);
        return NULL;
    }
    ASSERT(strlen(kind) < sizeof journal->kind);
    memcpy(journal->kind, kind, strlen(kind));
    journal->directory = copy;
    journal->lock = journal->tail.fd = -1;
    set_options(journal, options);
    return journal;
}

void journal_free(struct journal *journal)
{
    tail_fini(&journal->tail);
    spares_fini(&journal->spares);
    buf_fini(&journal->waiting);
    file_close(journal->lock);
    free(journal->directory);
    free(journal);
}

weft_err journal_open(struct journal **journal, const char *directory, const char *kind,
                      const struct journal_options *options, journal_visit_fn *visit, void *owner,
                      struct journal_found *found)
{
    struct journal *opened = journal_new(directory, kind, options);
    *journal = NULL;
    if (!opened)
        return WEFT_RESOURCE_EXHAUSTED;
    struct replay replay = {.directory = directory,
                            .kind = kind,
                            .keeps_good_prefix = options && options->keeps_good_prefix};
    weft_err err = journal_lock(opened);
    if (!err)
        err = replay_run(&replay, visit, owner);
    if (!err)
        err = journal_take_over(opened, &replay);
    set_found(found, &replay);
    replay_fini(&replay);
    if (err)
        journal_free(opened);
    else
        *journal = opened;
    return err;
}

weft_err journal_close(struct journal *journal)
{
    if (!journal)
        return WEFT_OK;
    const weft_err err = journal_flush(journal);
    journal_free(journal);
    return err;
}

// ---- Appending ------------------------------------------------------------------------------------

weft_err journal_flush(struct journal *journal)
{
    weft_err err = check_failed(journal);
    if (err || !journal->waiting.size)
        return err;
    err = tail_write(&journal->tail, &journal->waiting);
    return err && err != WEFT_RESOURCE_EXHAUSTED ? journal_fail(journal, err) : err;
}

bool journal_has_failed(const struct journal *journal)
{
    return journal->failed != WEFT_OK;
}

// The next segment is written ahead while the second half of this one fills.
static void write_ahead(struct journal *journal)
{
    if (journal->tail.way != TAIL_GROWS && journal->tail.written > journal->segment_bytes_max / 2)
        spares_make(&journal->spares, journal->tail.number + 1);
}

weft_err journal_check_name(struct journal *journal)
{
    weft_err err = check_failed(journal);
    if (err)
        return err;
    err = tail_check_name(&journal->tail);
    return err ? journal_fail(journal, err) : WEFT_OK;
}

weft_err journal_sync(struct journal *journal)
{
    weft_err err = journal_flush(journal);
    if (err)
        return err;
    err = tail_sync(&journal->tail);
    if (!err)
        err = tail_check_name(&journal->tail);
    if (!err && journal->has_new_name && !journal->is_rewriting)
        err = file_sync_directory(journal->directory);
    if (err)
        return journal_fail(journal, err);
    journal->has_new_name = journal->has_new_name && journal->is_rewriting;
    journal->is_unsynced = false;
    write_ahead(journal);
    return WEFT_OK;
}

// The next segment, when this one is large enough.
weft_err journal_rotate(struct journal *journal)
{
    const weft_err err = journal_sync(journal);
    if (err)
        return err;
    struct tail old = journal->tail;
    const weft_err begun = journal_begin_segment(journal, old.number + 1, REPLAY_SEGMENT);
    if (begun)
        return begun;
    journal->before_bytes += old.written;
    tail_fini(&old);
    return WEFT_OK;
}

weft_err journal_append(struct journal *journal, uint32_t type, weft_bytes payload)
{
    weft_err err = check_failed(journal);
    if (err)
        return err;
    if (payload.size > JOURNAL_PAYLOAD_BYTES_MAX)
        return err_set(WEFT_INVALID_ARGUMENT, "a record of %zu bytes is too large for a journal",
                       payload.size);
    const uint64_t size = journal->tail.written + journal->waiting.size;
    // A segment has at least one record, and a snapshot is one segment.
    if (!journal->is_rewriting && size > SEGMENT_HEADER_BYTES && size >= journal->segment_bytes_max)
        err = journal_rotate(journal);
    else if (journal->waiting.size >= journal->buffer_bytes)
        err = journal_flush(journal);
    if (err)
        return err;
    const struct journal_record record = {type, journal->sequence, payload};
    const uint64_t salt = journal->syncs_often ? journal->tail.number : 0;
    if (!segment_append(&journal->waiting, salt, salt && !journal->is_unsynced, &record))
        return err_no_memory("for a record of %zu bytes", payload.size);
    journal->sequence++;
    journal->is_unsynced = true;
    return WEFT_OK;
}

uint64_t journal_size(const struct journal *journal)
{
    return journal->before_bytes + journal->tail.written + journal->waiting.size;
}
