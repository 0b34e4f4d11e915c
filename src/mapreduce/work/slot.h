// A slot: a place for one attempt at a time, with all the memory it reuses from task to task.
//
// The task it runs is its first member, so that the public weft_task pointer handed to user code is the
// slot itself. Thread: the slot's own, except `collector` after the map stage: then it is read by all.
#ifndef MAPREDUCE_WORK_SLOT_H
#define MAPREDUCE_WORK_SLOT_H

#include "base/buf.h"
#include "mapreduce/record_place.h"
#include "mapreduce/slot_page.h"
#include "mapreduce/task.h"
#include "mapreduce/work/collect/collector.h"
#include "mapreduce/work/sort/gather.h"
#include "mapreduce/work/stage.h"
#include "sys/time/clock.h"

// After its capacity a read buffer has room for the offset in a page at which it begins (map.c) and
// for the vector loads after its end.
enum { SLOT_PAGE = 4096, SLOT_READ_SLACK = SLOT_PAGE + 64 };

// A stretch of an input.
struct input_stretch {
    uint32_t input;
    uint64_t begin, end;
};

enum slot_mode {
    SLOT_SAMPLE,   // emitted keys are sampled
    SLOT_COLLECT,  // emitted pairs go to the collector
    SLOT_COMBINE,  // emitted pairs go where the combiner's caller says
    SLOT_OUTPUT,   // emitted pairs are output
    SLOT_PROBE,    // emitted pairs are dropped: shows whether the records do harm
    SLOT_LOOK,     // the job is not called: only the record is wanted
};

struct counter {
    char name[56];
    int64_t value;
};

// Text on its way out, in budgeted memory.
struct text {
    char *data;
    size_t size, capacity;
};

// The header of a csv input: its row, and the fields in it.
struct header {
    struct buf row, room;
    VEC(weft_bytes) names;
    uint32_t input_index;
    bool is_known;
};

struct slot {
    weft_task hot;  // first: see above
    struct stage *stage;
    uint32_t index;
    struct slot_page *page;
    enum phase phase;
    uint64_t phase_since_ns;

    // the attempt
    enum slot_mode mode;
    uint32_t task, attempt;
    bool is_reducing;
    const struct input_stretch *pieces;  // of a map task; borrowed
    size_t piece_count;
    struct task_values values;  // likewise
    const struct place *skips;  // records to leave out, ascending; borrowed
    size_t skip_count;
    bool is_careful;  // a record that fails is left out, and with it the pairs it emitted
    bool is_drafting;
    struct buf draft;            // what the record at hand has emitted
    VEC(struct bad_record) bad;  // records that were left out; of a look: the one
    bool
        is_watched;  // the pieces are about single records, also where inputs are read from their front
    uint64_t window_begin, window_end;  // records that begin outside are not meant then
    bool has_failed, is_final;
    bool is_blameless;    // it has failed because of bytes that it cannot have, or that are damaged
    uint32_t bad_seal;    // it has failed because map output with this number is damaged; 0: not so
    bool has_bad_source;  // or because the pairs of the stage before are
    bool
        keeps_held;  // it has failed, and the collector has all of the tasks before it and nothing of it
    weft_err code;
    char error[ERR_TEXT_BYTES_MAX];
    uint64_t records_in, bytes_in, records_out;
    VEC(struct counter) counters;

    // the record it is at
    weft_bytes record_key;
    uint32_t input_index;
    const char *input_name;
    uint64_t input_offset;
    uint64_t piece_base;    // where the first record of the piece begins
    uint64_t record_index;  // records of the piece before this one
    uint64_t record_base;   // records of the input before the piece, once the job asked
    bool has_record_base;
    struct header header;                   // of the input at hand
    uint64_t fields_of;                     // whose values are in the room: a record's number,
    const char *fields_object;              // and where it lies
    struct buf field_room;                  // what had to be unquoted or unescaped
    VEC(struct buf) full_rooms;             // of the same record: bytes in use do not move
    const char *mapped_begin, *mapped_end;  // mapped input that emitted keys may point into

    // reused from task to task
    uint64_t *queue_keys;  // of the public inline emit
    int64_t *queue_values;
    uint64_t *word_keys;  // of weft_emit_words: all values one
    size_t word_count;
    uint32_t flush_count;                   // every eighth flush is timed,
    uint64_t combine_ns;                    // and counted eightfold here
    const char *padded_begin, *padded_end;  // text with WORDS_PAD readable bytes after it
    struct collector collector;
    struct area area;
    struct text text;
    struct buf packed;  // frames of it
    char *read_buffer;
    size_t read_capacity;
    struct buf sample;   // {u32 size, bytes} of each sampled key
    uint32_t piece;      // of the output, while reducing
    bool has_appended;   // part of it went to the sink already
    bool has_sink_room;  // room of the sink is being filled, not the text
    void *user_state;
    bool is_set_up;
    uint64_t memory_watched_ns;
    _Atomic uint64_t outside_bytes;  // of memory, that processes of the attempt at hand take
    _Atomic uint64_t decoder_bytes;  // likewise, that decompressing its input takes

