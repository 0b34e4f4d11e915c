// A slot: taking and giving back the memory it reuses, beginning stages and attempts.

#include "mapreduce/work/slot.h"

#include "mapreduce/work/map/words.h"
#include "mapreduce/work/reduce/values.h"

enum {
    QUEUE_ITEMS = FOLD_QUEUE + FOLD_AHEAD + FOLD_SLACK,
    QUEUE_BYTES = QUEUE_ITEMS * 8,
    WATCH_EVERY_NS = 50 * 1000 * 1000,
};

static bool is_one_of(weft_reduce_fn *function, weft_reduce_fn *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (function == list[i])
            return true;
    return false;
}

// Some reducers combine without being asked. Others only hand values on when they combine: named as a
// combiner they are left out, as they would cost time and the order of values.
weft_reduce_fn *stage_combiner(const weft_job *job)
{
    weft_reduce_fn *const may_combine[] = {weft_sum,  weft_min,   weft_max,
                                           weft_mean, weft_first, weft_distinct};
    weft_reduce_fn *const hand_on[] = {weft_count, weft_collect, weft_identity};
    if (job->combine)
        return is_one_of(job->combine, hand_on, sizeof hand_on / sizeof *hand_on) ? NULL
                                                                                  : job->combine;
    return is_one_of(job->reduce, may_combine, sizeof may_combine / sizeof *may_combine)
               ? job->reduce
               : NULL;
}

enum fold_op stage_fold_op(weft_reduce_fn *combine)
{
    if (combine == weft_sum)
        return FOLD_SUM;
    if (combine == weft_min)
        return FOLD_MIN;
    return combine == weft_max ? FOLD_MAX : FOLD_NONE;
}

static int compare_bytes(weft_bytes a, weft_bytes b)
{
    return bytes_compare(a, b);
}

// Groups of several keys are not folded key by key.
void stage_set_order(struct stage *stage)
{
    stage->order = (struct key_order){.compare = stage->job.compare, .group = stage->job.group};
    if (stage->order.group && !stage->order.compare)
        stage->order.compare = compare_bytes;
    stage->combine = stage->is_map_only ? NULL : stage_combiner(&stage->job);
    stage->op = stage->order.group ? FOLD_NONE : stage_fold_op(stage->combine);
}

weft_err slot_init(struct slot *slot, struct stage *stage, uint32_t index, struct slot_page *page)
{
    *slot = (struct slot){.stage = stage, .index = index, .page = page, .phase = PHASE_IDLE};
    slot->phase_since_ns = clock_now_ns();
    slot->area.budget = stage->budget;
    collector_init(&slot->collector);
    slot->read_capacity = stage->memory.read_bytes;
    slot->read_buffer = mem_get(stage->budget, slot->read_capacity + SLOT_READ_SLACK);
    slot->queue_keys = mem_get(stage->budget, QUEUE_BYTES);
    slot->queue_values = mem_get(stage->budget, QUEUE_BYTES);
    slot->word_keys = mem_get(stage->budget, QUEUE_BYTES);
    buf_reserve(&slot->group_key, 1);  // so that an empty key has an address: without it means none
    if (slot->read_buffer && slot->queue_keys && slot->queue_values && slot->word_keys)
        return WEFT_OK;
    return err_no_memory("for slot %u; %s", index, mem_advice(stage->budget));
}

void slot_fini(struct slot *slot)
{
    struct mem_budget *budget = slot->stage->budget;
    collector_fini(&slot->collector, slot);
    area_fini(&slot->area);
    mem_put(budget, slot->text.data, slot->text.capacity);
    mem_put(budget, slot->read_buffer, slot->read_capacity + SLOT_READ_SLACK);
    mem_put(budget, slot->queue_keys, QUEUE_BYTES);
    mem_put(budget, slot->queue_values, QUEUE_BYTES);
    mem_put(budget, slot->word_keys, QUEUE_BYTES);
    buf_fini(&slot->sample);
    buf_fini(&slot->group_key);
    buf_fini(&slot->field_room);
    for (size_t i = 0; i < slot->full_rooms.count; i++)
        buf_fini(&slot->full_rooms.items[i]);
    VEC_FINI(&slot->full_rooms);
    buf_fini(&slot->packed);
    buf_fini(&slot->draft);
    VEC_FINI(&slot->bad);
    buf_fini(&slot->header.row);
    buf_fini(&slot->header.room);
    VEC_FINI(&slot->header.names);
    VEC_FINI(&slot->counters);
}

weft_err slot_begin_stage(struct slot *slot, struct stage *stage)
{
    if (slot->collector.pages.budget)
        collector_fini(&slot->collector, slot);
    slot->stage = stage;
    return stage->is_map_only ? WEFT_OK : collector_begin(&slot->collector, slot);
}

void slot_begin_attempt(struct slot *slot, enum slot_mode mode, uint32_t task)
{
    slot->mode = mode;
    slot->task = task;
    slot->piece = task;
    slot->has_failed = slot->is_final = slot->is_blameless = slot->keeps_held = false;
    slot->has_bad_source = false;
    slot->bad_seal = 0;
    slot->code = WEFT_OK;
    slot->records_in = slot->bytes_in = slot->records_out = 0;
    slot->counters.count = 0;
    slot->sample.size = 0;
    slot->input_name = NULL;  // set by who reads a file
    slot->input_offset = 0;
    slot->word_count = 0;
    slot->text.size = 0;
    slot->has_appended = false;
    slot->skip_count = slot->bad.count = 0;
    atomic_store(&slot->page->times_records, 0);
    atomic_store_explicit(&slot->outside_bytes, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->decoder_bytes, 0, memory_order_relaxed);
    slot->is_careful = slot->is_drafting = slot->is_reducing = slot->is_watched = false;
    slot->window_begin = 0;
    slot->window_end = UINT64_MAX;
    const bool may_queue =
        mode == SLOT_COLLECT && slot->stage->op != FOLD_NONE && !slot->stage->order.compare;
    slot->hot = (weft_task){.queue_keys_ = slot->queue_keys,
                            .queue_values_ = slot->queue_values,
                            .queue_limit_ = may_queue ? FOLD_QUEUE : 0};
}

