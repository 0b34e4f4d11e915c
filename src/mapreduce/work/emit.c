// Emitting: where a pair goes depends on what the slot is doing. Also everything else user code may ask
// of its task. Errors stick: after the first one an attempt emits nothing more.

#include <stdarg.h>
#include <stdio.h>

#include "base/number.h"
#include "mapreduce/task.h"
#include "mapreduce/work/map/map.h"
#include "mapreduce/work/map/words.h"
#include "mapreduce/work/reduce/values.h"

enum {
    WORD_LONGS_MAX = 256,
    SAMPLE_KEY_BYTES_MAX = 256,  // a longer key cuts as well by its beginning
    SAMPLE_BYTES_MAX = 4 << 20,
    COUNTERS_MAX = 256,
};

void slot_fail(struct slot *slot, weft_err code, bool is_final)
{
    if (slot->has_failed)
        return;
    slot->has_failed = true;
    slot->is_final = is_final;
    slot->code = code;
    memcpy(slot->error, err_text(), sizeof slot->error);
    slot->hot.queue_limit_ = slot->hot.queue_count_ =
        0;  // inline emits come to emit_pair, which drops them
}

void slot_fail_reading(struct slot *slot, weft_err code)
{
    const struct stage *stage = slot->stage;
    const bool is_lent = !stage->source && slot->input_name && stage->inputs &&
                         stage->inputs[slot->input_index].lending;
    const bool is_blameless = is_lent && code == WEFT_UNAVAILABLE && !slot->has_failed;
    slot_fail(slot, code, !is_blameless);
    slot->is_blameless |= is_blameless;
}

void weft_fail(weft_task *task, const char *format, ...)
{
    char text[ERR_TEXT_BYTES_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct slot *slot = slot_of_task(task);
    if (slot->input_name)
        err_set(WEFT_ABORTED, "%s, at %s near offset %llu", text, slot->input_name,
                (unsigned long long)slot->input_offset);
    else
        err_set(WEFT_ABORTED, "%s", text);
    slot_fail(slot, WEFT_ABORTED, false);
}

void task_fail_job(weft_task *task, weft_err code)
{
    slot_fail(slot_of_task(task), code, true);
}

void task_keep_held(weft_task *task)
{
    struct slot *slot = slot_of_task(task);
    emit_flush(slot);
    slot->keeps_held = !slot->has_failed && slot->mode == SLOT_COLLECT;
}

void task_add_to_failure(weft_task *task, weft_bytes text)
{
    struct slot *slot = slot_of_task(task);
    const size_t size = strlen(slot->error);
    if (slot->has_failed)
        snprintf(slot->error + size, sizeof slot->error - size, "\n  %.*s", (int)text.size,
                 text.data);
}

// ---- one pair

static void sample_key(struct slot *slot, weft_bytes key)
{
    if (slot->sample.size > SAMPLE_BYTES_MAX)
        return;
    const bool is_cut = key.size > SAMPLE_KEY_BYTES_MAX && !slot->stage->order.compare;
    const uint32_t size = (uint32_t)(is_cut ? SAMPLE_KEY_BYTES_MAX : key.size);
    buf_append(&slot->sample, &size, sizeof size);
    buf_append(&slot->sample, key.data, size);
}

static weft_err collect_pair(struct slot *slot, struct pair *pair)
{
    pair->task = slot->task;
    if (slot->stage->op != FOLD_NONE) {
        if (pair->type == VALUE_BYTES && number_read_int(pair->bytes, &pair->number))
            pair->type = VALUE_INT;
        if (pair->type == VALUE_INT)
            return collector_fold_key(slot, pair->key, pair->number);
    }
    pair->prefix = key_order_prefix(&slot->stage->order, pair->key);
    return collector_add(slot, pair);
}

static weft_err hand_to_combined(struct slot *slot, struct pair *pair)
{
    if (!bytes_equal(pair->key, buf_bytes(&slot->group_key)))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "the combiner emitted another key than the one it was called with");
    pair->task = slot->combined_task;
    pair->prefix = key_order_prefix(&slot->stage->order, pair->key);
    return slot->combined(slot->combined_owner, pair);
}

