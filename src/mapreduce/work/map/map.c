// Map: reading whole records out of a piece of an input, and calling the job for them.
//
// A record belongs to the piece it begins in: a piece that begins inside one leaves it to the piece
// before, and reads its own last record beyond its end. Inputs are read into one buffer per slot, cut
// at record ends; large inputs of sorting jobs and of commands are mapped, so that keys can be pointed at and
// pipes be lent pages instead of copies. How a text is cut is known to store/record, what a file is compressed with to the source.

#include "mapreduce/work/map/map.h"
#include "mapreduce/work/map/source.h"
#include "mapreduce/work/map/stretches.h"
#include "mapreduce/work/map/words.h"

enum {
    MAPPED_BLOCK = 1 << 20,
    LOOKAHEAD = 64 << 10,  // read beyond a piece's end at a time, for its last record
    AHEAD_BLOCKS = 8,      // mapped ones that are looked at before the first is given away
};

#define RECORDS_UNKNOWN UINT64_MAX

void map_note_position(struct slot *slot, uint64_t offset)
{
    slot->input_offset = offset;
    atomic_store_explicit(&slot->page->input_offset, offset, memory_order_relaxed);
}

void map_note_progress(struct slot *slot, uint64_t records, uint64_t bytes)
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

// ---- giving records to the job

// A line without its end, be that "\n" or "\r\n".
static uint64_t feed_lines(struct slot *slot, weft_bytes block, uint64_t offset)
{
    weft_map_fn *map = slot->stage->job.map;
    const char *begin = block.data;
    uint64_t lines = 0;
    for (weft_bytes line; !slot->has_failed && weft_next_line(&block, &line); lines++) {
        map_note_position(slot, offset + (uint64_t)(line.data - begin));
        if (line.size && line.data[line.size - 1] == '\r' && line.data + line.size < block.data)
            line.size--;
        map(&slot->hot, line);
        slot->record_index++;
    }
    return lines;
}

static uint64_t feed_records(struct slot *slot, weft_bytes block, uint64_t offset)
{
    const struct stage *stage = slot->stage;
    const char *begin = block.data;
    weft_err code = WEFT_OK;
    uint64_t records = 0;
    for (; !slot->has_failed; records++) {
        const char *at = block.data;
        weft_bytes record;
        const bool has_record = record_next(&stage->format, &block, &record, &code);
        if (has_record)
            at = map_record_begin(&stage->format, at, record);
        map_note_position(slot, offset + (uint64_t)(at - begin));
        if (!has_record)
            break;
        stage->job.map(&slot->hot, record);
        slot->record_index += map_count_numbered(&stage->format, record);
    }
    if (code)
        slot_fail(slot,
                  err_wrap(code, "%s, record at offset %llu", slot->input_name,
                           (unsigned long long)slot->input_offset),
                  true);
    return records;
}

static uint64_t count_records(const struct stage *stage, weft_bytes block)
{
    if (stage->format.kind != RECORD_LINES || stage->format.delimiter != '\n')
        return record_count(&stage->format, block);
    const bool is_open = block.size && block.data[block.size - 1] != '\n';
    return words_count_lines(block.data, block.size) + is_open;
}

// Gives a block of whole records to the job, `known` of them if they were counted before. It covers
// `bytes` of the input.
static void feed_block(struct slot *slot, weft_bytes block, uint64_t offset, uint64_t bytes,
                       uint64_t known)
{
    const struct stage *stage = slot->stage;
    slot->padded_begin = block.data;
    slot->padded_end = block.data + block.size;
    atomic_store_explicit(&slot->page->counted_offset, offset, memory_order_relaxed);
    atomic_store_explicit(&slot->page->fed_end, offset + block.size, memory_order_relaxed);
    map_note_position(slot, offset);
    uint64_t records;
    // A block is given to the job when all its checksums are right.
    const bool has_sums = stage->format.kind == RECORD_TFRECORD && stage->job.map_block;
    if (__builtin_expect(map_chooses(slot) || has_sums, 0)) {
        records = map_feed_chosen(slot, block, offset);
    } else if (stage->job.map_block) {
        records = known != RECORDS_UNKNOWN ? known : count_records(stage, block);
        stage->job.map_block(&slot->hot, block);
        slot->record_index += stage->format.kind == RECORD_CHUNKS
                                  ? map_count_numbered(&stage->format, block)
                                  : records;
    } else if (stage->format.kind == RECORD_LINES && stage->format.delimiter == '\n') {
        records = feed_lines(slot, block, offset);
    } else {
        records = feed_records(slot, block, offset);
    }
    map_note_progress(slot, records, bytes);
}

