// journal: appending to segments, beginning new ones, replacing old ones.
//
// Records wait in one buffer. It is written at the offset behind what is known to be written, so that a
// write that failed half way is simply done again, or found as a torn tail by the next one who opens.
//
// Rotation syncs the segment before the next one is made: only the last one can have a torn tail.
// A rewrite goes to a file of another name, which is synced before it is renamed; its header says how
// long it was then, and that it replaces what is before it. So the moment of the rename decides, and
// whoever opens the journal afterwards takes away what a killed rewrite left.

#include "store/journal.h"

#include <stdlib.h>

#include "store/journal_replay.h"
#include "sys/file.h"

enum { BUFFER_BYTES_DEFAULT = 1 << 16 };

// The segment that is appended to.
struct tail {
    int fd;
    char *path;
    uint64_t number;
    uint64_t written;  // bytes of it in the file
};

struct journal {
    char *directory;
    char kind[JOURNAL_KIND_BYTES];
    int lock;
    uint64_t segment_bytes_max;
    size_t buffer_bytes;
    uint64_t first_number;  // of the oldest segment
    uint64_t before_bytes;  // in segments before the tail
    struct tail tail;
    struct buf waiting;  // behind what is written
    uint64_t sequence;   // of the next record
    bool is_rewriting;   // the tail is a snapshot without its name
    bool has_new_name;   // the directory was not synced since a segment was made
    weft_err failed;     // a sync failed: for good
    char failed_text[ERR_TEXT_BYTES_MAX];
};

// ---- The tail -------------------------------------------------------------------------------------

static void tail_fini(struct tail *tail)
{
    file_close(tail->fd);
    free(tail->path);
    *tail = (struct tail){.fd = -1};
}

static weft_err fail_for_good(struct journal *journal, weft_err err)
{
    journal->failed = err;
    memcpy(journal->failed_text, err_text(), strlen(err_text()) + 1);
    return err;
}

static weft_err check_failed(const struct journal *journal)
{
    return journal->failed ? err_set(journal->failed, "%s", journal->failed_text) : WEFT_OK;
}

static void make_header(const struct journal *journal, uint64_t whole_bytes, char *to)
{
    struct segment_header header = {
        .version = JOURNAL_VERSION,
        .number = journal->tail.number,
        .first_sequence = journal->sequence,
        .whole_bytes = whole_bytes,
    };
    memcpy(header.kind, journal->kind, sizeof header.kind);
    segment_write_header(to, &header);
}

// Makes an empty segment the tail, which is untouched on failure. Its header waits with the records.
static weft_err begin_segment(struct journal *journal, uint64_t number, bool is_half)
{
    char header[SEGMENT_HEADER_BYTES];
    struct tail tail = {.fd = -1, .number = number};
    tail.path = replay_path(journal->directory, number, is_half);
    if (!tail.path || !buf_reserve(&journal->waiting, sizeof header)) {
        free(tail.path);
        journal->waiting.has_failed = false;
        return err_set(WEFT_RESOURCE_EXHAUSTED, "no memory for the journal in %s",
                       journal->directory);
    }
    const weft_err err = file_create(tail.path, &tail.fd);
    if (err) {
        free(tail.path);
        return err;
    }
    journal->tail = tail;
    journal->has_new_name = true;
    make_header(journal, 0, header);
    buf_append(&journal->waiting, header, sizeof header);
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

static weft_err remove_segments(const struct journal *journal, const uint64_t *numbers,
                                size_t count, bool is_half)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; i < count && !err; i++) {
        char *path = replay_path(journal->directory, numbers[i], is_half);
        err = path ? file_remove(path) : WEFT_RESOURCE_EXHAUSTED;
        free(path);
    }
    return err;
}

// Opens the segment in which the records end and cuts what is behind them.
static weft_err open_tail(struct journal *journal, const struct replay *replay)
{
    struct tail *tail = &journal->tail;
    tail->number = replay->numbers.items[replay->last];
    tail->path = replay_path(journal->directory, tail->number, false);
    tail->written = replay->end;
    weft_err err = tail->path ? file_open_kept(tail->path, &tail->fd) : WEFT_RESOURCE_EXHAUSTED;
    if (!err && replay->end < replay->last_size)
        err = file_truncate(tail->fd, tail->path, replay->end);
    return err;
}

