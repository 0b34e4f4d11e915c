// The lives of workers, and their frames.
#include "sim_server/worker.h"

#include <signal.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "sim_server/disk.h"
#include "sim_server/lives.h"
#include "sys/env.h"

enum { FIRST_WORKER_PID = 100000 };

struct worker workers[WORKERS_MAX];
static int last_pid = FIRST_WORKER_PID;

static struct worker *find(pid_t pid)
{
    for (size_t i = 0; i < WORKERS_MAX; i++)
        if (workers[i].is_used && workers[i].pid == pid)
            return &workers[i];
    return NULL;
}

// ---- Its life -----------------------------------------------------------------------------------------------

pid_t worker_start(struct loop *parent, struct wire *wire, struct worker_page *page)
{
    struct worker *worker = workers;
    while (worker < workers + WORKERS_MAX && worker->is_used)
        worker++;
    if (worker == workers + WORKERS_MAX)
        world_wrong("there are more than %d workers", WORKERS_MAX);
    *worker = (struct worker){.is_used = true,
                              .is_alive = true,
                              .pid = ++last_pid,
                              .own = {.number = parent->number},
                              .parent = parent,
                              .wire = wire,
                              .page = page,
                              .shelf = -1,
                              .slowness = sim.machines[parent->number].slowness};
    worker->ready_ns = world.now_ns + (uint64_t)world_below(50) * NS_PER_MS;
    sim.counts[COUNT_WORKERS]++;
    world_note("worker %d of process %d starts", worker->pid, parent->number);
    return worker->pid;
}

static void forget_slots(struct worker *worker)
{
    for (int i = 0; i < SLOTS_OF_WORKER_MAX; i++) {
        struct slot *slot = &worker->slots[i];
        for (size_t k = 0; k < slot->order_count; k++)
            message_free(slot->orders[k].run);
        for (uint32_t k = 0; k < slot->run_count; k++)
            free(slot->runs[k].segments);
        free(slot->has_spill ? slot->spill.directory : NULL);
        *slot = (struct slot){0};
    }
}

static void end(struct worker *worker, struct process_exit exit)
{
    if (!worker->is_alive)
        return;
    world_note("worker %d ends", worker->pid);
    worker->is_alive = false;
    worker->exit = exit;
    for (size_t i = 0; i < worker->seal_count; i++) {  // their descriptors go with all others
        worker->seals[i]->file.fd = -1;
        run_index_close(worker->seals[i]);
    }
    worker->seal_count = 0;
    disk_kill(&worker->own);
    net_child_end(worker->wire);
    forget_slots(worker);
    frame_parser_fini(&worker->parser);
    message_free(worker->job);
    message_free(worker->open);
    worker->job = NULL;
    worker->open = NULL;
}

void worker_die(struct worker *worker, int signal)
{
    end(worker, (struct process_exit){.is_known = true, .was_signalled = true, .number = signal});
}

void worker_die_here(const struct loop *own)
{
    sim.may_fail = true;
    for (size_t i = 0; i < WORKERS_MAX; i++)
        if (&workers[i].own == own)
            worker_die(&workers[i], SIGKILL);
}

bool worker_is_alive(pid_t pid)
{
    const struct worker *worker = find(pid);
    return worker && worker->is_alive;
}

void worker_kill(pid_t pid)
{
    struct worker *worker = find(pid);
    if (worker)
        worker_die(worker, SIGKILL);
}

void worker_bury(pid_t pid, struct process_exit *exit)
{
    struct worker *worker = find(pid);
    if (!worker)
        return;
    if (worker->is_alive)
        world_wrong("process %d waits for a worker that lives", worker->parent->number);
    *exit = worker->exit;
    worker->is_used = false;
}

uint32_t workers_count(const struct loop *parent)
{
    uint32_t count = 0;
    for (size_t i = 0; i < WORKERS_MAX; i++)
        count += workers[i].is_used && workers[i].is_alive && workers[i].parent == parent;
    return count;
}

void workers_kill_all(const struct loop *parent)
{
    for (size_t i = 0; i < WORKERS_MAX; i++)
        if (workers[i].is_used && workers[i].parent == parent) {
            worker_die(&workers[i], SIGKILL);
            workers[i].is_used = false;
        }
}

struct node *worker_find_file(pid_t pid, uint32_t number)
{
    const struct worker *worker = find(pid);
    const struct loop *own = &worker->own;
    for (int i = 0; i < SLOTS_OF_WORKER_MAX; i++)
        if (worker->slots[i].has_spill && worker->slots[i].spill.fd == (int)number)
            return disk_node(own, (int)number);
    return worker->shelf == (int)number ? disk_node(own, worker->shelf) : NULL;
}

