// For the tests of the engine: slots without a driver. One stage over one text file, a job of the test's
// choosing, a memory plan it may make as tight as it likes, output as one text.
//
// rig_init, changes to rig->stage, rig_open, then rig_map and rig_reduce as often as wanted; rig_fini
// checks that every byte of the budget came back.
#ifndef MAPREDUCE_WORK_SLOT_TESTING_H
#define MAPREDUCE_WORK_SLOT_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mapreduce/work/slot.h"
#include "sys/file/file.h"

enum { RIG_SLOTS = 4, RIG_RANGES_MAX = 64 };

#define RIG_TMP "/var/tmp"

struct rig {
    struct mem_budget budget;
    struct worker_page *page;
    struct input input;
    struct stage stage;
    struct slot slots[RIG_SLOTS];
    int text_fd, output_fd;
    char path[64];
    weft_bytes cuts[RIG_RANGES_MAX];  // keys the ranges are cut by: range_count - 1 of them
    size_t cut_count;
    bool is_open;
};

static inline void rig_expect(weft_err code)
{
    if (code)
        print_error("%s: %s\n", weft_err_name(code), err_text());
    assert_int_equal(code, WEFT_OK);
}

// Room enough that nothing is spilled, pages small enough that there are some.
static inline struct memory_plan rig_plan(void)
{
    struct memory_plan plan = {.dataset_bytes = 1 << 20};
    assert_true(memory_plan_make(&plan, 256 << 20, RIG_SLOTS, 1, RIG_RANGES_MAX));
    plan.page_bytes = 64 << 10;
    return plan;
}

static inline void rig_init(struct rig *rig, const weft_job *job, weft_bytes text)
{
    *rig = (struct rig){.page = calloc(1, sizeof *rig->page)};
    assert_non_null(rig->page);
    rig_expect(file_create_nameless(RIG_TMP, &rig->text_fd));
    rig_expect(file_create_nameless(RIG_TMP, &rig->output_fd));
    rig_expect(file_write_at(rig->text_fd, "text", text.data, text.size, 0));
    snprintf(rig->path, sizeof rig->path, "/proc/self/fd/%d", rig->text_fd);
    rig->input =
        (struct input){.name = "text", .path = rig->path, .size = text.size, .map.registered = -1};
    rig->stage = (struct stage){.job = *job,
                                .part_count = 1,
                                .range_count = 1,
                                .map_count = 1,
                                .sample_count = 1,
                                .format = {.kind = RECORD_LINES, .delimiter = '\n'},
                                .inputs = &rig->input,
                                .input_count = 1,
                                .budget = &rig->budget,
                                .memory = rig_plan(),
                                .tmp = RIG_TMP,
                                .slots = rig->slots,
                                .slot_count = 1};
    rig->stage.order.compare = job->compare;
    rig->stage.combine = job->reduce ? stage_combiner(job) : NULL;
    rig->stage.op = stage_fold_op(rig->stage.combine);
    rig->stage.is_map_only = !job->reduce;
}

static inline void rig_written(void *owner, const struct sink_piece *piece)
{
    (void)owner, (void)piece;
}

static inline void rig_open_sink(struct rig *rig)
{
    static const uint32_t parts[4096];
    struct stage *stage = &rig->stage;
    stage->sink = sink_new(&(struct sink_options){
        .kind = SINK_FD,
        .path = "output",
        .fd = rig->output_fd,
        .piece_count = stage->is_map_only ? stage->map_count : stage->range_count,
        .part_count = 1,
        .part_of_piece = parts,
        .tmp = RIG_TMP,
        .held_bytes_max = stage->memory.held_bytes,
        .written = rig_written});
    assert_non_null(stage->sink);
}

// Output goes to one text, unless the test has given the stage a dataset to keep it.
static inline void rig_open(struct rig *rig)
{
    struct stage *stage = &rig->stage;
    assert_true(ranges_init(&stage->ranges, stage->range_count, stage->part_count, &stage->order,
                            stage->job.partition, rig->cuts, rig->cut_count));
    if (!stage->kept)
        rig_open_sink(rig);
    for (uint32_t i = 0; i < stage->slot_count; i++) {
        rig_expect(slot_init(&rig->slots[i], stage, i, &rig->page->slots[i]));
        rig_expect(slot_begin_stage(&rig->slots[i], stage));
    }
    rig->is_open = true;
}

static inline void rig_fini(struct rig *rig)
{
    for (uint32_t i = 0; rig->is_open && i < rig->stage.slot_count; i++)
        slot_fini(&rig->slots[i]);
    if (rig->stage.sink)
        sink_free(rig->stage.sink);
    dataset_free(rig->stage.kept);
    dataset_free(rig->stage.source);
    ranges_fini(&rig->stage.ranges);
    mem_map_close(&rig->input.map);
    file_close(rig->text_fd);
    file_close(rig->output_fd);
    free(rig->page);
    assert_int_equal(rig->budget.used, 0);
}

static inline weft_err rig_map_piece(struct rig *rig, uint32_t slot, uint32_t task, uint64_t begin,
                                     uint64_t end)
{
    const struct input_stretch piece = {0, begin, end};
    slot_begin_attempt(&rig->slots[slot], rig->stage.is_map_only ? SLOT_OUTPUT : SLOT_COLLECT,
                       task);
    return map_run(&rig->slots[slot], &piece, 1);
}

static inline void rig_map_all(struct rig *rig)
{
    rig_expect(rig_map_piece(rig, 0, 0, 0, rig->input.size));
}

static inline void rig_seal(struct rig *rig)
{
    for (uint32_t i = 0; i < rig->stage.slot_count; i++)
        rig_expect(collector_seal(&rig->slots[i]));
}

static inline weft_err rig_reduce_range(struct rig *rig, uint32_t slot, uint32_t range)
{
    slot_begin_attempt(&rig->slots[slot], SLOT_OUTPUT, range);
    const weft_err code = reduce_run(&rig->slots[slot], range);
    if (code) {
        text_discard(&rig->slots[slot]);
        return code;
    }
    return text_submit(&rig->slots[slot]);
}

static inline void rig_reduce_all(struct rig *rig)
{
    for (uint32_t range = 0; range < rig->stage.range_count; range++)
        rig_expect(rig_reduce_range(rig, range % rig->stage.slot_count, range));
}

// The text that the sink has written, with a zero after it; the caller frees it.
static inline char *rig_output(struct rig *rig, size_t *size)
{
    struct file_stat stat;
    rig_expect(file_stat_fd(rig->output_fd, "output", &stat));
    char *text = malloc(stat.size + 1);
    assert_non_null(text);
    rig_expect(file_read_at(rig->output_fd, "output", text, stat.size, 0, size));
    text[*size] = 0;
    return text;
}

static inline void rig_check_output(struct rig *rig, const char *expected)
{
    size_t size;
    char *text = rig_output(rig, &size);
    assert_string_equal(text, expected);
    free(text);
}

#endif