void task_emit_pair(weft_task *task, weft_bytes key, enum value_type type, int64_t number,
                    weft_bytes bytes)
{
    struct slot *slot = slot_of_task(task);
    if (slot->has_failed)
        return;
    struct pair pair = {.key = key, .bytes = bytes, .number = number, .type = type};
    if (slot->is_drafting) {
        map_draft_pair(slot, &pair);
        return;
    }
    weft_err code = WEFT_OK;
    switch (slot->mode) {
    case SLOT_SAMPLE:
        sample_key(slot, key);
        break;
    case SLOT_COLLECT:
        code = collect_pair(slot, &pair);
        break;
    case SLOT_COMBINE:
        code = hand_to_combined(slot, &pair);
        break;
    case SLOT_OUTPUT:
        text_write_pair(slot, key, type, number, bytes);
        break;
    case SLOT_PROBE:
    case SLOT_LOOK:
        break;
    }
    slot->records_out++;
    if (code)
        slot_fail(slot, code, code == WEFT_RESOURCE_EXHAUSTED || code == WEFT_INVALID_ARGUMENT);
}

void weft_emit(weft_task *task, weft_bytes key, weft_bytes value)
{
    task_emit_pair(task, key, value.data ? VALUE_BYTES : VALUE_NONE, 0, value);
}

void weft_emit_int_(weft_task *task, weft_bytes key, int64_t value)
{
    task_emit_pair(task, key, VALUE_INT, value, weft_none());
}

void weft_emit_double(weft_task *task, weft_bytes key, double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    task_emit_pair(task, key, VALUE_DOUBLE, bits, weft_none());
}

// ---- many keys at once

// Folds all but the last `keep` keys, which are prefetched now and folded the next time.
static void fold_batch(struct slot *slot, uint64_t *keys, int64_t *values, size_t *count,
                       size_t keep)
{
    const size_t now = *count - keep;
    const bool is_timed = (slot->flush_count++ & 7) == 0 && slot->phase == PHASE_MAP;
    const uint64_t begun_ns = is_timed ? clock_now_ns() : 0;
    const weft_err code = collector_fold(slot, keys, values, now);
    if (code)
        slot_fail(slot, code, code == WEFT_RESOURCE_EXHAUSTED || code == WEFT_INVALID_ARGUMENT);
    if (is_timed && slot->phase == PHASE_MAP)
        slot->combine_ns += 8 * (clock_now_ns() - begun_ns);
    slot->records_out += now;
    memmove(keys, keys + now, keep * sizeof *keys);
    if (values)
        memmove(values, values + now, keep * sizeof *values);
    *count = keep;
}

void weft_task_flush_(weft_task *task)
{
    struct slot *slot = slot_of_task(task);
    size_t count = task->queue_count_;
    fold_batch(slot, slot->queue_keys, slot->queue_values, &count, FOLD_AHEAD);
    task->queue_count_ = slot->has_failed ? 0 : (uint32_t)count;
}

void emit_flush(struct slot *slot)
{
    size_t count = slot->hot.queue_count_;
    if (count && !slot->has_failed)
        fold_batch(slot, slot->queue_keys, slot->queue_values, &count, 0);
    slot->hot.queue_count_ = 0;
    if (slot->word_count && !slot->has_failed)
        fold_batch(slot, slot->word_keys, NULL, &slot->word_count, 0);
    slot->word_count = 0;
    if (slot->mode != SLOT_COLLECT || slot->has_failed)
        return;
    weft_err code = collector_flush(slot);
    if (!code)
        code = collector_look_again(slot);
    if (code)
        slot_fail(slot, code, code == WEFT_RESOURCE_EXHAUSTED || code == WEFT_INVALID_ARGUMENT);
}

// The text is the job's own memory: nothing beyond its end is read.
static void emit_words_one_by_one(weft_task *task, weft_bytes text)
{
    const char *end = text.data + text.size;
    weft_words words;
    weft_words_init(&words, text);
    for (weft_bytes word; weft_next_word(&words, &word);) {
        if (end - word.data >= 8)
            weft_emit_int(task, word, 1);
        else
            weft_emit_int_(task, word, 1);
    }
}

void weft_emit_words(weft_task *task, weft_bytes text)
{
    struct slot *slot = slot_of_task(task);
    const bool is_padded =
        text.data >= slot->padded_begin && text.data + text.size <= slot->padded_end;
    if (slot->hot.queue_limit_ == 0 || slot->stage->op != FOLD_SUM || !is_padded) {
        emit_words_one_by_one(task, text);
        return;
    }
    weft_bytes longs[WORD_LONGS_MAX];
    struct words_scan scan = {.text = text.data,
                              .size = text.size,
                              .keys = slot->word_keys,
                              .key_count = slot->word_count,
                              .key_capacity = FOLD_QUEUE,
                              .longs = longs,
                              .long_capacity = WORD_LONGS_MAX};
    for (bool has_more = true; has_more && !slot->has_failed;) {
        has_more = words_scan_keys(&scan);
        if (scan.key_count + WORDS_PER_BLOCK_MAX > FOLD_QUEUE)
            fold_batch(slot, slot->word_keys, NULL, &scan.key_count, FOLD_AHEAD);
        const weft_err code = collector_fold_words(slot, longs, scan.long_count);
        if (code)
            slot_fail(slot, code, code == WEFT_RESOURCE_EXHAUSTED || code == WEFT_INVALID_ARGUMENT);
        slot->records_out += scan.long_count;
        scan.long_count = 0;
    }
    slot->word_count = scan.key_count;
}