    // combining: where the combiner's pairs go
    weft_err (*combined)(void *owner, const struct pair *pair);
    void *combined_owner;
    uint32_t combined_task;
    struct buf group_key;  // a copy: the stream's bytes move on
};

static inline struct slot *slot_of_task(const weft_task *task)
{
    return (struct slot *)(uintptr_t)task;
}

static inline void slot_add_phase(struct slot *slot, enum phase phase, uint64_t elapsed_ns)
{
    _Atomic uint64_t *total = &slot->page->phase_ns[phase];
    const uint64_t before = atomic_load_explicit(total, memory_order_relaxed);
    atomic_store_explicit(total, before + elapsed_ns, memory_order_relaxed);
}

// Changes the phase that the slot's time is counted for; returns the phase before.
static inline enum phase slot_enter(struct slot *slot, enum phase phase)
{
    const uint64_t now = clock_now_ns();
    const enum phase before = slot->phase;
    uint64_t elapsed = now - slot->phase_since_ns;
    if (slot->combine_ns && before == PHASE_MAP) {  // folding inside map, estimated
        const uint64_t combined = slot->combine_ns < elapsed ? slot->combine_ns : elapsed;
        slot_add_phase(slot, PHASE_COMBINE, combined);
        elapsed -= combined;
        slot->combine_ns = 0;
    }
    slot_add_phase(slot, before, elapsed);
    slot->phase = phase;
    slot->phase_since_ns = now;
    return before;
}

// Looks now and then at the memory of the whole process and of those it has started: what user code
// takes for itself counts too, and the attempt that finds the promise broken fails instead of breaking it
// further.
void slot_watch_memory(struct slot *slot);

// Ends the attempt with this thread's sentence. is_final: trying again cannot help.
void slot_fail(struct slot *slot, weft_err code, bool is_final);

// The same when the input at hand could not be read. Trying again cannot help, unless it is lent and its lender is out of reach:
// then the attempt is not at fault.
void slot_fail_reading(struct slot *slot, weft_err code);

// Around reading of an input: the time that a lent one takes does not count as the attempt's, which has a limit. Returns what
// the end needs.
uint64_t slot_begin_wait(struct slot *slot, uint32_t input_index);
void slot_end_wait(struct slot *slot, uint64_t since_ns);

MUST_CHECK weft_err slot_init(struct slot *slot, struct stage *stage, uint32_t index,
                              struct slot_page *page);
void slot_fini(struct slot *slot);

// For a new stage: what the slot collected is forgotten, its memory kept where the plan allows.
MUST_CHECK weft_err slot_begin_stage(struct slot *slot, struct stage *stage);

// Begins an attempt; the ones below run it and return how it ended, with the sentence set.
void slot_begin_attempt(struct slot *slot, enum slot_mode mode, uint32_t task);

// Gets the job's code ready for this slot before its first attempt, and closes it after the last.
MUST_CHECK weft_err slot_call_open(struct slot *slot);
void slot_call_close(struct slot *slot);

// Calls the code's, or the job's own, begin and end of an attempt; a failure is the attempt's.
// After an attempt that has failed, its code is notified that it is cancelled.
void slot_call_begin(struct slot *slot);
void slot_call_end(struct slot *slot);

// Collects what the job's code has kept back, before the collector is sealed or made safe.
MUST_CHECK weft_err slot_call_flush(struct slot *slot);

// Runs the map function over pieces of files (or over segment `task` of the source).
MUST_CHECK weft_err map_run(struct slot *slot, const struct input_stretch *pieces,
                            size_t piece_count);

// Reduces one range into the slot's text.
MUST_CHECK weft_err reduce_run(struct slot *slot, uint32_t range);

// Of the pairs kept in the slot's text only the stage's top largest, for --top.
MUST_CHECK weft_err top_keep_largest(struct slot *slot);

// The keys the sample attempt keeps, at most `max`, as {u32 size, bytes} in *keys.
MUST_CHECK weft_err sample_finish(struct slot *slot, size_t max, struct buf *keys);

// ---- text on its way out (output_text.c)

// Makes room for `more` bytes; NULL fails the attempt.
char *text_reserve(struct slot *slot, size_t more);
void text_write_pair(struct slot *slot, weft_bytes key, enum value_type type, int64_t number,
                     weft_bytes bytes);
// Hands the text of a good attempt to the sink or the dataset as the piece's end; a failure is the
// worker's, not the attempt's.
MUST_CHECK weft_err text_submit(struct slot *slot);
// Forgets the text of a failed attempt.
void text_discard(struct slot *slot);

// ---- emitting (emit.c)

// Folds what the queues still hold: at the end of an attempt.
void emit_flush(struct slot *slot);

// ---- groups (groups.c)

// Calls the reducer with one value, already folded.
void groups_run_one(struct slot *slot, weft_bytes key, int64_t number, weft_reduce_fn *function);

// Walks a sorted stream, calling `function` once per key. Closes the stream.
MUST_CHECK weft_err groups_run(struct slot *slot, struct pair_stream *stream,
                               weft_reduce_fn *function);

#endif
