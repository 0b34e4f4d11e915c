// The server: frames become events, actions become commands; it has the clock, and knows the holders of seals and pieces.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_elastic/elastic.h"

enum {
    SILENT_ROUNDS = 20,  // 2 s
    LOST_ROUNDS = 100,   // 10 s
    GRACE_ROUNDS = 150,  // for those that leave
};

static struct machine *machine_of(uint32_t number)
{
    return &world.machines[(number - 1) % world.options.place_count];
}

static struct account *account_of(uint32_t number)
{
    return &world.accounts[(number - 1) % world.options.place_count];
}

static void send(uint32_t number, const struct command *command)
{
    struct machine *machine = machine_of(number);
    if (machine->holder && !VEC_PUSH(&machine->inbox, *command))
        exit(2);
}

// ---- Actions ----------------------------------------------------------------------------------

static const struct cover *make_cover(uint32_t stage)
{
    if (world.last_cover[stage] && !world.is_cover_old[stage])
        return world.last_cover[stage];
    struct cover *cover = calloc(1, sizeof *cover);
    if (!cover || !VEC_PUSH(&world.covers, cover))
        exit(2);
    cover->count = (uint32_t)world.seals[stage].count;
    cover->batches = malloc((cover->count + 1) * sizeof *cover->batches);
    if (!cover->batches)
        exit(2);
    memcpy(cover->batches, world.seals[stage].items, cover->count * sizeof *cover->batches);
    rules_check_cover(cover, stage);
    world.is_cover_old[stage] = false;
    world.last_cover[stage] = cover;
    return cover;
}

static void send_task(const struct sched_action *action)
{
    struct account *account = account_of(action->worker);
    struct command command = {.action = *action};
    const uint32_t slot = action->at.slot;
    if (action->at.kind == SCHED_REDUCE && !account->cover)
        account->cover = make_cover(action->stage);
    command.cover = action->at.kind == SCHED_REDUCE ? account->cover : NULL;
    if (action->at.kind == SCHED_MAP && action->stage > 0)
        command.holder = world.piece_holders[action->stage - 1][action->at.task];
    if (account->queue_count[slot] == 0)
        account->age[slot] = 0;
    account->is_backup[slot][account->queue_count[slot]] = action->is_backup;
    account->queue[slot][account->queue_count[slot]++] = action->at;
    world.totals->backups += action->is_backup;
    send(action->worker, &command);
}

static void start(uint32_t number)
{
    struct account *account = account_of(number);
    account->number = number;
    account->is_started = account->is_wanted = true;
}

static void get_stuck(const struct sched_attempt *at)
{
    world.totals->stuck++;
    if (!VEC_PUSH(&world.stuck, *at))
        exit(2);
}

static void carry_out(const struct sched_action *action)
{
    struct account *account = action->worker ? account_of(action->worker) : NULL;
    struct command command = {.action = *action, .is_kill = action->type == ACTION_KILL_WORKER};
    rules_take_action(action);
    world.totals->kills += action->type == ACTION_KILL_WORKER;
    world.totals->seals += action->type == ACTION_SEAL;
    world.totals->drops += action->type == ACTION_DROP;
    if (action->type == ACTION_START_WORKER)
        return start(action->worker);
    if (action->type == ACTION_RUN)
        return send_task(action);
    if (action->type == ACTION_TASK_STUCK)
        return get_stuck(&action->at);
    if (action->type == ACTION_STAGE_OPEN) {
        account->opened = action->stage + 1;
        account->cover = NULL;
    }
    if (action->type == ACTION_SEAL)
        account->is_sealing[action->at.slot] = true;
    if (account)
        send(action->worker, &command);
}

void server_hand_in(const struct sched_event *event)
{
    const bool is_small = !world.options.is_large;
    const uint64_t charges = is_small ? rules_count_charges() : 0;
    if (is_verbose)
        printf("%u: event %d of %u: %c%u.%u@%u\n", world.round, event->type, event->worker,
               "smr"[event->at.kind], event -> at.task, event->at.attempt, event->at.slot);
    sched_step(world.sched, event, &world.actions);
    for (;; sched_more(world.sched, &world.actions)) {
        for (uint32_t i = 0; i < world.actions.count; i++) {
            const struct sched_action *action = &world.actions.items[i];
            if (is_verbose)
                printf("    action %d for %u: %c%u.%u@%u%s\n", action->type, action->worker,
                       "smr"[action->at.kind], action -> at.task, action->at.attempt,
                       action->at.slot, action->is_backup ? " backup" : "");
            carry_out(action);
        }
        if (!world.actions.has_more)
            break;
    }
    rules_check_event(event, charges);
}

