// results: what workers have made, as they report it: tasks that are committed, map output that is sealed or safe, pieces
// of the answer. It is kept first (journal, shelves, drafts), then it is an event.

#include "run/driver/coordinator/coordinator_state.h"

#include <stdio.h>

static bool is_output_kind(const struct run_stage *stage, uint32_t kind)
{
    return stage->is_last && kind == (stage->is_map_only ? SCHED_MAP : SCHED_REDUCE);
}

// The output of the task may outlive this run, and then its counters and its bad records have to, too.
static void note_committed_task(struct coordinator *coordinator, uint32_t stage,
                                enum sched_kind kind, uint32_t task, bool is_noted)
{
    bool *was_noted =
        coordinator->clients
            ? &coordinator->is_noted[run_plan_number(coordinator->plan, stage, kind, task)]
            : &is_noted;
    if (*was_noted || kind == SCHED_SAMPLE ||
        sched_task_state(coordinator->sched, stage, kind, task) != SCHED_COMMITTED)
        return;
    *was_noted = true;
    const weft_err code = resume_note_task(coordinator->resume, stage, kind, task);
    if (code != WEFT_OK)
        coordinator_fail(coordinator, code);
}

// Before the next stage, or a reduce task, reads what these tasks made.
static void flush_notes(struct coordinator *coordinator)
{
    const weft_err code = resume_flush(coordinator->resume);
    if (code != WEFT_OK)
        coordinator_fail(coordinator, code);
}

void coordinator_note_task(struct coordinator *coordinator, uint32_t stage, enum sched_kind kind,
                           uint32_t task)
{
    note_committed_task(coordinator, stage, kind, task, false);
}

// A piece of the answer is in its place.
static void note_piece(struct coordinator *coordinator, uint32_t piece,
                       const struct output_piece *as)
{
    coordinator->pieces[piece] = *as;
    weft_err code =
        output_piece_committed(coordinator->output, piece, as->bytes, as->crc32c, as->records);
    if (code == WEFT_OK)
        code = resume_note_piece(coordinator->resume, piece);
    if (code != WEFT_OK)
        coordinator_fail(coordinator, code);
}

static struct output_piece piece_of(const Weft__Committed *committed, size_t i)
{
    return (struct output_piece){.bytes = committed->output_bytes[i],
                                 .records = committed->output_records[i],
                                 .crc32c = committed->output_crc[i],
                                 .is_done = true};
}

static void take_committed_task(const struct worker_place *place, const Weft__Committed *committed,
                                size_t i)
{
    struct coordinator *coordinator = place->coordinator;
    const uint32_t task = committed->tasks[i], stage = committed->stage;
    const enum sched_kind kind = (enum sched_kind)committed->kind;
    const bool is_output = is_output_kind(&coordinator->plan->stages[stage], kind);
    const bool is_shared = run_plan_is_shared(coordinator->plan);
    const struct sched_event event = {.type = EVENT_TASK_COMMITTED,
                                      .worker = place->worker,
                                      .at = {.kind = kind, .task = task, .stage = stage},
                                      .is_durable =
                                          is_output || (is_shared && !coordinator->clients)};
    const bool was_durable = sched_is_durable(coordinator->sched, stage, kind, task);
    coordinator_step(coordinator, &event);
    if (!is_output)
        note_committed_task(coordinator, stage, kind, task, was_durable);
    else if (!is_shared && !was_durable &&
             sched_is_durable(coordinator->sched, stage, kind, task)) {
        const struct output_piece as = piece_of(committed, i);
        note_piece(coordinator, task, &as);
    }
}

// ---- What workers share ---------------------------------------------------------------------------

// Keeps a file that the worker names. False: it has ended, or has no such file and is given up.
static bool hold_file(struct worker_place *place, uint32_t stage, uint32_t descriptor,
                      uint32_t *file)
{
    const struct shelf_name name = {place->worker, stage, descriptor};
    const weft_err code = shelves_hold(&place->coordinator->shelves, &place->agent, &name, file);
    if (code == WEFT_RESOURCE_EXHAUSTED)
        coordinator_fail(place->coordinator, code);
    else if (code != WEFT_OK && code != WEFT_UNAVAILABLE)
        coordinator_give_up_worker(place, "the number of a file that it does not have open");
    return code == WEFT_OK;
}

