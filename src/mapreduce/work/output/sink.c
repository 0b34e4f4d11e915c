// The sink: every part is a chain of pieces; a piece is placed when all before it have their length.
//
//   part 0   [piece 0][piece 1][piece 2] ...        known:  its length and checksum are set
//                              ^ next_piece         ready:  and its text is held
//                                next_offset        placed: and so are all before it: it has an offset
//
// sink_submit makes its piece known, and holds the text unless the piece is the next one. Then it
// walks the chain under the lock, and without the lock writes the stretch of pieces that it has
// placed. So a piece is written by exactly one slot, and two slots may write neighbouring stretches
// of a file side by side.

#include "mapreduce/work/output/sink.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "mapreduce/work/output/held.h"
#include "store/part.h"
#include "sys/file/file.h"
#include "sys/thread/thread.h"

enum {
    // Pieces that one submit writes at most. A slot that wrote all pieces left by others would be
    // late with its own piece, for which their next pieces wait, and so on: one slot would compute,
    // the other one write. More than one, so that the number of waiting pieces shrinks.
    PIECES_PER_SUBMIT = 3,
};

// The text of a piece, as far as it came.
struct draft {
    struct held held;
    uint64_t size;
    uint64_t early;  // this many bytes at the front are in place already, and not held
    uint32_t crc;
};

struct piece_state {
    uint32_t part, crc;
    bool is_known, is_ready, is_adopted;  // under the lock
    uint64_t size, records, offset;
    struct draft draft;  // the appended text; touched only by the slot whose piece it is
    struct draft text;   // of a ready piece; touched only by the slot that placed it
};

struct part {
    uint32_t next_piece, end_piece;
    uint32_t unready_count;  // pieces that are still to come
    uint64_t next_offset;
};

struct sink {
    enum sink_kind kind;
    char *path, *tmp;
    const char *suffix;  // of part files; not ours
    int fd;              // FILE, FD, SHELF; PARTS: -1
    bool is_resumed;
    struct held_store held;
    void (*written)(void *, const struct sink_piece *);
    void *owner;
    uint32_t piece_count, part_count;
    struct piece_state *pieces;

    struct mutex mutex;  // guards all below, and what pieces say is under it
    struct part *parts;
    uint64_t shelf_bytes;  // SHELF: of the file
    bool has_remains;      // something was written early by an attempt that failed
    weft_err failure;      // the first one in writing the output
    char failure_text[ERR_TEXT_BYTES_MAX];
};

// ---- Beginning and end --------------------------------------------------------------------------

static struct part_files files_of(const struct sink *sink)
{
    return (struct part_files){.path = sink->path,
                               .has_parts = sink->kind == SINK_PARTS,
                               .count = sink->part_count,
                               .suffix = sink->suffix};
}

static void name_part(const struct sink *sink, uint32_t part, char *path, size_t size)
{
    const struct part_files files = files_of(sink);
    part_files_name(&files, part, path, size);
}

static weft_err create_files(struct sink *sink)
{
    const struct part_files files = files_of(sink);
    if (sink->kind == SINK_SHELF)
        return file_create_nameless(sink->tmp, &sink->fd);
    return sink->kind == SINK_FD ? WEFT_OK : part_files_create(&files, sink->is_resumed, &sink->fd);
}

static bool has_parts(enum sink_kind kind)
{
    return kind == SINK_PARTS || kind == SINK_SHELF;
}

// Which pieces are whose. Pieces of a part are neighbours.
static void deal_pieces(struct sink *sink, const struct sink_options *options)
{
    for (uint32_t i = 0; i < sink->piece_count; i++) {
        const uint32_t part = has_parts(options->kind) ? options->part_of_piece[i] : 0;
        ASSERT(part < sink->part_count && (i == 0 || part >= sink->pieces[i - 1].part));
        if (sink->parts[part].end_piece == 0)
            sink->parts[part].next_piece = i;
        sink->parts[part].end_piece = i + 1;
        sink->parts[part].unready_count++;
        sink->pieces[i].part = part;
    }
}

struct sink *sink_new(const struct sink_options *options)
{
    struct sink *sink = calloc(1, sizeof *sink);
    if (!sink) {
        err_no_memory("for the output");
        return NULL;
    }
    const uint32_t part_count = has_parts(options->kind) ? options->part_count : 1;
    *sink = (struct sink){
        .kind = options->kind,
        .path = strdup(options->path ? options->path : "the output"),
        .tmp = strdup(options->tmp ? options->tmp : "."),
        .suffix = options->suffix ? options->suffix : "",
        .fd = options->kind == SINK_FD ? options->fd : -1,
        .is_resumed = options->is_resumed,
        .written = options->written,
        .owner = options->owner,
        .piece_count = options->piece_count,
        .part_count = part_count,
        .pieces = calloc(options->piece_count + (size_t)1, sizeof *sink->pieces),
        .parts = calloc(part_count + (size_t)1, sizeof *sink->parts),
    };
    mutex_init(&sink->mutex);
    held_store_init(&sink->held, sink->tmp, options->held_bytes_max);
    weft_err err = WEFT_OK;
    if (!sink->path || !sink->tmp || !sink->pieces || !sink->parts)
        err = err_no_memory("for the output");
    if (!err)
        err = create_files(sink);
    if (err) {
        sink_free(sink);
        return NULL;
    }
    deal_pieces(sink, options);
    return sink;
}