// ---- Losses -----------------------------------------------------------------------------------

static void forget_account(struct account *account)
{
    for (uint32_t i = 0; i < SLOTS_OF_ONE_MAX; i++) {
        account->queue_count[i] = 0;
        account->held[i].count = 0;
        account->is_sealing[i] = false;
    }
    account->is_started = account->is_ready = account->is_silent = account->is_leaving = false;
    account->cover = NULL;
    account->opened = account->leaving_rounds = 0;
}

static void lose_holder(uint32_t holder)
{
    for (uint32_t stage = 0; stage < world.options.stage_count; stage++) {
        size_t left = 0;
        for (size_t i = 0; i < world.seals[stage].count; i++)
            if (world.seals[stage].items[i]->holder != holder)
                world.seals[stage].items[left++] = world.seals[stage].items[i];
        world.seals[stage].count = left;
        world.is_cover_old[stage] = true;
    }
}

// The worker is over for the server; `is_machine`: with all it had.
static void take_loss(struct account *account, struct sched_event event, bool is_machine)
{
    event.type = EVENT_WORKER_LOST;
    event.worker = account->number;
    event.is_blameless = is_machine;
    event.keeps_commits = !is_machine;
    if (is_machine)
        lose_holder(account->holder);
    const bool was_started = account->is_started;
    forget_account(account);
    account->is_wanted = false;
    if (was_started && !sched_is_over(world.sched))
        server_hand_in(&event);
}

void server_lose(struct machine *machine)
{
    struct account *account = &world.accounts[machine->place];
    const bool was_told = account->holder == machine->holder && !account->awaits_funeral;
    machine_vanish(machine);
    account->awaits_funeral = false;
    if (was_told && account->number && account->is_started)
        take_loss(account, (struct sched_event){.crash_slot = SCHED_NO_SLOT}, true);
    account->holder = 0;
}

// ---- Frames -----------------------------------------------------------------------------------

static void note_seal(struct batch *batch)
{
    world.is_cover_old[batch->stage] = true;
    for (size_t i = 0; i < world.seals[batch->stage].count; i++) {
        struct batch **known = &world.seals[batch->stage].items[i];
        if ((*known)->number != batch->number || (*known)->slot != batch->slot ||
            (*known)->file != batch->file)
            continue;
        if (memcmp((*known)->tasks, batch->tasks, (*known)->count * sizeof *batch->tasks) != 0)
            wrong("a later seal of worker %u changes an earlier one", batch->number);
        *known = batch;
        return;
    }
    if (batch->count > 0 && !VEC_PUSH(&world.seals[batch->stage], batch))
        exit(2);
}

static void take_sealed(struct account *account, const struct frame *frame)
{
    const uint32_t slot = frame->event.at.slot;
    note_seal(frame->batch);
    for (uint32_t i = 0; i < frame->batch->count && !sched_is_over(world.sched); i++) {
        const struct sched_event event = {.type = EVENT_TASK_COMMITTED,
                                          .worker = account->number,
                                          .at = {.kind = SCHED_MAP,
                                                 .task = frame->batch->tasks[i],
                                                 .stage = frame->batch->stage}};
        server_hand_in(&event);
    }
    account->is_sealing[slot] = false;
    account->held[slot].count = 0;
    server_hand_in(&frame->event);
}

static void leave_queue(struct account *account, const struct sched_attempt *at)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < account->queue_count[at->slot]; i++) {
        const struct sched_attempt *in = &account->queue[at->slot][i];
        if (in->kind != at->kind || in->task != at->task || in->attempt != at->attempt)
            account->is_backup[at->slot][left] = account->is_backup[at->slot][i];
        if (in->kind != at->kind || in->task != at->task || in->attempt != at->attempt)
            account->queue[at->slot][left++] = *in;
    }
    account->queue_count[at->slot] = left;
    account->age[at->slot] = 0;
}

static void take_end(struct account *account, const struct sched_event *event)
{
    const struct sched_attempt *at = &event->at;
    const bool counts = sched_waits_for(world.sched, event->worker, at);
    leave_queue(account, at);
    if (event->type == EVENT_TASK_HELD && counts && is_collected(at) &&
        !VEC_PUSH(&account->held[at->slot], at->task))
        exit(2);
    if (event->type == EVENT_TASK_FAILED && !event->keeps_held && is_collected(at))
        account->held[at->slot].count = 0;
    server_hand_in(event);
}

