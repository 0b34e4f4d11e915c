// Parts that this client writes.

#include "run/client/part_writer.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "base/list.h"
#include "sys/file/file.h"
#include "sys/loop/errands.h"

enum { COPY_BYTES = 256 << 10 };

struct part_writer {
    struct copies *copies;
    const struct part_writer_calls *calls;
    void *owner;
    struct errands *errands;
    struct link writings;
    atomic_bool is_stopped;
};

// A part, from the order to the answer.
struct writing {
    struct part_writer *writer;
    struct link in_writer;
    Weft__PartWrite *order;
    struct copy **copies;  // of the files that the pieces are in
    uint32_t pending;      // pieces that are on their way
    int fd;                // of the part
    uint64_t bytes;
    uint32_t crc;
    weft_err code;
    bool is_blind;
    char why[ERR_TEXT_BYTES_MAX];
};

static void free_writing(struct writing *writing)
{
    copies_forget(writing->writer->copies, writing);
    list_take_out(&writing->in_writer);
    if (writing->fd >= 0)
        file_close(writing->fd);
    message_free(writing->order);
    free(writing->copies);
    free(writing);
}

// With this thread's sentence.
static void note_failure(struct writing *writing, weft_err code, bool is_blind)
{
    writing->code = code;
    writing->is_blind = is_blind;
    snprintf(writing->why, sizeof writing->why, "%s", err_text());
}

// Fetched pieces are not needed any more.
static void release_pieces(const struct writing *writing)
{
    for (size_t i = 0; i < writing->order->n_pieces; i++)
        if (writing->copies[i])
            copy_release(writing->copies[i], writing->order->pieces[i]->offset,
                         writing->order->pieces[i]->size);
}

static void answer(struct writing *writing)
{
    const struct part_writer *writer = writing->writer;
    Weft__PartWritten written = WEFT__PART_WRITTEN__INIT;
    written.part = writing->order->part;
    written.attempt = writing->order->attempt;
    written.code = message_code(writing->code);
    written.text = writing->why;
    written.bytes = writing->bytes;
    written.crc = writing->crc;
    written.is_blind = writing->is_blind;
    copies_forget(writer->copies, writing);
    release_pieces(writing);
    writer->calls->answer(writer->owner, &written);
    free_writing(writing);
}

// ---- Writing, in the thread beside the loop -----------------------------------------------------------------

static weft_err write_stretch(struct writing *writing, const char *data, size_t size)
{
    const weft_err code =
        file_write_at(writing->fd, writing->order->path, data, size, writing->bytes);
    if (code != WEFT_OK)
        writing->is_blind = true;
    writing->crc = crc32c(writing->crc, data, size);
    writing->bytes += size;
    return code;
}

static weft_err write_piece(struct writing *writing, size_t index, char *room)
{
    const Weft__Source *piece = writing->order->pieces[index];
    uint64_t done = 0;
    uint32_t crc = 0;
    while (done < piece->size && !atomic_load(&writing->writer->is_stopped)) {
        const uint64_t left = piece->size - done;
        size_t got = 0;
        weft_err code =
            file_read_at(writing->copies[index]->fd, "a worker's file", room,
                         left < COPY_BYTES ? (size_t)left : COPY_BYTES, piece->offset + done, &got);
        if (code == WEFT_OK && got == 0)
            break;
        if (code == WEFT_OK)
            code = write_stretch(writing, room, got);
        if (code != WEFT_OK)
            return code;
        crc = crc32c(crc, room, got);
        done += got;
    }
    if (done == piece->size && crc == piece->crc)
        return WEFT_OK;
    return err_set(WEFT_DATA_LOSS, "output that a worker left in a temporary file is damaged");
}

static void write_part(void *owner)
{
    struct writing *writing = owner;
    char *room = malloc(COPY_BYTES);
    weft_err code = room ? WEFT_OK : err_no_memory("to write a part");
    for (size_t i = 0; i < writing->order->n_pieces && code == WEFT_OK; i++)
        code = write_piece(writing, i, room);
    free(room);
    // Some file systems report only now that they could not keep it.
    if (code == WEFT_OK) {
        code = file_close_checked(writing->fd, writing->order->path);
        writing->fd = -1;
        writing->is_blind = code != WEFT_OK;
    }
    if (code != WEFT_OK)
        note_failure(writing, code, writing->is_blind);
}

