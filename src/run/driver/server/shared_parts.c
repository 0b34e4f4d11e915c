// Parts in a directory that server and clients share.

#include "run/driver/server/shared_parts.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/vec.h"
#include "store/part.h"
#include "sys/file/file.h"
#include "sys/file/own.h"
#include "sys/secure/secret.h"

// Of a part, when clients could not fetch its pieces from each other; then the server fetches them.
enum { ATTEMPTS_MAX = 3 };

struct piece {
    VEC(struct arrival) held;  // also by more than one client
    struct output_piece as;    // as it was reported first,
    uint32_t holder;           // by the worker of that client; 0: not yet
};

struct part {
    uint32_t begin, end;  // its pieces
    uint32_t held_count;  // of them
    uint32_t failed_count;
    uint32_t attempt;         // under way; 0: none
    uint32_t writer, worker;  // the client that writes, and a worker of its
    bool is_written, is_by_server;
};

struct shared_parts {
    struct shared_parts_options options;
    char *folder;   // absolute
    uint64_t mark;  // of this run: a client of an earlier one may still be at work
    uint32_t attempt_count;
    struct piece *pieces;
    struct part *parts;
    VEC(uint32_t) blind;  // clients that cannot write there
};

// ---- Files ------------------------------------------------------------------------------------------------

static void name_attempt(const struct shared_parts *parts, const struct part *part, char *path,
                         size_t size)
{
    snprintf(path, size, "%s/part-%05u-%016llx-%u", parts->folder, (unsigned)(part - parts->parts),
             (unsigned long long)parts->mark, part->attempt);
}

static weft_err make_file(struct shared_parts *parts, struct part *part, char *path, size_t size)
{
    int fd;
    part->attempt = ++parts->attempt_count;
    name_attempt(parts, part, path, size);
    const weft_err code = file_create_new(path, &fd);
    return code == WEFT_OK ? file_close_checked(fd, path) : code;
}

// The attempt has come to nothing. If its file cannot be removed now, it goes with its folder.
static void abandon(const struct shared_parts *parts, struct part *part)
{
    char path[PATH_MAX];
    name_attempt(parts, part, path, sizeof path);
    if (file_remove(path) != WEFT_OK)
        err_clear();
    part->attempt = 0;
}

// ---- By the server ------------------------------------------------------------------------------------------

// The calls may lead back here: held pieces are forgotten before.
static void fetch_piece(struct shared_parts *parts, struct piece *piece)
{
    const struct piece copy = *piece;
    piece->held.items = NULL;
    piece->held.count = piece->held.capacity = 0;
    for (size_t i = 0; i < copy.held.count; i++)
        parts->options.calls->by_server(parts->options.owner, &copy.held.items[i]);
    free(copy.held.items);
}

static void fetch_part(struct shared_parts *parts, struct part *part)
{
    part->is_by_server = true;
    for (uint32_t i = part->begin; i < part->end; i++)
        fetch_piece(parts, &parts->pieces[i]);
}

// ---- Orders -------------------------------------------------------------------------------------------------

static bool is_blind(const struct shared_parts *parts, uint32_t holder)
{
    for (size_t i = 0; i < parts->blind.count; i++)
        if (parts->blind.items[i] == holder)
            return true;
    return parts->options.calls->name(parts->options.owner, holder)[0] == 0;
}

struct candidate {
    uint32_t holder, worker;
    uint64_t bytes;
};

// The client that has the most of it; false: there is none that can write.
static bool choose_writer(const struct shared_parts *parts, struct part *part)
{
    VEC(struct candidate) all = {0};
    struct candidate best = {0};
    for (uint32_t i = part->begin; i < part->end; i++) {
        const struct arrival *piece = &parts->pieces[i].held.items[0];
        const struct candidate one = {piece->at.holder, piece->worker, 0};
        size_t k = 0;
        while (k < all.count && all.items[k].holder != piece->at.holder)
            k++;
        if (k < all.count || VEC_PUSH(&all, one))
            all.items[k].bytes += piece->at.size;
    }
    for (size_t k = 0; k < all.count; k++)
        if ((!best.holder || all.items[k].bytes > best.bytes) &&
            !is_blind(parts, all.items[k].holder))
            best = all.items[k];
    part->writer = best.holder;
    part->worker = best.worker;
    VEC_FINI(&all);
    return best.holder != 0;
}

