// The lent blocks of each file, and the threads that wait for more.
//
// One lock for all files: it is held for a look at some bytes for each read. A read first marks the blocks that it lacks as asked, and asks
// for them without the lock; an answer that comes in between finds them marked. Then it waits while some are asked.
// A block that is absent again could not be lent: the read fails with the last failure of the file. (If another thread has asked for it
// again by then, the read waits on: it may succeed.)

#include "store/lent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/thread/thread.h"

enum block { ABSENT, ASKED, THERE };

struct lent {
    struct lending *lending;
    uint32_t number;
    uint64_t size, block_count;
    bool is_placed;   // `size` bytes of a larger file,
    uint64_t at;      // from there on
    uint8_t *blocks;  // enum block of each; NULL: the file was not opened yet
    weft_err code;    // why a block could not be lent last
    char *text;       // and its sentence; NULL: no memory for it
};

struct lending {
    struct mutex lock;
    struct condition changed;  // blocks, or is_stopped
    bool is_stopped;
    lending_ask_fn *ask;
    void *owner;
    uint32_t file_count;
    struct lent files[];
};

// ---- Asking -------------------------------------------------------------------------------------------------

static void ask(struct lent *lent, uint64_t first, uint64_t count)
{
    const uint64_t begin = first * LENT_BLOCK_BYTES, left = lent->size - begin;
    const uint64_t size = count * LENT_BLOCK_BYTES;
    lent->lending->ask(lent->lending->owner, lent->number, begin, size < left ? size : left);
}

// Asks for the absent blocks of [first, end), together where they follow each other and are at most `at_once`. Called with the
// lock, which it gives back for each.
static void ask_for_absent(struct lent *lent, uint64_t first, uint64_t end, uint64_t at_once)
{
    struct lending *lending = lent->lending;
    while (first < end && !lending->is_stopped) {
        uint64_t count = 0;
        for (; first + count < end && count < at_once && lent->blocks[first + count] == ABSENT;
             count++)
            lent->blocks[first + count] = ASKED;
        if (count) {
            mutex_unlock(&lending->lock);
            ask(lent, first, count);
            mutex_lock(&lending->lock);
        }
        first += count ? count : 1;
    }
}

// Up to which block to ask ahead: further, the longer a thread reads on; one block after a jump.
static uint64_t end_of_ahead(struct store_file *file, uint64_t offset, uint64_t size, uint64_t last)
{
    if (file->next != offset)
        file->ahead_blocks = 1;
    else if (last != (offset ? offset - 1 : 0) / LENT_BLOCK_BYTES)
        file->ahead_blocks *= file->ahead_blocks < LENT_AHEAD_BLOCKS_MAX ? 2 : 1;
    file->next = offset + size;
    const uint64_t limit = file->ahead_end < file->lent->size ? file->ahead_end : file->lent->size;
    const uint64_t limit_block = (limit + LENT_BLOCK_BYTES - 1) / LENT_BLOCK_BYTES;
    const uint64_t end = last + 1 + file->ahead_blocks;
    return end < limit_block ? end : limit_block;
}

// ---- Reading ------------------------------------------------------------------------------------------------

static weft_err refuse(const struct lent *lent, const char *name)
{
    return err_set(lent->code, "cannot read %s: %s", name,
                   lent->text ? lent->text : "no memory to say why");
}

// Waits until no block of [first, end) is asked. Called with the lock.
static weft_err wait_for_blocks(struct lent *lent, const char *name, uint64_t first, uint64_t end)
{
    struct lending *lending = lent->lending;
    for (; first < end; first++) {
        while (lent->blocks[first] == ASKED && !lending->is_stopped)
            condition_wait(&lending->changed, &lending->lock);
        if (lent->blocks[first] == THERE)
            continue;
        if (lending->is_stopped)
            return err_set(WEFT_CANCELLED, "cannot read %s: the worker ends", name);
        return refuse(lent, name);
    }
    return WEFT_OK;
}

static weft_err lent_read_at(struct store_file *file, void *data, size_t size, uint64_t offset,
                             size_t *got)
{
    struct lent *lent = file->lent;
    *got = 0;
    if (offset >= lent->size || size == 0)
        return WEFT_OK;
    if (size > lent->size - offset)
        size = (size_t)(lent->size - offset);
    const uint64_t first = offset / LENT_BLOCK_BYTES;
    const uint64_t last = (offset + size - 1) / LENT_BLOCK_BYTES;
    mutex_lock(&lent->lending->lock);
    ask_for_absent(lent, first, last + 1, UINT64_MAX);
    ask_for_absent(lent, last + 1, end_of_ahead(file, offset, size, last), 1);
    const weft_err code = wait_for_blocks(lent, file->name, first, last + 1);
    mutex_unlock(&lent->lending->lock);
    return code ? code : file_read_at(file->fd, file->name, data, size, lent->at + offset, got);
}

