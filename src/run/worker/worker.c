// The control thread of a worker: frames to commands, and the stages of the job.

#include "run/worker/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "code/codes.h"
#include "mapreduce/work/run/run_index.h"
#include "run/worker/worker_state.h"
#include "sys/file/file.h"
#include "sys/machine/machine.h"
#include "sys/process/crash.h"
#include "sys/process/process.h"

enum {
    // What the process takes beside its budget: libraries, messages, indexes of runs, thread stacks.
    BASE_BYTES = 3 << 20,
    SLOT_BASE_BYTES = 256 << 10,
    SLOT_STACK_BYTES = 8 << 20,
    MAP_INPUT_ABOVE = 1 << 20,  // smaller inputs are read: mapping costs more than copying
    MAPPED_INPUTS_MAX = 4096,
};

static _Noreturn void leave(void)
{
    _exit(1);  // the driver has ended: no process is left to report to
}

void worker_send(struct worker *worker, Weft__FrameType type, const ProtobufCMessage *message)
{
    mutex_lock(&worker->send_lock);
    const weft_err code = message_send(worker->fd, type, message);
    mutex_unlock(&worker->send_lock);
    if (code)
        leave();
}

void worker_send_failed(struct worker *worker, weft_err code)
{
    Weft__WorkerFailed failed = WEFT__WORKER_FAILED__INIT;
    char text[ERR_TEXT_BYTES_MAX];
    snprintf(text, sizeof text, "%s", err_text());
    failed.code = message_code(code);
    failed.text = text;
    worker_send(worker, WEFT__FRAME_TYPE__FRAME_WORKER_FAILED, &failed.base);
}

void worker_send_committed(struct worker *worker, const struct sink_piece *piece)
{
    const struct stage *stage = worker->stage;
    struct sink_piece copy = *piece;
    Weft__Committed committed = WEFT__COMMITTED__INIT;
    committed.stage = stage->number;
    committed.kind = stage->is_map_only ? WEFT__TASK_KIND__TASK_MAP : WEFT__TASK_KIND__TASK_REDUCE;
    committed.n_tasks = committed.n_output_bytes = 1;
    committed.n_output_crc = committed.n_output_records = 1;
    committed.tasks = &copy.piece;
    committed.output_bytes = &copy.bytes;
    committed.output_crc = &copy.crc32c;
    committed.output_records = &copy.records;
    if (worker_shares(worker)) {
        committed.shelf = (uint32_t)sink_shelf_fd(stage->sink);
        committed.n_shelf_offsets = 1;
        committed.shelf_offsets = &copy.offset;
    }
    worker_send(worker, WEFT__FRAME_TYPE__FRAME_COMMITTED, &committed.base);
}

// After a broken rule no later frame can be relied on. The worker reports the reason to the driver
// and ends: that closes the connection, and the tasks of its slots are done again elsewhere or not
// at all.
static _Noreturn void refuse_driver(struct worker *worker, weft_err code)
{
    worker_send_failed(worker, code);
    fflush(NULL);
    _exit(WORKER_EXIT_REFUSED);
}

// ---- the job

static const weft_job *find_job(const weft_job *const *jobs, const char *name)
{
    for (; *jobs; jobs++)
        if ((*jobs)->name && strcmp((*jobs)->name, name) == 0)
            return *jobs;
    err_set(WEFT_NOT_FOUND, "this program has no job '%s'; weft_start must list it", name);
    return NULL;
}

static void take_configs(struct worker *worker)
{
    const Weft__JobStart *start = worker->start;
    for (size_t i = 0; i < worker->chain.jobs.count; i++) {
        const bool is_sent = i == 0 || i - 1 < start->n_next_configs;
        const ProtobufCBinaryData config = i == 0    ? start->config
                                           : is_sent ? start->next_configs[i - 1]
                                                     : (ProtobufCBinaryData){0};
        if (is_sent)
            worker->chain.jobs.items[i].config = message_field(config);
    }
}

static weft_err take_inputs(struct worker *worker)
{
    const Weft__JobStart *start = worker->start;
    worker->inputs = calloc(start->n_inputs + 1, sizeof *worker->inputs);
    if (!worker->inputs)
        return err_no_memory("for %zu inputs", start->n_inputs);
    for (size_t i = 0; i < start->n_inputs; i++) {
        const Weft__Input *input = start->inputs[i];
        worker->inputs[i] = (struct input){.name = input->name,
                                           .path = input->path[0] ? input->path : input->name,
                                           .size = input->size,
                                           .codec = (int)input->codec,
                                           .is_indexed = input->is_indexed,
                                           .inode = input->inode,
                                           .mtime_ns = input->mtime_ns,
                                           .map.registered = -1};
    }
    return worker_begin_lending(worker);
}