// Takes away what no longer counts and makes ready for more. What lies behind the end goes first, the
// latest first: killed in between, the end is found at the same place again.
static weft_err take_over(struct journal *journal, const struct replay *replay)
{
    const uint64_t *numbers = replay->numbers.items;
    weft_err err = remove_segments(journal, replay->halves.items, replay->halves.count, true);
    for (size_t i = replay->numbers.count; !err && i-- > replay->last + 1;)
        err = remove_segments(journal, &numbers[i], 1, false);
    if (!err)
        err = remove_segments(journal, numbers, replay->first, false);
    if (err)
        return err;
    journal->sequence = replay->sequence;
    journal->before_bytes = replay->size;
    const bool is_empty = replay->numbers.count == 0;
    if (!is_empty && replay->end > 0) {
        journal->first_number = numbers[replay->first];
        return open_tail(journal, replay);
    }
    // Nothing of the last segment is kept. The first one of a journal is number 1, or a snapshot.
    const bool is_first = is_empty || replay->last == replay->first;
    if (!is_empty)
        err = remove_segments(journal, &numbers[replay->last], 1, false);
    journal->first_number = is_first ? 1 : numbers[replay->first];
    if (is_first)
        journal->sequence = 1;
    return err ? err : begin_segment(journal, is_first ? 1 : numbers[replay->last - 1] + 1, false);
}

static weft_err lock_directory(struct journal *journal)
{
    struct buf path = {0};
    buf_format(&path, "%s/journal-lock", journal->directory);
    weft_err err = file_make_directory(journal->directory);
    if (!err)
        err = file_lock(buf_text(&path), &journal->lock);
    if (err == WEFT_UNAVAILABLE)
        err = err_wrap(err, "%s is in use", journal->directory);
    buf_fini(&path);
    return err;
}

static struct journal *journal_new(const char *directory, const char *kind,
                                   const struct journal_options *options)
{
    struct journal *journal = calloc(1, sizeof *journal);
    char *copy = strdup(directory);
    if (!journal || !copy) {
        free(journal);
        free(copy);
        err_set(WEFT_RESOURCE_EXHAUSTED, "no memory for the journal in %s", directory);
        return NULL;
    }
    ASSERT(strlen(kind) < sizeof journal->kind);
    memcpy(journal->kind, kind, strlen(kind));
    journal->directory = copy;
    journal->lock = journal->tail.fd = -1;
    journal->segment_bytes_max = options && options->segment_bytes_max
                                     ? options->segment_bytes_max
                                     : JOURNAL_SEGMENT_BYTES_DEFAULT;
    journal->buffer_bytes =
        options && options->buffer_bytes ? options->buffer_bytes : BUFFER_BYTES_DEFAULT;
    return journal;
}

static void journal_free(struct journal *journal)
{
    tail_fini(&journal->tail);
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
    weft_err err = lock_directory(opened);
    if (!err)
        err = replay_run(&replay, visit, owner);
    if (!err)
        err = take_over(opened, &replay);
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
    struct tail *tail = &journal->tail;
    weft_err err = check_failed(journal);
    if (err || !journal->waiting.size)
        return err;
    err = file_write_at(tail->fd, tail->path, journal->waiting.data, journal->waiting.size,
                        tail->written);
    if (err)
        return err;
    tail->written += journal->waiting.size;
    journal->waiting.size = 0;
    return WEFT_OK;
}

weft_err journal_sync(struct journal *journal)
{
    weft_err err = journal_flush(journal);
    if (err)
        return err;
    err = file_sync(journal->tail.fd, journal->tail.path);
    if (!err && journal->has_new_name && !journal->is_rewriting)
        err = file_sync_directory(journal->directory);
    if (err)
        return fail_for_good(journal, err);
    journal->has_new_name = journal->has_new_name && journal->is_rewriting;
    return WEFT_OK;
}

