// sim_elastic [--seed N] [--seeds COUNT] [-v], or --machines N: runs the scheduler for machines that come, go, are slow and silent.
//
// A seed draws the job, its machines and their faults. Without --seed it runs the seeds that once failed (test/sim_elastic/seeds.txt), COUNT others,
// 10,000 by default, and one job on 1,000 machines of which 1 % are lost a minute; --machines runs only such a job. Each job must end, with
// the output of a sequential program.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sanitized.h"
#include "seeds.h"
#include "sim_elastic/elastic.h"

enum { SEEDS_DEFAULT = IS_SANITIZED ? 1000 : 10000, QUIET_ROUNDS_MAX = 40000 };

struct world world;
bool is_verbose;
static struct totals totals;
static uint64_t random_state, seed_at_work;
static const char *program;

uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

uint64_t draw(void)
{
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    return mix(random_state);
}

uint32_t below(uint32_t limit)
{
    return limit ? (uint32_t)(draw() % limit) : 0;
}

bool chance(uint32_t per_million)
{
    return below(1000000) < per_million;
}

_Noreturn void wrong(const char *format, ...)
{
    fflush(stdout);
    fprintf(stderr, "sim_elastic: round %u: ", world.round);
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\nSEED=%" PRIu64 "\nrepeat: %s --seed %" PRIu64 " -v\n", seed_at_work, program,
            seed_at_work);
    exit(1);
}

// ---- The job and its answer -------------------------------------------------------------------

uint32_t piece_count(uint32_t stage)
{
    const struct sched_stage *plan = &world.options.stages[stage];
    return plan->reduce_count ? plan->reduce_count : plan->map_count;
}

uint64_t map_value(uint32_t stage, uint32_t task)
{
    return mix((stage ? world.oracle[stage - 1][task] : task + 1) + stage);
}

uint64_t reduce_part(uint64_t value, uint32_t task)
{
    return mix(value ^ mix(task + 1));
}

static void *zeroed(size_t count, size_t size)
{
    void *made = calloc(count + 1, size);
    if (!made)
        exit(2);
    return made;
}

static void compute_oracle(void)
{
    for (uint32_t i = 0; i < world.options.stage_count; i++) {
        const struct sched_stage *stage = &world.options.stages[i];
        world.oracle[i] = zeroed(piece_count(i), sizeof *world.oracle[i]);
        world.piece_holders[i] = zeroed(piece_count(i), sizeof *world.piece_holders[i]);
        world.granted[i] = zeroed(stage->map_count, sizeof *world.granted[i]);
        for (uint32_t task = 0; task < piece_count(i); task++)
            for (uint32_t from = 0; stage->reduce_count && from < stage->map_count; from++)
                world.oracle[i][task] += reduce_part(map_value(i, from), task);
        for (uint32_t task = 0; !stage->reduce_count && task < stage->map_count; task++)
            world.oracle[i][task] = map_value(i, task);
    }
    world.pieces = zeroed(piece_count(world.options.stage_count - 1), sizeof *world.pieces);
}

static void check_answer(void)
{
    const uint32_t last = world.options.stage_count - 1;
    for (uint32_t piece = 0; piece < piece_count(last); piece++)
        if (world.pieces[piece] != world.oracle[last][piece])
            wrong("done, and piece %u is not there", piece);
}

// ---- Options ----------------------------------------------------------------------------------

static uint32_t rate(uint32_t most)
{
    return chance(400000) ? 0 : 1 + below(most);
}