static weft_err take_budget(struct worker *worker)
{
    const uint64_t all = worker->start->memory_bytes, slot_count = worker->slot_count;
    const uint64_t outside =
        worker->code->outside_bytes ? worker->code->outside_bytes(all, worker->slot_count) : 0;
    const uint64_t base = BASE_BYTES + slot_count * (SLOT_BASE_BYTES + outside);
    if (all < base + (2 << 20))
        return err_set(WEFT_RESOURCE_EXHAUSTED,
                       "%llu bytes of memory are too little for %u slots; "
                       "give more --memory or fewer --slots",
                       (unsigned long long)all, worker->slot_count);
    worker->budget.limit = all - base;
    return WEFT_OK;
}

// Both sides have the same chain, or they are not the same program.
static void know_chain(struct worker *worker)
{
    mutex_lock(&worker->send_lock);
    const weft_err code = frames_know_chain(&worker->told, &worker->chain);
    mutex_unlock(&worker->send_lock);
    if (code)
        refuse_driver(worker, code);
}

static weft_err start_job(struct worker *worker)
{
    Weft__JobStart *start = worker->start;
    const weft_job *job = find_job(worker->jobs, start->job);
    if (!job)
        return WEFT_NOT_FOUND;
    weft_job ours;
    weft_err code = chain_take_job(&ours, job, worker->job_size);
    if (!code)
        code = args_parse_job(&ours, start->args, start->n_args, &worker->args);
    if (!code)
        code = chain_init(&worker->chain, &ours, worker->job_size, &worker->args);
    if (code)
        return code;
    know_chain(worker);
    take_configs(worker);
    worker->code = code_of(job);
    if (worker->code->start && (code = worker->code->start()))
        return code;
    mutex_init(&worker->inputs_lock);
    worker->slot_count = start->slots;
    if ((code = take_budget(worker)) || (code = take_inputs(worker)))
        return code;
    worker->slots = calloc(worker->slot_count, sizeof *worker->slots);
    worker->threads = calloc(worker->slot_count, sizeof *worker->threads);
    if (!worker->slots || !worker->threads)
        return err_no_memory("for %u slots", worker->slot_count);
    return WEFT_OK;
}

// ---- stages

static const weft_job *job_of_stage(const struct worker *worker, uint32_t job_index)
{
    return job_index < worker->chain.jobs.count ? &worker->chain.jobs.items[job_index]
                                                : &worker_top_job;
}

static void piece_written(void *owner, const struct sink_piece *piece)
{
    worker_send_committed(owner, piece);
}

static uint32_t *parts_of_pieces(const struct stage *stage, const Weft__StageOpen *open,
                                 uint32_t piece_count)
{
    uint32_t *parts = calloc(piece_count + 1, sizeof *parts);
    if (!parts)
        return NULL;
    const uint32_t per_part = stage->part_count ? stage->range_count / stage->part_count : 1;
    for (uint32_t i = 0; i < piece_count; i++)
        parts[i] = !stage->is_map_only        ? i / per_part
                   : i < open->n_part_of_task ? open->part_of_task[i]
                                              : 0;
    return parts;
}

static weft_err open_sink(struct worker *worker, struct stage *stage, const Weft__StageOpen *open)
{
    const uint32_t piece_count = stage->is_map_only ? stage->map_count : stage->range_count;
    uint32_t *parts = parts_of_pieces(stage, open, piece_count);
    if (!parts)
        return err_no_memory("for %u pieces of output", piece_count);
    const Weft__Output *output = open->output;
    const struct sink_options options = {
        .kind = worker_shares(worker)                             ? SINK_SHELF
                : output->kind == WEFT__OUTPUT_KIND__OUTPUT_FILE  ? SINK_FILE
                : output->kind == WEFT__OUTPUT_KIND__OUTPUT_PARTS ? SINK_PARTS
                                                                  : SINK_FD,
        .path = output->path && *output->path ? output->path : stage->tmp,  // nameless there
        .suffix = codec_suffix(stage->compress),
        .fd = output->fd,
        .piece_count = piece_count,
        .part_count = stage->part_count,
        .part_of_piece = parts,
        .tmp = stage->tmp,
        .held_bytes_max = stage->memory.held_bytes,
        .is_resumed = open->n_done_pieces > 0,
        .written = piece_written,
        .owner = worker,
    };
    stage->sink = sink_new(&options);
    free(parts);
    if (!stage->sink)
        return WEFT_UNKNOWN;
    for (size_t i = 0; i < open->n_done_pieces; i++)
        sink_adopt(stage->sink, open->done_pieces[i], open->done_bytes[i], open->done_crc[i]);
    return WEFT_OK;
}

