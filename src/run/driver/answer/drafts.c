// Pieces of the answer on their way from the shelves of workers to their places.

#include "run/driver/answer/drafts.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "store/codec/codec.h"
#include "store/part.h"
#include "sys/file/file.h"
#include "sys/loop/errands.h"

enum { MAKER_BYTES = 256 };

enum { COPY_BYTES = 256 << 10 };

struct draft_piece {
    struct drafts *drafts;
    struct draft draft;
    uint32_t part;
    bool is_known;
    bool is_end;     // of its part,
    uint64_t place;  // where it begins in it
    weft_err code;   // how the copying went
};

struct part {
    uint32_t next_piece, end_piece;  // the first one without a place
    uint64_t next_offset;
};

struct drafts {
    struct drafts_options options;
    struct errands *errands;
    struct draft_piece *pieces;
    struct part *parts;
    uint32_t piece_count, part_count;
    uint32_t unwritten_count;  // taken, and not in their places
    int fd;                    // of the one file; -1: there are parts
    bool is_resumed;
    bool has_failed;

    // Of the thread that copies; the text is final with the first piece that has a code.
    atomic_bool is_stopped;
    char *room;
    bool has_halted;
    char failure_text[ERR_TEXT_BYTES_MAX];
};

// ---- The files of the output ----------------------------------------------------------------------

static bool has_parts(const struct drafts *drafts)
{
    return drafts->options.place->kind == OUTPUT_PLACE_PARTS;
}

static struct part_files files_of(const struct drafts *drafts)
{
    const struct output_place *place = drafts->options.place;
    return (struct part_files){
        .path = place->path ? place->path : "the output",
        .has_parts = has_parts(drafts),
        .count = drafts->part_count,
        .suffix = codec_suffix(drafts->options.plan->options->compress),
    };
}

static weft_err make_files(struct drafts *drafts)
{
    const struct part_files files = files_of(drafts);
    if (drafts->options.place->kind != OUTPUT_PLACE_FD)
        return part_files_create(&files, drafts->is_resumed, &drafts->fd);
    drafts->fd = drafts->options.place->fd;
    return WEFT_OK;
}

// ---- Copying, in the thread beside the loop --------------------------------------------------------

static weft_err copy_text(struct drafts *drafts, const struct draft_piece *piece, int fd,
                          const char *path)
{
    const struct draft *draft = &piece->draft;
    uint32_t crc = 0;
    uint64_t done = 0;
    weft_err code = WEFT_OK;
    while (done < draft->as.bytes && code == WEFT_OK && !atomic_load(&drafts->is_stopped)) {
        const uint64_t left = draft->as.bytes - done;
        size_t got = 0;
        code =
            file_read_at(draft->fd, "a worker's file", drafts->room,
                         left < COPY_BYTES ? (size_t)left : COPY_BYTES, draft->offset + done, &got);
        if (code == WEFT_OK && got == 0)
            break;
        crc = crc32c(crc, drafts->room, got);
        if (code == WEFT_OK)
            code = file_write_at(fd, path, drafts->room, got, piece->place + done);
        done += got;
    }
    if (code == WEFT_OK && (done != draft->as.bytes || crc != draft->as.crc32c) &&
        !atomic_load(&drafts->is_stopped))
        code = err_set(
            WEFT_DATA_LOSS,
            "output that a worker left in a temporary file is damaged: %llu of %llu "
            "bytes, checksum %08x instead of %08x; check the disk, or give --tmp another "
            "directory",
            (unsigned long long)done, (unsigned long long)draft->as.bytes, crc, draft->as.crc32c);
    return code;
}

// An earlier run may have left a longer file than the answer is now; /dev/null cannot be cut.
static weft_err cut(const struct drafts *drafts, const struct draft_piece *piece, int fd,
                    const char *path)
{
    if (!piece->is_end || !drafts->is_resumed)
        return WEFT_OK;
    const weft_err code = file_truncate(fd, path, piece->place + piece->draft.as.bytes);
    return drafts->options.place->kind == OUTPUT_PLACE_FD ? WEFT_OK : code;
}