static void take_committed(const struct account *account, const struct frame *frame)
{
    struct sched_event event = frame->event;
    const struct sched_attempt *at = &event.at;
    event.is_durable = at->stage + 1 == world.options.stage_count;
    if (frame->value != world.oracle[at->stage][at->task])
        wrong("piece %u of stage %u is not what it should be", at->task, at->stage);
    if (event.is_durable)
        world.pieces[at->task] = frame->value;
    else if (sched_task_state(world.sched, at->stage, at->kind, at->task) != SCHED_COMMITTED)
        world.piece_holders[at->stage][at->task] = account->holder;
    server_hand_in(&event);
}

void server_take(struct machine *machine, struct frame *frame)
{
    struct account *account = &world.accounts[machine->place];
    if (account->awaits_funeral || frame->event.worker != account->number || !account->is_started) {
        account->awaits_funeral = account->awaits_funeral && !frame->is_loss;
        world.totals->stale++;
        if (chance(world.options.stale_rate) && !frame->batch && !sched_is_over(world.sched) &&
            frame->event.worker != account->number)
            server_hand_in(&frame->event);
        return;
    }
    if (sched_is_over(world.sched))
        return;
    if (frame->event.type == EVENT_WORKER_READY) {
        account->is_ready = true;
        account->slot_count = machine->slot_count;
    }
    frame->event.inside = frame->inside;
    if (frame->is_loss)
        take_loss(account, frame->event, false);
    else if (frame->batch)
        take_sealed(account, frame);
    else if (frame->event.type == EVENT_TASK_HELD || frame->event.type == EVENT_TASK_FAILED)
        take_end(account, &frame->event);
    else if (frame->event.type == EVENT_TASK_COMMITTED)
        take_committed(account, frame);
    else
        server_hand_in(&frame->event);
}

// ---- Clock and network ------------------------------------------------------------------------

static void tell(struct account *account, enum sched_event_type type)
{
    const struct sched_event event = {.type = type, .worker = account->number};
    server_hand_in(&event);
}

// It may come back, but others do its work now; it is to end its worker.
static void shun(struct machine *machine, struct account *account)
{
    const struct command kill = {.action.worker = account->number, .is_kill = true};
    world.totals->shunned++;
    account->awaits_funeral = true;
    send(account->number, &kill);
    for (size_t i = 0; i < world.batches.count; i++)
        if (world.batches.items[i]->holder == machine->holder)
            world.batches.items[i]->is_lost = true;
    take_loss(account, (struct sched_event){.crash_slot = SCHED_NO_SLOT}, true);
}

static void listen(struct machine *machine, struct account *account)
{
    const bool is_silent = machine->silent_until > world.round;
    machine->silent_rounds = is_silent ? machine->silent_rounds + 1 : 0;
    if (machine->silent_rounds > LOST_ROUNDS) {
        world.totals->losses++;
        return server_lose(machine);
    }
    const bool is_suspect = machine->silent_rounds > SILENT_ROUNDS;
    if (!account->is_ready || account->awaits_funeral)
        return;
    if (is_suspect != account->is_silent) {
        account->is_silent = is_suspect;
        tell(account, is_suspect ? EVENT_WORKER_SILENT : EVENT_WORKER_BACK);
    }
    const uint32_t stage = sched_stage(world.sched);
    bool is_pending = false;
    for (uint32_t kind = 0; kind < SCHED_KIND_COUNT; kind++)
        is_pending = is_pending || sched_count(world.sched, stage, kind, SCHED_PENDING) > 0;
    if (account->is_silent && !is_pending && chance(30000) && !sched_is_over(world.sched))
        shun(machine, account);
}

static void offer(const struct account *to, uint32_t stage, enum sched_kind kind, uint32_t task)
{
    const struct sched_event event = {.type = EVENT_TASK_OFFERED,
                                      .worker = to->number,
                                      .at = {.kind = kind, .task = task, .stage = stage}};
    server_hand_in(&event);
}

static void move_seals(uint32_t from, const struct account *to, uint32_t stage)
{
    for (size_t i = 0; i < world.seals[stage].count; i++) {
        struct batch *old = world.seals[stage].items[i], *copy = malloc(sizeof *copy);
        if (old->holder != from || !copy) {
            free(copy);
            continue;
        }
        *copy = *old;
        copy->holder = to->holder;
        copy->tasks = malloc((old->count + 1) * sizeof *copy->tasks);
        if (!copy->tasks || !VEC_PUSH(&world.batches, copy))
            exit(2);
        memcpy(copy->tasks, old->tasks, old->count * sizeof *copy->tasks);
        world.seals[stage].items[i] = copy;
        world.is_cover_old[stage] = true;
        world.totals->moved += copy->count;
        for (uint32_t k = 0; k < copy->count; k++)
            offer(to, stage, SCHED_MAP, copy->tasks[k]);
    }
}