static weft_err open_output(struct worker *worker, struct stage *stage, const Weft__StageOpen *open)
{
    const bool is_kept = !open->output || open->output->kind == WEFT__OUTPUT_KIND__OUTPUT_KEEP;
    stage->shelves_pairs = is_kept && worker_shares(worker);
    if (!is_kept || stage->shelves_pairs)
        return open_sink(worker, stage, open);
    const uint32_t segments = stage->is_map_only ? stage->map_count : stage->range_count;
    stage->kept = dataset_new(stage->budget, segments, stage->memory.dataset_bytes, stage->tmp);
    return stage->kept ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
}

// A mapped file on a tmpfs is shared memory of ours: it would count against --memory, page by page.
static bool is_in_memory(const struct input *input)
{
    bool is_so;
    return file_is_in_memory(input->path, &is_so) == WEFT_OK && is_so;
}

// A job that only sorts its lines may point into its input instead of copying it.
static void map_inputs(struct worker *worker, const struct stage *stage)
{
    const Weft__JobStart *start = worker->start;
    const bool may_be_read = stage->code->lends_input;
    const bool is_pointed_at = start->may_map_input && stage->job.reduce == weft_identity;
    if (stage->source || !(may_be_read || is_pointed_at) || stage->format.kind != RECORD_LINES ||
        stage->format.delimiter != '\n' || worker->has_mapped_inputs ||
        start->n_inputs > MAPPED_INPUTS_MAX)
        return;
    worker->has_mapped_inputs = true;
    for (size_t i = 0; i < start->n_inputs; i++) {
        struct input *input = &worker->inputs[i];
        if (input->size < MAP_INPUT_ABOVE || input->lending || is_in_memory(input))
            continue;
        // An input that cannot be mapped, or has become shorter, is read: the read returns the
        // error.
        if (mem_map_open(&input->map, input->path) != WEFT_OK)
            continue;
        if (input->map.size < input->size ||
            (codec_sniff(input->map.data, CODEC_SNIFF_BYTES) != CODEC_NONE ||
             codec_is_tar(input->map.data, input->map.size)))
            mem_map_close(&input->map);
    }
    err_clear();
}

static struct record_format record_format_of(const Weft__RecordFormat *format)
{
    return (struct record_format){.kind = (enum record_kind)format->kind,
                                  .delimiter = (unsigned char)format->delimiter,
                                  .separator = (unsigned char)format->separator,
                                  .has_header = format->has_header,
                                  .fixed_bytes = format->fixed_bytes};
}

static void fill_stage(struct worker *worker, struct stage *stage, const Weft__StageOpen *open)
{
    const weft_job *job = job_of_stage(worker, open->job_index);
    *stage = (struct stage){
        .number = open->stage,
        .job = *job,
        .code = code_of(job),
        .args = &worker->args,
        .is_map_only = open->is_map_only,
        .part_count = open->part_count,
        .range_count = open->range_count,
        .map_count = open->map_count,
        .sample_count = open->sample_count,
        .inputs = worker->inputs,
        .input_count = (uint32_t)worker->start->n_inputs,
        .inputs_lock = &worker->inputs_lock,
        .format = record_format_of(worker->start->format),
        .text_form = (enum record_output)worker->start->text_form,
        .compress = (enum codec_kind)worker->start->compress,
        .budget = &worker->budget,
        .process_bytes_max = worker->start->memory_bytes,
        .tmp = worker->start->tmp,
        .slots = worker->slots,
        .slot_count = worker->slot_count,
        .top = open->stage + 1 >= worker->chain.stage_count ? worker->start->top : 0,
    };
    stage_set_order(stage);
}

static void close_stage(struct stage *stage)
{
    if (!stage)
        return;
    ranges_fini(&stage->ranges);
    if (stage->sink)
        sink_free(stage->sink);
    dataset_free(stage->source);
    free(stage);
}

