// The index of a compressed file: points where reading can begin.

#include "store/codec/codec_state.h"

enum { POINT_PLAIN_BYTES = 1 << 20 };  // at least so much between two points

bool codec_index_add(struct codec_index *index, struct codec_point point, bool is_end)
{
    if (index->points.count && !is_end) {
        const struct codec_point *last = &index->points.items[index->points.count - 1];
        if (point.plain - last->plain < POINT_PLAIN_BYTES)
            return true;
    }
    return VEC_PUSH(&index->points, point);
}

size_t codec_index_find(const struct codec_index *index, uint64_t plain)
{
    size_t low = 0, high = index->points.count;  // the answer is in [low, high)
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (index->points.items[middle].plain <= plain)
            low = middle;
        else
            high = middle;
    }
    return low;
}

weft_err codec_index_open(struct store_file *file, uint64_t file_size, enum codec_kind kind,
                          struct codec_index **index)
{
    *index = NULL;
    const struct codec_format *format = codec_format_of(kind);
    if (!format->build_index)
        return WEFT_OK;
    bool is_index = false;
    struct codec_index *made = calloc(1, sizeof *made);
    weft_err err = made ? format->build_index(file, file_size, made, &is_index)
                        : err_no_memory("for an index of %s", file->name);
    // A file that claims to be empty would not be read, so that a wrong claim would not be found.
    if (err || !is_index || codec_index_size(made) == 0) {
        codec_index_free(made);
        return err;
    }
    ASSERT(made->points.count >= 2 && made->points.items[0].plain == 0);
    *index = made;
    return WEFT_OK;
}

uint64_t codec_index_size(const struct codec_index *index)
{
    return index->points.items[index->points.count - 1].plain;
}

uint64_t codec_index_packed_end(const struct codec_index *index, uint64_t plain)
{
    const size_t next = codec_index_find(index, plain) + 1, last = index->points.count - 1;
    return index->points.items[next < last ? next : last].packed;
}

void codec_index_free(struct codec_index *index)
{
    if (!index)
        return;
    VEC_FINI(&index->points);
    free(index);
}
