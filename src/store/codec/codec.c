// Codecs: which there are, and the reader around each: it fetches input, keeps to the points of an index
// and knows the end of a file from one that was cut.

#include "store/codec/codec.h"

#include "store/codec/codec_state.h"
#include "sys/file/file.h"

enum { DROP_BYTES = 64 << 10 };  // of plain data before `from`, decoded at a time

static const struct codec_format codec_format_none = {.name = "none", .suffix = ""};

static const struct codec_format *const formats[CODEC_KIND_COUNT] = {
    [CODEC_NONE] = &codec_format_none,       [CODEC_GZIP] = &codec_format_gzip,
    [CODEC_ZSTD] = &codec_format_zstd,       [CODEC_LZ4] = &codec_format_lz4,
    [CODEC_BZIP2] = &codec_format_bzip2,     [CODEC_XZ] = &codec_format_xz,
    [CODEC_FOREIGN] = &codec_format_foreign,
};

const struct codec_format *codec_format_of(enum codec_kind kind)
{
    return formats[kind];
}

enum codec_kind codec_sniff(const void *data, size_t size)
{
    for (int kind = CODEC_NONE + 1; kind < CODEC_KIND_COUNT; kind++)
        if (formats[kind]->sniff(data, size))
            return (enum codec_kind)kind;
    return CODEC_NONE;
}

// Whether it is the beginning of such a file, too short for sniff: the missing bytes could make it
// one.
static bool is_beginning(const struct codec_format *format, const char *data, size_t size)
{
    char whole[CODEC_SNIFF_BYTES];
    const weft_bytes begin = format->begin;
    if (size >= begin.size || format->sniff((const unsigned char *)data, size))
        return false;
    memcpy(whole, begin.data, begin.size);
    memcpy(whole, data, size);
    return format->sniff((const unsigned char *)whole, begin.size);
}

static bool ends_with(const char *path, const char *suffix)
{
    const size_t length = strlen(path), size = strlen(suffix);
    return length > size && strcmp(path + length - size, suffix) == 0;
}

static weft_err refuse_cut_as(const char *path, const struct codec_format *format)
{
    char front[CODEC_SNIFF_BYTES];
    size_t got = 0;
    int fd;
    weft_err err = file_open(path, &fd);
    if (err)
        return err;
    err = file_read_at(fd, path, front, sizeof front, 0, &got);
    file_close(fd);
    if (err || got == 0 || !is_beginning(format, front, got))
        return err;
    struct store_file file = store_plain(-1, path);
    const struct codec_reader cut = {.format = format,
                                     .in = {.file = &file, .next = got, .file_size = got}};
    return codec_is_damaged(&cut, "the file ends too early");
}

weft_err codec_refuse_cut(const char *path, uint64_t size)
{
    for (int kind = CODEC_NONE + 1; size > 0 && size < CODEC_SNIFF_BYTES && kind < CODEC_FOREIGN;
         kind++)
        if (ends_with(path, formats[kind]->suffix))
            return refuse_cut_as(path, formats[kind]);
    return WEFT_OK;
}

const char *codec_name(enum codec_kind kind)
{
    return formats[kind]->name;
}

bool codec_find(const char *name, enum codec_kind *kind)
{
    for (int i = 0; i < CODEC_FOREIGN; i++) {
        if (strcmp(formats[i]->name, name) == 0) {
            *kind = (enum codec_kind)i;
            return true;
        }
    }
    return false;
}

const char *codec_suffix(enum codec_kind kind)
{
    return formats[kind]->suffix;
}

// ---- Reading -------------------------------------------------------------------------------------------

static weft_err reader_open(struct codec_reader *reader, uint64_t from)
{
    reader->in.data = malloc(CODEC_STRETCH_BYTES);
    if (!reader->in.data)
        return codec_has_no_memory(reader);
    reader->skip = from;
    if (reader->index) {
        const size_t point = codec_index_find(reader->index, from);
        reader->start = reader->in.next = reader->index->points.items[point].packed;
        reader->plain = reader->index->points.items[point].plain;
        reader->skip = from - reader->plain;
        reader->next_point = point + 1;
        reader->has_ended = reader->next_point == reader->index->points.count;
    }
    return reader->way->open(reader);
}

struct codec_reader *codec_reader_new(struct store_file *file, uint64_t file_size,
                                      enum codec_kind kind, const struct codec_index *index,
                                      uint64_t from)
{
    ASSERT(kind > CODEC_NONE && kind < CODEC_KIND_COUNT);
    struct codec_reader *reader = calloc(1, sizeof *reader);
    if (!reader) {
        err_no_memory("to decompress %s", file->name);
        return NULL;
    }
    reader->format = formats[kind];
    reader->way =
        index && reader->format->indexed.decode ? &reader->format->indexed : &reader->format->front;
    reader->in.file = file;
    reader->in.file_size = file_size;
    reader->index = index;
    if (reader_open(reader, from) != WEFT_OK) {
        codec_reader_free(reader);
        return NULL;
    }
    return reader;
}