bool sink_is_first(const struct sink *sink, uint32_t piece)
{
    return piece == 0 || sink->pieces[piece].part != sink->pieces[piece - 1].part;
}

weft_err sink_finish(struct sink *sink)
{
    const int fd = sink->fd;
    if (sink->kind != SINK_FILE)
        return WEFT_OK;  // parts are closed as they are written, another's descriptor is not ours to close
    sink->fd = -1;
    return file_close_checked(fd, sink->path);
}

void sink_free(struct sink *sink)
{
    if (!sink)
        return;
    for (uint32_t i = 0; sink->pieces && i < sink->piece_count; i++) {
        held_drop(&sink->held, &sink->pieces[i].draft.held);
        held_drop(&sink->held, &sink->pieces[i].text.held);
    }
    if (sink->kind != SINK_FD)
        file_close(sink->fd);
    held_store_fini(&sink->held);
    mutex_fini(&sink->mutex);
    free(sink->pieces);
    free(sink->parts);
    free(sink->path);
    free(sink->tmp);
    free(sink);
}

static weft_err remember_failure(struct sink *sink, weft_err err, const char *path);

// ---- Text that comes before its end -------------------------------------------------------------

static void drop_draft(struct sink *sink, struct draft *draft)
{
    held_drop(&sink->held, &draft->held);
    *draft = (struct draft){0};
}

// Whether all pieces before it in its part have their place, and where it begins then. Pieces that were
// adopted count as placed. Under the lock.
static bool is_next(const struct sink *sink, uint32_t index, uint64_t *offset)
{
    const struct part *part = &sink->parts[sink->pieces[index].part];
    if (sink->kind == SINK_SHELF)
        return false;  // its place is known when its size is
    uint32_t next = part->next_piece;
    *offset = part->next_offset;
    for (; next < index && sink->pieces[next].is_adopted; next++)
        *offset += sink->pieces[next].size;
    return next == index;
}

bool sink_takes_early(struct sink *sink, uint32_t piece, size_t size)
{
    uint64_t offset;
    mutex_lock(&sink->mutex);
    const bool has_place = sink->pieces[piece].is_known || is_next(sink, piece, &offset);
    mutex_unlock(&sink->mutex);
    return has_place || held_has_room(&sink->held, size);
}

// The front of a piece is written at once, while it is in the cache, after the text that was held
// while other pieces came before it. If an attempt fails, the next one writes the same bytes again.
static weft_err write_early(struct sink *sink, uint32_t index, weft_bytes text, uint64_t offset)
{
    struct draft *draft = &sink->pieces[index].draft;
    uint64_t at = offset + draft->early;
    char path[PATH_MAX];
    int fd = sink->fd;
    name_part(sink, sink->pieces[index].part, path, sizeof path);
    weft_err err = sink->kind == SINK_PARTS ? file_open_kept(path, &fd) : WEFT_OK;
    if (err)
        return remember_failure(sink, err, path);
    err = held_write(&sink->held, &draft->held, fd, path, &at);
    if (!err)
        err = file_write_at(fd, path, text.data, text.size, at);
    const weft_err closed = sink->kind == SINK_PARTS ? file_close_checked(fd, path) : WEFT_OK;
    err = err ? err : closed;
    draft->early = at + text.size - offset;
    return err ? remember_failure(sink, err, path) : WEFT_OK;
}

weft_err sink_append(struct sink *sink, uint32_t piece, weft_bytes text)
{
    ASSERT(piece < sink->piece_count);
    struct draft *draft = &sink->pieces[piece].draft;
    uint64_t offset;
    mutex_lock(&sink->mutex);
    const bool is_repeated = sink->pieces[piece].is_known;
    const bool is_early = is_next(sink, piece, &offset);
    mutex_unlock(&sink->mutex);
    draft->crc = crc32c(draft->crc, text.data, text.size);
    draft->size += text.size;
    if (is_repeated)
        return WEFT_OK;  // only compared
    return is_early ? write_early(sink, piece, text, offset)
                    : held_add(&sink->held, &draft->held, text);
}

char *sink_room(struct sink *sink, uint32_t piece, size_t *size)
{
    uint64_t offset;
    mutex_lock(&sink->mutex);
    const bool is_held = !sink->pieces[piece].is_known && !is_next(sink, piece, &offset);
    mutex_unlock(&sink->mutex);
    return is_held ? held_room(&sink->held, &sink->pieces[piece].draft.held, size) : NULL;
}

