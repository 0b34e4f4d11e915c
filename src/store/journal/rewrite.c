// Replacing the records of a journal by a snapshot. It goes to a file of another name, which is synced
// before it is renamed; its header says how long it was then, and that it replaces the segments before it. So
// the moment of the rename decides, and the next process that opens the journal removes the files that a killed
// rewrite left.
//
// Beside the journal: the segments so far are closed, records continue after them, and a forked child that
// has the state of that moment writes the snapshot. It takes the number, and with its name the place, of
// the last segment that it replaces; the numbers of its records have nothing to do with those after it.

#include <stdlib.h>

#include "store/journal/journal_state.h"
#include "sys/file/file.h"

// ---- Steps ----------------------------------------------------------------------------------------

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
    journal_make_header(journal, journal->tail.number, first_sequence, journal->tail.written,
                        header);
    err = file_write_at(journal->tail.fd, journal->tail.path, header, sizeof header, 0);
    return err ? err : file_sync(journal->tail.fd, journal->tail.path);
}

// Gives the snapshot its name: from here on it is the journal.
static weft_err name_snapshot(struct journal *journal)
{
    char *path = replay_path(journal->directory, journal->tail.number, REPLAY_SEGMENT);
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
        return journal_fail(journal, err);
    journal->has_new_name = false;
    for (uint64_t number = journal->first_number; number < end && !err; number++)
        err = journal->syncs_often ? spares_keep(&journal->spares, number)
                                   : journal_remove(journal, &number, 1, REPLAY_SEGMENT);
    if (!err)
        journal->first_number = end;
    return err;
}

// ---- At once --------------------------------------------------------------------------------------

weft_err journal_rewrite(struct journal *journal, journal_snapshot_fn *snapshot, void *owner)
{
    ASSERT(!journal->is_rewriting && !journal->replaced);
    weft_err err = journal_flush(journal);
    if (err)
        return err;
    struct tail old = journal->tail;
    const uint64_t sequence = journal->sequence;
    const bool had_new_name = journal->has_new_name, was_unsynced = journal->is_unsynced;
    err = journal_begin_segment(journal, old.number + 1, REPLAY_HALF);
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
        journal->is_unsynced = was_unsynced;
        return err;
    }
    tail_fini(&old);
    journal->before_bytes = 0;
    journal->is_unsynced = false;
    err = drop_old_segments(journal, journal->tail.number);
    // Records after the snapshot go to a file that was written ahead, or to this one.
    if (!err && journal->syncs_often && journal_rotate(journal))
        err_clear();
    return err;
}

// ---- Beside the journal -----------------------------------------------------------------------------

weft_err journal_rewrite_start(struct journal *journal)
{
    ASSERT(journal->syncs_often && !journal->is_rewriting && !journal->replaced);
    const uint64_t last = journal->tail.number;
    const weft_err err = journal_rotate(journal);
    if (err)
        return err;
    journal->replaced = last;
    journal->replaced_bytes = journal->before_bytes;
    journal->replaced_end = journal->sequence;
    return WEFT_OK;
}

weft_err journal_rewrite_write(struct journal *journal, journal_snapshot_fn *snapshot, void *owner)
{
    ASSERT(journal->replaced && journal->sequence == journal->replaced_end);
    journal->waiting.size = 0;  // the header of the tail, if it grows: the parent writes it
    const weft_err err = journal_begin_segment(journal, journal->replaced, REPLAY_HALF);
    journal->is_rewriting = true;
    return err ? err : write_snapshot(journal, journal->replaced_end, snapshot, owner);
}

weft_err journal_rewrite_finish(struct journal *journal)
{
    ASSERT(journal->replaced);
    const uint64_t number = journal->replaced;
    journal->replaced = 0;
    char *from = replay_path(journal->directory, number, REPLAY_HALF);
    char *to = replay_path(journal->directory, number, REPLAY_SEGMENT);
    struct file_stat status = {0};
    weft_err err = from && to ? file_stat(from, &status) : WEFT_RESOURCE_EXHAUSTED;
    // The tail's own name, and those between, must be there if the place before them is.
    if (!err)
        err = journal_sync(journal);
    if (!err)
        err = file_rename(from, to);
    free(from);
    free(to);
    if (err)
        return err;  // the next one who opens takes the file away
    journal->before_bytes += status.size - journal->replaced_bytes;
    return drop_old_segments(journal, number);
}

void journal_rewrite_cancel(struct journal *journal)
{
    if (journal->replaced && journal_remove(journal, &journal->replaced, 1, REPLAY_HALF))
        err_clear();
    journal->replaced = 0;
}