void codec_reader_free(struct codec_reader *reader)
{
    if (!reader)
        return;
    reader->way->close(reader);
    free(reader->in.data);
    free(reader);
}

// Lets the decoder continue. *has_moved: it took or gave something; without that, and with all of
// the file read, this is the end.
static weft_err decode(struct codec_reader *reader, struct codec_room *room, bool *has_moved)
{
    struct codec_source *in = &reader->in;
    weft_err err = codec_source_left(in) ? WEFT_OK : codec_source_fill(in, 1);
    if (err)
        return err;
    const uint64_t offset = codec_source_offset(in);
    const size_t size = room->size;
    err = reader->way->decode(reader, room);
    reader->plain += size - room->size;
    *has_moved = codec_source_offset(in) != offset || room->size != size;
    return err;
}

static weft_err end_of_file(struct codec_reader *reader)
{
    if (codec_source_left(&reader->in))
        return codec_is_damaged(reader, "the data does not continue");
    if (reader->is_inside)
        return codec_is_damaged(reader, "the file ends too early");
    if (reader->index)
        return codec_is_damaged(reader, "there is less in it than its index says");
    reader->has_ended = true;
    return WEFT_OK;
}

// All plain bytes before a point of the index are out. The frame must end with them, and the next one
// begin where the index says: an index that lies is found out here, by the reader that comes this way.
static weft_err settle_point(struct codec_reader *reader, const struct codec_point *point)
{
    unsigned char nothing;
    bool has_moved = true;
    while (has_moved && (reader->is_inside || codec_source_offset(&reader->in) < point->packed)) {
        struct codec_room none = {&nothing, 0};
        const weft_err err = decode(reader, &none, &has_moved);
        if (err)
            return err;
    }
    if (reader->is_inside || codec_source_offset(&reader->in) != point->packed)
        return codec_is_damaged(reader, "its frames are not where its index says");
    reader->next_point++;
    reader->has_ended = reader->next_point == reader->index->points.count;
    return WEFT_OK;
}

static weft_err step(struct codec_reader *reader, struct codec_room *room)
{
    const struct codec_point *point = NULL;
    struct codec_room part = *room;
    if (reader->index) {
        point = &reader->index->points.items[reader->next_point];
        if (reader->plain > point->plain)
            return codec_is_damaged(reader, "its frames are not where its index says");
        if (part.size > point->plain - reader->plain)
            part.size = (size_t)(point->plain - reader->plain);
    }
    const size_t size = part.size;
    bool has_moved = false;
    weft_err err = decode(reader, &part, &has_moved);
    codec_room_take(room, size - part.size);
    if (!err && point && reader->plain == point->plain)
        return settle_point(reader, point);
    return err || has_moved ? err : end_of_file(reader);
}

// Decodes what lies before the place where the caller wants to begin.
static weft_err drop_skipped(struct codec_reader *reader)
{
    if (!reader->skip)
        return WEFT_OK;
    unsigned char *dropped = malloc(DROP_BYTES);
    weft_err err = dropped ? WEFT_OK : codec_has_no_memory(reader);
    while (!err && reader->skip && !reader->has_ended) {
        const size_t size = reader->skip < DROP_BYTES ? (size_t)reader->skip : DROP_BYTES;
        struct codec_room room = {dropped, size};
        err = step(reader, &room);
        reader->skip -= size - room.size;
    }
    free(dropped);
    return err;
}

weft_err codec_reader_read(struct codec_reader *reader, void *data, size_t size, size_t *got)
{
    *got = 0;
    if (reader->failed)
        return err_set(reader->failed, "cannot decompress %s: it has failed before",
                       reader->in.file->name);
    struct codec_room room = {data, size};
    weft_err err = drop_skipped(reader);
    while (!err && room.size && !reader->has_ended)
        err = step(reader, &room);
    *got = size - room.size;
    reader->failed = err;
    return err;
}

uint64_t codec_reader_memory(const struct codec_reader *reader)
{
    return reader->format->memory ? reader->format->memory(reader) : 0;
}

uint64_t codec_reader_taken(const struct codec_reader *reader)
{
    return codec_source_offset(&reader->in) - reader->start;
}

// ---- Writing -------------------------------------------------------------------------------------------

weft_err codec_compress(enum codec_kind kind, weft_bytes text, struct buf *out)
{
    const size_t size = out->size;
    if (kind == CODEC_NONE)
        buf_append(out, text.data, text.size);
    const weft_err err = kind == CODEC_NONE ? WEFT_OK : formats[kind]->compress(text, out);
    if (!err && !out->has_failed)
        return WEFT_OK;
    out->size = size;
    return err ? err
               : err_no_memory("to compress %zu bytes with %s", text.size, formats[kind]->name);
}