void sink_fill(struct sink *sink, uint32_t piece, weft_bytes filled)
{
    struct draft *draft = &sink->pieces[piece].draft;
    held_fill(&draft->held, filled.size);
    draft->crc = crc32c(draft->crc, filled.data, filled.size);
    draft->size += filled.size;
}

void sink_discard(struct sink *sink, uint32_t piece)
{
    ASSERT(piece < sink->piece_count);
    mutex_lock(&sink->mutex);
    sink->has_remains |= sink->pieces[piece].draft.early > 0;
    mutex_unlock(&sink->mutex);
    drop_draft(sink, &sink->pieces[piece].draft);
}

// ---- Writing the placed pieces -------------------------------------------------------------------

// The held text of a piece, then `tail`, to its place.
static weft_err write_piece(struct sink *sink, int fd, const char *path, struct piece_state *piece,
                            weft_bytes tail)
{
    uint64_t offset = piece->offset + piece->text.early;
    weft_err err = held_write(&sink->held, &piece->text.held, fd, path, &offset);
    if (!err)
        err = file_write_at(fd, path, tail.data, tail.size, offset);
    return err;
}

// A stretch of the chain that one slot writes: pieces [begin, end) of a part.
struct stretch {
    uint32_t part, begin, end;
    uint64_t part_bytes;  // of the whole part, when this is its end
    bool is_end, has_remains;
};

static weft_err write_pieces(struct sink *sink, int fd, const char *path,
                             const struct stretch *stretch, uint32_t own, weft_bytes tail)
{
    for (uint32_t i = stretch->begin; i < stretch->end; i++) {
        struct piece_state *piece = &sink->pieces[i];
        if (piece->is_adopted)
            continue;
        const weft_err err = write_piece(sink, fd, path, piece, i == own ? tail : weft_none());
        if (err)
            return err;
        if (sink->written)
            sink->written(sink->owner, &(struct sink_piece){i, piece->crc, piece->size,
                                                            piece->records, piece->offset});
    }
    // A lost worker or a failed attempt may have left a longer file than the output is now. No
    // process reads that part of a nameless file, and /dev/null cannot be cut.
    if (!stretch->is_end || !(sink->is_resumed || stretch->has_remains))
        return WEFT_OK;
    const weft_err err = file_truncate(fd, path, stretch->part_bytes);
    return sink->kind == SINK_FD ? WEFT_OK : err;
}

static weft_err remember_failure(struct sink *sink, weft_err err, const char *path)
{
    if (err == WEFT_RESOURCE_EXHAUSTED)
        part_no_room(path, sink->kind == SINK_FD || sink->kind == SINK_SHELF);
    mutex_lock(&sink->mutex);
    if (!sink->failure) {
        sink->failure = err;
        snprintf(sink->failure_text, sizeof sink->failure_text, "%s", err_text());
    }
    mutex_unlock(&sink->mutex);
    return err;
}

static weft_err write_stretch(struct sink *sink, const struct stretch *stretch, uint32_t own,
                              weft_bytes tail)
{
    if (stretch->begin == stretch->end)
        return WEFT_OK;
    char path[PATH_MAX];
    name_part(sink, stretch->part, path, sizeof path);
    int fd = sink->fd;
    weft_err err = sink->kind == SINK_PARTS ? file_open_kept(path, &fd) : WEFT_OK;
    if (!err) {
        err = write_pieces(sink, fd, path, stretch, own, tail);
        const weft_err closed = sink->kind == SINK_PARTS ? file_close_checked(fd, path) : WEFT_OK;
        err = err ? err : closed;
    }
    return err ? remember_failure(sink, err, path) : WEFT_OK;
}

// ---- Handing over -------------------------------------------------------------------------------

// Walks the chain as far as pieces are ready, but not too far, and gives them their places. Under the
// lock.
static struct stretch place_pieces(struct sink *sink, uint32_t part_index)
{
    struct part *part = &sink->parts[part_index];
    struct stretch stretch = {.part = part_index, .begin = part->next_piece};
    uint32_t count = 0;
    while (part->next_piece < part->end_piece && sink->pieces[part->next_piece].is_ready &&
           count < PIECES_PER_SUBMIT) {
        struct piece_state *piece = &sink->pieces[part->next_piece++];
        count += !piece->is_adopted;
        piece->offset = part->next_offset;
        part->next_offset += piece->size;
    }
    stretch.end = part->next_piece;
    stretch.is_end = part->next_piece == part->end_piece;
    stretch.part_bytes = part->next_offset;
    stretch.has_remains = sink->has_remains;
    return stretch;
}

