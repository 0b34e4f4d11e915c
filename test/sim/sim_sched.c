// sim_sched [--seed N] [--seeds COUNT] [-v]: runs the scheduler through jobs full of faults.
//
// A seed draws the job, which kinds of faults it meets and how often, and then every step. Without
// --seed it runs the seeds that once failed (test/sim/seeds.txt, from the root of the source) and
// COUNT others, 10,000 by default. Each job must end, and when it is done its output must be what a
// sequential program computes. -v shows a line per event.
#include "sim/sim.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEEDS_DEFAULT = 10000,
    // 3 stages of 2 x 48 tasks, up to 8 steps each, a step in 20 of the right kind, and all of it again for
    // each of the 6 losses that poison can cause; twice that. A million seeds needed a tenth of it.
    QUIET_STEPS_MAX = 3 * 2 * 48 * 8 * 20 * 6 * 2,
};

enum going { GOING_COMMANDS, GOING_SLOTS, GOING_FRAMES, GOING_TIMERS };  // see sim_options.weights

// ---- Chance -----------------------------------------------------------------------------------

uint64_t sim_mix(uint64_t value)
{
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

uint64_t sim_draw(struct sim_random *random)
{
    random->state += UINT64_C(0x9e3779b97f4a7c15);
    return sim_mix(random->state);
}

uint32_t sim_below(struct sim_random *random, uint32_t limit)
{
    return limit ? (uint32_t)(sim_draw(random) % limit) : 0;
}

uint32_t sim_between(struct sim_random *random, uint32_t low, uint32_t high)
{
    return low + sim_below(random, high - low + 1);
}

bool sim_chance(struct sim_random *random, uint32_t per_mille)
{
    return sim_below(random, 1000) < per_mille;
}

// Half of the faults are absent from a job, so that the others get their turn.
static uint32_t draw_rate(struct sim_random *random, uint32_t most)
{
    return sim_chance(random, 500) ? 0 : 1 + sim_below(random, most);
}

static uint32_t draw_count(struct sim_random *random)
{
    const uint32_t most[] = {1, 4, 12, 40};
    return sim_chance(random, 30) ? 0 : 1 + sim_below(random, most[sim_below(random, 4)]);
}

static void draw_stages(struct sim_random *random, struct sim_options *options)
{
    options->stage_count = sim_between(random, 1, SIM_STAGES_MAX);
    for (uint32_t i = 0; i < options->stage_count; i++) {
        struct sched_stage *stage = &options->stages[i];
        stage->map_count = i ? sim_piece_count(options, i - 1) : draw_count(random);
        stage->reduce_count = sim_chance(random, 250) ? 0 : draw_count(random);
        stage->sample_count = sim_chance(random, 400) ? 0 : 1 + sim_below(random, 6);
    }
    options->part_count = sim_between(random, 1, 5);
}

static void draw_poison(struct sim_random *random, struct sim_options *options)
{
    options->poison_stage = sim_below(random, options->stage_count);
    options->poison_kind = sim_below(random, SCHED_KIND_COUNT);
    options->poison_task = sim_below(random, 6);
    const enum sim_fate fates[] = {FATE_FAIL, FATE_FAIL_LATE, FATE_CRASH, FATE_CRASH, FATE_HANG};
    options->poison_fate = fates[sim_below(random, 5)];
    options->has_poison = sim_chance(random, 200);
}

static void draw_options(struct sim_random *random, struct sim_options *options)
{
    *options = (struct sim_options){
        .max_attempts = sim_chance(random, 500) ? 4 : sim_between(random, 1, 6),
        .slots_max = sim_between(random, 1, SIM_SLOTS_MAX),
        .fail_rate = draw_rate(random, 150),
        .final_rate = sim_chance(random, 900) ? 0 : 1 + sim_below(random, 20),
        .crash_rate = draw_rate(random, 60),
        .hang_rate = draw_rate(random, 40),
        .kill_rate = draw_rate(random, 8),
        .cancel_rate = sim_chance(random, 950) ? 0 : 2,
        .worker_failed_rate = sim_chance(random, 950) ? 0 : 2,
        .start_fail_rate = draw_rate(random, 300),
        .seal_lost_rate = draw_rate(random, 200),
        .seal_crash_rate = draw_rate(random, 100),
        .crash_known_rate = sim_below(random, 3) * 500,
        .cut_rate = draw_rate(random, 1000),
        .stale_rate = draw_rate(random, 300),
        .repeat_rate = draw_rate(random, 100),
        .hasty_rate = draw_rate(random, 5),
        .weights = {sim_between(random, 1, 20), sim_between(random, 1, 20),
                    sim_between(random, 1, 20), sim_between(random, 1, 5)},
        .fault_steps = sim_between(random, 50, 4000),
    };
    draw_stages(random, options);
    draw_poison(random, options);
}

// ---- The job and its answer -------------------------------------------------------------------

uint32_t sim_piece_count(const struct sim_options *options, uint32_t stage)
{
    const struct sched_stage *plan = &options->stages[stage];
    return plan->reduce_count ? plan->reduce_count : plan->map_count;
}

uint64_t sim_map_value(uint32_t stage, uint64_t input)
{
    return sim_mix(input + stage * UINT64_C(0x9e3779b97f4a7c15));
}

uint64_t sim_reduce_part(uint64_t map_value, uint32_t reduce_task)
{
    return sim_mix(map_value ^ sim_mix(reduce_task + 1));
}

// The same job by a sequential program.
static void compute_oracle(struct sim *sim)
{
    uint64_t values[SIM_TASKS_MAX], outputs[SIM_TASKS_MAX];
    for (uint32_t i = 0; i < SIM_TASKS_MAX; i++)
        values[i] = i + 1;
    for (uint32_t i = 0; i < sim->options.stage_count; i++) {
        const struct sched_stage *stage = &sim->options.stages[i];
        for (uint32_t task = 0; task < stage->map_count; task++)
            values[task] = sim_map_value(i, values[task]);
        for (uint32_t task = 0; task < stage->reduce_count; task++) {
            outputs[task] = 0;
            for (uint32_t from = 0; from < stage->map_count; from++)
                outputs[task] += sim_reduce_part(values[from], task);
        }
        memcpy(values, outputs, stage->reduce_count * sizeof *values);
    }
    memcpy(sim->oracle_values, values, sizeof values);
}

static void check_answer(const struct sim *sim)
{
    const uint32_t count = sim_piece_count(&sim->options, sim->options.stage_count - 1);
    for (uint32_t piece = 0; piece < count; piece++) {
        if (!(sim->output >> piece & 1))
            sim_wrong(sim, "done, but piece %u is not written", piece);
        if (sim->output_values[piece] != sim->oracle_values[piece])
            sim_wrong(sim, "done, but piece %u is not what it should be", piece);
    }
}

// ---- Showing ----------------------------------------------------------------------------------

_Noreturn void sim_wrong(const struct sim *sim, const char *format, ...)
{
    fflush(stdout);
    fprintf(stderr, "sim_sched: step %u: ", sim->step);
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\nSEED=%" PRIu64 "\nrepeat: %s --seed %" PRIu64 " -v\n", sim->seed,
            sim->program, sim->seed);
    exit(1);
}