static weft_err start_slots(struct worker *worker, struct stage *stage)
{
    for (uint32_t i = 0; i < worker->slot_count; i++) {
        struct slot_thread *thread = &worker->threads[i];
        *thread = (struct slot_thread){.worker = worker, .slot = &worker->slots[i]};
        mutex_init(&thread->lock);
        condition_init(&thread->changed);
        weft_err code = slot_init(thread->slot, stage, i, &worker->page->slots[i]);
        if (!code)
            code = thread_start(&thread->thread, slot_thread_run, thread, SLOT_STACK_BYTES);
        if (code)
            return code;
    }
    return WEFT_OK;
}

static void wait_for_slots(struct worker *worker)
{
    for (uint32_t i = 0; i < worker->slot_count; i++)
        slot_thread_push(&worker->threads[i], (struct command){.type = COMMAND_TEAR_DOWN});
    for (uint32_t i = 0; i < worker->slot_count; i++)
        slot_thread_wait_idle(&worker->threads[i]);
}

static weft_err begin_stage(struct worker *worker, struct stage *stage, struct stage *before)
{
    if (!before)
        return start_slots(worker, stage);
    for (uint32_t i = 0; i < worker->slot_count; i++)
        worker->threads[i].held.count = 0;
    return WEFT_OK;
}

// Between stages pairs are kept twice: those read and those written, an eighth of the memory each.
static weft_err plan_memory(struct worker *worker, struct stage *stage)
{
    const bool has_kept = worker->chain.stage_count > 1 || worker->start->top;
    const uint64_t all = worker->budget.limit, kept = has_kept ? all / 4 : 0;
    if (!memory_plan_make(&stage->memory, all - kept, worker->slot_count,
                          worker_shares(worker) ? worker->start->worker_count : 1,
                          stage->range_count))
        return err_set(WEFT_RESOURCE_EXHAUSTED,
                       "the memory budget is too small for %u slots; "
                       "give more --memory or fewer --slots",
                       worker->slot_count);
    stage->memory.dataset_bytes = (size_t)(kept / 2);
    return WEFT_OK;
}

// The pairs that the stage before has kept; where workers share, the order of each task names their place.
static weft_err take_source(struct worker *worker, struct stage *stage, struct stage *before)
{
    worker_forget_sources(worker);
    if (stage->number == 0)
        return WEFT_OK;
    if (worker_shares(worker)) {
        stage->source = dataset_new(stage->budget, stage->map_count, 0, stage->tmp);
        return stage->source ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
    }
    if (before) {
        stage->source = before->kept;
        before->kept = NULL;
    }
    return WEFT_OK;
}

static weft_err open_stage(struct worker *worker, const Weft__StageOpen *open)
{
    struct stage *stage = malloc(sizeof *stage), *before = worker->stage;
    if (!stage)
        return err_no_memory("for a stage");
    if (before)
        wait_for_slots(worker);
    fill_stage(worker, stage, open);
    weft_err code = take_source(worker, stage, before);
    if (!code)
        code = plan_memory(worker, stage);
    if (code)
        return code;
    map_inputs(worker, stage);
    worker->stage = stage;
    code = open_output(worker, stage, open);
    if (!code)
        code = begin_stage(worker, stage, before);
    for (uint32_t i = 0; i < worker->slot_count && !code; i++)
        code = slot_begin_stage(&worker->slots[i], stage);
    if (!code)
        code = worker_keep_runs(worker, stage, open);
    close_stage(before);
    return code;
}

static weft_err plan_stage(struct worker *worker, const Weft__StagePlan *plan)
{
    struct stage *stage = worker->stage;
    if (stage->range_count == 0)
        return WEFT_OK;  // no input, and so no output either
    weft_bytes *keys = malloc((plan->n_sample_keys + 1) * sizeof *keys);
    if (!keys)
        return err_no_memory("for a sample");
    for (size_t i = 0; i < plan->n_sample_keys; i++)
        keys[i] = message_field(plan->sample_keys[i]);
    // A partition function makes the parts; they are not cut further.
    const bool is_good =
        ranges_init(&stage->ranges, stage->range_count, stage->part_count, &stage->order,
                    stage->job.partition, keys, plan->n_sample_keys);
    free(keys);
    if (!is_good)
        return err_no_memory("for the ranges of keys");
    // What earlier workers have made safe is dealt out to the slots, as if they had made it.
    return err_wrap(worker_adopt_runs(worker, plan->adopted, plan->n_adopted),
                    "map output of an earlier worker");
}

// ---- frames