static void draw_options(struct options *options)
{
    const uint32_t counts[] = {2, 6, 15, 40};
    *options = (struct options){.stage_count = 1 + below(STAGES_MAX),
                                .place_count = 2 + below(6),
                                .slots_max = 1 + below(SLOTS_OF_ONE_MAX),
                                .max_attempts = 4 + below(3),
                                .work_rounds = 1 + below(30),
                                .loss_rate = rate(6000),
                                .silence_rate = rate(20000),
                                .leave_rate = rate(4000),
                                .crash_rate = rate(4000),
                                .slow_rate = rate(500000),
                                .fail_rate = rate(20000),
                                .hang_rate = rate(100000),
                                .time_out_rate = rate(50000),
                                .hasty_rate = rate(100000),
                                .asks = chance(500000),
                                .checkpoint_rate = rate(100000),
                                .stale_rate = rate(500000),
                                .fault_rounds = 50 + below(1500)};
    if (options->asks) {
        options->fail_rate *= 10;
        options->max_attempts = 1 + below(6);
    }
    for (uint32_t i = 0; i < options->stage_count; i++) {
        struct sched_stage *stage = &options->stages[i];
        world.options = *options;
        stage->map_count = i ? piece_count(i - 1) : 1 + below(counts[below(4)]);
        stage->reduce_count = chance(250000) ? 0 : 1 + below(counts[below(4)]);
        stage->sample_count = chance(500000) ? 0 : 1 + below(4);
    }
}

// 1 % of the machines are lost in a minute, and as many are silent for a while.
static void choose_large(struct options *options, uint32_t machines)
{
    *options = (struct options){.stages[0] = {32, machines * 30, 200},
                                .stage_count = 1,
                                .place_count = machines,
                                .slots_max = SLOTS_OF_ONE_MAX,
                                .max_attempts = 4,
                                .work_rounds = 8,
                                .loss_rate = 10000 / ROUNDS_PER_MINUTE,
                                .silence_rate = 10000 / ROUNDS_PER_MINUTE,
                                .slow_rate = 2000,
                                .fault_rounds = UINT32_MAX,
                                .is_large = true};
}

// ---- Seeds ------------------------------------------------------------------------------------

static void free_world(void)
{
    for (size_t i = 0; i < world.batches.count; i++) {
        free(world.batches.items[i]->tasks);
        free(world.batches.items[i]);
    }
    for (size_t i = 0; i < world.covers.count; i++) {
        free(world.covers.items[i]->batches);
        free(world.covers.items[i]);
    }
    for (uint32_t i = 0; i < world.options.place_count; i++) {
        struct machine *machine = &world.machines[i];
        VEC_FINI(&machine->inbox);
        VEC_FINI(&machine->outbox);
        for (uint32_t k = 0; k < SLOTS_OF_ONE_MAX; k++) {
            VEC_FINI(&machine->slots[k].queue);
            VEC_FINI(&machine->slots[k].collected);
            VEC_FINI(&machine->slots[k].sealed);
            VEC_FINI(&world.accounts[i].held[k]);
        }
    }
    for (uint32_t i = 0; i < STAGES_MAX; i++) {
        VEC_FINI(&world.seals[i]);
        free(world.piece_holders[i]);
        free(world.oracle[i]);
        free(world.granted[i]);
    }
    VEC_FINI(&world.batches);
    VEC_FINI(&world.covers);
    VEC_FINI(&world.stuck);
    VEC_FINI(&world.places_of_holders);
    free(world.pieces);
    free(world.machines);
    free(world.accounts);
    sched_free(world.sched);
}

static void run_to_the_end(void)
{
    server_hand_in(&(struct sched_event){.type = EVENT_START});
    for (; !sched_is_over(world.sched); world.round++) {
        const uint32_t first = below(world.options.place_count);
        server_pass_round();
        for (uint32_t i = 0; i < world.options.place_count; i++)
            machine_pass_round(&world.machines[(first + i) % world.options.place_count]);
        const uint32_t quiet = world.options.is_large ? 0 : world.options.fault_rounds;
        if (world.round > quiet + QUIET_ROUNDS_MAX)
            wrong("it does not end");
    }
    totals.rounds += world.round;
}

