// For the tests of frames: messages as a good driver sends them, and ways to send them.
#ifndef RUN_WORKER_FRAMES_TESTING_H
#define RUN_WORKER_FRAMES_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "run/worker/frames.h"

enum { SLOTS = 3, MAPS = 4, RANGES = 6, CONNECTION = 9 };

static inline void map(weft_task *task, weft_bytes record)
{
    (void)task;
    (void)record;
}

static const weft_job plain = {.name = "plain", .map = map, .rounds = 2};
static const weft_job reducing = {
    .name = "reducing", .map = map, .reduce = weft_sum, .next = &plain};

// ---- messages as a good driver sends them

struct talk {
    struct told told;
    struct chain chain;
    Weft__Input inputs[2], *input_list[2];
    Weft__RecordFormat format;
    Weft__JobStart start;
    ProtobufCBinaryData next_configs[2];
    Weft__Output output;
    Weft__StageOpen open;
    Weft__StagePlan plan;
    Weft__Piece piece, *pieces[1];
    Weft__Place skips[2], *skip_list[2];
    Weft__TaskRun run;
    Weft__JobStart *kept;  // what the worker keeps
};

static inline void fill_start(struct talk *talk)
{
    weft__job_start__init(&talk->start);
    weft__record_format__init(&talk->format);
    talk->format.delimiter = '\n';
    talk->format.separator = ',';
    for (int i = 0; i < 2; i++) {
        weft__input__init(&talk->inputs[i]);
        talk->inputs[i].name = (char *)"input";
        talk->inputs[i].size = 1000;
        talk->input_list[i] = &talk->inputs[i];
    }
    talk->start.job = (char *)"reducing";
    talk->start.format = &talk->format;
    talk->start.slots = SLOTS;
    talk->start.tmp = (char *)"/tmp";
    talk->start.inputs = talk->input_list;
    talk->start.n_inputs = 2;
    talk->start.next_configs = talk->next_configs;
    talk->start.n_next_configs = 1;
}

static inline void fill_stage(struct talk *talk)
{
    weft__stage_open__init(&talk->open);
    weft__output__init(&talk->output);
    talk->open.part_count = 2;
    talk->open.range_count = RANGES;
    talk->open.map_count = MAPS;
    talk->open.sample_count = 2;
    talk->open.output = &talk->output;
    talk->open.runs_directory = (char *)"/tmp/runs";
    weft__stage_plan__init(&talk->plan);
}

static inline void fill_run(struct talk *talk)
{
    weft__task_run__init(&talk->run);
    weft__piece__init(&talk->piece);
    talk->piece.end = 1000;
    talk->pieces[0] = &talk->piece;
    for (unsigned i = 0; i < 2; i++) {
        weft__place__init(&talk->skips[i]);
        talk->skips[i].offset = i;
        talk->skip_list[i] = &talk->skips[i];
    }
    talk->run.pieces = talk->pieces;
    talk->run.n_pieces = 1;
    talk->run.skips = talk->skip_list;
    talk->run.n_skips = 2;
    talk->run.kind = WEFT__TASK_KIND__TASK_MAP;
}

static inline int begin(void **state)
{
    static const weft_args no_args;
    struct talk *talk = calloc(1, sizeof *talk);
    fill_start(talk);
    fill_stage(talk);
    fill_run(talk);
    told_init(&talk->told, CONNECTION);
    *state = talk;
    return talk && chain_init(&talk->chain, &reducing, sizeof(weft_job), &no_args) == WEFT_OK ? 0
                                                                                              : -1;
}

static inline int end(void **state)
{
    struct talk *talk = *state;
    message_free(talk->kept);
    chain_fini(&talk->chain);
    told_fini(&talk->told);
    free(talk);
    return 0;
}

// Over the wire and back: the unpacked message is checked.
static inline weft_err tell(struct talk *talk, Weft__FrameType type, const void *message)
{
    struct buf packed = {0};
    assert_int_equal(message_append(&packed, type, message), WEFT_OK);
    struct frame frame = {
        .type = type,
        .payload = {packed.data + FRAME_HEADER_BYTES, packed.size - FRAME_HEADER_BYTES}};
    struct order order;
    err_clear();
    const weft_err code = frames_take(&talk->told, &frame, &order);
    if (type == WEFT__FRAME_TYPE__FRAME_JOB_START && code == WEFT_OK)
        talk->kept = order.start;
    else
        message_free(order.message);
    buf_fini(&packed);
    return code;
}

#define assert_taken(call) assert_int_equal(call, WEFT_OK)

static inline void assert_refused(weft_err code, const char *why)
{
    assert_int_equal(code, WEFT_INTERNAL);
    if (!strstr(err_text(), why))
        fail_msg("\"%s\" is not in: %s", why, err_text());
}

static inline weft_err tell_job(struct talk *talk)
{
    return tell(talk, WEFT__FRAME_TYPE__FRAME_JOB_START, &talk->start.base);
}

static inline weft_err tell_stage(struct talk *talk)
{
    return tell(talk, WEFT__FRAME_TYPE__FRAME_STAGE_OPEN, &talk->open.base);
}

static inline weft_err tell_plan(struct talk *talk)
{
    return tell(talk, WEFT__FRAME_TYPE__FRAME_STAGE_PLAN, &talk->plan.base);
}

static inline weft_err tell_run(struct talk *talk)
{
    return tell(talk, WEFT__FRAME_TYPE__FRAME_TASK_RUN, &talk->run.base);
}

static inline weft_err tell_task(struct talk *talk, Weft__TaskKind kind, uint32_t task,
                                 uint32_t slot)
{
    const bool reads = kind != WEFT__TASK_KIND__TASK_REDUCE && talk->open.stage == 0;
    talk->run.stage = talk->open.stage;
    talk->run.kind = kind, talk->run.task = task;
    talk->run.slot = slot;
    talk->run.n_pieces = reads;
    talk->run.n_skips = reads ? 2 : 0;
    return tell_run(talk);
}

static inline weft_err tell_seal(struct talk *talk, uint32_t slot)
{
    Weft__Seal seal = WEFT__SEAL__INIT;
    seal.slot = slot;
    return tell(talk, WEFT__FRAME_TYPE__FRAME_SEAL, &seal.base);
}

static inline weft_err tell_checkpoint(struct talk *talk, uint32_t slot)
{
    Weft__Checkpoint checkpoint = WEFT__CHECKPOINT__INIT;
    checkpoint.slot = slot;
    return tell(talk, WEFT__FRAME_TYPE__FRAME_CHECKPOINT, &checkpoint.base);
}

static inline void start_job(struct talk *talk)
{
    assert_taken(tell_job(talk));
    assert_taken(frames_know_chain(&talk->told, &talk->chain));
}

static inline void open_stage(struct talk *talk)
{
    start_job(talk);
    assert_taken(tell_stage(talk));
}

static inline void plan_stage(struct talk *talk)
{
    open_stage(talk);
    assert_taken(tell_plan(talk));
}

#define SAMPLE WEFT__TASK_KIND__TASK_SAMPLE
#define MAP WEFT__TASK_KIND__TASK_MAP
#define REDUCE WEFT__TASK_KIND__TASK_REDUCE

#endif