static void move_pieces(uint32_t from, const struct account *to, uint32_t stage)
{
    const enum sched_kind kind =
        world.options.stages[stage].reduce_count > 0 ? SCHED_REDUCE : SCHED_MAP;
    for (uint32_t task = 0; task < piece_count(stage); task++) {
        if (world.piece_holders[stage][task] != from ||
            sched_task_state(world.sched, stage, kind, task) != SCHED_COMMITTED)
            continue;
        world.piece_holders[stage][task] = to->holder;
        offer(to, stage, kind, task);
    }
}

// A leaving machine that has ended its attempts gives its seals and pieces to another one, and goes. Nothing is run again.
static void hand_over(struct machine *machine, struct account *account)
{
    struct account *to = &world.accounts[below(world.options.place_count)];
    if (++account->leaving_rounds > GRACE_ROUNDS)
        return server_lose(machine);
    if (to == account || !to->is_ready || to->is_leaving || to->is_silent ||
        !sched_is_settled(world.sched, account->number))
        return;
    for (uint32_t stage = 0; stage < world.options.stage_count; stage++) {
        move_seals(machine->holder, to, stage);
        if (stage + 1 < world.options.stage_count)
            move_pieces(machine->holder, to, stage);
    }
    if (sched_is_over(world.sched))
        return;
    world.totals->left++;
    const uint64_t before = rules_count_committed();
    server_lose(machine);
    if (rules_count_committed() != before)
        wrong("a machine that has handed over all takes commits with it");
}

// Says which attempts are late: those that take long, and some for no reason.
static void look(struct account *account)
{
    for (uint32_t i = 0; i < account->slot_count && account->is_ready; i++) {
        if (account->queue_count[i] == 0)
            continue;
        const bool is_late = ++account->age[i] > 3 * world.options.work_rounds + 10;
        if (!(is_late && world.round % 5 == 0) &&
            !(has_faults() && chance(world.options.hasty_rate)))
            continue;
        const bool is_timed_out = is_late && chance(world.options.time_out_rate);
        const struct sched_event event = {.type = is_timed_out ? EVENT_TASK_TIMED_OUT
                                                               : EVENT_ATTEMPT_LATE,
                                          .worker = account->number,
                                          .at = account->queue[i][0]};
        *(is_timed_out ? &world.totals->timed_out : &world.totals->late) += 1;
        server_hand_in(&event);
    }
}

static void strike(struct machine *machine, struct account *account)
{
    if (machine->holder == 0 || !has_faults())
        return;
    if (chance(world.options.silence_rate) && machine->silent_until <= world.round) {
        world.totals->silences++;
        machine->is_stopped = chance(500000);
        machine->silent_until = world.round + 1 + below(chance(300000) ? 200 : 60);
    }
    if (account->is_ready && !account->awaits_funeral && chance(world.options.leave_rate)) {
        account->is_leaving = true;
        tell(account, EVENT_WORKER_LEAVING);
    }
    if (chance(world.options.loss_rate)) {
        world.totals->losses++;
        server_lose(machine);
    }
}

static void welcome(struct machine *machine, struct account *account)
{
    if (machine->holder == 0 && chance(has_faults() ? 30000 : 300000))
        machine_arrive(machine->place);
    if (machine->holder == 0 || !account->is_wanted || account->awaits_funeral)
        return;
    const struct command command = {.action.worker = account->number, .is_start = true};
    account->holder = machine->holder;
    account->is_wanted = false;
    send(account->number, &command);
}

// The driver has found the record that is to be left out.
static void excuse(void)
{
    while (world.stuck.count > 0 && chance(100000) && !sched_is_over(world.sched)) {
        const struct sched_event event = {.type = EVENT_TASK_EXCUSED,
                                          .at = world.stuck.items[--world.stuck.count]};
        server_hand_in(&event);
    }
}

void server_pass_round(void)
{
    excuse();
    if (has_faults() && chance(world.options.checkpoint_rate))
        server_hand_in(&(struct sched_event){.type = EVENT_CHECKPOINT});
    for (uint32_t i = 0; i < world.options.place_count && !sched_is_over(world.sched); i++) {
        struct machine *machine = &world.machines[i];
        struct account *account = &world.accounts[i];
        welcome(machine, account);
        strike(machine, account);
        if (machine->holder)
            listen(machine, account);
        if (sched_is_over(world.sched))
            return;
        look(account);
        if (account->is_leaving && !sched_is_over(world.sched))
            hand_over(machine, account);
    }
}