// Names the part that has taken most: the job's own code, or decoders, whose windows a file may
// make large.
static weft_err blame_memory(const struct slot *slot, uint64_t resident)
{
    const struct stage *stage = slot->stage;
    const uint64_t ours = atomic_load_explicit(&stage->budget->used, memory_order_relaxed);
    const uint64_t theirs = resident > ours ? resident - ours : 0;
    uint64_t decoders = 0;
    for (uint32_t i = 0; i < stage->slot_count; i++)
        decoders += atomic_load_explicit(&stage->slots[i].decoder_bytes, memory_order_relaxed);
    const uint64_t own = atomic_load_explicit(&slot->decoder_bytes, memory_order_relaxed);
    if (own > 0 && decoders >= theirs / 2)
        return err_set(
            WEFT_RESOURCE_EXHAUSTED,
            "decompressing %s takes %llu MiB of memory, the window that it was compressed "
            "with (all inputs being read: %llu MiB); give more --memory or fewer "
            "--slots, or decompress it first",
            slot->input_name ? slot->input_name : "an input", (unsigned long long)own >> 20,
            (unsigned long long)decoders >> 20);
    return err_set(WEFT_RESOURCE_EXHAUSTED,
                   "the job's own code uses %llu MiB of memory beside the engine's %llu MiB; "
                   "give more --memory or fewer --slots, or let it use less",
                   (unsigned long long)theirs >> 20, (unsigned long long)ours >> 20);
}

void slot_watch_memory(struct slot *slot)
{
    const struct stage *stage = slot->stage;
    const uint64_t now = clock_now_ns();
    if (!stage->process_bytes_max || now - slot->memory_watched_ns < WATCH_EVERY_NS)
        return;
    slot->memory_watched_ns = now;
    uint64_t resident = mem_resident_bytes();
    for (uint32_t i = 0; i < stage->slot_count; i++)
        resident += atomic_load_explicit(&stage->slots[i].outside_bytes, memory_order_relaxed);
    if (resident <= stage->process_bytes_max)
        return;
    slot_fail(slot, blame_memory(slot, resident), true);
}

uint64_t slot_begin_wait(struct slot *slot, uint32_t input_index)
{
    if (!slot->stage->inputs[input_index].lending)
        return 0;
    const uint64_t now_ns = clock_now_ns();
    atomic_store(&slot->page->waits_since_ns, now_ns);
    return now_ns;
}

// Moves the beginning of the attempt before it is looked at again.
void slot_end_wait(struct slot *slot, uint64_t since_ns)
{
    if (!since_ns)
        return;
    atomic_fetch_add(&slot->page->begun_ns, clock_now_ns() - since_ns);
    atomic_store(&slot->page->waits_since_ns, 0);
}

static void call_hook(struct slot *slot, weft_err (*hook)(weft_task *task), const char *name)
{
    if (!hook || slot->has_failed || slot->mode == SLOT_LOOK)
        return;
    err_clear();
    const weft_err code = hook(&slot->hot);
    if (!code || slot->has_failed)
        return;
    if (!err_text()[0])
        err_set(code, "the job's %s of a task failed", name);
    // A file that is missing or not allowed will be so the next time, too.
    const bool is_final = code == WEFT_NOT_FOUND || code == WEFT_PERMISSION_DENIED ||
                          code == WEFT_INVALID_ARGUMENT || code == WEFT_UNIMPLEMENTED;
    slot_fail(slot, code, is_final);
}

// The port of a stage; one without is native.
static const struct code *code_of_stage(const struct stage *stage)
{
    static const struct code plain;
    return stage->code ? stage->code : &plain;
}

weft_err slot_call_open(struct slot *slot)
{
    const struct code *code = code_of_stage(slot->stage);
    weft_err (*const open)(weft_task *) = code->open ? code->open : slot->stage->job.setup;
    return open ? open(&slot->hot) : WEFT_OK;
}

void slot_call_close(struct slot *slot)
{
    const struct code *code = code_of_stage(slot->stage);
    void (*const close)(weft_task *) = code->close ? code->close : slot->stage->job.teardown;
    if (close)
        close(&slot->hot);
}

void slot_call_begin(struct slot *slot)
{
    const struct code *code = code_of_stage(slot->stage);
    call_hook(slot, code->begin ? code->begin : slot->stage->job.begin, "begin");
}

void slot_call_end(struct slot *slot)
{
    const struct code *code = code_of_stage(slot->stage);
    call_hook(slot, code->end ? code->end : slot->stage->job.end, "end");
    if (slot->has_failed && code->cancel && slot->mode != SLOT_LOOK)
        code->cancel(&slot->hot);
}

weft_err slot_call_flush(struct slot *slot)
{
    const struct code *code = code_of_stage(slot->stage);
    if (!code->flush || !slot->is_set_up)
        return WEFT_OK;
    slot_begin_attempt(slot, SLOT_COLLECT, slot->task);
    call_hook(slot, code->flush, "last part");
    emit_flush(slot);
    return slot->has_failed ? err_set(slot->code, "%s", slot->error) : WEFT_OK;
}