// ---- mapped files

struct mapped_block {
    const char *end;
    uint64_t records;
};

// Finds the first blocks of [at, end), up to `wanted`, and counts their records.
static size_t look_ahead(struct slot *slot, const struct input *input, const char *at,
                         const char *end, size_t wanted, struct mapped_block *blocks)
{
    const char *text = input->map.data, *limit = text + input->size;
    const bool counts = slot->stage->job.map_block && !map_chooses(slot);
    size_t count = 0;
    slot_enter(slot, PHASE_READ);
    for (; at < end && count < wanted; count++) {
        const char *stop = end - at > MAPPED_BLOCK ? at + MAPPED_BLOCK : end;
        mem_map_populate(&input->map, (size_t)(at - text), (size_t)(stop - text));
        const char *newline = memchr(stop - 1, '\n', (size_t)(limit - stop) + 1);
        stop = newline ? newline + 1 : limit;
        const weft_bytes block = {at, (size_t)(stop - at)};
        blocks[count].end = stop;
        blocks[count].records = counts ? count_records(slot->stage, block) : RECORDS_UNKNOWN;
        at = stop;
    }
    slot_enter(slot, PHASE_MAP);
    return count;
}

// A job that has something to begin with gets ready while its first blocks are counted: a command starts.
static weft_err map_mapped(struct slot *slot, const struct input *input,
                           const struct input_stretch *piece)
{
    const char *text = input->map.data, *limit = text + input->size;
    const char *at = text + piece->begin, *end = text + piece->end;
    const struct stage *stage = slot->stage;
    const bool has_begin = stage->job.begin || (stage->code && stage->code->begin);
    size_t wanted = has_begin ? AHEAD_BLOCKS : 1;
    if (piece->begin) {
        at = memchr(at - 1, '\n', (size_t)(limit - at) + 1);
        at = at ? at + 1 : limit;
    }
    slot->piece_base = (uint64_t)(at - text);
    slot->mapped_begin = text;
    slot->mapped_end = limit;
    for (; at < end && !slot->has_failed; wanted = 1) {
        struct mapped_block blocks[AHEAD_BLOCKS];
        const size_t count = look_ahead(slot, input, at, end, wanted, blocks);
        for (size_t i = 0; i < count && !slot->has_failed; i++) {
            const size_t size = (size_t)(blocks[i].end - at);
            feed_block(slot, (weft_bytes){at, size}, (uint64_t)(at - text), size,
                       blocks[i].records);
            at = blocks[i].end;
        }
    }
    slot->mapped_begin = slot->mapped_end = NULL;
    return source_check_mapped(input);
}

// ---- read inputs