// ---- What it says -------------------------------------------------------------------------------------------

void worker_say(struct worker *worker, Weft__FrameType type, const ProtobufCMessage *message)
{
    struct buf frame = {0};
    ASSERT(message_append(&frame, type, message) == WEFT_OK);
    net_child_put(worker->wire, buf_bytes(&frame));
    buf_fini(&frame);
}

void worker_fail(struct worker *worker, weft_err code)
{
    Weft__WorkerFailed failed = WEFT__WORKER_FAILED__INIT;
    failed.code = message_code(code);
    failed.text = (char *)err_text();
    world_note("worker %d cannot continue: %s", worker->pid, failed.text);
    worker->has_failed = true;
    worker_say(worker, WEFT__FRAME_TYPE__FRAME_WORKER_FAILED, &failed.base);
}

static void greet(struct worker *worker)
{
    Weft__Hello hello = WEFT__HELLO__INIT;
    hello.wire_version = WIRE_VERSION;
    hello.version = "1";
    hello.pid = (uint32_t)worker->pid;
    worker->has_greeted = true;
    worker_say(worker, WEFT__FRAME_TYPE__FRAME_HELLO, &hello.base);
}

// ---- What it hears ------------------------------------------------------------------------------------------

static void *unpack(const struct frame *frame, const ProtobufCMessageDescriptor *descriptor)
{
    void *message = NULL;
    if (message_unpack(frame, descriptor, &message) != WEFT_OK)
        world_wrong("a worker gets a frame of type %d that it cannot read", (int)frame->type);
    return message;
}

static void open_stage(struct worker *worker, Weft__StageOpen *open)
{
    message_free(worker->open);
    worker->open = open;
    worker->has_plan = false;
    worker_forget_seals(worker);
    slots_open_stage(worker);
    if (worker->parent->number != SERVER)  // that one searches for a bad record
        sim_note_stage(open);
}

static void take_plan(struct worker *worker, const Weft__StagePlan *plan)
{
    if (!worker->open || plan->stage != worker->open->stage)
        world_wrong("a plan for stage %u, which is not open", plan->stage);
    worker->cuts = 0;
    for (size_t i = 0; i < plan->n_sample_keys; i++)
        worker->cuts = crc32c(worker->cuts, plan->sample_keys[i].data, plan->sample_keys[i].len);
    worker->has_plan = true;
}

static void take_task(struct worker *worker, Weft__TaskRun *run)
{
    const bool is_run = run->purpose == WEFT__PURPOSE__PURPOSE_RUN;
    if (!worker->open || (run->stage != worker->open->stage))
        world_wrong("a task of stage %u, which is not open", run->stage);
    if (is_run && run->kind != WEFT__TASK_KIND__TASK_SAMPLE && !worker->open->is_map_only &&
        !worker->has_plan)
        world_wrong("a task of stage %u before its plan", run->stage);
    if (run->kind == WEFT__TASK_KIND__TASK_REDUCE && !worker->has_seals)
        world_wrong("a reduce task before the map output of all");
    slot_take(worker, run->slot, (struct order){ORDER_TASK, run});
}

static void drop(struct worker *worker, uint32_t index)
{
    struct slot *slot = &worker->slots[index];
    if (slot->order_count > 0 || slot->is_inside)
        world_wrong("slot %u is emptied while it is at work", index);
    slot->held_count = 0;
}

static void take_order(struct worker *worker, const struct frame *frame)
{
    void *message = NULL;
    if (frame->type == WEFT__FRAME_TYPE__FRAME_SEAL) {
        message = unpack(frame, &weft__seal__descriptor);
        slot_take(worker, ((Weft__Seal *)message)->slot, (struct order){.kind = ORDER_SEAL});
    } else if (frame->type == WEFT__FRAME_TYPE__FRAME_CHECKPOINT) {
        message = unpack(frame, &weft__checkpoint__descriptor);
        slot_take(worker, ((Weft__Checkpoint *)message)->slot,
                  (struct order){.kind = ORDER_CHECKPOINT});
    } else if (frame->type == WEFT__FRAME_TYPE__FRAME_DROP) {
        message = unpack(frame, &weft__drop__descriptor);
        drop(worker, ((Weft__Drop *)message)->slot);
    } else if (frame->type == WEFT__FRAME_TYPE__FRAME_LENT) {
        message = unpack(frame, &weft__lent__descriptor);
        slot_take_lent(worker, message);
    } else if (frame->type == WEFT__FRAME_TYPE__FRAME_SEALS) {
        message = unpack(frame, &weft__seals__descriptor);
        worker_take_seals(worker, message);
    } else {
        world_wrong("a worker gets a frame of type %d", (int)frame->type);
    }
    message_free(message);
}

