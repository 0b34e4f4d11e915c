// Spare segments. Writing one takes as long as a hundred syncs, so a thread of its own does it while the
// segment before fills. A file of any content will do: records say in which segment they are.

#include "store/journal/spares.h"

#include "store/journal/replay.h"
#include "sys/file/file.h"

enum { SPARES_MAX = 4, PIECE_BYTES = 1 << 20 };

static bool has_number(const struct spares *spares, uint64_t number)
{
    for (size_t i = 0; i < spares->numbers.count; i++)
        if (spares->numbers.items[i] == number)
            return true;
    return false;
}

static weft_err remove_file(const struct spares *spares, uint64_t number, enum replay_name name)
{
    char *path = replay_path(spares->directory, number, name);
    const weft_err err = path ? file_remove(path) : WEFT_RESOURCE_EXHAUSTED;
    free(path);
    return err;
}

weft_err spares_add(struct spares *spares, uint64_t number)
{
    if (spares->numbers.count < SPARES_MAX && VEC_PUSH(&spares->numbers, number))
        return WEFT_OK;
    return remove_file(spares, number, REPLAY_SPARE);
}

weft_err spares_keep(struct spares *spares, uint64_t number)
{
    char *path = replay_path(spares->directory, number, REPLAY_SEGMENT);
    char *spare = replay_path(spares->directory, number, REPLAY_SPARE);
    struct file_stat status = {0};
    weft_err err = path && spare ? file_stat(path, &status) : WEFT_RESOURCE_EXHAUSTED;
    const bool is_wanted = !err && spares->numbers.count < SPARES_MAX &&
                           !has_number(spares, number) && status.size >= spares->bytes &&
                           status.size / 2 <= spares->bytes;
    if (is_wanted)
        err = file_rename(path, spare);
    else if (!err)
        err = file_remove(path);
    if (is_wanted && !err)
        err = spares_add(spares, number);
    free(path);
    free(spare);
    return err;
}

// ---- Zeros ----------------------------------------------------------------------------------------

weft_err spares_write_zeros(int fd, const char *path, uint64_t from, uint64_t to)
{
    static _Alignas(FILE_BLOCK_BYTES) char zeros[PIECE_BYTES];  // never written
    weft_err err = WEFT_OK;
    while (!err && from < to) {
        const size_t size = to - from < sizeof zeros ? (size_t)(to - from) : sizeof zeros;
        err = file_write_at(fd, path, zeros, size, from);
        from += size;
    }
    return err;
}

// Fills a file up to `to` after its content, and writes a first block if there is one.
static weft_err fill(int fd, const char *path, uint64_t to, const char *first)
{
    struct file_stat status;
    weft_err err = file_stat_fd(fd, path, &status);
    if (!err)
        err = spares_write_zeros(fd, path, status.size / FILE_BLOCK_BYTES * FILE_BLOCK_BYTES, to);
    if (!err && first)
        err = file_write_at(fd, path, first, FILE_BLOCK_BYTES, 0);
    return err || !first ? err : file_sync(fd, path);
}

static weft_err fill_file(const char *path, uint64_t to, const char *first)
{
    int fd = -1;
    weft_err err = file_open_direct(path, false, &fd);
    if (!err)
        err = fill(fd, path, to, first);
    if (err == WEFT_UNIMPLEMENTED || err == WEFT_INVALID_ARGUMENT) {
        file_close(fd);
        err_clear();
        err = file_open_private(path, &fd);
        if (!err)
            err = fill(fd, path, to, first);
    }
    file_close(fd);
    return err;
}

// ---- Making and taking ------------------------------------------------------------------------------

static void make(void *argument)
{
    struct spares *spares = argument;
    spares->made = fill_file(spares->making, spares->bytes, NULL);
    // The room that is left is for records.
    if (spares->made && file_remove(spares->making))
        err_clear();
}

// Takes a number off the list.
static void forget(struct spares *spares, uint64_t number)
{
    size_t kept = 0;
    for (size_t i = 0; i < spares->numbers.count; i++)
        if (spares->numbers.items[i] != number)
            spares->numbers.items[kept++] = spares->numbers.items[i];
    spares->numbers.count = kept;
}

// Ends the making, begun or not. What could not be made is not there.
static void finish_making(struct spares *spares)
{
    if (spares->made) {
        forget(spares, spares->making_number);
        if (remove_file(spares, spares->making_number, REPLAY_SPARE))
            err_clear();
        spares->has_failed = true;
    }
    free(spares->making);
    spares->making = NULL;
}

void spares_make(struct spares *spares, uint64_t number)
{
    if (spares->numbers.count || spares->has_failed)
        return;
    spares->making = replay_path(spares->directory, number, REPLAY_SPARE);
    spares->making_number = number;
    spares->made = WEFT_RESOURCE_EXHAUSTED;
    if (spares->making && VEC_PUSH(&spares->numbers, number) &&
        !thread_start(&spares->maker, make, spares, 0))
        return;
    finish_making(spares);
    err_clear();
}

static void wait_for_maker(struct spares *spares)
{
    if (!spares->making)
        return;
    thread_join(&spares->maker);
    finish_making(spares);
}

void spares_fini(struct spares *spares)
{
    wait_for_maker(spares);
    VEC_FINI(&spares->numbers);
}

static weft_err name_spare(struct spares *spares, const char *spare, uint64_t number)
{
    char *path = replay_path(spares->directory, number, REPLAY_SEGMENT);
    const weft_err err = path ? file_rename(spare, path) : WEFT_RESOURCE_EXHAUSTED;
    free(path);
    return err;
}

weft_err spares_take(struct spares *spares, uint64_t number, const char *header)
{
    _Alignas(FILE_BLOCK_BYTES) char block[FILE_BLOCK_BYTES] = {0};
    memcpy(block, header, SEGMENT_HEADER_BYTES);
    wait_for_maker(spares);
    spares->has_failed = false;
    if (!spares->numbers.count && !VEC_PUSH(&spares->numbers, number))
        return err_no_memory("for the journal in %s", spares->directory);
    const uint64_t old = *spares->numbers.items;
    char *spare = replay_path(spares->directory, old, REPLAY_SPARE);
    weft_err err = spare ? fill_file(spare, spares->bytes, block) : WEFT_RESOURCE_EXHAUSTED;
    if (!err)
        err = name_spare(spares, spare, number);
    forget(spares, old);
    char text[ERR_TEXT_BYTES_MAX];
    memcpy(text, err_text(), strlen(err_text()) + 1);
    if (err && remove_file(spares, old, REPLAY_SPARE))
        err_set(err, "%s", text);  // the sentence that counts is the first
    free(spare);
    return err;
}
