// Stretches: a table of counts per input, filled as it is needed.

#include "mapreduce/work/map/stretches.h"

#include <stdlib.h>

#include "mapreduce/work/map/source.h"
#include "mapreduce/work/slot.h"

enum { STRETCH_BYTES = 1 << 20, READ_BYTES = 64 << 10 };

enum stretch_state { STRETCH_OPEN, STRETCH_TAKEN, STRETCH_DONE };

struct stretch {
    struct record_counts counts;  // valid when done
    _Atomic int state;
};

struct stretches {
    size_t count;
    struct stretch items[];
};

static struct stretches *stretches_of(const struct stage *stage, struct input *input)
{
    mutex_lock(stage->inputs_lock);
    if (!input->stretches) {
        const size_t count = (size_t)(input->size / STRETCH_BYTES) + 1;
        struct stretches *made = calloc(1, sizeof *made + count * sizeof made->items[0]);
        if (made)
            made->count = count;
        input->stretches = made;
    }
    struct stretches *stretches = input->stretches;
    mutex_unlock(stage->inputs_lock);
    if (!stretches)
        err_no_memory("to count the records of %s", input->name);
    return stretches;
}

// A byte order mark is not data, and a line that has only a mark is empty.
static weft_bytes without_mark(const struct stage *stage, weft_bytes text, bool is_front)
{
    const enum record_kind kind = stage->format.kind;
    const bool may_have_one = is_front && (kind == RECORD_CSV || kind == RECORD_JSONL);
    const size_t mark = may_have_one ? record_bom_size(text) : 0;
    return (weft_bytes){text.data + mark, text.size - mark};
}

// Counts from where the source is up to `end`.
static weft_err count_bytes(const struct stage *stage, struct source *source, uint64_t end,
                            struct record_counts *counts)
{
    char *room = malloc(READ_BYTES);
    weft_err code = room ? WEFT_OK : err_no_memory("to count records");
    *counts = (struct record_counts){0};
    while (!code && source->at < end) {
        const uint64_t left = end - source->at;
        const bool is_front = source->at == 0;
        size_t got = 0;
        code = source_read(source, room, left < READ_BYTES ? (size_t)left : READ_BYTES, &got);
        if (code || got == 0)
            break;
        const weft_bytes text = without_mark(stage, (weft_bytes){room, got}, is_front);
        *counts = record_counts_join(*counts, record_count_stretch(&stage->format, text));
    }
    free(room);
    return code;
}

// Pieces are only made of inputs that can be read from anywhere: this one has become another file.
static weft_err refuse_place(const struct stage *stage, uint32_t input_index, uint64_t offset)
{
    return err_set(WEFT_DATA_LOSS,
                   "%s cannot be read from byte %llu on: it has changed since the job began",
                   stage->inputs[input_index].name, (unsigned long long)offset);
}

static weft_err count_range(const struct stage *stage, uint32_t input_index, uint64_t begin,
                            uint64_t end, struct record_counts *counts)
{
    struct source source;
    weft_err code = source_open(&source, stage, input_index, begin, end);
    if (code)
        return code;
    code = source.at == begin ? count_bytes(stage, &source, end, counts)
                              : refuse_place(stage, input_index, begin);
    source_close(&source);
    return code;
}

static weft_err finish_stretch(const struct stage *stage, uint32_t input_index,
                               struct stretch *stretch, size_t index)
{
    const uint64_t begin = (uint64_t)index * STRETCH_BYTES;
    const weft_err code =
        count_range(stage, input_index, begin, begin + STRETCH_BYTES, &stretch->counts);
    atomic_store_explicit(&stretch->state, code ? STRETCH_OPEN : STRETCH_DONE,
                          memory_order_release);
    return code;
}

// Takes every stretch before `count` that no slot has taken; then waits for those of other slots.
static weft_err finish_before(const struct stage *stage, uint32_t input_index,
                              struct stretches *stretches, size_t count)
{
    for (bool waits = true; waits;) {
        waits = false;
        for (size_t i = 0; i < count; i++) {
            struct stretch *stretch = &stretches->items[i];
            int state = STRETCH_OPEN;
            if (atomic_compare_exchange_strong(&stretch->state, &state, STRETCH_TAKEN)) {
                const weft_err code = finish_stretch(stage, input_index, stretch, i);
                if (code)
                    return code;
            } else if (state == STRETCH_TAKEN) {
                waits = true;
            }
        }
        if (waits && stage->inputs[input_index].lending)
            clock_sleep_ms(1);  // the other slot may wait for another machine
        else if (waits)
            thread_yield();
    }
    return WEFT_OK;
}

weft_err stretches_count(struct slot *slot, uint32_t input_index, uint64_t end,
                         struct record_counts *counts)
{
    const struct stage *stage = slot->stage;
    struct stretches *stretches = stretches_of(stage, &stage->inputs[input_index]);
    *counts = record_counts_begin();
    if (!stretches)
        return WEFT_RESOURCE_EXHAUSTED;
    const size_t whole = (size_t)(end / STRETCH_BYTES);
    if (whole >= stretches->count)
        return refuse_place(stage, input_index, end);
    const enum phase phase = slot_enter(slot, PHASE_READ);
    const uint64_t since = slot_begin_wait(slot, input_index);
    weft_err code = finish_before(stage, input_index, stretches, whole);
    for (size_t i = 0; !code && i < whole; i++)
        *counts = record_counts_join(*counts, stretches->items[i].counts);
    struct record_counts rest = {0};
    if (!code && end % STRETCH_BYTES)
        code = count_range(stage, input_index, (uint64_t)whole * STRETCH_BYTES, end, &rest);
    *counts = record_counts_join(*counts, rest);
    slot_end_wait(slot, since);
    slot_enter(slot, phase);
    return code;
}

void stretches_free(struct stretches *stretches)
{
    free(stretches);
}