struct source {
    Weft__Source message;
    Weft__FarFile far;
};

static void fill_source(const struct shared_parts *parts, const struct arrival *piece,
                        struct source *source)
{
    weft__source__init(&source->message);
    weft__far_file__init(&source->far);
    parts->options.calls->place(parts->options.owner, piece->at.holder, &source->far);
    source->far.file = piece->at.file;
    source->far.size = piece->at.offset + piece->at.size;
    source->message.far = &source->far;
    source->message.offset = piece->at.offset;
    source->message.size = piece->at.size;
    source->message.crc = piece->at.crc32c;
}

static weft_err send_order(const struct shared_parts *parts, const struct part *part, char *path)
{
    const size_t count = part->end - part->begin;
    Weft__PartWrite order = WEFT__PART_WRITE__INIT;
    struct source *sources = calloc(count, sizeof *sources);
    order.pieces = calloc(count, sizeof *order.pieces);
    const bool has_memory = sources && order.pieces;
    for (size_t i = 0; i < count && has_memory; i++) {
        fill_source(parts, &parts->pieces[part->begin + i].held.items[0], &sources[i]);
        order.pieces[i] = &sources[i].message;
    }
    order.n_pieces = count;
    order.part = (uint32_t)(part - parts->parts);
    order.attempt = part->attempt;
    order.path = path;
    if (has_memory)
        parts->options.calls->order(parts->options.owner, part->writer, &order);
    free(sources);
    free(order.pieces);
    return has_memory ? WEFT_OK : err_no_memory("for the output");
}

static void try_to_write(struct shared_parts *parts, struct part *part)
{
    char path[PATH_MAX];
    if (part->attempt || part->is_written || part->is_by_server ||
        part->held_count < part->end - part->begin)
        return;
    if (part->failed_count >= ATTEMPTS_MAX || !choose_writer(parts, part)) {
        fetch_part(parts, part);
        return;
    }
    weft_err code = make_file(parts, part, path, sizeof path);
    if (code == WEFT_OK)
        code = send_order(parts, part, path);
    if (code != WEFT_OK)
        parts->options.calls->failed(parts->options.owner, code);
}

// ---- Answers ------------------------------------------------------------------------------------------------

static void set_blind(struct shared_parts *parts, const struct part *part, const char *why)
{
    char sentence[ERR_TEXT_BYTES_MAX];
    const uint32_t holder = part->writer;
    snprintf(sentence, sizeof sentence,
             "client %.200s cannot write part files (%.500s): its parts of the answer pass through "
             "this server",
             parts->options.calls->name(parts->options.owner, holder), why);
    if (!is_blind(parts, holder))
        parts->options.calls->say(parts->options.owner, sentence);
    // Without memory for it, it is asked again.
    if (!VEC_PUSH(&parts->blind, holder))
        err_clear();
}

static struct output_piece sum_up(const struct shared_parts *parts, const struct part *part)
{
    struct output_piece sum = {0};
    for (uint32_t i = part->begin; i < part->end; i++) {
        const struct output_piece *as = &parts->pieces[i].as;
        sum.crc32c = crc32c_join(sum.crc32c, as->crc32c, as->bytes);
        sum.bytes += as->bytes;
    }
    return sum;
}

// Whether the file is there, with the ordered bytes. Opening a file shows its size also on
// file systems that remember sizes for a while.
static bool is_there(const struct shared_parts *parts, const struct part *part,
                     const Weft__PartWritten *written, const char *path)
{
    const struct output_piece sum = sum_up(parts, part);
    struct file_stat status = {0};
    int fd = -1;
    if (written->bytes != sum.bytes || written->crc != sum.crc32c)
        return false;
    weft_err code = file_open(path, &fd);
    if (code == WEFT_OK)
        code = file_stat_fd(fd, path, &status);
    file_close(fd);
    if (code != WEFT_OK)
        err_clear();
    return code == WEFT_OK && status.kind == FILE_REGULAR && status.size == sum.bytes;
}

