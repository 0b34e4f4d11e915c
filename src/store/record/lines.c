// Lines: cut at a delimiter, and chunks of them.

#include "store/record/formats.h"
#include "store/record/scan.h"

static weft_bytes tail(weft_bytes text, size_t from)
{
    return (weft_bytes){text.data + from, text.size - from};
}

void lines_cut(unsigned char delimiter, struct record_scan *scan, struct cut *cut)
{
    const weft_bytes text = cut->text;
    const size_t turn = cut_turn(cut), seen = scan->seen, from = seen > turn ? seen : turn;
    scan->seen = text.size;
    const char *end = memchr(text.data + from, delimiter, text.size - from);
    if (end || cut->is_end) {
        cut_here(cut, end ? (size_t)(end - text.data) + 1 : text.size, true);
        return;
    }
    const char *last = seen < turn ? memrchr(text.data + seen, delimiter, turn - seen) : NULL;
    if (last)
        cut_here(cut, (size_t)(last - text.data) + 1, false);
}

bool lines_next(unsigned char delimiter, weft_bytes *block, weft_bytes *line)
{
    if (block->size == 0)
        return false;
    const char *end = memchr(block->data, delimiter, block->size);
    const size_t size = end ? (size_t)(end - block->data) : block->size;
    const bool has_return = end && delimiter == '\n' && size && end[-1] == '\r';
    *line = (weft_bytes){block->data, size - has_return};
    block_drop(block, size + (end != NULL));
    return true;
}

uint64_t lines_count(unsigned char delimiter, weft_bytes block)
{
    const bool is_open = block.size && (unsigned char)block.data[block.size - 1] != delimiter;
    return scan_kernels()->count_byte(block, delimiter) + is_open;
}

// The size of the chunk at the text's begin, SIZE_MAX when its end is not there; `seen` bytes of the
// text are known not to have it.
static size_t chunk_size(unsigned char delimiter, weft_bytes text, size_t seen)
{
    const size_t from = seen > RECORD_CHUNK_BYTES - 1 ? seen : RECORD_CHUNK_BYTES - 1;
    const weft_bytes rest = from < text.size ? tail(text, from) : (weft_bytes){text.data, 0};
    const char *end = rest.size ? memchr(rest.data, delimiter, rest.size) : NULL;
    return end ? (size_t)(end - text.data) + 1 : SIZE_MAX;
}

// A piece ends with the line that begins last in it, wherever its last chunk stands then. Before that
// only whole chunks are given away, or their ends would follow from the size of the reader's buffer.
void chunks_cut(unsigned char delimiter, struct record_scan *scan, struct cut *cut)
{
    const weft_bytes text = cut->text;
    const size_t turn = cut_turn(cut);
    const size_t from = scan->seen > turn ? scan->seen : turn;
    const char *end = memchr(text.data + from, delimiter, text.size - from);
    if (end || cut->is_end) {
        cut_here(cut, end ? (size_t)(end - text.data) + 1 : text.size, true);
        return;
    }
    for (size_t seen = scan->seen;; seen = 0) {
        const size_t size = chunk_size(delimiter, tail(text, cut->whole), seen);
        if (size == SIZE_MAX)
            break;
        cut->whole += size;
    }
    scan->seen = text.size;
}

bool chunks_next(unsigned char delimiter, weft_bytes *block, weft_bytes *chunk)
{
    if (block->size == 0)
        return false;
    const size_t size = chunk_size(delimiter, *block, 0);
    *chunk = (weft_bytes){block->data, size == SIZE_MAX ? block->size : size};
    block_drop(block, chunk->size);
    return true;
}

bool jsonl_next(weft_bytes *block, weft_bytes *line)
{
    while (lines_next('\n', block, line))
        if (line->size)
            return true;
    return false;
}
