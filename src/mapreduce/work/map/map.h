// Shared by the files of map: map.c reads inputs, map_kept.c the pairs of the stage before,
// fields.c the parts of a record. Thread: the slot's.
#ifndef MAPREDUCE_WORK_MAP_MAP_H
#define MAPREDUCE_WORK_MAP_MAP_H

#include "mapreduce/work/slot.h"

// Where the slot is now, and that it has come so much further.
void map_note_position(struct slot *slot, uint64_t offset);
void map_note_progress(struct slot *slot, uint64_t records, uint64_t bytes);

// Doubles the read buffer. It holds `filled` bytes of the input `name`, from offset `base` on.
MUST_CHECK weft_err map_grow_buffer(struct slot *slot, const char *name, uint64_t base,
                                    size_t filled);

// Pairs that begin before bytes_max, however many are read at a time; and a sample of them.
MUST_CHECK weft_err map_kept(struct slot *slot, uint32_t range, uint64_t bytes_max);
MUST_CHECK weft_err map_kept_sample(struct slot *slot);

// Whether some records of a block may not be for the job, or are to be watched one by one; and giving the
// others to it (map_choose.c).
static inline bool map_chooses(const struct slot *slot)
{
    return slot->skip_count || slot->is_careful || slot->mode == SLOT_LOOK ||
           slot->window_begin > 0 || slot->window_end != UINT64_MAX;
}
uint64_t map_feed_chosen(struct slot *slot, weft_bytes block, uint64_t offset);
void map_feed_chosen_empty(struct slot *slot, weft_bytes nothing);

// Returns where a record that was found at or after `at` begins: with its framing, but after empty
// lines.
static inline const char *map_record_begin(const struct record_format *format, const char *at,
                                           weft_bytes record)
{
    const bool leaves_out_empty = format->kind == RECORD_CSV || format->kind == RECORD_JSONL;
    return leaves_out_empty ? record.data : at;
}

// By how much the number of the next record is larger. Chunks are cut by position, so it is their lines
// that are numbered.
static inline uint64_t map_count_numbered(const struct record_format *format, weft_bytes record)
{
    const struct record_format lines = {.kind = RECORD_LINES, .delimiter = format->delimiter};
    return format->kind == RECORD_CHUNKS ? record_count(&lines, record) : 1;
}

// Keeps aside what the record at hand emits or writes.
void map_draft_pair(struct slot *slot, const struct pair *pair);
void map_draft_text(struct slot *slot, weft_bytes text, uint64_t line_count);

// Keeps the header of the input at hand, which was met at its beginning.
void fields_take_header(struct slot *slot, weft_bytes row);

// Reads that header, if the slot began at a later place of the input. The attempt fails if it cannot.
void fields_find_header(struct slot *slot);

#endif
