// Map after the first stage: the records are the pairs that the stage before has kept.

#include "base/crc32c.h"
#include "mapreduce/sample_segment.h"
#include "mapreduce/work/map/map.h"

enum { SAMPLE_BYTES = 64 << 10 };

// Pairs that another process has made: the job must not see them when they are damaged.
static weft_err check_adopted(struct slot *slot, uint32_t range)
{
    const struct dataset *source = slot->stage->source;
    uint64_t done = 0;
    uint32_t crc = 0;
    size_t got = 1;
    weft_err code = WEFT_OK;
    while (source->segments[range].has_crc && !code && got > 0) {
        code = dataset_read(source, range, done, slot->read_buffer, slot->read_capacity, &got);
        if (!code)
            crc = crc32c(crc, slot->read_buffer, got);
        done += got;
    }
    if (!code)
        code = dataset_check(source, range, crc);
    slot->has_bad_source |= code == WEFT_DATA_LOSS;
    return code;
}

// Pairs that begin before bytes_max, however many are read at a time.
weft_err map_kept(struct slot *slot, uint32_t range, uint64_t bytes_max)
{
    const struct dataset *source = slot->stage->source;
    uint64_t done = 0;
    weft_err code = check_adopted(slot, range);
    if (code)
        return code;
    while (done < bytes_max && !slot->has_failed) {
        size_t got = 0;
        code = dataset_read(source, range, done, slot->read_buffer, slot->read_capacity, &got);
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
            map_note_position(slot, done + at);
            slot->stage->job.map(&slot->hot,
                                 (weft_bytes){slot->read_buffer + at + 8 + sizes[0], sizes[1]});
            at += 8 + (size_t)sizes[0] + sizes[1];
            slot->record_index++;
            map_note_progress(slot, 1, 8 + (uint64_t)sizes[0] + sizes[1]);
        }
        done += at;
        if (at == 0 && !slot->has_failed &&
            (code = map_grow_buffer(slot, "the stage before", done, got)))
            return code;
    }
    return WEFT_OK;
}

weft_err map_kept_sample(struct slot *slot)
{
    const struct stage *stage = slot->stage;
    const uint32_t range =
        sample_segment(slot->task, stage->sample_count, stage->source->range_count);
    return map_kept(slot, range, SAMPLE_BYTES);
}