static void commit_piece(struct shared_parts *parts, const struct part *part, uint32_t index)
{
    const struct shared_parts_calls *calls = parts->options.calls;
    struct piece *piece = &parts->pieces[index];
    const struct piece copy = *piece;
    piece->held.items = NULL;
    piece->held.count = piece->held.capacity = 0;
    for (size_t i = 0; i < copy.held.count; i++)
        calls->committed(parts->options.owner, copy.held.items[i].worker, index);
    // One whose maker is gone by now need not be made again.
    calls->committed(parts->options.owner, part->worker, index);
    free(copy.held.items);
}

static void commit(struct shared_parts *parts, struct part *part)
{
    part->is_written = true;
    part->attempt = 0;
    for (uint32_t i = part->begin; i < part->end; i++)
        parts->options.calls->written(parts->options.owner, i, &parts->pieces[i].as);
    for (uint32_t i = part->begin; i < part->end; i++)
        commit_piece(parts, part, i);
}

static void take_good(struct shared_parts *parts, struct part *part,
                      const Weft__PartWritten *written)
{
    const struct part_files files = {.path = parts->options.directory,
                                     .has_parts = true,
                                     .count = parts->options.part_count,
                                     .suffix = parts->options.suffix};
    char from[PATH_MAX], to[PATH_MAX];
    name_attempt(parts, part, from, sizeof from);
    part_files_name(&files, (uint32_t)(part - parts->parts), to, sizeof to);
    if (!is_there(parts, part, written, from)) {
        set_blind(parts, part, "its part is not in the directory that the server has");
        abandon(parts, part);
        try_to_write(parts, part);
        return;
    }
    const weft_err code = file_rename(from, to);
    if (code == WEFT_OK)
        commit(parts, part);
    else
        parts->options.calls->failed(parts->options.owner, code);
}

weft_err shared_parts_answer(struct shared_parts *parts, uint32_t holder,
                             const Weft__PartWritten *written)
{
    if (written->part >= parts->options.part_count || written->code > WEFT_UNAUTHENTICATED)
        return err_set(WEFT_INTERNAL, "a part that it was not asked for");
    struct part *part = &parts->parts[written->part];
    if (part->attempt == 0 || part->attempt != written->attempt || part->writer != holder)
        return WEFT_OK;  // it was given up
    if (written->code == WEFT_OK) {
        take_good(parts, part, written);
        return WEFT_OK;
    }
    if (written->is_blind)
        set_blind(parts, part, written->text);
    else
        part->failed_count++;
    abandon(parts, part);
    try_to_write(parts, part);
    return WEFT_OK;
}

// ---- Pieces -------------------------------------------------------------------------------------------------

static struct part *part_of(const struct shared_parts *parts, uint32_t piece)
{
    return &parts->parts[parts->options.part_of_piece[piece]];
}

// False: the job has failed.
static bool note_piece(struct shared_parts *parts, const struct arrival *arrival)
{
    struct piece *piece = &parts->pieces[arrival->piece];
    if (piece->holder == 0) {
        piece->holder = arrival->at.holder;
        piece->as = arrival->as;
        return true;
    }
    if (piece->as.bytes == arrival->as.bytes && piece->as.crc32c == arrival->as.crc32c)
        return true;
    const struct shared_parts_options *options = &parts->options;
    const struct draft known = {.as = piece->as};
    const struct draft other = {.as = arrival->as};
    options->calls->failed(
        options->owner,
        drafts_tell_apart(arrival->piece, &known,
                          options->calls->name(options->owner, piece->holder), &other,
                          options->calls->name(options->owner, arrival->at.holder)));
    return false;
}

void shared_parts_take(struct shared_parts *parts, const struct arrival *arrival)
{
    const struct shared_parts_calls *calls = parts->options.calls;
    struct part *part = part_of(parts, arrival->piece);
    struct piece *piece = &parts->pieces[arrival->piece];
    if (part->is_by_server) {
        calls->by_server(parts->options.owner, arrival);
        return;
    }
    if (!note_piece(parts, arrival))
        return;
    if (part->is_written) {
        calls->committed(parts->options.owner, arrival->worker, arrival->piece);
        return;
    }
    if (!VEC_PUSH(&piece->held, *arrival)) {
        calls->failed(parts->options.owner, err_no_memory("for the output"));
        return;
    }
    part->held_count += piece->held.count == 1;
    try_to_write(parts, part);
}

