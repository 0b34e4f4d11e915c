// Map: reading whole lines out of a piece of a file, and calling the job for them.
//
// A line belongs to the piece it begins in: a piece that begins inside a line leaves it to the one
// before, and reads its own last line beyond its end. Files are read with pread into one
// buffer per slot, cut at line ends; large inputs of sorting jobs are mapped, so that keys can be pointed
// at instead of copied.

#include "mapreduce/work/slot.h"
#include "mapreduce/work/words.h"
#include "sys/file.h"

enum {
    MAPPED_BLOCK = 1 << 20,
    LOOKAHEAD = 64 << 10,  // read beyond a piece's end at a time, for its last line
};

static void note_position(struct slot *slot, uint64_t offset)
{
    slot->input_offset = offset;
    atomic_store_explicit(&slot->page->input_offset, offset, memory_order_relaxed);
}

static void note_progress(struct slot *slot, uint64_t records, uint64_t bytes)
{
    slot->records_in += records;
    slot->bytes_in += bytes;
    struct slot_page *page = slot->page;
    atomic_store_explicit(&page->counted_offset, slot->input_offset, memory_order_relaxed);
    if (slot->mode == SLOT_SAMPLE)
        return;
    slot_watch_memory(slot);
    atomic_store_explicit(&page->records_in, page->records_in + records, memory_order_relaxed);
    atomic_store_explicit(&page->bytes_in, page->bytes_in + bytes, memory_order_relaxed);
}

// Gives a block of whole lines to the job.
static void feed_block(struct slot *slot, weft_bytes block, uint64_t offset)
{
    const weft_job *job = &slot->stage->job;
    slot->padded_begin = block.data;
    slot->padded_end = block.data + block.size;
    atomic_store_explicit(&slot->page->counted_offset, offset, memory_order_relaxed);
    note_position(slot, offset);
    if (job->map_block) {
        uint64_t lines = words_count_lines(block.data, block.size);
        if (block.size && block.data[block.size - 1] != '\n')
            lines++;
        job->map_block(&slot->hot, block);
        note_progress(slot, lines, block.size);
        return;
    }
    const char *begin = block.data;
    uint64_t lines = 0;
    for (weft_bytes line; !slot->has_failed && weft_next_line(&block, &line); lines++) {
        note_position(slot, offset + (uint64_t)(line.data - begin));
        job->map(&slot->hot, line);
    }
    note_progress(slot, lines, (uint64_t)(block.data - begin));
}

// ---- mapped files

static weft_err map_mapped(struct slot *slot, const struct input *input, const struct piece *piece)
{
    const char *text = input->map.data, *limit = text + input->size;
    const char *at = text + piece->begin, *end = text + piece->end;
    if (piece->begin) {
        at = memchr(at - 1, '\n', (size_t)(limit - at) + 1);
        at = at ? at + 1 : limit;
    }
    slot->mapped_begin = text;
    slot->mapped_end = limit;
    while (at < end && !slot->has_failed) {
        const char *stop = end - at > MAPPED_BLOCK ? at + MAPPED_BLOCK : end;
        slot_enter(slot, PHASE_READ);
        mem_map_populate(&input->map, (size_t)(at - text), (size_t)(stop - text));
        const char *newline = memchr(stop - 1, '\n', (size_t)(limit - stop) + 1);
        stop = newline ? newline + 1 : limit;
        slot_enter(slot, PHASE_MAP);
        feed_block(slot, (weft_bytes){at, (size_t)(stop - at)}, (uint64_t)(at - text));
        at = stop;
    }
    slot->mapped_begin = slot->mapped_end = NULL;
    if (mem_map_is_cut(&input->map))
        return err_set(WEFT_DATA_LOSS, "%s became shorter while it was read", input->name);
    return WEFT_OK;
}

// ---- read files

struct reading {
    struct slot *slot;
    const struct input *input;
    int fd;
    uint64_t base;  // file offset of the buffer's first byte
    size_t filled;
    size_t seen;         // so many of them are known to hold no line end
    uint64_t end;        // of the piece
    bool is_at_end;      // the buffer ends where the file does
    bool begins_inside;  // the piece does not begin where the file does
};

// A byte of the file lies at the same place in its page in memory as on disk: the kernel copies
// whole aligned pages then, which is a third faster.
static size_t place(uint64_t offset)
{
    return offset & (SLOT_PAGE - 1);
}