static void take_frame(struct worker *worker, const struct frame *frame)
{
    void *message = NULL;
    world_note("worker %d hears %d", worker->pid, (int)frame->type);
    switch (frame->type) {
    case WEFT__FRAME_TYPE__FRAME_JOB_START:
        message_free(worker->job);
        worker->job = unpack(frame, &weft__job_start__descriptor);
        break;
    case WEFT__FRAME_TYPE__FRAME_STAGE_OPEN:
        open_stage(worker, unpack(frame, &weft__stage_open__descriptor));
        break;
    case WEFT__FRAME_TYPE__FRAME_STAGE_PLAN:
        message = unpack(frame, &weft__stage_plan__descriptor);
        take_plan(worker, message);
        break;
    case WEFT__FRAME_TYPE__FRAME_TASK_RUN:
        take_task(worker, unpack(frame, &weft__task_run__descriptor));
        break;
    case WEFT__FRAME_TYPE__FRAME_BYE:
        worker_say(worker, WEFT__FRAME_TYPE__FRAME_BYE, NULL);
        worker->is_leaving = true;
        worker->ready_ns = world.now_ns + (uint64_t)world_below(200) * NS_PER_MS;
        break;
    default:
        take_order(worker, frame);
    }
    message_free(message);
}

// One frame; false: none is there.
static bool hear(struct worker *worker)
{
    struct buf *arrived = net_child_arrived(worker->wire);
    struct frame frame = {0};
    bool has_frame;
    if (arrived->size)
        ASSERT(frame_parser_feed(&worker->parser, arrived->data, arrived->size) == WEFT_OK);
    arrived->size = 0;
    ASSERT(frame_parser_next(&worker->parser, &frame, &has_frame) == WEFT_OK);
    if (has_frame && !worker->has_failed)
        take_frame(worker, &frame);
    return has_frame;
}

// ---- What it does -------------------------------------------------------------------------------------------

static bool work(struct worker *worker)
{
    if (world.now_ns < worker->ready_ns)
        return false;
    if (worker->is_leaving) {
        end(worker, (struct process_exit){.is_known = true});
        return true;
    }
    if (!worker->has_greeted) {
        greet(worker);
        return true;
    }
    const uint32_t first = world_below(SLOTS_OF_WORKER_MAX);
    const bool hears_first = world_chance(500);
    if (hears_first && hear(worker))
        return true;
    for (uint32_t i = 0; i < SLOTS_OF_WORKER_MAX && !worker->has_failed; i++) {
        const uint32_t index = (first + i) % SLOTS_OF_WORKER_MAX;
        if (!slot_can_move(worker, &worker->slots[index]))
            continue;
        slot_move(worker, index);
        return true;
    }
    return !hears_first && hear(worker);
}

bool workers_move_some(void)
{
    const uint32_t first = world_below(WORKERS_MAX);
    for (uint32_t i = 0; i < WORKERS_MAX; i++) {
        struct worker *worker = &workers[(first + i) % WORKERS_MAX];
        if (!worker->is_used || !worker->is_alive || world.now_ns < worker->stopped_until_ns)
            continue;
        world.running = &worker->own;
        const bool has_moved = work(worker);
        world.running = NULL;
        if (has_moved)
            return true;
    }
    return false;
}

static uint64_t next_of(const struct worker *worker)
{
    uint64_t next = worker->ready_ns > world.now_ns ? worker->ready_ns : UINT64_MAX;
    for (int i = 0; i < SLOTS_OF_WORKER_MAX; i++) {
        const struct slot *slot = &worker->slots[i];
        if (slot->order_count && !slot->needs && slot->until_ns < next)
            next = slot->until_ns;
    }
    return next < worker->stopped_until_ns ? worker->stopped_until_ns : next;
}

uint64_t workers_next_ns(void)
{
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < WORKERS_MAX; i++) {
        const uint64_t own =
            workers[i].is_used && workers[i].is_alive ? next_of(&workers[i]) : UINT64_MAX;
        if (own > world.now_ns && own < next)
            next = own;
    }
    return next;
}

void workers_calm(void)
{
    for (size_t i = 0; i < WORKERS_MAX; i++)
        workers[i].stopped_until_ns = 0;
}

struct worker *workers_some(void)
{
    const uint32_t first = world_below(WORKERS_MAX);
    for (uint32_t i = 0; i < WORKERS_MAX; i++) {
        struct worker *worker = &workers[(first + i) % WORKERS_MAX];
        if (worker->is_used && worker->is_alive)
            return worker;
    }
    return NULL;
}