// The next segment, when this one is large enough.
static weft_err rotate(struct journal *journal)
{
    const weft_err err = journal_sync(journal);
    if (err)
        return err;
    struct tail old = journal->tail;
    const weft_err begun = begin_segment(journal, old.number + 1, false);
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
        err = rotate(journal);
    else if (journal->waiting.size >= journal->buffer_bytes)
        err = journal_flush(journal);
    if (err)
        return err;
    const struct journal_record record = {type, journal->sequence, payload};
    if (!segment_append(&journal->waiting, &record))
        return err_set(WEFT_RESOURCE_EXHAUSTED, "no memory for a record of %zu bytes",
                       payload.size);
    journal->sequence++;
    return WEFT_OK;
}

uint64_t journal_size(const struct journal *journal)
{
    return journal->before_bytes + journal->tail.written + journal->waiting.size;
}

// ---- Rewriting --------------------------------------------------------------------------------------

// Writes the snapshot into the tail, which has no name of its own yet.
static weft_err write_snapshot(struct journal *journal, uint64_t first_sequence,
                               journal_snapshot_fn *snapshot, void *owner)
{
    weft_err err = snapshot(owner, journal);
    if (!err)
        err = journal_flush(journal);
    if (err)
        return err;
    // Only now it is known how long the snapshot is, and only now the file gets a header that says so.
    char header[SEGMENT_HEADER_BYTES];
    const uint64_t next = journal->sequence;
    journal->sequence = first_sequence;
    make_header(journal, journal->tail.written, header);
    journal->sequence = next;
    err = file_write_at(journal->tail.fd, journal->tail.path, header, sizeof header, 0);
    return err ? err : file_sync(journal->tail.fd, journal->tail.path);
}

// Gives the snapshot its name: from here on it is the journal.
static weft_err name_snapshot(struct journal *journal)
{
    char *path = replay_path(journal->directory, journal->tail.number, false);
    const weft_err err = path ? file_rename(journal->tail.path, path) : WEFT_RESOURCE_EXHAUSTED;
    if (err) {
        free(path);
        return err;
    }
    free(journal->tail.path);
    journal->tail.path = path;
    return WEFT_OK;
}

// Puts the old tail back.
static void give_up_rewrite(struct journal *journal, struct tail *old, uint64_t sequence,
                            weft_err err)
{
    char text[ERR_TEXT_BYTES_MAX];
    memcpy(text, err_text(), strlen(err_text()) + 1);
    if (file_remove(journal->tail.path))
        err_set(err, "%s", text);  // the sentence that counts is the first
    tail_fini(&journal->tail);
    journal->tail = *old;
    journal->waiting.size = 0;
    journal->sequence = sequence;
}

static weft_err drop_old_segments(struct journal *journal, uint64_t end)
{
    // The new name must be on the disk before the old ones leave it.
    weft_err err = file_sync_directory(journal->directory);
    if (err)
        return fail_for_good(journal, err);
    journal->has_new_name = false;
    for (uint64_t number = journal->first_number; number < end && !err; number++)
        err = remove_segments(journal, &number, 1, false);
    if (!err)
        journal->first_number = end;
    return err;
}

weft_err journal_rewrite(struct journal *journal, journal_snapshot_fn *snapshot, void *owner)
{
    ASSERT(!journal->is_rewriting);
    weft_err err = journal_flush(journal);
    if (err)
        return err;
    struct tail old = journal->tail;
    const uint64_t sequence = journal->sequence;
    const bool had_new_name = journal->has_new_name;
    err = begin_segment(journal, old.number + 1, true);
    if (err)
        return err;
    journal->is_rewriting = true;
    err = write_snapshot(journal, sequence, snapshot, owner);
    if (!err)
        err = name_snapshot(journal);
    journal->is_rewriting = false;
    if (err) {
        give_up_rewrite(journal, &old, sequence, err);
        journal->has_new_name = had_new_name;
        return err;
    }
    tail_fini(&old);
    journal->before_bytes = 0;
    return drop_old_segments(journal, journal->tail.number);
}