static char *buffered(const struct reading *r)
{
    return r->slot->read_buffer + place(r->base);
}

static weft_err grow_buffer(struct reading *r)
{
    struct slot *slot = r->slot;
    const size_t capacity = slot->read_capacity * 2;
    char *grown = mem_get(slot->stage->budget, capacity + SLOT_READ_SLACK);
    if (!grown)
        return err_set(
            WEFT_RESOURCE_EXHAUSTED,
            "%s: the record at offset %llu is longer than %zu bytes, which is all the memory "
            "budget allows; give more --memory or fewer --slots",
            r->input->name, (unsigned long long)r->base, slot->read_capacity);
    memcpy(grown + place(r->base), buffered(r), r->filled);
    mem_put(slot->stage->budget, slot->read_buffer, slot->read_capacity + SLOT_READ_SLACK);
    slot->read_buffer = grown;
    slot->read_capacity = capacity;
    return WEFT_OK;
}

// Reads on behind what the buffer holds, not far beyond the piece.
static weft_err fill(struct reading *r)
{
    struct slot *slot = r->slot;
    if (r->filled == slot->read_capacity) {
        const weft_err code = grow_buffer(r);
        if (code)
            return code;
    }
    const uint64_t from = r->base + r->filled;
    uint64_t wanted = r->end > from ? r->end - from + LOOKAHEAD : LOOKAHEAD + r->filled;
    if (wanted > slot->read_capacity - r->filled)
        wanted = slot->read_capacity - r->filled;
    if (wanted > SLOT_PAGE)
        wanted -= place(from + wanted);  // ends with a page, so that the next read begins with one
    if (wanted > r->input->size - from)
        wanted = r->input->size - from;
    size_t got = 0;
    const enum phase phase = slot_enter(slot, PHASE_READ);
    const weft_err code =
        file_read_at(r->fd, r->input->name, buffered(r) + r->filled, (size_t)wanted, from, &got);
    slot_enter(slot, phase);
    if (code)
        return code;
    if (got < wanted)
        return err_set(WEFT_DATA_LOSS, "%s became shorter while it was read: %llu bytes, not %llu",
                       r->input->name, (unsigned long long)(from + got),
                       (unsigned long long)r->input->size);
    r->filled += got;
    r->is_at_end = r->base + r->filled == r->input->size;
    return WEFT_OK;
}

// How many bytes at the buffer's front are whole lines that begin before the piece's end; 0: more has to
// be read. *is_last: nothing of the piece is behind them. Bytes once found to hold no line end are not
// looked at again, or a line of gigabytes would take forever.
static size_t whole_lines(struct reading *r, bool *is_last)
{
    const char *text = buffered(r);
    const size_t seen = r->seen;
    *is_last = false;
    r->seen = r->filled;
    if (r->base + r->filled < r->end) {
        const char *newline = memrchr(text + seen, '\n', r->filled - seen);
        return newline ? (size_t)(newline - text) + 1 : 0;
    }
    const size_t first = r->end > r->base + 1 ? (size_t)(r->end - r->base) - 1 : 0;
    const size_t from = first > seen ? first : seen;
    const char *newline = from < r->filled ? memchr(text + from, '\n', r->filled - from) : NULL;
    *is_last = newline || r->is_at_end;
    return newline ? (size_t)(newline - text) + 1 : r->is_at_end ? r->filled : 0;
}

// Drops bytes from the buffer's front; what is left moves there.
static void drop(struct reading *r, size_t size)
{
    const char *left = buffered(r) + size;
    r->base += size;
    r->filled -= size;
    r->seen = 0;
    memmove(buffered(r), left, r->filled);
}

// A piece that does not begin at the start of its file: the line before is another's.
static weft_err skip_begun_line(struct reading *r)
{
    for (;;) {
        const weft_err code = fill(r);
        if (code)
            return code;
        const char *newline = memchr(buffered(r), '\n', r->filled);
        if (newline) {
            drop(r, (size_t)(newline - buffered(r)) + 1);
            return WEFT_OK;
        }
        drop(r, r->filled);
        if (r->is_at_end || r->base >= r->end)
            return WEFT_OK;
    }
}