static weft_err carry_out(struct worker *worker, struct order *order)
{
    weft_err code = WEFT_OK;
    switch (order->type) {
    case WEFT__FRAME_TYPE__FRAME_JOB_START:
        worker->start = order->start;
        return start_job(worker);
    case WEFT__FRAME_TYPE__FRAME_STAGE_OPEN:
        code = open_stage(worker, order->open);
        break;
    case WEFT__FRAME_TYPE__FRAME_STAGE_PLAN:
        code = plan_stage(worker, order->plan);
        break;
    case WEFT__FRAME_TYPE__FRAME_SEALS:
        code = worker_take_seals(worker, order->seals);
        break;
    case WEFT__FRAME_TYPE__FRAME_TASK_RUN:
        if (order->run->source && (code = worker_take_source(worker, order->run)))
            break;
        slot_thread_push(&worker->threads[order->run->slot],
                         (struct command){COMMAND_RUN, order->run});
        return WEFT_OK;
    case WEFT__FRAME_TYPE__FRAME_SEAL:
        slot_thread_push(&worker->threads[order->slot], (struct command){.type = COMMAND_SEAL});
        break;
    case WEFT__FRAME_TYPE__FRAME_LENT:
        worker_take_lent(worker, order->lent);
        break;
    case WEFT__FRAME_TYPE__FRAME_DROP:
        slot_thread_push(&worker->threads[order->slot], (struct command){.type = COMMAND_DROP});
        slot_thread_wait_idle(&worker->threads[order->slot]);  // the next frame may name its tasks
        break;
    default:
        slot_thread_push(&worker->threads[order->slot],
                         (struct command){.type = COMMAND_CHECKPOINT});
        break;
    }
    message_free(order->message);
    return code;
}

// What a slot did before it sent a frame happened before the driver's answer to it. That order goes
// through another process; the lock makes it visible to the language and its checkers, and guards
// the state of the frames.
static struct order take_order(struct worker *worker, const struct frame *frame)
{
    struct order order;
    mutex_lock(&worker->send_lock);
    const weft_err code = frames_take(&worker->told, frame, &order);
    mutex_unlock(&worker->send_lock);
    if (code)
        refuse_driver(worker, code);
    return order;
}

// The driver has been notified of a job that could not begin, or a stage that could not be opened:
// frames that it sent before that are passed over until it ends the worker.
static void take_frame(struct worker *worker, const struct frame *frame)
{
    if (worker->has_failed)
        return;
    struct order order = take_order(worker, frame);
    const weft_err code = carry_out(worker, &order);
    worker->has_failed = code != WEFT_OK;
    if (code)
        worker_send_failed(worker, code);
}

static _Noreturn void end_well(struct worker *worker)
{
    weft_err finished;
    mutex_lock(&worker->send_lock);  // as in take_order: the work of the slots came before
    mutex_unlock(&worker->send_lock);
    worker_end_lending(worker);
    if (worker->stage)
        wait_for_slots(worker);
    if (worker->stage && worker->stage->sink && (finished = sink_finish(worker->stage->sink)))
        worker_send_failed(worker, finished);
    if (worker->code && worker->code->stop)
        worker->code
            ->stop();  // and the processes it has started, before the driver takes us for ended
    fflush(NULL);      // what user code printed; _exit would drop it
    worker_send(worker, WEFT__FRAME_TYPE__FRAME_BYE, NULL);
    _exit(0);  // the kernel takes memory back faster than we could give it
}

static void say_hello(struct worker *worker)
{
    Weft__Hello hello = WEFT__HELLO__INIT;
    hello.wire_version = WIRE_VERSION;
    hello.pid = (uint32_t)getpid();
    hello.version = (char *)weft_version();
    worker_send(worker, WEFT__FRAME_TYPE__FRAME_HELLO, &hello.base);
}

int worker_main(int fd, int page_fd, const weft_job *const *jobs, size_t job_size)
{
    static struct worker worker;
    machine_save_address_space();
    worker = (struct worker){.fd = fd, .jobs = jobs, .job_size = job_size};
    told_init(&worker.told, fd);
    mutex_init(&worker.send_lock);
    crash_install();
    if (process_map_shared(page_fd, sizeof *worker.page, (void **)&worker.page)) {
        fprintf(stderr, "weft: %s\n", err_text());
        return 70;
    }
    say_hello(&worker);
    struct frame frame = {0};
    weft_err code;
    while ((code = frame_receive(fd, &frame)) == WEFT_OK) {
        if (frame.type == WEFT__FRAME_TYPE__FRAME_BYE)
            end_well(&worker);
        take_frame(&worker, &frame);
    }
    if (code != WEFT_UNAVAILABLE)
        refuse_driver(&worker, code);
    leave();
}