// Where the inputs of the map tasks are, in every second job. Nothing is drawn, so that seeds mean what they always did.
static struct task_homes *make_homes(const struct options *options)
{
    const uint32_t count = options->stages[0].map_count;
    world.home_count = seed_at_work % 2 ? 1 + (uint32_t)(seed_at_work / 2 % 4) : 0;
    if (world.home_count == 0)
        return NULL;
    struct task_homes *homes = zeroed(count + 1, sizeof *homes);
    for (uint32_t task = 0; task < count; task++) {
        const uint64_t mixed = (seed_at_work + task) * UINT64_C(0x9e3779b97f4a7c15);
        for (uint32_t i = 0; i < HOMES_OF_TASK; i++)
            homes[task].numbers[i] = i < (mixed >> 60) % (HOMES_OF_TASK + 1) && i < world.home_count
                                         ? (uint32_t)((mixed >> 32) + i) % world.home_count
                                         : HOMES_NONE;
    }
    return homes;
}

static void run_job(const struct options *options)
{
    world = (struct world){.options = *options, .totals = &totals};
    compute_oracle();
    world.machines = zeroed(options->place_count, sizeof *world.machines);
    world.accounts = zeroed(options->place_count, sizeof *world.accounts);
    for (uint32_t i = 0; i < options->place_count; i++) {
        world.machines[i].place = i;
        if (options->is_large || chance(600000))
            machine_arrive(i);
    }
    struct task_homes *homes = make_homes(options);
    const struct sched_plan plan = {.homes = homes,
                                    .home_count = homes ? world.home_count : 0,
                                    .stages = options->stages,
                                    .stage_count = options->stage_count,
                                    .max_attempts = options->max_attempts,
                                    .worker_count = options->place_count,
                                    .slots_max = SLOTS_OF_ONE_MAX,
                                    .asks_before_failing = options->asks,
                                    .is_elastic = true};
    world.sched = sched_new(&plan);
    free(homes);
    if (!world.sched)
        wrong("%s", err_text());
    run_to_the_end();
    const bool is_done = !sched_failure(world.sched);
    if (is_done)
        check_answer();
    else if (options->fail_rate + options->crash_rate + options->time_out_rate == 0)
        wrong("failed by what machines did");
    totals.seeds++;
    *(is_done ? &totals.done : &totals.failed) += 1;
    free_world();
}

static void run_seed(uint64_t seed)
{
    struct options options;
    seed_at_work = random_state = seed;
    draw_options(&options);
    run_job(&options);
}

static void run_large(uint32_t machines)
{
    struct options options;
    seed_at_work = random_state = machines;
    choose_large(&options, machines);
    run_job(&options);
}

static void show_totals(void)
{
    printf("%" PRIu64 " jobs done, %" PRIu64 " failed, %" PRIu64 " rounds; machines: %" PRIu64
           " lost, %" PRIu64 " silent, %" PRIu64 " given up while silent, %" PRIu64
           " left (%" PRIu64 " map tasks handed over)\n",
           totals.done, totals.failed, totals.rounds, totals.losses, totals.silences,
           totals.shunned, totals.left, totals.moved);
    printf("%" PRIu64 " backups, %" PRIu64 " drops, %" PRIu64 " seals, %" PRIu64 " kills, %" PRIu64
           " crashes, %" PRIu64 " attempts without input, %" PRIu64 " said to be late, %" PRIu64
           " timed out, %" PRIu64 " hung, %" PRIu64 " stuck, %" PRIu64 " stale frames\n",
           totals.backups, totals.drops, totals.seals, totals.kills, totals.crashes, totals.starved,
           totals.late, totals.timed_out, totals.hung, totals.stuck, totals.stale);
}

int main(int argc, char **argv)
{
    struct seeds seeds = {.name = "sim_elastic",
                          .known = "test/sim_elastic/seeds.txt",
                          .count_default = SEEDS_DEFAULT,
                          .is_verbose = &is_verbose,
                          .run = run_seed};
    program = argv[0];
    const bool is_large_only = argc == 3 && strcmp(argv[1], "--machines") == 0;
    if (!is_large_only)
        seeds_run_all(&seeds, argc, argv);
    if (is_large_only || argc == 1)
        run_large(is_large_only ? (uint32_t)atoi(argv[2]) : 1000);
    show_totals();
    return 0;
}