// ---- what a task can be asked

weft_bytes weft_input_key(const weft_task *task)
{
    return slot_of_task(task)->record_key;
}

const char *weft_input_name(const weft_task *task)
{
    const char *name = slot_of_task(task)->input_name;
    return name ? name : "";
}

uint32_t weft_input_index(const weft_task *task)
{
    return slot_of_task(task)->input_index;
}

uint64_t weft_input_offset(const weft_task *task)
{
    return slot_of_task(task)->input_offset;
}

weft_bytes weft_task_config(const weft_task *task)
{
    return slot_of_task(task)->stage->job.config;
}

const weft_args *weft_task_args(const weft_task *task)
{
    return slot_of_task(task)->stage->args;
}

void weft_task_set_state(weft_task *task, void *state)
{
    slot_of_task(task)->user_state = state;
}

void *weft_task_state(const weft_task *task)
{
    return slot_of_task(task)->user_state;
}

bool task_is_combining(const weft_task *task)
{
    return slot_of_task(task)->mode == SLOT_COMBINE;
}

bool task_watch_outside(weft_task *task, uint64_t bytes)
{
    struct slot *slot = slot_of_task(task);
    atomic_store_explicit(&slot->outside_bytes, bytes, memory_order_relaxed);
    slot_watch_memory(slot);
    return !slot->has_failed;
}

uint32_t task_time_records(weft_task *task)
{
    struct slot_page *page = slot_of_task(task)->page;
    atomic_store(&page->times_records, 1);
    return atomic_load(&page->record_timeout_ms);
}

void task_tell_status(weft_task *task, weft_bytes text)
{
    struct slot_page *page = slot_of_task(task)->page;
    slot_status_write(&page->status, page->kind, page->task, text.data, text.size);
}

bool task_is_mapped(const weft_task *task, weft_bytes bytes)
{
    const struct slot *slot = slot_of_task(task);
    return bytes.data >= slot->mapped_begin && bytes.data + bytes.size <= slot->mapped_end;
}

void task_describe(const weft_task *task, struct task_facts *facts)
{
    const struct slot *slot = slot_of_task(task);
    const struct stage *stage = slot->stage;
    *facts = (struct task_facts){
        .task = slot->task,
        .attempt = slot->attempt - (slot->attempt > 0),  // the scheduler counts from 1
        .task_count = slot->is_reducing ? stage->range_count : stage->map_count,
        .map_count = stage->map_count,
        .is_sample = slot->mode == SLOT_SAMPLE,
        .is_probe = slot->mode == SLOT_PROBE,
        .is_reducing = slot->is_reducing,
        .is_map_only = stage->is_map_only,
    };
    if (slot->is_reducing || slot->piece_count == 0 || stage->source)
        return;
    const struct input *input = &stage->inputs[slot->pieces[0].input];
    facts->input = slot->pieces[0].input;
    facts->input_name = input->name;
    facts->input_path = input->lending ? input->name : input->path;
    facts->begin = slot->pieces[0].begin;
    facts->end = slot->pieces[0].end;
    facts->input_size = input->size;
    facts->piece_count = (uint32_t)slot->piece_count;
    facts->values = slot->values;
}

uint32_t task_top_k(const weft_task *task)
{
    return slot_of_task(task)->stage->job.top_k;
}

void weft_counter_add(weft_task *task, const char *name, int64_t amount)
{
    struct slot *slot = slot_of_task(task);
    if (slot->mode == SLOT_SAMPLE)
        return;
    for (size_t i = 0; i < slot->counters.count; i++) {
        if (strncmp(slot->counters.items[i].name, name, sizeof slot->counters.items[i].name - 1))
            continue;
        slot->counters.items[i].value += amount;
        return;
    }
    struct counter counter = {.value = amount};
    snprintf(counter.name, sizeof counter.name, "%s", name);
    if (slot->counters.count == COUNTERS_MAX || !VEC_PUSH(&slot->counters, counter))
        slot_fail(slot, err_set(WEFT_RESOURCE_EXHAUSTED, "more than %d counters", COUNTERS_MAX),
                  true);
}