// Output of a task is on the worker's shelf: pairs for the next stage, or a piece of the answer. What came before it
// counts; only the answer is compared.
static weft_err shelve_task(const struct worker_place *place, const Weft__Committed *committed,
                            size_t i, uint32_t file)
{
    struct coordinator *coordinator = place->coordinator;
    const uint32_t task = committed->tasks[i];
    const enum sched_kind kind = (enum sched_kind)committed->kind;
    const struct shelved at = {file, committed->output_crc[i], committed->shelf_offsets[i],
                               committed->output_bytes[i]};
    const struct draft draft = {.fd = shelves_fd(&coordinator->shelves, file),
                                .offset = at.offset,
                                .as = piece_of(committed, i),
                                .worker = place->worker};
    if (is_output_kind(&coordinator->plan->stages[committed->stage], kind))
        return drafts_take(coordinator->drafts, task, &draft);
    if (!sched_is_durable(coordinator->sched, committed->stage, kind, task))
        shelves_note_segment(&coordinator->shelves, task, &at);
    return WEFT_OK;
}

// ---- What clients hold ------------------------------------------------------------------------------

// A piece of the answer is safe, and so is its task.
static void commit_piece(struct coordinator *coordinator, uint32_t worker, uint32_t piece)
{
    const uint32_t stage = coordinator->plan->stage_count - 1;
    const struct sched_event event = {
        .type = EVENT_TASK_COMMITTED,
        .worker = worker,
        .at = {.kind = run_stage_output_kind(&coordinator->plan->stages[stage]),
               .task = piece,
               .stage = stage},
        .is_durable = true};
    coordinator_step(coordinator, &event);
}

static void take_arrived(void *owner, const struct arrival *arrival, const struct draft *draft)
{
    struct coordinator *coordinator = owner;
    const weft_err code = drafts_take(coordinator->drafts, arrival->piece, draft);
    if (code == WEFT_OK)
        commit_piece(coordinator, arrival->worker, arrival->piece);
    else
        coordinator_fail(coordinator, code);
    coordinator_show_progress(coordinator);
}

// A client from which nothing can be fetched is of no use; if it is gone, its tasks are run again in any case.
static void take_unfetched(void *owner, const struct arrival *arrival, weft_err code)
{
    struct coordinator *coordinator = owner;
    char why[ERR_TEXT_BYTES_MAX];
    if (code == WEFT_RESOURCE_EXHAUSTED) {
        coordinator_fail(coordinator, err_wrap(code, "output of a client"));
        return;
    }
    if (code == WEFT_DATA_LOSS) {
        snprintf(why, sizeof why, "%s", err_text());
        coordinator_take_damaged_piece(coordinator, arrival, why);
        return;
    }
    snprintf(why, sizeof why, "its output cannot be fetched: %.900s", err_text());
    clients_drop(coordinator->clients, arrival->at.holder, why);
}

const struct arrivals_calls coordinator_arrivals_calls = {
    .arrived = take_arrived,
    .failed = take_unfetched,
};

static void fetch_piece(void *owner, const struct arrival *arrival)
{
    const struct coordinator *coordinator = owner;
    const weft_err code = arrivals_fetch(coordinator->arrivals, arrival);
    if (code != WEFT_OK)
        take_unfetched(owner, arrival, code);
}