static weft_err put_in_place(struct drafts *drafts, const struct draft_piece *piece)
{
    const struct part_files files = files_of(drafts);
    char path[PATH_MAX];
    int fd = drafts->fd;
    part_files_name(&files, piece->part, path, sizeof path);
    weft_err code = has_parts(drafts) ? file_open_kept(path, &fd) : WEFT_OK;
    if (code != WEFT_OK)
        return code;
    code = copy_text(drafts, piece, fd, path);
    if (code == WEFT_OK)
        code = cut(drafts, piece, fd, path);
    const weft_err closed = has_parts(drafts) ? file_close_checked(fd, path) : WEFT_OK;
    if (code == WEFT_RESOURCE_EXHAUSTED)
        part_no_room(path, drafts->options.place->kind == OUTPUT_PLACE_FD);
    return code != WEFT_OK ? code : closed;
}

static void give_back(const struct draft *draft)
{
    if (draft->is_spare)
        file_forget(draft->fd, draft->offset, draft->as.bytes);
}

static void copy_piece(void *owner)
{
    struct draft_piece *piece = owner;
    struct drafts *drafts = piece->drafts;
    if (drafts->has_halted || atomic_load(&drafts->is_stopped))
        return;
    piece->code = put_in_place(drafts, piece);
    if (piece->code == WEFT_OK) {
        give_back(&piece->draft);
        return;
    }
    drafts->has_halted = true;
    snprintf(drafts->failure_text, sizeof drafts->failure_text, "%s", err_text());
}

// ---- Placing ----------------------------------------------------------------------------------------

static void report_copied(void *owner)
{
    struct draft_piece *piece = owner;
    struct drafts *drafts = piece->drafts;
    const struct drafts_calls *calls = drafts->options.calls;
    drafts->unwritten_count--;
    if (drafts->has_failed)
        return;
    if (piece->code == WEFT_OK) {
        calls->written(drafts->options.owner, (uint32_t)(piece - drafts->pieces), &piece->draft.as);
        return;
    }
    drafts->has_failed = true;
    calls->failed(drafts->options.owner, err_set(piece->code, "%s", drafts->failure_text));
}

static weft_err place_pieces(struct drafts *drafts, struct part *part)
{
    weft_err code = WEFT_OK;
    while (part->next_piece < part->end_piece && drafts->pieces[part->next_piece].is_known &&
           code == WEFT_OK) {
        struct draft_piece *piece = &drafts->pieces[part->next_piece++];
        piece->place = part->next_offset;
        part->next_offset += piece->draft.as.bytes;
        if (piece->draft.fd >= 0)
            code = errands_do(drafts->errands, copy_piece, report_copied, piece);
    }
    return code;
}

static void name_maker(char text[MAKER_BYTES], const struct draft *draft, const char *client)
{
    if (!client)
        snprintf(text, MAKER_BYTES, "in worker %u", draft->worker);
    else if (client[0])
        snprintf(text, MAKER_BYTES, "at client %.200s", client);
    else
        snprintf(text, MAKER_BYTES, "at a client that is gone");
}

weft_err drafts_tell_apart(uint32_t piece, const struct draft *known, const char *whose,
                           const struct draft *other, const char *whose_other)
{
    char maker[MAKER_BYTES], other_maker[MAKER_BYTES];
    name_maker(maker, known, whose);
    name_maker(other_maker, other, whose_other);
    return err_set(WEFT_ABORTED,
                   "the job is not deterministic: piece %u of the output came out as %llu "
                   "bytes %s, and as %llu other ones %s; its functions must give the same for the "
                   "same input",
                   piece, (unsigned long long)known->as.bytes, maker,
                   (unsigned long long)other->as.bytes, other_maker);
}

