// Repairing a journal: it is cut at its damage, after the caller has seen the consequences.
//
// Two things are damage. The replay itself finds records that are not whole; and the caller that does them again may
// find that one does not fit, though its checksum is right. Such a record has spoilt the state that it was
// to change: all is done again, up to the record before it.
//
// The order makes it safe to be killed at any time: the copies are on the disk before anything is cut, and
// while it is cut (journal_take_over, the latest segment first) the damage stays where it is until the end.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/journal/journal_state.h"
#include "sys/file/file.h"
#include "sys/file/own.h"

enum { COPY_BYTES = 1 << 20, COPIES_MAX = 10000 };

// ---- Looking --------------------------------------------------------------------------------------------

static weft_err find_segments(const char *directory, const char *kind)
{
    struct file_stat status;
    struct replay replay = {.directory = directory, .kind = kind};
    weft_err err = file_stat(directory, &status);
    if (!err && status.kind == FILE_MISSING)
        err = err_set(WEFT_NOT_FOUND, "there is no %s", directory);
    if (!err && status.kind != FILE_DIRECTORY)
        err = err_set(WEFT_FAILED_PRECONDITION, "%s is not a directory", directory);
    if (!err)
        err = replay_list(&replay);
    if (!err && replay.numbers.count == 0)
        err = err_set(WEFT_NOT_FOUND, "there is no journal in %s", directory);
    replay_fini(&replay);
    return err;
}

// Begins again before a record that did not fit.
static weft_err stop_before(struct replay *replay)
{
    struct replay next = {.directory = replay->directory,
                          .kind = replay->kind,
                          .keeps_good_prefix = true,
                          .stop = replay->visited};
    char *path = replay_path(replay->directory, replay->visited.number, REPLAY_SEGMENT);
    if (!path)
        return WEFT_RESOURCE_EXHAUSTED;
    const weft_err err = err_set(WEFT_DATA_LOSS, "%s is damaged at offset %" PRIu64 ": %s", path,
                                 replay->visited.offset, replay->why);
    snprintf(next.why, sizeof next.why, "%s", err_text());
    free(path);
    replay_fini(replay);
    *replay = next;
    return err;
}

static weft_err look(struct replay *replay, const struct journal_repairer *repairer)
{
    weft_err err = repairer->begin(repairer->owner);
    if (!err)
        err = replay_run(replay, repairer->visit, repairer->owner);
    // Records that the replay finds damaged never come here: this damage is of the visitor.
    if (err != WEFT_DATA_LOSS)
        return err;
    snprintf(replay->why, sizeof replay->why, "%s", err_text());
    err = stop_before(replay);
    if (err != WEFT_DATA_LOSS)
        return err;
    err_clear();
    err = repairer->begin(repairer->owner);
    return err ? err : replay_run(replay, repairer->visit, repairer->owner);
}

// ---- Copies ---------------------------------------------------------------------------------------------

static weft_err copy_bytes(int from, const char *from_path, int to, const char *to_path, char *room)
{
    uint64_t at = 0;
    size_t got;
    weft_err err;
    do {
        err = file_read_at(from, from_path, room, COPY_BYTES, at, &got);
        if (!err)
            err = file_write_at(to, to_path, room, got, at);
        at += got;
    } while (!err && got == COPY_BYTES);
    return err ? err : file_sync(to, to_path);
}

static weft_err copy_file(const char *from_path, const char *to_path)
{
    int from = -1, to = -1;
    char *room = malloc(COPY_BYTES);
    weft_err err = room ? file_open(from_path, &from) : err_no_memory("to copy %s", from_path);
    if (!err)
        err = file_create_private(to_path, &to);
    if (!err)
        err = copy_bytes(from, from_path, to, to_path, room);
    file_close(from);
    file_close(to);
    free(room);
    return err;
}

// The segment in which the journal ends and all after it: the others are not touched.
static weft_err copy_all(const struct replay *replay, const char *copy)
{
    weft_err err = own_make_directory(copy);
    for (size_t i = replay->last; !err && i < replay->numbers.count; i++) {
        char *from = replay_path(replay->directory, replay->numbers.items[i], REPLAY_SEGMENT);
        char *to = replay_path(copy, replay->numbers.items[i], REPLAY_SEGMENT);
        err = from && to ? copy_file(from, to) : WEFT_RESOURCE_EXHAUSTED;
        free(from);
        free(to);
    }
    if (!err)
        err = file_sync_directory(copy);
    if (!err)
        err = file_sync_directory(replay->directory);
    if (!err)
        return WEFT_OK;
    struct err_kept kept;
    err_keep(&kept);
    if (file_remove_tree(copy))
        err_clear();
    err_put_back(&kept);
    return err_wrap(err, "nothing was changed, as the files could not be copied");
}

static weft_err name_copy(const char *directory, struct buf *copy)
{
    for (unsigned i = 1; i <= COPIES_MAX; i++) {
        struct file_stat status;
        copy->size = 0;
        buf_format(copy, "%s/damaged-%u", directory, i);
        if (copy->has_failed)
            return err_no_memory("for a path");
        const weft_err err = file_stat(buf_text(copy), &status);
        if (err || status.kind == FILE_MISSING)
            return err;
    }
    return err_set(WEFT_RESOURCE_EXHAUSTED, "%s has %d copies of damaged files", directory,
                   COPIES_MAX);
}

// ---- Cutting --------------------------------------------------------------------------------------------

static weft_err approve(const struct replay *replay, const struct journal_repairer *repairer,
                        const char *copy)
{
    char *path = replay_path(replay->directory, replay->damage.number, REPLAY_SEGMENT);
    if (!path)
        return WEFT_RESOURCE_EXHAUSTED;
    const struct journal_damage damage = {
        .why = replay->why,
        .segment = path,
        .offset = replay->damage.offset,
        .found = replay->found,
        .kept_bytes = replay->size + replay->end,
        .copy = copy,
    };
    const weft_err err = repairer->approve(repairer->owner, &damage);
    free(path);
    return err;
}

static weft_err cut(struct journal *journal, const struct replay *replay, const char *copy)
{
    weft_err err = copy_all(replay, copy);
    if (!err)
        err = journal_take_over(journal, replay);
    if (!err)
        err = journal_sync(journal);
    return err ? err : file_sync_directory(replay->directory);
}

weft_err journal_repair(const char *directory, const char *kind,
                        const struct journal_options *options,
                        const struct journal_repairer *repairer, struct journal_found *found)
{
    struct replay replay = {.directory = directory, .kind = kind, .keeps_good_prefix = true};
    struct buf copy = {0};
    weft_err err = find_segments(directory, kind);
    if (err)
        return err;
    struct journal *journal = journal_new(directory, kind, options);
    if (!journal)
        return WEFT_RESOURCE_EXHAUSTED;
    err = journal_lock(journal);
    if (!err)
        err = look(&replay, repairer);
    if (!err && replay.is_damaged)
        err = name_copy(directory, &copy);
    if (!err && replay.is_damaged)
        err = approve(&replay, repairer, buf_text(&copy));
    if (!err && replay.is_damaged)
        err = cut(journal, &replay, buf_text(&copy));
    if (found)
        *found = replay.found;
    replay_fini(&replay);
    journal_free(journal);
    buf_fini(&copy);
    return err;
}
