// press: every thread takes the next piece, reads its files, compresses it, and hands it over to be written in order.
//
// All places in the tar are known before: an item begins where the one before it ends. So a thread finds the items of a piece by
// itself, and there is no reader that the others would wait for. Whichever thread finishes the piece that is to be written next writes it, and those
// that are ready after it. A thread that is too far ahead waits, so that memory is bounded.

#include "pack/press.h"

#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

#include "sys/file/file.h"
#include "sys/thread/thread.h"

enum {
    AHEAD_OF_THREAD = 3,  // pieces
    THREADS_MAX = 256,
};
#define TABLE_MAGIC UINT32_C(0x184D2A5E)
#define FOOTER_MAGIC UINT32_C(0x8F92EAB1)

struct piece {
    char *bytes;  // compressed; NULL: not ready
    size_t size, plain_size;
};

struct press {
    const struct content *content;
    const struct press_options *options;
    uint64_t *begins;  // of each item in the tar, and of the end
    uint64_t tar_size, piece_count;

    struct mutex lock;  // guards the rest
    struct condition moved;
    uint64_t next, written;  // pieces
    struct piece *ring;
    uint64_t ahead_max;
    bool is_writing;
    uint64_t offset;  // in the file
    struct sha256 sha;
    struct buf table;
    weft_err failed;
    struct err_kept text;
};

// Of one thread.
struct hand {
    struct press *press;
    ZSTD_CCtx *context;
    char *piece;
    struct buf header;
    int fd;  // of the last file that was read; -1: none
    size_t fd_item;
};

// ---- Bytes of the tar ----------------------------------------------------------------------------------------------

static void set_entry(const struct content_item *item, struct tar_entry *entry)
{
    *entry = (struct tar_entry){.path = item->path,
                                .link = item->link,
                                .kind = item->kind,
                                .size = item->size,
                                .is_executable = item->is_executable};
}

// An item's last bytes are zeros, as the tar's are.
static weft_err lay_out(struct press *press)
{
    const size_t count = press->content->items.count;
    struct buf header = {0};
    struct tar_entry entry;
    press->begins = malloc((count + 1) * sizeof *press->begins);
    if (!press->begins)
        return err_no_memory("to pack");
    for (size_t i = 0; i < count; i++) {
        const struct content_item *item = &press->content->items.items[i];
        set_entry(item, &entry);
        header.size = 0;
        tar_write_entry(&entry, &header);
        press->begins[i] = press->tar_size;
        press->tar_size += header.size + item->size + tar_pad(item->size);
    }
    press->begins[count] = press->tar_size;
    press->tar_size += TAR_END_BYTES;
    press->piece_count = (press->tar_size + PRESS_PIECE_BYTES - 1) / PRESS_PIECE_BYTES;
    const bool has_failed = header.has_failed;
    buf_fini(&header);
    return has_failed ? err_no_memory("to pack") : WEFT_OK;
}