static weft_err lent_stat(struct store_file *file, struct file_stat *status)
{
    const weft_err code = file_stat_fd(file->fd, file->name, status);
    if (!code)
        status->size = file->lent->size;
    return code;
}

static void lent_close(struct store_file *file)
{
    file_close(file->fd);
}

static const struct store_calls lent_calls = {lent_read_at, lent_stat, lent_close};

// ---- Opening ------------------------------------------------------------------------------------------------

// The first that opens the file says how large it is.
static weft_err take_size(struct lent *lent, const char *name, uint64_t size)
{
    mutex_lock(&lent->lending->lock);
    if (lent->is_placed)
        size = lent->size;
    if (!lent->blocks) {
        lent->block_count = size / LENT_BLOCK_BYTES + (size % LENT_BLOCK_BYTES > 0);
        lent->size = size;
        lent->blocks = calloc(lent->block_count + 1, 1);
    }
    const bool is_known = lent->blocks;
    mutex_unlock(&lent->lending->lock);
    return is_known ? WEFT_OK : err_no_memory("to read %s", name);
}

weft_err lent_open(struct lending *lending, uint32_t number, const char *path, const char *name,
                   struct store_file *file)
{
    struct file_stat status;
    ASSERT(number < lending->file_count);
    *file = (struct store_file){.name = name, .lent = &lending->files[number], .next = UINT64_MAX};
    weft_err code = file_open(path, &file->fd);
    if (code)
        return code;
    file->calls = &lent_calls;
    code = file_stat_fd(file->fd, name, &status);
    if (!code)
        code = take_size(file->lent, name, status.size);
    if (code)
        store_close(file);
    return code;
}

void lent_ask_ahead(struct lending *lending, uint32_t number, const char *path, uint64_t offset)
{
    struct file_stat status;
    ASSERT(number < lending->file_count);
    struct lent *lent = &lending->files[number];
    const bool is_known = file_stat(path, &status) == WEFT_OK && status.kind == FILE_REGULAR &&
                          take_size(lent, path, status.size) == WEFT_OK;
    if (is_known) {
        const uint64_t block = offset / LENT_BLOCK_BYTES;
        mutex_lock(&lending->lock);
        if (block < lent->block_count)
            ask_for_absent(lent, block, block + 1, 1);
        mutex_unlock(&lending->lock);
    }
    err_clear();
}

void lending_place(struct lending *lending, uint32_t number, uint64_t at, uint64_t size)
{
    struct lent *lent = &lending->files[number];
    ASSERT(number < lending->file_count && !lent->blocks);
    lent->is_placed = true;
    lent->at = at;
    lent->size = size;
}

// ---- Answers ------------------------------------------------------------------------------------------------

static void keep_failure(struct lent *lent, weft_err code)
{
    free(lent->text);
    lent->code = code;
    lent->text = strdup(err_text());
}

void lending_settle(struct lending *lending, uint32_t file, uint64_t offset, uint64_t size,
                    weft_err code)
{
    ASSERT(file < lending->file_count);
    struct lent *lent = &lending->files[file];
    const uint64_t first = offset / LENT_BLOCK_BYTES;
    mutex_lock(&lending->lock);
    if (code)
        keep_failure(lent, code);
    for (uint64_t i = first; i < lent->block_count && i * LENT_BLOCK_BYTES < offset + size; i++)
        if (lent->blocks[i] == ASKED)
            lent->blocks[i] = code ? ABSENT : THERE;
    condition_broadcast(&lending->changed);
    mutex_unlock(&lending->lock);
}

void lending_stop(struct lending *lending)
{
    mutex_lock(&lending->lock);
    lending->is_stopped = true;
    condition_broadcast(&lending->changed);
    mutex_unlock(&lending->lock);
}

// ---- Beginning and end --------------------------------------------------------------------------------------

struct lending *lending_new(uint32_t file_count, lending_ask_fn *ask_fn, void *owner)
{
    struct lending *lending = calloc(1, sizeof *lending + file_count * sizeof lending->files[0]);
    if (!lending) {
        err_no_memory("for %u lent files", file_count);
        return NULL;
    }
    mutex_init(&lending->lock);
    condition_init(&lending->changed);
    lending->ask = ask_fn;
    lending->owner = owner;
    lending->file_count = file_count;
    for (uint32_t i = 0; i < file_count; i++) {
        lending->files[i].lending = lending;
        lending->files[i].number = i;
    }
    return lending;
}

void lending_free(struct lending *lending)
{
    if (!lending)
        return;
    for (uint32_t i = 0; i < lending->file_count; i++) {
        free(lending->files[i].blocks);
        free(lending->files[i].text);
    }
    condition_fini(&lending->changed);
    mutex_fini(&lending->lock);
    free(lending);
}