static weft_err read_lines(struct reading *r)
{
    weft_err code = WEFT_OK;
    if (r->begins_inside && (code = skip_begun_line(r)))
        return code;
    while (r->base < r->end && !r->slot->has_failed) {
        bool is_last;
        const size_t size = whole_lines(r, &is_last);
        if (size) {
            slot_enter(r->slot, PHASE_MAP);
            feed_block(r->slot, (weft_bytes){buffered(r), size}, r->base);
            drop(r, size);
        }
        if (is_last)
            break;
        if ((code = fill(r)))
            return code;
    }
    return WEFT_OK;
}

static weft_err map_read(struct slot *slot, const struct input *input, const struct piece *piece)
{
    struct reading r = {.slot = slot, .input = input, .end = piece->end};
    weft_err code = file_open(input->path, &r.fd);
    if (code)
        return code;
    if (input->size == 0 && slot->stage->job.map_block)
        feed_block(slot, (weft_bytes){slot->read_buffer, 0}, 0);  // so that every file is seen
    r.begins_inside = piece->begin > 0;
    r.base = piece->begin ? piece->begin - 1 : 0;  // a line that begins at `begin` is ours
    code = read_lines(&r);
    file_close(r.fd);
    return code;
}

// ---- pairs kept by the stage before

// Pairs that begin before bytes_max, however many are read at a time.
static weft_err map_kept(struct slot *slot, uint32_t range, uint64_t bytes_max)
{
    const struct dataset *source = slot->stage->source;
    struct reading r = {.slot = slot, .input = &(struct input){.name = "the stage before"}};
    uint64_t done = 0;
    while (done < bytes_max && !slot->has_failed) {
        size_t got = 0;
        weft_err code =
            dataset_read(source, range, done, slot->read_buffer, slot->read_capacity, &got);
        if (code || got == 0)
            return code;
        size_t at = 0;
        slot_enter(slot, PHASE_MAP);
        while (got - at >= 8 && done + at < bytes_max && !slot->has_failed) {
            uint32_t sizes[2];
            memcpy(sizes, slot->read_buffer + at, sizeof sizes);
            if (got - at - 8 < (uint64_t)sizes[0] + sizes[1])
                break;
            slot->record_key = (weft_bytes){slot->read_buffer + at + 8, sizes[0]};
            note_position(slot, done + at);
            slot->stage->job.map(&slot->hot,
                                 (weft_bytes){slot->read_buffer + at + 8 + sizes[0], sizes[1]});
            at += 8 + (size_t)sizes[0] + sizes[1];
            note_progress(slot, 1, 8 + (uint64_t)sizes[0] + sizes[1]);
        }
        done += at;
        r.filled = got;
        r.base = done;
        if (at == 0 && !slot->has_failed && (code = grow_buffer(&r)))
            return code;
    }
    return WEFT_OK;
}

// Sample task i of n looks at the beginning of a segment that stands for its share of them.
static weft_err map_kept_sample(struct slot *slot)
{
    const struct stage *stage = slot->stage;
    const uint32_t range =
        (uint32_t)((uint64_t)slot->task * stage->source->range_count / stage->sample_count);
    return map_kept(slot, range, LOOKAHEAD);
}

static weft_err map_pieces(struct slot *slot, const struct piece *pieces, size_t piece_count)
{
    for (size_t i = 0; i < piece_count && !slot->has_failed; i++) {
        const struct input *input = &slot->stage->inputs[pieces[i].input];
        slot->input_index = pieces[i].input;
        slot->input_name = input->name;
        atomic_store_explicit(&slot->page->input_index, pieces[i].input, memory_order_relaxed);
        const weft_err code = input->map.data ? map_mapped(slot, input, &pieces[i])
                                              : map_read(slot, input, &pieces[i]);
        if (code)
            return code;
    }
    return WEFT_OK;
}

weft_err map_run(struct slot *slot, const struct piece *pieces, size_t piece_count)
{
    weft_err code;
    if (!slot->stage->source)
        code = map_pieces(slot, pieces, piece_count);
    else if (slot->mode == SLOT_SAMPLE)
        code = map_kept_sample(slot);
    else
        code = map_kept(slot, slot->task, UINT64_MAX);
    if (code)
        slot_fail(slot, code, true);
    emit_flush(slot);
    slot->record_key = (weft_bytes){0};
    return slot->has_failed ? err_set(slot->code, "%s", slot->error) : WEFT_OK;
}