static void show_attempt(char mark, const struct sched_attempt *at)
{
    printf(" %c%c%u.%u@%u", mark, "smr"[at->kind], at -> task, at -> attempt, at -> slot);
}

// S start, W ready, + held, - failed, C committed, = sealed, T timed out, F worker failed,
// X lost, ! cancelled; then what follows: > run, s seal, w worker, o open, p plan, k kill, D done,
// E failed; then the tasks of the open stage: . pending, r running, h held, # committed.
static void show_event(const struct sim *sim, const struct sched_event *event)
{
    printf("%5u w%u", sim->step, event->worker);
    show_attempt("SW+-C=TFX!"[event->type], &event -> at);
    for (uint32_t i = 0; i < event->inside_count && event->type == EVENT_WORKER_LOST; i++)
        show_attempt(event->inside[i].slot == event->crash_slot ? '*' : '?', &event->inside[i]);
    printf(" |");
    for (uint32_t i = 0; i < sim->actions.count; i++) {
        const struct sched_action *action = &sim->actions.items[i];
        if (action->type == ACTION_RUN)
            show_attempt('>', &action->at);
        else
            printf(" %c", "wop>skDE"[action->type]);
        if (action->type == ACTION_SEAL)
            printf("@%u", action->at.slot);
    }
    const uint32_t stage = sched_stage(sim->sched);
    printf(" | %u", stage);
    const struct sched_stage *plan = &sim->options.stages[stage];
    const uint32_t counts[] = {plan->sample_count, plan->map_count, plan->reduce_count};
    for (uint32_t kind = 0; kind < SCHED_KIND_COUNT; kind++) {
        putchar(' ');
        for (uint32_t task = 0; task < counts[kind]; task++)
            putchar(".rh#"[sched_task_state(sim->sched, stage, kind, task)]);
    }
    putchar('\n');
}