struct taking {
    weft_err err;
    bool is_repeated;
    bool is_next;  // all before it are placed: it can be written without being held
};

// Makes the piece known. Adopted pieces are placed here, as no slot submits them.
static struct taking take_piece(struct sink *sink, uint32_t index, uint64_t size, uint32_t crc,
                                uint64_t records)
{
    struct piece_state *piece = &sink->pieces[index];
    struct taking taking = {WEFT_OK, false, false};
    mutex_lock(&sink->mutex);
    if (sink->failure) {
        taking.err = err_set(sink->failure, "%s", sink->failure_text);
    } else if (piece->is_known) {
        taking.is_repeated = true;
        if (piece->size != size || piece->crc != crc)
            taking.err = err_set(
                WEFT_ABORTED,
                "the job is not deterministic: piece %u of the output came out as %llu bytes, and "
                "as %llu other ones when it was computed again; its functions must give the same "
                "for the same input",
                index, (unsigned long long)piece->size, (unsigned long long)size);
    } else {
        piece->is_known = true;
        piece->size = size;
        piece->crc = crc;
        piece->records = records;
        uint64_t offset;
        taking.is_next = is_next(sink, index, &offset);
    }
    mutex_unlock(&sink->mutex);
    return taking;
}

static void forget_piece(struct sink *sink, struct piece_state *piece)
{
    drop_draft(sink, &piece->draft);
    mutex_lock(&sink->mutex);
    piece->is_known = false;
    mutex_unlock(&sink->mutex);
}

// Makes a piece ready, and writes some of the ready ones; all of them when no other submit will
// come for the part. A piece that need not be held has its text here only: it is made ready and
// placed under one lock, so that no other slot writes it without the text.
static weft_err write_some(struct sink *sink, uint32_t own, weft_bytes text)
{
    struct piece_state *piece = &sink->pieces[own];
    struct part *part = &sink->parts[piece->part];
    for (bool is_first = true;; is_first = false) {
        mutex_lock(&sink->mutex);
        if (is_first) {
            piece->is_ready = true;
            part->unready_count--;
        }
        const struct stretch stretch = place_pieces(sink, piece->part);
        const bool is_last = part->unready_count == 0 && part->next_piece < part->end_piece;
        mutex_unlock(&sink->mutex);
        const weft_err err = write_stretch(sink, &stretch, own, text);
        if (err || !is_last)
            return err;
    }
}

// Writes a piece after those that came before it.
static weft_err shelve(struct sink *sink, struct sink_piece *written, weft_bytes text)
{
    struct draft *draft = &sink->pieces[written->piece].draft;
    mutex_lock(&sink->mutex);
    written->offset = sink->shelf_bytes;
    sink->shelf_bytes += written->bytes;
    mutex_unlock(&sink->mutex);
    uint64_t at = written->offset;
    weft_err err = held_write(&sink->held, &draft->held, sink->fd, sink->tmp, &at);
    if (!err)
        err = file_write_at(sink->fd, sink->tmp, text.data, text.size, at);
    drop_draft(sink, draft);
    if (err)
        return remember_failure(sink, err, sink->tmp);
    sink->written(sink->owner, written);
    return WEFT_OK;
}

int sink_shelf_fd(const struct sink *sink)
{
    return sink->fd;
}

weft_err sink_submit(struct sink *sink, uint32_t index, weft_bytes text, uint64_t records)
{
    ASSERT(index < sink->piece_count);
    struct piece_state *piece = &sink->pieces[index];
    struct draft *draft = &piece->draft;
    const uint32_t crc = crc32c(draft->crc, text.data, text.size);
    if (sink->kind == SINK_SHELF) {
        struct sink_piece written = {index, crc, draft->size + text.size, records, 0};
        return shelve(sink, &written, text);
    }
    const struct taking taking = take_piece(sink, index, draft->size + text.size, crc, records);
    if (taking.err || taking.is_repeated) {
        drop_draft(sink, draft);
        return taking.err;
    }
    if (!taking.is_next) {
        const weft_err err = held_add(&sink->held, &draft->held, text);
        if (err) {
            forget_piece(sink, piece);  // another attempt may find more room
            return err;
        }
        text = weft_none();
    }
    piece->text = *draft;
    *draft = (struct draft){0};
    return write_some(sink, index, text);
}

void sink_adopt(struct sink *sink, uint32_t piece, uint64_t bytes, uint32_t crc)
{
    ASSERT(piece < sink->piece_count && !sink->pieces[piece].is_known);
    mutex_lock(&sink->mutex);
    sink->pieces[piece].size = bytes;
    sink->pieces[piece].crc = crc;
    sink->pieces[piece].is_known = sink->pieces[piece].is_ready = true;
    sink->pieces[piece].is_adopted = true;
    sink->parts[sink->pieces[piece].part].unready_count--;
    mutex_unlock(&sink->mutex);
}
