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

#include "base/sanitized.h"
#include "seeds.h"

enum {
    SEEDS_DEFAULT = IS_SANITIZED ? 3000 : 10000,
    // 3 stages of 2 x 48 tasks, up to 8 steps each, a step in 20 of the right kind, each at one of 4 workers,
    // and all of it again for each of the 6 losses that poison can cause, and for each of 4 excuses.
    QUIET_STEPS_MAX = 3 * 2 * 48 * 8 * 20 * 4 * 6 * 5,
};

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

// Where tasks can get stuck there is more of it, and it is where they do.
static void draw_poison(struct sim_random *random, struct sim_options *options)
{
    const bool is_asking = options->asks_before_failing && sim_chance(random, 600);
    options->poison_stage = is_asking ? 0 : sim_below(random, options->stage_count);
    options->poison_kind = is_asking && sim_chance(random, 700)
                               ? SCHED_MAP
                               : (enum sched_kind)sim_below(random, SCHED_KIND_COUNT);
    options->poison_task = sim_below(random, 6);
    const enum sim_fate fates[] = {FATE_FAIL, FATE_FAIL_LATE, FATE_CRASH, FATE_CRASH, FATE_HANG};
    options->poison_fate = fates[sim_below(random, 5)];
    options->has_poison = sim_chance(random, is_asking ? 500 : 200);
    options->poison_excuses = sim_between(random, 1, 5);
}

// What the driver does beyond passing on frames.
static void draw_driver(struct sim_random *random, struct sim_options *options)
{
    options->asks_before_failing = sim_chance(random, 600);
    options->excuses_max = sim_below(random, 5);
    options->verdict_rate = sim_chance(random, 300) ? 1000 : sim_between(random, 2, 100);
    options->condemn_rate = draw_rate(random, 300);
    options->nonsense_rate = draw_rate(random, 20);
    options->checkpoint_rate = draw_rate(random, sim_chance(random, 300) ? 300 : 20);
    options->checkpoint_lost_rate = draw_rate(random, 300);
    options->checkpoint_crash_rate = draw_rate(random, 60);
    if (sim_chance(random, 600))
        return;
    for (uint32_t stage = 0; stage < options->stage_count; stage++)
        for (uint32_t kind = 0; kind < SCHED_KIND_COUNT; kind++)
            options->restore_rates[stage][kind] =
                sim_chance(random, 300) ? 1000 : draw_rate(random, 1000);
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
    draw_driver(random, options);
    draw_poison(random, options);
    options->worker_count = sim_chance(random, 300) ? 1 : sim_between(random, 2, SIM_WORKERS_MAX);
}

// ---- The job and its answer -------------------------------------------------------------------

uint32_t sim_piece_count(const struct sim_options *options, uint32_t stage)
{
    const struct sched_stage *plan = &options->stages[stage];
    return plan->reduce_count ? plan->reduce_count : plan->map_count;
}

uint32_t sim_task_count(const struct sim_options *options, uint32_t stage, uint32_t kind)
{
    const struct sched_stage *plan = &options->stages[stage];
    const uint32_t counts[] = {plan->sample_count, plan->map_count, plan->reduce_count};
    return counts[kind];
}

uint64_t sim_all_of(uint32_t count)
{
    return (UINT64_C(1) << count) - 1;
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
    for (uint32_t i = 0; i < sim->options.stage_count; i++) {
        const struct sched_stage *stage = &sim->options.stages[i];
        uint64_t *maps = sim->oracle_maps[i], *pieces = sim->oracle_pieces[i];
        for (uint32_t task = 0; task < stage->map_count; task++)
            maps[task] = sim_map_value(i, i ? sim->oracle_pieces[i - 1][task] : task + 1);
        if (stage->reduce_count == 0)
            memcpy(pieces, maps, sizeof sim->oracle_pieces[i]);
        for (uint32_t task = 0; task < stage->reduce_count; task++)
            for (uint32_t from = 0; from < stage->map_count; from++)
                pieces[task] += sim_reduce_part(maps[from], task);
    }
}