static void take_far_task(struct worker_place *place, const Weft__Committed *committed, size_t i)
{
    struct coordinator *coordinator = place->coordinator;
    const uint32_t task = committed->tasks[i], stage = committed->stage;
    const enum sched_kind kind = (enum sched_kind)committed->kind;
    const struct holding at = {.holder = agent_holder(&place->agent),
                               .crc32c = committed->output_crc[i],
                               .file = committed->shelf,
                               .offset = committed->shelf_offsets[i],
                               .size = committed->output_bytes[i]};
    if (is_output_kind(&coordinator->plan->stages[stage], kind)) {
        const struct arrival arrival = {place->worker, task, at, piece_of(committed, i)};
        if (coordinator->shared_parts)
            shared_parts_take(coordinator->shared_parts, &arrival);
        else
            fetch_piece(coordinator, &arrival);
        return;
    }
    if (sched_task_state(coordinator->sched, stage, kind, task) != SCHED_COMMITTED)
        holdings_note_segment(&coordinator->holdings, stage, task, &at);
    coordinator_note_holder(place);
    take_committed_task(place, committed, i);
}

void coordinator_take_committed(struct worker_place *place, const Weft__Committed *committed)
{
    struct coordinator *coordinator = place->coordinator;
    place->useless_count = 0;
    for (size_t i = 0; coordinator->clients && i < committed->n_tasks; i++)
        take_far_task(place, committed, i);
    if (coordinator->clients)
        flush_notes(coordinator);
    if (coordinator->clients)
        return;
    const bool is_shared = run_plan_is_shared(coordinator->plan);
    uint32_t file = 0;
    if (is_shared && !hold_file(place, committed->stage, committed->shelf, &file))
        return;
    for (size_t i = 0; i < committed->n_tasks; i++) {
        const weft_err code = is_shared ? shelve_task(place, committed, i, file) : WEFT_OK;
        if (code == WEFT_OK)
            take_committed_task(place, committed, i);
        else
            coordinator_fail(coordinator, code);
    }
}

static void take_written(void *owner, uint32_t piece, const struct output_piece *as)
{
    struct coordinator *coordinator = owner;
    if (!coordinator->is_over)
        note_piece(coordinator, piece, as);
    coordinator_check_end(coordinator);
}

static void take_unwritable(void *owner, weft_err code)
{
    coordinator_fail(owner, code);
}

static const char *name_client(void *owner, uint32_t holder)
{
    const struct coordinator *coordinator = owner;
    return clients_name(coordinator->clients, holder);
}

const struct drafts_calls coordinator_drafts_calls = {
    .name = name_client,
    .written = take_written,
    .failed = take_unwritable,
};

// ---- Parts that clients write --------------------------------------------------------------------------

static void place_client(const void *owner, uint32_t holder, Weft__FarFile *far)
{
    const struct coordinator *coordinator = owner;
    clients_fill_place(coordinator->clients, holder, far);
}

// One that has left too much unread is lost soon.
static void order_part(void *owner, uint32_t holder, const Weft__PartWrite *order)
{
    struct coordinator *coordinator = owner;
    for (uint32_t i = 0; i < coordinator->place_count; i++) {
        struct agent *agent = &coordinator->places[i].agent;
        if (agent_holder(agent) == holder &&
            agent_tell_client(agent, WEFT__FRAME_TYPE__FRAME_PART_WRITE, &order->base) != WEFT_OK)
            err_clear();
    }
}

static void take_safe(void *owner, uint32_t worker, uint32_t piece)
{
    commit_piece(owner, worker, piece);
    coordinator_show_progress(owner);
}

static void say(void *owner, const char *sentence)
{
    const struct coordinator *coordinator = owner;
    if (!coordinator->plan->options->quiet)
        report_warn(coordinator->report, sentence);
}

const struct shared_parts_calls coordinator_shared_parts_calls = {
    .name = name_client,
    .place = place_client,
    .order = order_part,
    .written = take_written,
    .committed = take_safe,
    .by_server = fetch_piece,
    .say = say,
    .failed = take_unwritable,
};

// ---- Map output -------------------------------------------------------------------------------------

void coordinator_take_sealed(const struct worker_place *place, uint32_t slot)
{
    const struct sched_event event = {
        .type = EVENT_SEALED, .worker = place->worker, .at = {.slot = slot}};
    coordinator_step(place->coordinator, &event);
}