static void open_part(void *owner)
{
    struct writing *writing = owner;
    const weft_err code = file_open_existing(writing->order->path, &writing->fd);
    if (code != WEFT_OK) {
        writing->fd = -1;
        note_failure(writing, code, true);
    }
}

// ---- Fetching -----------------------------------------------------------------------------------------------

static void end_written(void *owner)
{
    answer(owner);
}

static void begin_to_write(struct writing *writing)
{
    const weft_err code = errands_do(writing->writer->errands, write_part, end_written, writing);
    if (code != WEFT_OK)
        writing->writer->calls->broken(writing->writer->owner, code);
}

static void take_piece(void *owner, weft_err code)
{
    struct writing *writing = owner;
    if (code != WEFT_OK) {
        note_failure(writing, code, false);
        answer(writing);
    } else if (--writing->pending == 0) {
        begin_to_write(writing);
    }
}

static weft_err fetch_piece(struct writing *writing, size_t index)
{
    struct copies *copies = writing->writer->copies;
    const Weft__Source *piece = writing->order->pieces[index];
    struct copy *copy;
    const weft_err code = copies_open(copies, piece->far, &copy);
    if (code != WEFT_OK)
        return code;
    writing->copies[index] = copy;
    if (!copy->from || piece->size == 0)
        return WEFT_OK;
    writing->pending++;
    return copy_fetch(copies, copy, piece->offset, piece->size, take_piece, writing);
}

static void take_opened(void *owner)
{
    struct writing *writing = owner;
    if (writing->code != WEFT_OK) {
        answer(writing);
        return;
    }
    writing->pending = 1;
    for (size_t i = 0; i < writing->order->n_pieces; i++) {
        const weft_err code = fetch_piece(writing, i);
        if (code == WEFT_OK)
            continue;
        note_failure(writing, code, false);
        answer(writing);
        return;
    }
    take_piece(writing, WEFT_OK);
}

// ---- Orders -------------------------------------------------------------------------------------------------

static weft_err check_order(const Weft__PartWrite *order)
{
    for (size_t i = 0; i < order->n_pieces; i++)
        if (!order->pieces[i]->far)
            return err_set(WEFT_INTERNAL, "the server sent a piece without its holder");
    return WEFT_OK;
}

static weft_err begin(struct part_writer *writer, const struct frame *frame)
{
    struct writing *writing = calloc(1, sizeof *writing);
    if (!writing)
        return err_no_memory("to write a part");
    writing->writer = writer;
    writing->fd = -1;
    list_append(&writer->writings, &writing->in_writer);
    weft_err code = message_unpack(frame, &weft__part_write__descriptor, &writing->order);
    if (code == WEFT_OK)
        code = check_order(writing->order);
    if (code == WEFT_OK) {
        writing->copies = calloc(writing->order->n_pieces + 1, sizeof(struct copy *));
        code = writing->copies ? WEFT_OK : err_no_memory("to write a part");
    }
    if (code == WEFT_OK)
        code = errands_do(writer->errands, open_part, take_opened, writing);
    if (code != WEFT_OK)
        free_writing(writing);
    return code;
}

void part_writer_take(struct part_writer *writer, const struct frame *frame)
{
    const weft_err code = begin(writer, frame);
    if (code != WEFT_OK)
        writer->calls->broken(writer->owner, code);
}

// ---- Its life -----------------------------------------------------------------------------------------------

struct part_writer *part_writer_new(struct loop *loop, struct copies *copies,
                                    const struct part_writer_calls *calls, void *owner)
{
    struct part_writer *writer = calloc(1, sizeof *writer);
    if (!writer) {
        (void)err_no_memory("for a client");
        return NULL;
    }
    writer->copies = copies;
    writer->calls = calls;
    writer->owner = owner;
    list_init(&writer->writings);
    writer->errands = errands_new(loop);
    if (writer->errands)
        return writer;
    free(writer);
    return NULL;
}

void part_writer_free(struct part_writer *writer)
{
    if (!writer)
        return;
    atomic_store(&writer->is_stopped, true);
    errands_free(writer->errands);
    while (!list_is_empty(&writer->writings))
        free_writing(LIST_ITEM(writer->writings.next, struct writing, in_writer));
    free(writer);
}
