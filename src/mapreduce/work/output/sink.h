// The sink: puts the finished pieces of the output where they belong, in order, without making
// anybody wait.
//
// A piece is the text of one range (or of one map task of a map-only job). Its place is known once
// all pieces before it in its part have their length; until then it is held (in memory up to a
// limit, then in a nameless spool file). The slot that completes the chain writes all pieces that
// can be written, with pwrite, outside the lock: slots write side by side. Thread: any slot.
//
// A shelf is a sink without places: pieces lie in one nameless file in the order in which they came, and the
// process that knows their places reads them there.
#ifndef MAPREDUCE_WORK_OUTPUT_SINK_H
#define MAPREDUCE_WORK_OUTPUT_SINK_H

#include "base/buf.h"
#include "base/err.h"

enum sink_kind { SINK_FILE, SINK_PARTS, SINK_FD, SINK_SHELF };

// A piece that is completely written.
struct sink_piece {
    uint32_t piece, crc32c;
    uint64_t bytes, records;
    uint64_t offset;  // SHELF: where in the file it begins
};

struct sink_options {
    enum sink_kind kind;
    const char *suffix;  // PARTS: after part-NNNNN; NULL: nothing. Lives as long as the sink
    const char *path;    // FILE: the (temporary) file; PARTS: the directory of part-NNNNN;
                         // FD: its name in error sentences
    int fd;              // FD: already open; a file without other writers, or /dev/null
    uint32_t piece_count;
    uint32_t part_count;            // PARTS, SHELF; the others are one part
    const uint32_t *part_of_piece;  // likewise: increasing; copied
    const char *tmp;                // for the spool
    size_t held_bytes_max;          // memory for pieces that wait; beyond it they are spooled
    bool is_resumed;  // an earlier worker wrote here: its files are kept, not truncated
    // Called when a piece is completely written, outside any lock, from the slot that wrote it.
    void (*written)(void *owner, const struct sink_piece *piece);
    void *owner;
};

struct sink;

// Opens (creates, truncates to nothing) the files; part files are made also when they stay empty. NULL
// on failure. Part files are opened again for every batch of pieces: a thousand parts need no
// thousand descriptors.
struct sink *sink_new(const struct sink_options *options);
void sink_free(struct sink *sink);

// After the last piece: errors that a file system reports only at close. Once, before sink_free.
MUST_CHECK weft_err sink_finish(struct sink *sink);

// Hands over the text of a piece. The content is copied or written before it returns: the caller
// may reuse its buffer. A piece that was handed over before is ignored when it is the same (bytes
// and checksum), and an ABORTED "not deterministic" failure when it is not. A piece adopted as
// written (after a worker was lost) is given by sink_adopt before the first submit. A full disk is
// RESOURCE_EXHAUSTED with the path. A failure to write the output stays: no later piece is taken,
// as pieces of other slots may be among the unwritten ones. A piece belongs to one thread at a
// time. A shelf takes a piece as often as it comes, and calls `written` each time.
MUST_CHECK weft_err sink_submit(struct sink *sink, uint32_t piece, weft_bytes text,
                                uint64_t records);

// A long piece may come in several parts: all but the last by sink_append, which holds them like a
// piece that waits. sink_submit of the same piece ends it; sink_discard forgets the parts of a
// failed attempt, so that another can begin again. A part is written to its place early when all
// pieces before it are there (another attempt writes over it), else it is held.
MUST_CHECK weft_err sink_append(struct sink *sink, uint32_t piece, weft_bytes text);
void sink_discard(struct sink *sink, uint32_t piece);

// Room of at least *size bytes for more of a piece that has to be held anyway, so that it need not
// be copied; *size is set to the actual size. NULL: append it. Filled bytes count as appended.
char *sink_room(struct sink *sink, uint32_t piece, size_t *size);
void sink_fill(struct sink *sink, uint32_t piece, weft_bytes filled);

// Whether so much appended to the piece would go to its place at once, or stay in memory until it can.
bool sink_takes_early(struct sink *sink, uint32_t piece, size_t size);

// The descriptor of a shelf.
int sink_shelf_fd(const struct sink *sink);

// Whether the piece is the first of its part.
bool sink_is_first(const struct sink *sink, uint32_t piece);

// What an earlier worker has written: kept as it is.
void sink_adopt(struct sink *sink, uint32_t piece, uint64_t bytes, uint32_t crc32c);

#endif