static void note_tasks_of_seal(const struct coordinator *coordinator,
                               const Weft__Checkpointed *done, uint32_t number)
{
    for (size_t i = 0; i < done->n_tasks; i++)
        coordinator->seal_of_task[run_plan_number(coordinator->plan, done->stage, SCHED_MAP,
                                                  done->tasks[i])] = number;
}

enum noted {
    NOTED,
    NOTED_NOT,   // its worker is gone, or given up
    NOTED_LOST,  // with what the slot had sealed before in that file, which is damaged
};

static weft_err note_far_seal(struct worker_place *place, const Weft__Checkpointed *done,
                              enum noted *noted)
{
    struct coordinator *coordinator = place->coordinator;
    const uint64_t size = done->file_size > done->offset ? done->file_size - done->offset : 0;
    const struct holding at = {.holder = agent_holder(&place->agent),
                               .file = done->file,
                               .offset = done->offset,
                               .size = size};
    const struct held_seal seal = {.worker = place->worker, .slot = done->slot, .index = at};
    uint32_t number = 0;
    const weft_err code =
        done->n_tasks ? holdings_note_seal(&coordinator->holdings, done->stage, &seal, &number)
                      : WEFT_OK;
    *noted = done->n_tasks && !number ? NOTED_LOST : NOTED;
    if (code != WEFT_OK || *noted != NOTED)
        return code;
    note_tasks_of_seal(coordinator, done, number);
    if (done->n_tasks)
        coordinator_note_holder(place);
    return resume_note_checkpoint(coordinator->resume, done, place->worker);
}

// Where it is: for a later run, and for other workers.
static weft_err note_checkpoint(struct worker_place *place, const Weft__Checkpointed *done,
                                enum noted *noted)
{
    struct coordinator *coordinator = place->coordinator;
    struct seal seal = {.worker = place->worker, .slot = done->slot, .index.offset = done->offset};
    weft_err code = WEFT_OK;
    uint32_t number = 0;
    *noted = NOTED;
    if (run_plan_is_shared(coordinator->plan) && done->n_tasks) {
        if (!hold_file(place, done->stage, done->file, &seal.index.file)) {
            *noted = NOTED_NOT;
            return WEFT_OK;
        }
        code = shelves_note_seal(&coordinator->shelves, &seal, &number);
        *noted = number ? NOTED : NOTED_LOST;
        note_tasks_of_seal(coordinator, done, number);
    }
    if (done->stage == 0 && resume_is_lost(coordinator->resume, done))
        *noted = NOTED_LOST;
    return code == WEFT_OK && done->stage == 0 && *noted == NOTED
               ? resume_note_checkpoint(coordinator->resume, done, place->worker)
               : code;
}

void coordinator_take_checkpointed(struct worker_place *place, const Weft__Checkpointed *done)
{
    struct coordinator *coordinator = place->coordinator;
    enum noted noted;
    const weft_err code = coordinator->clients ? note_far_seal(place, done, &noted)
                                               : note_checkpoint(place, done, &noted);
    if (code != WEFT_OK)
        coordinator_fail(coordinator, code);
    if (code != WEFT_OK || noted == NOTED_NOT)
        return;
    place->useless_count = 0;
    for (size_t i = 0; i < done->n_tasks && noted == NOTED; i++) {
        const struct sched_event event = {
            .type = EVENT_TASK_COMMITTED,
            .worker = place->worker,
            .at = {.kind = SCHED_MAP, .task = done->tasks[i], .stage = done->stage},
            .is_durable = !coordinator->clients};
        coordinator_step(coordinator, &event);
        if (coordinator->clients)
            note_committed_task(coordinator, done->stage, SCHED_MAP, done->tasks[i], false);
    }
    if (coordinator->clients)
        flush_notes(coordinator);
    if (done->is_seal) {
        coordinator_take_sealed(place, done->slot);
        return;
    }
    const struct sched_event event = {
        .type = EVENT_CHECKPOINTED, .worker = place->worker, .at = {.slot = done->slot}};
    coordinator_step(coordinator, &event);
}