static void lose_piece(struct shared_parts *parts, uint32_t index, uint32_t holder)
{
    struct piece *piece = &parts->pieces[index];
    const size_t before = piece->held.count;
    piece->held.count = 0;
    for (size_t i = 0; i < before; i++)
        if (piece->held.items[i].at.holder != holder)
            piece->held.items[piece->held.count++] = piece->held.items[i];
    part_of(parts, index)->held_count -= before > 0 && piece->held.count == 0;
}

static bool has_piece_of(const struct shared_parts *parts, const struct part *part, uint32_t holder)
{
    for (uint32_t i = part->begin; i < part->end; i++)
        for (size_t k = 0; k < parts->pieces[i].held.count; k++)
            if (parts->pieces[i].held.items[k].at.holder == holder)
                return true;
    return false;
}

void shared_parts_leave(struct shared_parts *parts, uint32_t holder)
{
    for (uint32_t i = 0; i < parts->options.part_count; i++) {
        struct part *part = &parts->parts[i];
        if (!part->attempt && !part->is_written && !part->is_by_server &&
            has_piece_of(parts, part, holder))
            fetch_part(parts, part);
    }
}

void shared_parts_lose(struct shared_parts *parts, uint32_t holder)
{
    for (uint32_t i = 0; i < parts->options.piece_count; i++)
        lose_piece(parts, i, holder);
    for (uint32_t i = 0; i < parts->options.part_count; i++)
        if (parts->parts[i].attempt && parts->parts[i].writer == holder)
            abandon(parts, &parts->parts[i]);
    for (uint32_t i = 0; i < parts->options.part_count; i++)
        try_to_write(parts, &parts->parts[i]);
}

// ---- Beginning and end --------------------------------------------------------------------------------------

static void deal_pieces(struct shared_parts *parts)
{
    for (uint32_t i = 0; i < parts->options.piece_count; i++) {
        struct part *part = part_of(parts, i);
        part->begin = part->end ? part->begin : i;
        part->end = i + 1;
        part->is_by_server |= parts->options.pieces[i].is_done;
    }
    // Parts without pieces are empty files, which are there.
    for (uint32_t i = 0; i < parts->options.part_count; i++)
        parts->parts[i].is_written = parts->parts[i].begin == parts->parts[i].end;
}

// Clients have other working directories.
static weft_err make_folder(struct shared_parts *parts)
{
    const char *directory = parts->options.directory;
    char here[PATH_MAX] = "";
    struct buf path = {0};
    if (directory[0] != '/' && !getcwd(here, sizeof here))
        return err_errno("cannot find the working directory");
    buf_format(&path, "%s%s%s/%s", here, here[0] ? "/" : "", directory, OUTPUT_PARTS);
    parts->folder = path.has_failed ? NULL : strdup(buf_text(&path));
    buf_fini(&path);
    if (!parts->folder)
        return err_no_memory("for the output");
    const weft_err code = file_remove_tree(parts->folder);
    return code == WEFT_OK ? own_make_directory(parts->folder) : code;
}

weft_err shared_parts_open(struct shared_parts **opened, const struct shared_parts_options *options)
{
    struct shared_parts *parts = calloc(1, sizeof *parts);
    *opened = NULL;
    if (!parts)
        return err_no_memory("for the output");
    parts->options = *options;
    parts->pieces = calloc(options->piece_count + (size_t)1, sizeof *parts->pieces);
    parts->parts = calloc(options->part_count + (size_t)1, sizeof *parts->parts);
    secret_random(&parts->mark, sizeof parts->mark);
    const weft_err code =
        parts->pieces && parts->parts ? make_folder(parts) : err_no_memory("for the output");
    if (code != WEFT_OK) {
        shared_parts_free(parts);
        return code;
    }
    deal_pieces(parts);
    *opened = parts;
    return WEFT_OK;
}

weft_err shared_parts_finish(struct shared_parts *parts)
{
    return file_remove_tree(parts->folder);
}

void shared_parts_free(struct shared_parts *parts)
{
    if (!parts)
        return;
    for (uint32_t i = 0; parts->pieces && i < parts->options.piece_count; i++)
        VEC_FINI(&parts->pieces[i].held);
    VEC_FINI(&parts->blind);
    free(parts->pieces);
    free(parts->parts);
    free(parts->folder);
    free(parts);
}
