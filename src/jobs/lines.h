// The lines of a block one after the other, as weft_next_line gives them, but found 64 bytes at a time:
// for short lines a call of memchr per line would cost more than the line. Where --format says that records
// are something else, those. Thread: one owner.
#ifndef JOBS_LINES_H
#define JOBS_LINES_H

#include <weft/weft.h>

#include "mapreduce/task.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { LINES_STEP = 64 };

struct lines {
    const char *line;  // where the next line begins
    const char *step;  // the 64 bytes that `ends` is about
    const char *end;   // of the block
    uint64_t ends;     // a bit per line end not yet taken
    bool is_plain;     // records are lines, else:
    struct record_format format;
    weft_bytes rest;
};

// How the built-in jobs see the input: a chunk is many lines to them. Whether records are just lines.
static inline bool lines_choose_format(const weft_task *task, struct record_format *format)
{
    *format = *task_record_format(task);
    if (format->kind == RECORD_CHUNKS)
        format->kind = RECORD_LINES;
    return format->kind == RECORD_LINES && format->delimiter == '\n';
}

// Whether no word reaches from a record into the next, so that a block may be taken as one text.
static inline bool lines_keep_words_apart(const weft_task *task)
{
    struct record_format format;
    return lines_choose_format(task, &format) ||
           (format.kind == RECORD_LINES
                ? format.delimiter && strchr(" \t\n\v\f\r", format.delimiter)
                : format.kind != RECORD_FIXED && format.kind != RECORD_TFRECORD);
}

// A bit for each of 64 bytes that is a line end.
static inline uint64_t lines_find_ends(const char *bytes)
{
    uint64_t ends = 0;
#if defined(__SSE2__)
    const __m128i newline = _mm_set1_epi8('\n');
    for (int i = 0; i < 4; i++) {
        const __m128i part = _mm_loadu_si128((const __m128i *)(const void *)(bytes + 16 * i));
        const int found = _mm_movemask_epi8(_mm_cmpeq_epi8(part, newline));
        ends |= (uint64_t)(uint32_t)found << (16 * i);
    }
#else
    for (int i = 0; i < LINES_STEP; i++)
        ends |= (uint64_t)(bytes[i] == '\n') << i;
#endif
    return ends;
}

static inline void lines_init_plain(struct lines *lines, weft_bytes block)
{
    lines->line = lines->step = block.data;
    lines->end = block.data + block.size;
    lines->ends = block.size >= LINES_STEP ? lines_find_ends(block.data) : 0;
    lines->is_plain = true;
}

static inline void lines_init(struct lines *lines, const weft_task *task, weft_bytes block)
{
    lines_init_plain(lines, block);
    if (lines_choose_format(task, &lines->format))
        return;
    lines->is_plain = false;
    lines->ends = 0;
    lines->rest = block;
}

static inline bool lines_next_record(struct lines *lines, weft_bytes *record)
{
    weft_err code;  // of checksums, which the engine has looked at
    return record_next(&lines->format, &lines->rest, record, &code);
}

// The next line without its end; false when there is none. A last line without an end counts.
static inline bool lines_next(struct lines *lines, weft_bytes *line)
{
    while (__builtin_expect(lines->ends == 0, 0)) {
        if (!lines->is_plain)
            return lines_next_record(lines, line);
        if (lines->end - lines->step < 2 * LINES_STEP) {
            // The rest is no longer than the current line and two steps.
            weft_bytes rest = {lines->line, (size_t)(lines->end - lines->line)};
            const bool has_line = weft_next_line(&rest, line);
            lines->line = rest.data;
            lines->step = lines->end;
            return has_line;
        }
        lines->step += LINES_STEP;
        lines->ends = lines_find_ends(lines->step);
    }
    const char *end = lines->step + __builtin_ctzll(lines->ends);
    lines->ends &= lines->ends - 1;
    line->data = lines->line;
    line->size = (size_t)(end - lines->line);
    lines->line = end + 1;
    return true;
}

#endif