struct reading {
    struct slot *slot;
    struct source source;
    uint64_t base;  // plain offset of the buffer's first byte
    size_t filled;
    struct record_scan scan;  // of the buffer
    uint64_t end;             // of the piece
    uint64_t taken;           // of the file, as counted for progress
    bool has_header_ahead;    // the row that names the columns is still to come
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

weft_err map_grow_buffer(struct slot *slot, const char *name, uint64_t base, size_t filled)
{
    const size_t capacity = slot->read_capacity * 2;
    char *grown = mem_get(slot->stage->budget, capacity + SLOT_READ_SLACK);
    if (!grown)
        return err_set(
            WEFT_RESOURCE_EXHAUSTED,
            "%s: the record at offset %llu is longer than %zu bytes, which is all the memory "
            "budget allows; %s",
            name, (unsigned long long)base, slot->read_capacity, mem_advice(slot->stage->budget));
    memcpy(grown + place(base), slot->read_buffer + place(base), filled);
    mem_put(slot->stage->budget, slot->read_buffer, slot->read_capacity + SLOT_READ_SLACK);
    slot->read_buffer = grown;
    slot->read_capacity = capacity;
    return WEFT_OK;
}

// How much to read after the bytes in the buffer: not far beyond the piece, and to the end of a
// page, so that the next read begins with one.
static size_t read_size(const struct reading *r)
{
    const uint64_t from = r->base + r->filled;
    const size_t room = r->slot->read_capacity - r->filled;
    uint64_t wanted = r->end > from ? r->end - from : r->filled;
    wanted = wanted < UINT64_MAX - LOOKAHEAD ? wanted + LOOKAHEAD : wanted;
    if (wanted > room)
        wanted = room;
    if (wanted > SLOT_PAGE)
        wanted -= place(from + wanted);
    return (size_t)wanted;
}

static weft_err fill(struct reading *r)
{
    struct slot *slot = r->slot;
    if (r->filled == slot->read_capacity) {
        const weft_err code = map_grow_buffer(slot, r->source.input->name, r->base, r->filled);
        if (code)
            return code;
    }
    size_t got = 0;
    const enum phase phase = slot_enter(slot, PHASE_READ);
    const uint64_t since = slot_begin_wait(slot, slot->input_index);
    const weft_err code = source_read(&r->source, buffered(r) + r->filled, read_size(r), &got);
    slot_end_wait(slot, since);
    slot_enter(slot, phase);
    atomic_store_explicit(&slot->decoder_bytes, source_memory(&r->source), memory_order_relaxed);
    r->filled += got;
    const bool is_longer = r->source.codec && !r->source.input->is_indexed;
    if (is_longer && slot->mode != SLOT_SAMPLE && !slot->is_watched)
        r->end = UINT64_MAX;  // compressed: the file's size says nothing
    return code;
}

// Drops bytes from the buffer's front; the rest moves there.
static void drop(struct reading *r, size_t size)
{
    const char *left = buffered(r) + size;
    r->base += size;
    r->filled -= size;
    r->scan = (struct record_scan){0};
    memmove(buffered(r), left, r->filled);
}

// All text before a place decides whether it is inside quotes.
static weft_err look_before(struct reading *r, struct record_counts *before)
{
    const weft_err code = stretches_count(r->slot, r->slot->input_index, r->base, before);
    r->scan.is_quoted = before->quotes & 1;
    return code;
}

static weft_err find_first_record(struct reading *r)
{
    const struct record_format *format = &r->slot->stage->format;
    for (;;) {
        const weft_err code = fill(r);
        if (code)
            return code;
        size_t start;
        record_find_start(format, &r->scan, (weft_bytes){buffered(r), r->filled}, &start);
        const struct record_scan scan = {.is_quoted = r->scan.is_quoted};
        drop(r, start == SIZE_MAX ? r->filled : start);
        if (start != SIZE_MAX || source_is_at_end(&r->source) || r->base >= r->end)
            return WEFT_OK;
        r->scan = scan;
    }
}

// A piece that begins inside its input: the record before is another's.
static weft_err skip_begun_record(struct reading *r)
{
    const struct record_format *format = &r->slot->stage->format;
    struct record_counts before = {0};
    weft_err code = WEFT_OK;
    if (format->kind == RECORD_CSV)
        code = look_before(r, &before);
    const bool may_have_header = format->has_header && !code && before.ends[0] == 0;
    if (!code)
        code = find_first_record(r);
    // Empty lines may stand before a header, and the end of the first piece among them.
    if (!code && may_have_header && r->base < r->end) {
        code = look_before(r, &before);
        r->scan.is_quoted = false;
        r->has_header_ahead = before.ends[0] == 0;
    }
    return code;
}

// The first row of a file with a header names its columns, and a byte order mark is not data.
static weft_bytes take_head(struct reading *r, weft_bytes block)
{
    const struct record_format *format = &r->slot->stage->format;
    if (r->base == 0 && (format->kind == RECORD_CSV || format->kind == RECORD_JSONL)) {
        const size_t mark = record_bom_size(block);
        block = (weft_bytes){block.data + mark, block.size - mark};
    }
    weft_err code;
    weft_bytes header;
    if (r->has_header_ahead && record_next(format, &block, &header, &code)) {
        fields_take_header(r->slot, header);
        r->has_header_ahead = false;
    }
    return block;
}

static void feed_buffered(struct reading *r, size_t size)
{
    struct slot *slot = r->slot;
    weft_bytes block = {buffered(r), size};
    slot_enter(slot, PHASE_MAP);
    if (r->base == 0 || r->has_header_ahead)
        block = take_head(r, block);
    uint64_t bytes = size;
    if (r->source.codec) {
        const uint64_t taken = source_taken(&r->source);
        bytes = taken - r->taken;
        r->taken = taken;
    }
    feed_block(slot, block, r->base + (uint64_t)(block.data - buffered(r)), bytes, RECORDS_UNKNOWN);
    drop(r, size);
}

static weft_err read_records(struct reading *r)
{
    const struct record_format *format = &r->slot->stage->format;
    weft_err code = WEFT_OK;
    while (r->base < r->end && !r->slot->has_failed) {
        const uint64_t left = r->end - r->base;
        size_t whole = 0;
        bool is_last = false;
        const weft_bytes text = {buffered(r), r->filled};
        code = record_find_whole(format, &r->scan, text, left < SIZE_MAX ? (size_t)left : SIZE_MAX,
                                 source_is_at_end(&r->source), &whole, &is_last);
        if (code)
            return err_wrap(code, "%s, in the records from offset %llu on", r->source.input->name,
                            (unsigned long long)r->base);
        if (whole)
            feed_buffered(r, whole);
        if (is_last)
            break;
        if ((code = fill(r)))
            return code;
    }
    return WEFT_OK;
}

// A job whose records are files or blocks gets a file without a byte, too.
static void feed_empty(struct slot *slot)
{
    const struct stage *stage = slot->stage;
    const weft_bytes nothing = {slot->read_buffer, 0};
    if (!stage->job.map_block && stage->format.kind != RECORD_FILES)
        return;
    map_note_position(slot, 0);
    if (map_chooses(slot))
        map_feed_chosen_empty(slot, nothing);
    else if (stage->job.map_block)
        stage->job.map_block(&slot->hot, nothing);
    else
        stage->job.map(&slot->hot, nothing);
    map_note_progress(slot, stage->format.kind == RECORD_FILES, 0);
}

static weft_err map_read(struct slot *slot, const struct input_stretch *piece)
{
    const struct record_format *format = &slot->stage->format;
    struct reading r = {.slot = slot, .end = piece->end};
    bool begins_inside = piece->begin > 0 && record_is_splittable(format);
    const uint64_t from = begins_inside ? record_search_from(format, piece->begin) : 0;
    const uint64_t since = slot_begin_wait(slot, piece->input);
    weft_err code = source_open(&r.source, slot->stage, piece->input, from, piece->end);
    slot_end_wait(slot, since);
    if (code)
        return code;
    r.base = r.source.at;
    begins_inside = begins_inside && r.base == from;
    // What can only be read from its front is read from there: as much as a sample wants, or up to what a
    // probe is about.
    if (slot->mode == SLOT_SAMPLE && !begins_inside)
        r.end = piece->end - piece->begin;
    slot->window_begin = slot->is_watched && !begins_inside ? piece->begin : 0;
    if (begins_inside)
        code = skip_begun_record(&r);
    else
        r.has_header_ahead = format->kind == RECORD_CSV && format->has_header;
    slot->piece_base = r.base;
    if (!code)
        code = read_records(&r);
    if (!code && source_is_at_end(&r.source) && r.source.at == 0)
        feed_empty(slot);
    if (!code)
        code = source_check(&r.source);
    source_close(&r.source);
    atomic_store_explicit(&slot->decoder_bytes, 0, memory_order_relaxed);
    return code;
}

static weft_err map_pieces(struct slot *slot, const struct input_stretch *pieces,
                           size_t piece_count)
{
    for (size_t i = 0; i < piece_count && !slot->has_failed; i++) {
        const struct input *input = &slot->stage->inputs[pieces[i].input];
        slot->input_index = pieces[i].input;
        slot->input_name = input->name;
        atomic_store_explicit(&slot->page->input_index, pieces[i].input, memory_order_relaxed);
        slot->record_index = slot->piece_base = 0;
        slot->fields_of = UINT64_MAX;
        slot->has_record_base = false;
        if (i + 1 < piece_count)
            source_prepare(slot->stage, pieces[i + 1].input, pieces[i + 1].begin);
        const bool is_mapped = input->map.data && pieces[i].end <= input->size;
        const weft_err code =
            is_mapped ? map_mapped(slot, input, &pieces[i]) : map_read(slot, &pieces[i]);
        if (code)
            return code;
    }
    return WEFT_OK;
}

weft_err map_run(struct slot *slot, const struct input_stretch *pieces, size_t piece_count)
{
    weft_err code;
    slot_call_begin(slot);
    if (slot->has_failed)
        code = WEFT_OK;
    else if (!slot->stage->source)
        code = map_pieces(slot, pieces, piece_count);
    else if (slot->mode == SLOT_SAMPLE)
        code = map_kept_sample(slot);
    else
        code = map_kept(slot, slot->task, UINT64_MAX);
    if (code)
        slot_fail_reading(slot, code);
    slot_call_end(slot);
    emit_flush(slot);
    slot->record_key = (weft_bytes){0};
    return slot->has_failed ? err_set(slot->code, "%s", slot->error) : WEFT_OK;
}