// ---- The driver -------------------------------------------------------------------------------

void sim_frames_put(struct sim *sim, struct sim_frames *frames, const struct sched_event *event)
{
    if (frames->count == SIM_FRAMES_MAX)
        sim_wrong(sim, "too many frames in flight");
    frames->items[(frames->first + frames->count++) % SIM_FRAMES_MAX] = *event;
}

struct sched_event sim_frames_take(struct sim_frames *frames)
{
    const struct sched_event event = frames->items[frames->first];
    frames->first = (frames->first + 1) % SIM_FRAMES_MAX;
    frames->count--;
    return event;
}

bool sim_has_faults(const struct sim *sim)
{
    return sim->step < sim->options.fault_steps;
}

static void carry_out(struct sim *sim, const struct sched_action *action)
{
    if (action->type == ACTION_START_WORKER)
        worker_start(sim, action->worker);
    else if (action->type == ACTION_KILL_WORKER)
        sim->worker.is_killed = true;  // it dies in a few steps
    else if (action->type < ACTION_KILL_WORKER)
        worker_send(sim, action);
}

static void hand_in(struct sim *sim, const struct sched_event *event)
{
    sim->totals->events++;
    ledger_take_event(sim, event);
    sched_step(sim->sched, event, &sim->actions);
    if (sim->is_verbose)
        show_event(sim, event);
    ledger_take_actions(sim, event);
    for (uint32_t i = 0; i < sim->actions.count; i++)
        carry_out(sim, &sim->actions.items[i]);
}

// A frame may be said twice, except the loss of a worker, which takes its attempts away, and one that
// ends a stage: frames do not name theirs, a stream brings them once.
static void deliver(struct sim *sim, struct sim_frames *frames)
{
    const struct sched_event event = sim_frames_take(frames);
    const uint32_t stage = sched_stage(sim->sched);
    hand_in(sim, &event);
    if (event.type == EVENT_WORKER_LOST || sched_stage(sim->sched) != stage)
        return;
    if (!sim_chance(&sim->random, sim->options.repeat_rate))
        return;
    sim->totals->repeated++;
    hand_in(sim, &event);
}

// A timer finds an attempt that hangs, or one that is only slow.
static void time_out(struct sim *sim, bool is_hasty)
{
    const uint32_t slot = sim_below(&sim->random, sim->worker.slot_count);
    const struct sim_slot *at = &sim->worker.slots[slot];
    if (!at->is_inside || (at->fate != FATE_HANG && !is_hasty))
        return;
    sim->totals->timeouts++;
    sim->bad[sim->worker.stage][at->at.kind][at->at.task]++;
    const struct sched_event event = {
        .type = EVENT_TASK_TIMED_OUT, .worker = sim->worker.number, .at = at->at};
    hand_in(sim, &event);
}