static size_t find_item(const struct press *press, uint64_t offset)
{
    size_t begin = 0, end = press->content->items.count;
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        if (press->begins[middle + 1] <= offset)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

static weft_err refuse_changed(const char *path)
{
    return err_set(WEFT_DATA_LOSS,
                   "%s was changed while it was packed\n  try: weft pack again when nothing writes "
                   "to it",
                   path);
}

static void close_file(struct hand *hand)
{
    if (hand->fd >= 0)
        file_close(hand->fd);
    hand->fd = -1;
}

static weft_err open_file(struct hand *hand, size_t number)
{
    const struct content_item *item = &hand->press->content->items.items[number];
    struct file_stat status;
    if (hand->fd >= 0 && hand->fd_item == number)
        return WEFT_OK;
    close_file(hand);
    weft_err code = file_open(item->from, &hand->fd);
    if (code == WEFT_OK)
        code = file_stat_fd(hand->fd, item->from, &status);
    if (code == WEFT_OK && (status.kind != FILE_REGULAR || status.size != item->size ||
                            status.mtime_ns != item->mtime_ns))
        code = refuse_changed(item->from);
    hand->fd_item = number;
    return code;
}

static weft_err read_content(struct hand *hand, size_t number, uint64_t at, char *to, size_t size)
{
    const struct content *content = hand->press->content;
    const struct content_item *item = &content->items.items[number];
    size_t got = size;
    if (item->text) {
        memcpy(to, item->text + at, size);
        return WEFT_OK;
    }
    if (!item->from)
        return file_read_at(content->fd, content->fd_name, to, size, item->from_at + at, &got);
    weft_err code = open_file(hand, number);
    if (code == WEFT_OK)
        code = file_read_at(hand->fd, item->from, to, size, at, &got);
    return code == WEFT_OK && got < size ? refuse_changed(item->from) : code;
}

// Bytes [from, from + size) of an item: its header, its content, its zeros.
static weft_err read_item(struct hand *hand, size_t number, uint64_t from, char *to, size_t size)
{
    const struct content_item *item = &hand->press->content->items.items[number];
    struct tar_entry entry;
    hand->header.size = 0;
    set_entry(item, &entry);
    tar_write_entry(&entry, &hand->header);
    if (hand->header.has_failed)
        return err_no_memory("to pack");
    const uint64_t header_size = hand->header.size, content_end = header_size + item->size;
    while (size > 0) {
        const uint64_t end = from < header_size   ? header_size
                             : from < content_end ? content_end
                                                  : from + size;
        const size_t step = end - from < size ? (size_t)(end - from) : size;
        if (from < header_size) {
            memcpy(to, hand->header.data + from, step);
        } else if (from < content_end) {
            const weft_err code = read_content(hand, number, from - header_size, to, step);
            if (code != WEFT_OK)
                return code;
        } else {
            memset(to, 0, step);
        }
        from += step;
        to += step;
        size -= step;
    }
    return WEFT_OK;
}

static weft_err read_piece(struct hand *hand, uint64_t number, size_t *size)
{
    const struct press *press = hand->press;
    const uint64_t begin = number * PRESS_PIECE_BYTES;
    const uint64_t left = press->tar_size - begin;
    *size = left < PRESS_PIECE_BYTES ? (size_t)left : PRESS_PIECE_BYTES;
    weft_err code = WEFT_OK;
    size_t item = find_item(press, begin);
    for (uint64_t at = begin; at < begin + *size && code == WEFT_OK;) {
        char *to = hand->piece + (at - begin);
        const uint64_t rest = begin + *size - at;
        if (item == press->content->items.count) {
            memset(to, 0, (size_t)rest);
            break;
        }
        const uint64_t item_rest = press->begins[item + 1] - at;
        const size_t step = (size_t)(item_rest < rest ? item_rest : rest);
        code = read_item(hand, item, at - press->begins[item], to, step);
        at += step;
        item++;
    }
    return code;
}

// ---- In order ------------------------------------------------------------------------------------------------------

static void append32(struct buf *buf, uint32_t value)
{
    const unsigned char bytes[4] = {(unsigned char)value, (unsigned char)(value >> 8),
                                    (unsigned char)(value >> 16), (unsigned char)(value >> 24)};
    buf_append(buf, bytes, sizeof bytes);
}

static weft_err write_bytes(struct press *press, const void *bytes, size_t size)
{
    const weft_err code =
        file_write_at(press->options->fd, press->options->fd_name, bytes, size, press->offset);
    sha256_add(&press->sha, bytes, size);
    press->offset += size;
    return code;
}

static void fail(struct press *press, weft_err code)
{
    if (press->failed == WEFT_OK) {
        press->failed = code;
        err_keep(&press->text);
    }
    condition_broadcast(&press->moved);
}

// Writes the pieces that are ready, unless another thread is at it, which then writes this thread's too.
static void write_ready(struct press *press)
{
    if (press->is_writing)
        return;
    press->is_writing = true;
    while (press->failed == WEFT_OK) {
        struct piece *slot = &press->ring[press->written % press->ahead_max], piece = *slot;
        if (!piece.bytes)
            break;
        slot->bytes = NULL;
        mutex_unlock(&press->lock);
        const weft_err code = write_bytes(press, piece.bytes, piece.size);
        free(piece.bytes);
        mutex_lock(&press->lock);
        append32(&press->table, (uint32_t)piece.size);
        append32(&press->table, (uint32_t)piece.plain_size);
        press->written++;
        if (code != WEFT_OK)
            fail(press, code);
        condition_broadcast(&press->moved);
    }
    press->is_writing = false;
}

static weft_err compress(struct hand *hand, size_t plain_size, struct piece *piece)
{
    const size_t room = ZSTD_compressBound(plain_size);
    char *bytes = malloc(room);
    if (!bytes)
        return err_no_memory("to pack");
    const size_t size = ZSTD_compress2(hand->context, bytes, room, hand->piece, plain_size);
    if (ZSTD_isError(size)) {
        free(bytes);
        return err_no_memory("to compress (%s)", ZSTD_getErrorName(size));
    }
    // Little of the room is used, and several pieces may wait.
    char *less = realloc(bytes, size);
    *piece = (struct piece){less ? less : bytes, size, plain_size};
    return WEFT_OK;
}

// The next piece to make; false: there is none for this thread.
static bool claim(struct press *press, uint64_t *number)
{
    while (press->failed == WEFT_OK && press->next < press->piece_count &&
           press->next >= press->written + press->ahead_max)
        condition_wait(&press->moved, &press->lock);
    if (press->failed != WEFT_OK || press->next >= press->piece_count)
        return false;
    *number = press->next++;
    return true;
}

static void work(void *owner)
{
    struct hand *hand = owner;
    struct press *press = hand->press;
    uint64_t number;
    mutex_lock(&press->lock);
    while (claim(press, &number)) {
        struct piece piece = {0};
        size_t size;
        mutex_unlock(&press->lock);
        weft_err code = WEFT_OK;
        if (press->options->is_cancelled && press->options->is_cancelled())
            code = err_set(WEFT_CANCELLED, "interrupted");
        if (code == WEFT_OK)
            code = read_piece(hand, number, &size);
        if (code == WEFT_OK)
            code = compress(hand, size, &piece);
        mutex_lock(&press->lock);
        if (code != WEFT_OK) {
            fail(press, code);
            break;
        }
        press->ring[number % press->ahead_max] = piece;
        write_ready(press);
    }
    mutex_unlock(&press->lock);
}

// ---- All of it -----------------------------------------------------------------------------------------------------

static weft_err open_hand(struct press *press, struct hand *hand)
{
    *hand = (struct hand){.press = press, .fd = -1};
    hand->context = ZSTD_createCCtx();
    hand->piece = malloc(PRESS_PIECE_BYTES);
    if (!hand->context || !hand->piece ||
        ZSTD_isError(ZSTD_CCtx_setParameter(hand->context, ZSTD_c_compressionLevel,
                                            press->options->level)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(hand->context, ZSTD_c_checksumFlag, 1)))
        return err_no_memory("to compress");
    return WEFT_OK;
}

static void close_hand(struct hand *hand)
{
    close_file(hand);
    ZSTD_freeCCtx(hand->context);
    free(hand->piece);
    buf_fini(&hand->header);
}

// The first thread is the caller's. One that cannot be started is not missed.
static weft_err run_threads(struct press *press, uint32_t count)
{
    struct hand *hands = calloc(count, sizeof *hands);
    struct thread *threads = calloc(count, sizeof *threads);
    uint32_t opened = 0, started = 1;
    weft_err code = hands && threads ? WEFT_OK : err_no_memory("to pack");
    while (code == WEFT_OK && opened < count)
        code = open_hand(press, &hands[opened++]);
    while (code == WEFT_OK && started < count &&
           thread_start(&threads[started], work, &hands[started], 0) == WEFT_OK)
        started++;
    if (code == WEFT_OK)
        work(&hands[0]);
    for (uint32_t i = 1; i < started; i++)
        thread_join(&threads[i]);
    for (uint32_t i = 0; i < opened; i++)
        close_hand(&hands[i]);
    free(hands);
    free(threads);
    return code;
}

static weft_err write_table(struct press *press)
{
    struct buf frame = {0};
    append32(&frame, TABLE_MAGIC);
    append32(&frame, (uint32_t)press->table.size + 9);
    buf_append(&frame, press->table.data, press->table.size);
    append32(&frame, (uint32_t)press->piece_count);
    buf_append(&frame, "", 1);
    append32(&frame, FOOTER_MAGIC);
    const weft_err code = frame.has_failed || press->table.has_failed
                              ? err_no_memory("to pack")
                              : write_bytes(press, frame.data, frame.size);
    buf_fini(&frame);
    return code;
}

static weft_err run(struct press *press, uint64_t *size, uint8_t sha256[SHA256_BYTES])
{
    weft_err code = lay_out(press);
    uint32_t threads = press->options->threads;
    threads = threads < 1 ? 1 : threads > THREADS_MAX ? THREADS_MAX : threads;
    if (threads > press->piece_count)
        threads = (uint32_t)press->piece_count;
    press->ahead_max = (uint64_t)threads * AHEAD_OF_THREAD;
    press->ring = calloc(press->ahead_max ? press->ahead_max : 1, sizeof *press->ring);
    if (code == WEFT_OK && !press->ring)
        code = err_no_memory("to pack");
    if (code == WEFT_OK)
        code = run_threads(press, threads);
    if (code == WEFT_OK && (code = press->failed) != WEFT_OK)
        err_put_back(&press->text);
    if (code == WEFT_OK)
        code = write_table(press);
    *size = press->offset;
    sha256_end(&press->sha, sha256);
    return code;
}

weft_err press_content(const struct content *content, const struct press_options *options,
                       uint64_t *size, uint8_t sha256[SHA256_BYTES])
{
    struct press press = {.content = content, .options = options};
    mutex_init(&press.lock);
    condition_init(&press.moved);
    sha256_init(&press.sha);
    const weft_err code = run(&press, size, sha256);
    for (uint64_t i = 0; press.ring && i < press.ahead_max; i++)
        free(press.ring[i].bytes);
    free(press.ring);
    free(press.begins);
    buf_fini(&press.table);
    condition_fini(&press.moved);
    mutex_fini(&press.lock);
    return code;
}