static void check_answer(const struct sim *sim)
{
    const uint32_t count = sim_piece_count(&sim->options, sim->options.stage_count - 1);
    for (uint32_t piece = 0; piece < count; piece++) {
        if (!(sim->sink.written >> piece & 1))
            sim_wrong(sim, "done, but piece %u is not written", piece);
        if (sim->sink.values[piece] != sim->oracle_pieces[sim->options.stage_count - 1][piece])
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

// ---- Seeds ------------------------------------------------------------------------------------

static void run_to_the_end(struct sim *sim)
{
    driver_restore(sim);
    const struct sched_event start = {.type = EVENT_START};
    driver_hand_in(sim, &start);
    for (; !sched_is_over(sim->sched); sim->step++) {
        driver_step(sim);
        if (!sched_is_over(sim->sched) && !driver_is_waiting(sim))
            sim_wrong(sim, "nothing goes on any more");
        if (sim->step > sim->options.fault_steps + QUIET_STEPS_MAX)
            sim_wrong(sim, "it does not end");
    }
    driver_drain(sim);
}

static struct sim_totals totals;
static const char *program;
static bool is_verbose;

static void run_seed(uint64_t seed)
{
    struct sim *sim = calloc(1, sizeof *sim);
    if (!sim)
        exit(2);
    sim->seed = seed;
    sim->program = program;
    sim->is_verbose = is_verbose;
    sim->random.state = seed;
    sim->totals = &totals;
    draw_options(&sim->random, &sim->options);
    compute_oracle(sim);
    ledger_init(sim);
    const struct sched_plan plan = {.stages = sim->options.stages,
                                    .stage_count = sim->options.stage_count,
                                    .max_attempts = sim->options.max_attempts,
                                    .asks_before_failing = sim->options.asks_before_failing,
                                    .worker_count = sim->options.worker_count,
                                    .slots_max = SIM_SLOTS_MAX};
    sim->sched = sched_new(&plan);
    if (!sim->sched)
        sim_wrong(sim, "%s", err_text());
    run_to_the_end(sim);

    const bool is_done = !sched_failure(sim->sched);
    if (is_done)
        check_answer(sim);
    totals.seeds++;
    totals.steps += sim->step;
    totals.steps_most = sim->step > totals.steps_most ? sim->step : totals.steps_most;
    *(is_done ? &totals.done : &totals.failed) += 1;
    sched_free(sim->sched);
    free(sim);
}

static void show_totals(void)
{
    printf("%" PRIu64 " seeds: %" PRIu64 " jobs done, %" PRIu64 " failed (%" PRIu64
           " by a task), %" PRIu64 " events, at most %" PRIu64 " steps\n",
           totals.seeds, totals.done, totals.failed, totals.blamed, totals.events,
           totals.steps_most);
    printf("%" PRIu64 " workers, %" PRIu64 " lost, %" PRIu64 " suspects, %" PRIu64
           " timeouts, %" PRIu64 " stages begun again, %" PRIu64 " of %" PRIu64
           " seals lost, %" PRIu64 " stale and %" PRIu64 " repeated frames\n",
           totals.workers, totals.losses, totals.suspects, totals.timeouts, totals.stages_again,
           totals.seals_lost, totals.seals, totals.stale, totals.repeated);
    printf("%" PRIu64 " tasks stuck, %" PRIu64 " excused, %" PRIu64 " condemned, %" PRIu64
           " restored, %" PRIu64 " checkpoints saved %" PRIu64 " tasks, %" PRIu64
           " workers set aside, %" PRIu64 " attempts whose input was lost\n",
           totals.stuck, totals.excused, totals.condemned, totals.restored, totals.checkpoints,
           totals.saved, totals.set_aside, totals.fetches_failed);
}

int main(int argc, char **argv)
{
    struct seeds seeds = {.name = "sim_sched",
                          .known = "test/sim/seeds.txt",
                          .count_default = SEEDS_DEFAULT,
                          .is_verbose = &is_verbose,
                          .run = run_seed};
    program = argv[0];
    seeds_run_all(&seeds, argc, argv);
    show_totals();
    return 0;
}