static void strike(struct sim *sim)
{
    struct sim_random *random = &sim->random;
    if (sim_chance(random, sim->options.kill_rate) && sim->worker.is_alive) {
        sim->outside_kill_count++;
        worker_die(sim, SCHED_NO_SLOT);
    }
    if (sim_chance(random, sim->options.hasty_rate) && sim->worker.is_alive)
        time_out(sim, true);
    if (sim_chance(random, sim->options.worker_failed_rate) && sim->worker.is_alive) {
        const struct sched_event event = {.type = EVENT_WORKER_FAILED,
                                          .worker = sim->worker.number,
                                          .code = WEFT_RESOURCE_EXHAUSTED};
        sim_frames_put(sim, &sim->frames, &event);
    }
    if (sim_chance(random, sim->options.cancel_rate) && !sched_is_over(sim->sched)) {
        const struct sched_event event = {.type = EVENT_CANCEL, .code = WEFT_CANCELLED};
        hand_in(sim, &event);
    }
}

static void go_on_in_a_slot(struct sim *sim)
{
    const uint32_t first = sim_below(&sim->random, sim->worker.slot_count);
    for (uint32_t i = 0; i < sim->worker.slot_count; i++) {
        const uint32_t slot = (first + i) % sim->worker.slot_count;
        if (worker_slot_can_go_on(sim, slot))
            return worker_go_on(sim, slot);
    }
}

static bool is_stuck(const struct sim *sim)
{
    if (sim->frames.count > 0 || sim->worker.inbox_count > 0)
        return false;
    if (sim->worker.is_alive && sim->worker.is_killed)
        return false;
    for (uint32_t i = 0; i < sim->worker.slot_count && sim->worker.is_alive; i++)
        if (sim->worker.slots[i].is_inside || sim->worker.slots[i].queue_count > 0)
            return false;
    return true;
}

static void step(struct sim *sim)
{
    const uint32_t *weights = sim->options.weights;
    if (sim_has_faults(sim))
        strike(sim);
    if (sim->worker.is_killed && sim_chance(&sim->random, 200))
        worker_die(sim, SCHED_NO_SLOT);
    if (sched_is_over(sim->sched))
        return;
    uint32_t pick = sim_below(&sim->random, weights[0] + weights[1] + weights[2] + weights[3]);
    uint32_t going = 0;
    while (pick >= weights[going])
        pick -= weights[going++];
    if (going == GOING_COMMANDS && sim->worker.inbox_count > 0)
        worker_receive(sim);
    else if (going == GOING_SLOTS)
        go_on_in_a_slot(sim);
    else if (going == GOING_FRAMES && sim->frames.count > 0)
        deliver(sim, &sim->frames);
    else if (going == GOING_TIMERS && sim->worker.is_alive)
        time_out(sim, false);
    const bool is_noticed =
        !sim->ledger.is_started || sim->stale.items[sim->stale.first].worker != sim->ledger.worker;
    if (sim->stale.count > 0 && is_noticed && sim_chance(&sim->random, 100)) {
        sim->totals->stale++;
        deliver(sim, &sim->stale);
    }
}

// ---- Seeds ------------------------------------------------------------------------------------

static void run_to_the_end(struct sim *sim)
{
    const struct sched_event start = {.type = EVENT_START};
    hand_in(sim, &start);
    for (; !sched_is_over(sim->sched); sim->step++) {
        step(sim);
        if (!sched_is_over(sim->sched) && is_stuck(sim))
            sim_wrong(sim, "nothing goes on any more");
        if (sim->step > sim->options.fault_steps + QUIET_STEPS_MAX)
            sim_wrong(sim, "it does not end");
    }
    // What is still in flight must not wake it up.
    while (sim->frames.count > 0)
        deliver(sim, &sim->frames);
    const struct sched_event cancel = {.type = EVENT_CANCEL, .code = WEFT_CANCELLED};
    hand_in(sim, &cancel);
}