static const char *client_of(const struct drafts *drafts, const struct draft *draft)
{
    const struct drafts_options *options = &drafts->options;
    return draft->holder && options->calls->name
               ? options->calls->name(options->owner, draft->holder)
               : NULL;
}

weft_err drafts_take(struct drafts *drafts, uint32_t index, const struct draft *draft)
{
    struct draft_piece *piece = &drafts->pieces[index];
    const struct draft *known = &piece->draft;
    if (piece->is_known && known->as.bytes == draft->as.bytes &&
        known->as.crc32c == draft->as.crc32c) {
        give_back(draft);
        return WEFT_OK;
    }
    if (piece->is_known)
        return drafts_tell_apart(index, known, client_of(drafts, known), draft,
                                 client_of(drafts, draft));
    piece->draft = *draft;
    piece->is_known = true;
    drafts->unwritten_count++;
    return place_pieces(drafts, &drafts->parts[piece->part]);
}

bool drafts_are_written(const struct drafts *drafts)
{
    return drafts->unwritten_count == 0;
}

// ---- Beginning and end --------------------------------------------------------------------------------

static void deal_pieces(struct drafts *drafts)
{
    const struct drafts_options *options = &drafts->options;
    for (uint32_t i = 0; i < drafts->piece_count; i++) {
        struct draft_piece *piece = &drafts->pieces[i];
        piece->drafts = drafts;
        piece->part = has_parts(drafts) ? options->plan->parts[i] : 0;
        piece->draft.fd = -1;
        struct part *part = &drafts->parts[piece->part];
        if (part->end_piece == 0)
            part->next_piece = i;
        part->end_piece = i + 1;
        piece->is_end = true;
        if (i > 0 && drafts->pieces[i - 1].part == piece->part)
            drafts->pieces[i - 1].is_end = false;
        if (options->pieces[i].is_done) {
            piece->draft.as = options->pieces[i];
            piece->is_known = drafts->is_resumed = true;
        }
    }
}

static weft_err make(struct drafts *drafts)
{
    if (!drafts->pieces || !drafts->parts || !drafts->room)
        return err_no_memory("for the output");
    deal_pieces(drafts);
    const weft_err code = make_files(drafts);
    if (code != WEFT_OK)
        return code;
    drafts->errands = errands_new(drafts->options.loop);
    return drafts->errands ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
}

weft_err drafts_open(struct drafts **made, const struct drafts_options *options)
{
    const struct run_stage *last = run_plan_last_stage(options->plan);
    struct drafts *drafts = calloc(1, sizeof *drafts);
    *made = NULL;
    if (!drafts)
        return err_no_memory("for the output");
    drafts->options = *options;
    drafts->fd = -1;
    drafts->piece_count = last->piece_count;
    drafts->part_count = has_parts(drafts) ? last->part_count : 1;
    drafts->pieces = calloc(drafts->piece_count + (size_t)1, sizeof *drafts->pieces);
    drafts->parts = calloc(drafts->part_count + (size_t)1, sizeof *drafts->parts);
    drafts->room = malloc(COPY_BYTES);
    const weft_err code = make(drafts);
    if (code == WEFT_OK)
        *made = drafts;
    else
        drafts_free(drafts);
    return code;
}

weft_err drafts_finish(struct drafts *drafts)
{
    const int fd = drafts->fd;
    if (drafts->options.place->kind != OUTPUT_PLACE_FILE)
        return WEFT_OK;  // parts are closed as they are written; the other one is not ours
    drafts->fd = -1;
    return file_close_checked(fd, drafts->options.place->path);
}

void drafts_free(struct drafts *drafts)
{
    if (!drafts)
        return;
    atomic_store(&drafts->is_stopped, true);
    errands_free(drafts->errands);
    if (drafts->options.place->kind == OUTPUT_PLACE_FILE && drafts->fd >= 0)
        file_close(drafts->fd);
    free(drafts->pieces);
    free(drafts->parts);
    free(drafts->room);
    free(drafts);
}
