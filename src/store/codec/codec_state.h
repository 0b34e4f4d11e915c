// What the codecs share: the compressed file as a window that moves over it, the reader around a
// decoder, and the table of functions that makes a format. Only for src/store/codec.
//
// A format is added by one file that fills in a struct codec_format, and a line in the table of codec.c.
#ifndef STORE_CODEC_CODEC_STATE_H
#define STORE_CODEC_CODEC_STATE_H

#include <stdint.h>

#include "base/vec.h"
#include "store/codec/codec.h"

enum {
    CODEC_STRETCH_BYTES = 256 << 10,  // read from the file at once
    CODEC_LIBRARY_BYTES = 1 << 30,    // the most that a library with 32-bit sizes is handed at once
};

// The compressed file. data[begin, end) is read and not yet taken; the file continues at `next`.
struct codec_source {
    struct store_file *file;  // borrowed
    uint64_t file_size;       // later bytes are not looked at
    uint64_t next;
    unsigned char *data;  // CODEC_STRETCH_BYTES
    size_t begin, end;
};

// Room for plain bytes; the code that fills some of it moves it on.
struct codec_room {
    unsigned char *data;
    size_t size;
};

struct codec_reader {
    const struct codec_format *format;
    const struct codec_way *way;
    struct codec_source in;
    const struct codec_index *index;  // borrowed, or NULL
    size_t next_point;                // of the index, not yet reached
    uint64_t start;                   // where in the compressed file it began
    uint64_t plain;                   // offset of the next plain byte
    uint64_t skip;                    // plain bytes still to be dropped
    bool is_inside;                   // of a frame: the file may not end here
    bool has_ended;
    weft_err failed;
    void *state;  // the decoder's
};

// A way of reading. `decode` takes bytes from reader->in and fills the room, as far as it can, at
// least one of them unless the file is at its end; it keeps is_inside. An empty room is not a
// failure.
struct codec_way {
    MUST_CHECK weft_err (*open)(struct codec_reader *reader);
    void (*close)(struct codec_reader *reader);  // also after an open that failed
    MUST_CHECK weft_err (*decode)(struct codec_reader *reader, struct codec_room *room);
};

struct codec_format {
    const char *name, *suffix;
    const char *test_command;  // what shows whether a file is sound
    weft_bytes begin;          // one way in which its files begin, so far that sniff is sure
    bool (*sniff)(const unsigned char *data, size_t size);
    uint64_t (*memory)(const struct codec_reader *reader);  // that `front` has taken; NULL: little
    struct codec_way front;    // from the front of the file, or from a point of an index
    struct codec_way indexed;  // instead of it, for a file with an index; may be empty
    // Adds points until the file's end; *is_index becomes false when it has no (sound) index.
    MUST_CHECK weft_err (*build_index)(struct store_file *file, uint64_t file_size,
                                       struct codec_index *index, bool *is_index);
    MUST_CHECK weft_err (*compress)(weft_bytes text, struct buf *out);
};

extern const struct codec_format codec_format_gzip, codec_format_zstd, codec_format_lz4,
    codec_format_bzip2, codec_format_xz, codec_format_foreign;
const struct codec_format *codec_format_of(enum codec_kind kind);

// ---- the source (codec_source.c)

static inline size_t codec_source_left(const struct codec_source *in)
{
    return in->end - in->begin;
}

// The offset in the compressed file up to which it is taken.
static inline uint64_t codec_source_offset(const struct codec_source *in)
{
    return in->next - codec_source_left(in);
}

// Reads on until at least `size` bytes are there, at most CODEC_STRETCH_BYTES; fewer only at the end.
MUST_CHECK weft_err codec_source_fill(struct codec_source *in, size_t size);

// The sentence for a file that is not what its format says, with where and what to try; DATA_LOSS.
weft_err codec_is_damaged(const struct codec_reader *reader, const char *what);
weft_err codec_has_no_memory(const struct codec_reader *reader);

// ---- the index (codec_index.c)

// A place where a frame begins, in both counts. Not every frame has one: a point a megabyte is enough to
// start from, and the index of a terabyte still fits a few megabytes.
struct codec_point {
    uint64_t packed, plain;
};

struct codec_index {
    VEC(struct codec_point) points;  // the first is 0, 0; the last is the end
};

// A frame begins there, or nothing any more (`is_end`). False when out of memory.
bool codec_index_add(struct codec_index *index, struct codec_point point, bool is_end);

// The number of the last point that is not after that plain offset.
size_t codec_index_find(const struct codec_index *index, uint64_t plain);

// bgzf.c: the blocks of bgzip, for gzip.c.
MUST_CHECK weft_err codec_bgzf_open(struct codec_reader *reader);
void codec_bgzf_close(struct codec_reader *reader);
MUST_CHECK weft_err codec_bgzf_decode(struct codec_reader *reader, struct codec_room *room);
MUST_CHECK weft_err codec_bgzf_build_index(struct store_file *file, uint64_t file_size,
                                           struct codec_index *index, bool *is_index);

// zstd_seekable.c: the table at the end of a file, for zstd.c.
MUST_CHECK weft_err codec_zstd_build_index(struct store_file *file, uint64_t file_size,
                                           struct codec_index *index, bool *is_index);

// ---- little-endian numbers, as all these formats have them

static inline uint32_t codec_load16(const unsigned char *from)
{
    return from[0] | (uint32_t)from[1] << 8;
}

static inline uint32_t codec_load32(const unsigned char *from)
{
    return codec_load16(from) | codec_load16(from + 2) << 16;
}

static inline unsigned codec_library_size(size_t size)
{
    return size < CODEC_LIBRARY_BYTES ? (unsigned)size : CODEC_LIBRARY_BYTES;
}

static inline void codec_room_take(struct codec_room *room, size_t size)
{
    room->data += size;
    room->size -= size;
}

#endif