static void run_seed(uint64_t seed, const char *program, bool is_verbose, struct sim_totals *totals)
{
    struct sim *sim = calloc(1, sizeof *sim);
    if (!sim)
        exit(2);
    sim->seed = seed;
    sim->program = program;
    sim->is_verbose = is_verbose;
    sim->random.state = seed;
    sim->totals = totals;
    draw_options(&sim->random, &sim->options);
    compute_oracle(sim);
    ledger_init(sim);
    const struct sched_plan plan = {.stages = sim->options.stages,
                                    .stage_count = sim->options.stage_count,
                                    .max_attempts = sim->options.max_attempts};
    sim->sched = sched_new(&plan);
    if (!sim->sched)
        sim_wrong(sim, "%s", err_text());
    run_to_the_end(sim);

    const bool is_done = !sched_failure(sim->sched);
    if (is_done)
        check_answer(sim);
    totals->seeds++;
    totals->steps += sim->step;
    totals->steps_most = sim->step > totals->steps_most ? sim->step : totals->steps_most;
    *(is_done ? &totals->done : &totals->failed) += 1;
    sched_free(sim->sched);
    free(sim);
}

// Numbers, one per line; what follows a number says what it once found.
static void run_known_seeds(const char *program, struct sim_totals *totals)
{
    FILE *file = fopen("test/sim/seeds.txt", "r");
    if (!file) {
        fprintf(stderr, "sim_sched: no test/sim/seeds.txt: start it in the root of the source\n");
        exit(2);
    }
    char line[256];
    while (fgets(line, sizeof line, file))
        if (line[0] >= '0' && line[0] <= '9')
            run_seed(strtoull(line, NULL, 10), program, false, totals);
    fclose(file);
}

static void show_totals(const struct sim_totals *totals)
{
    printf("%" PRIu64 " seeds: %" PRIu64 " jobs done, %" PRIu64 " failed (%" PRIu64
           " by a task), %" PRIu64 " events, at most %" PRIu64 " steps\n",
           totals->seeds, totals->done, totals->failed, totals->blamed, totals->events,
           totals->steps_most);
    printf("%" PRIu64 " workers, %" PRIu64 " lost, %" PRIu64 " suspects, %" PRIu64
           " timeouts, %" PRIu64 " stages begun again, %" PRIu64 " of %" PRIu64
           " seals lost, %" PRIu64 " stale and %" PRIu64 " repeated frames\n",
           totals->workers, totals->losses, totals->suspects, totals->timeouts,
           totals->stages_again, totals->seals_lost, totals->seals, totals->stale,
           totals->repeated);
}

int main(int argc, char **argv)
{
    uint64_t seed = 1, seed_count = SEEDS_DEFAULT;
    bool has_seed = false, is_verbose = false;
    for (int i = 1; i < argc; i++) {
        const bool has_value = i + 1 < argc;
        if (!strcmp(argv[i], "-v")) {
            is_verbose = true;
        } else if (!strcmp(argv[i], "--seed") && has_value) {
            seed = strtoull(argv[++i], NULL, 0);
            has_seed = true;
        } else if (!strcmp(argv[i], "--seeds") && has_value) {
            seed_count = strtoull(argv[++i], NULL, 0);
        } else {
            fprintf(stderr, "usage: sim_sched [--seed N] [--seeds COUNT] [-v]\n");
            return 2;
        }
    }
    struct sim_totals totals = {0};
    if (has_seed && seed_count == SEEDS_DEFAULT)
        seed_count = 1;
    if (!has_seed)
        run_known_seeds(argv[0], &totals);
    for (uint64_t i = 0; i < seed_count; i++)
        run_seed(seed + i, argv[0], is_verbose, &totals);
    show_totals(&totals);
    return 0;
}
