// The parts of a coordinator, in the order of a run.

#include "run/driver/coordinator/coordinator_state.h"

#include "code/codes.h"
#include "run/driver/dry.h"
#include "run/driver/server/lender.h"
#include "run/package/make.h"
#include "store/codec/codec.h"
#include "sys/file/file.h"
#include "sys/time/clock.h"
#include "transport/fetch_files.h"

#include <stdlib.h>

#define FIRST_CODE_FILE (UINT64_C(1) << 32)  // above the numbers of inputs
#define VALUES_FILE (UINT64_C(1) << 33)      // above those

// ---- Before the work ----------------------------------------------------------------------------

weft_err coordinator_check_list(struct coordinator *coordinator)
{
    return bad_list_check(&coordinator->bad.list);
}

const char *coordinator_old_list(const struct coordinator *coordinator)
{
    return bad_list_old_path(&coordinator->bad.list);
}

weft_err coordinator_check_answer(struct coordinator *coordinator, struct output *output)
{
    coordinator->output = output;
    const weft_err code = bad_list_check_inputs(&coordinator->bad.list, &coordinator->plan->inputs);
    return code == WEFT_OK ? resume_check(coordinator->resume, output) : code;
}

bool coordinator_is_complete(const struct coordinator *coordinator)
{
    return resume_is_done(coordinator->resume);
}

static weft_err make_sched(struct coordinator *coordinator)
{
    const struct run_plan *plan = coordinator->plan;
    struct sched_stage *stages = calloc(plan->stage_count, sizeof *stages);
    coordinator->actions = malloc(sizeof *coordinator->actions);
    if (!stages || !coordinator->actions) {
        free(stages);
        return err_no_memory("to plan the job");
    }
    for (uint32_t i = 0; i < plan->stage_count; i++)
        stages[i] = (struct sched_stage){
            .sample_count = plan->stages[i].sample_count,
            .map_count = plan->stages[i].map_count,
            .reduce_count = run_stage_task_count(&plan->stages[i], SCHED_REDUCE),
        };
    const struct sched_plan all = {.stages = stages,
                                   .stage_count = plan->stage_count,
                                   .worker_count = plan->worker_count,
                                   .max_attempts = coordinator->plan->options->max_attempts,
                                   .is_elastic = run_plan_is_far(plan),
                                   .homes = coordinator->machines.homes,
                                   .home_count = (uint32_t)coordinator->machines.all.count,
                                   .asks_before_failing = true};
    coordinator->sched = sched_new(&all);
    free(stages);
    return coordinator->sched ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
}

// Notes about tasks that clients do, and files that clients may fetch.
static weft_err prepare_clients(struct coordinator *coordinator)
{
    struct run_plan *plan = coordinator->plan;
    coordinator->is_noted = calloc(plan->task_count + 1, sizeof *coordinator->is_noted);
    coordinator->has_ended = calloc(plan->task_count + 1, sizeof *coordinator->has_ended);
    coordinator->files = fetch_files_new();
    if (!coordinator->is_noted || !coordinator->has_ended || !coordinator->files)
        return err_no_memory("to plan the job");
    lender_serve(plan, coordinator->files);
    weft_err code = package_make(plan->options, FIRST_CODE_FILE, &coordinator->package);
    if (code == WEFT_OK)
        code = package_serve(coordinator->package, coordinator->files);
    if (code != WEFT_OK)
        return code;
    if (!plan->options->dry_run)
        code = machines_find(&coordinator->machines, plan);
    if (code == WEFT_OK)
        code = holdings_init(&coordinator->holdings, plan);
    return code == WEFT_OK ? lender_read_heads(plan) : code;
}

static void take_lack(void *owner, weft_err code)
{
    struct coordinator *coordinator = owner;
    if (!coordinator->is_done)
        coordinator_fail(coordinator, code);
}

static weft_err open_items(struct coordinator *coordinator)
{
    const struct run_plan *plan = coordinator->plan;
    const struct code *user = code_of(&plan->chain.jobs.items[0]);
    const struct items_options options = {
        .loop = coordinator->loop,
        .from = user->values_from ? user->values_from(&plan->options->args) : NULL,
        .files = coordinator->files,
        .file = VALUES_FILE,
        .failed = take_lack,
        .owner = coordinator};
    if (!options.from || plan->options->dry_run)
        return WEFT_OK;
    coordinator->items = items_new(&options);
    return coordinator->items ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
}

weft_err coordinator_make_plan(struct coordinator *coordinator)
{
    struct run_plan *plan = coordinator->plan;
    weft_err code = run_plan_make(plan, coordinator->report);
    if (code == WEFT_OK)
        code = run_plan_divide_memory(plan);
    if (code != WEFT_OK)
        return code;
    coordinator->samples = calloc(plan->task_count + 1, sizeof *coordinator->samples);
    coordinator->seal_of_task = calloc(plan->task_count + 1, sizeof *coordinator->seal_of_task);
    coordinator->pieces =
        calloc(run_plan_last_stage(plan)->piece_count + 1, sizeof *coordinator->pieces);
    coordinator->places = calloc(plan->worker_count, sizeof *coordinator->places);
    if (!coordinator->samples || !coordinator->pieces || !coordinator->places ||
        !coordinator->seal_of_task)
        return err_no_memory("to plan the job");
    coordinator->place_count = plan->worker_count;
    if (run_plan_is_far(plan) && (code = prepare_clients(coordinator)) != WEFT_OK)
        return code;
    if ((code = open_items(coordinator)) != WEFT_OK)
        return code;
    code = tally_init(&coordinator->tally, plan->task_count);
    return code == WEFT_OK ? make_sched(coordinator) : code;
}

weft_err coordinator_print_plan(struct coordinator *coordinator)
{
    if (!resume_is_done(coordinator->resume))
        resume_look(coordinator->resume, coordinator->pieces);
    return dry_print(coordinator->plan, coordinator->output, coordinator->resume,
                     coordinator->pieces);
}

static weft_err open_shared_parts(struct coordinator *coordinator)
{
    const struct run_stage *last = run_plan_last_stage(coordinator->plan);
    const struct shared_parts_options options = {
        .directory = output_place(coordinator->output)->path,
        .suffix = codec_suffix(coordinator->plan->options->compress),
        .part_of_piece = coordinator->plan->parts,
        .part_count = last->part_count,
        .piece_count = last->piece_count,
        .pieces = coordinator->pieces,
        .calls = &coordinator_shared_parts_calls,
        .owner = coordinator};
    return coordinator->plan->options->shared
               ? shared_parts_open(&coordinator->shared_parts, &options)
               : WEFT_OK;
}

static weft_err open_drafts(struct coordinator *coordinator)
{
    const struct drafts_options options = {.plan = coordinator->plan,
                                           .place = output_place(coordinator->output),
                                           .pieces = coordinator->pieces,
                                           .loop = coordinator->loop,
                                           .calls = &coordinator_drafts_calls,
                                           .owner = coordinator};
    const weft_err code = drafts_open(&coordinator->drafts, &options);
    return code == WEFT_OK ? open_shared_parts(coordinator) : code;
}

weft_err coordinator_take_over(struct coordinator *coordinator)
{
    weft_err code = resume_open(coordinator->resume, coordinator->pieces);
    if (code == WEFT_OK)
        code = run_plan_divide_output(coordinator->plan, coordinator->output);
    if (code == WEFT_OK)
        code = resume_restore(coordinator->resume);
    return code == WEFT_OK && run_plan_is_shared(coordinator->plan) ? open_drafts(coordinator)
                                                                    : code;
}

// ---- The work -----------------------------------------------------------------------------------

static void make_agents(struct coordinator *coordinator)
{
    for (uint32_t i = 0; i < coordinator->place_count; i++) {
        struct worker_place *place = &coordinator->places[i];
        const struct agent_options options = {
            .loop = coordinator->loop,
            .far = coordinator->clients ? clients_place(coordinator->clients, i) : NULL,
            .slot_count = coordinator->plan->slot_count,
            .task_timeout_ms = coordinator->plan->options->task_timeout_ms,
            .record_timeout_ms = coordinator->plan->options->record_timeout_ms,
            .calls = &coordinator_agent_calls,
            .owner = place,
        };
        place->coordinator = coordinator;
        agent_init(&place->agent, &options);
    }
}

void coordinator_start(struct coordinator *coordinator)
{
    make_agents(coordinator);
    if (coordinator->clients) {
        const weft_err code = coordinator_watch(coordinator);
        if (code != WEFT_OK) {
            coordinator_fail(coordinator, code);
            return;
        }
    }
    resume_start(coordinator->resume);
    if (coordinator->clients)
        coordinator_await_returns(coordinator);
    coordinator_step(coordinator, &(struct sched_event){.type = EVENT_START});
}

void coordinator_stop(struct coordinator *coordinator)
{
    coordinator->is_over = true;
    probe_stop(&coordinator->probe);
    resume_stop(coordinator->resume);
    loop_stop(coordinator->loop);
}

bool coordinator_is_over(const struct coordinator *coordinator)
{
    return coordinator->is_over;
}

bool coordinator_is_done(const struct coordinator *coordinator)
{
    return coordinator->is_done;
}

void coordinator_look(struct coordinator *coordinator)
{
    const struct run_options *options = coordinator->plan->options;
    const bool has_limits = options->task_timeout_ms || options->record_timeout_ms;
    for (uint32_t i = 0; has_limits && !coordinator->clients && i < coordinator->place_count &&
                         !coordinator->is_over;
         i++)
        agent_look(&coordinator->places[i].agent);
    coordinator_show_progress(coordinator);
}

static bool have_all_left(const struct coordinator *coordinator)
{
    for (uint32_t i = 0; i < coordinator->place_count; i++)
        if (!coordinator->places[i].has_bye)
            return false;
    return true;
}

void coordinator_check_end(struct coordinator *coordinator)
{
    if (coordinator->is_done && have_all_left(coordinator) &&
        (!coordinator->drafts || drafts_are_written(coordinator->drafts)) &&
        output_is_drained(coordinator->output))
        loop_stop(coordinator->loop);
}

// ---- After it -----------------------------------------------------------------------------------

weft_err coordinator_finish(struct coordinator *coordinator)
{
    if (coordinator->is_over || !coordinator->is_done)
        return coordinator->code;
    weft_err code = coordinator->bad.is_judged ? WEFT_OK : coordinator_judge_bad(coordinator);
    if (code == WEFT_OK && coordinator->drafts)
        code = drafts_finish(coordinator->drafts);
    if (code == WEFT_OK && coordinator->shared_parts)
        code = shared_parts_finish(coordinator->shared_parts);
    return code == WEFT_OK ? output_commit(coordinator->output) : code;
}

bool coordinator_awaits_exit(const struct coordinator *coordinator)
{
    for (uint32_t i = 0; i < coordinator->place_count && !coordinator->is_over; i++)
        if (agent_has_worker(&coordinator->places[i].agent) && !coordinator->places[i].is_gone)
            return true;
    return false;
}

void coordinator_dismiss_clients(struct coordinator *coordinator, weft_err code, const char *text)
{
    if (coordinator->clients)
        clients_end(coordinator->clients, code, text);
}

bool coordinator_awaits_clients(const struct coordinator *coordinator)
{
    return coordinator->clients && !clients_have_heard(coordinator->clients);
}

void coordinator_end_workers(struct coordinator *coordinator)
{
    if (coordinator->clients) {
        coordinator->client_list = clients_sum_up(coordinator->clients, &coordinator->client_count);
        coordinator->relayed_bytes = clients_relayed_bytes(coordinator->clients);
    }
    for (uint32_t i = 0; i < coordinator->place_count; i++)
        agent_fini(&coordinator->places[i].agent);
    clients_free(coordinator->clients);
    coordinator->clients = NULL;
    loop_timer_free(coordinator->watch_timer);
    coordinator->watch_timer = NULL;
    arrivals_free(coordinator->arrivals);
    coordinator->arrivals = NULL;
    shared_parts_free(coordinator->shared_parts);
    coordinator->shared_parts = NULL;
    handovers_free(coordinator->handovers);
    coordinator->handovers = NULL;
    holdings_fini(&coordinator->holdings);
    drafts_free(coordinator->drafts);
    coordinator->drafts = NULL;
    shelves_fini(&coordinator->shelves);
    probe_end_worker(&coordinator->probe);
}

const char *coordinator_error(const struct coordinator *coordinator)
{
    return coordinator->error;
}

bool coordinator_close(struct coordinator *coordinator, bool may_keep)
{
    return resume_end(coordinator->resume, may_keep);
}

// ---- Figures ------------------------------------------------------------------------------------

// Whether a task's figures are part of the job's. Those of committed tasks are. When the job is done, those of tasks that are
// not committed are, too, because everything that depends on them is: an earlier run has done these tasks, or their client
// was lost after their output had been read.
static bool counts(const struct coordinator *coordinator, uint32_t stage, enum sched_kind kind,
                   uint32_t task)
{
    return coordinator->is_done ||
           sched_task_state(coordinator->sched, stage, kind, task) == SCHED_COMMITTED;
}

static void add_up(struct coordinator *coordinator, struct tally_totals *totals,
                   struct tally_totals *others)
{
    for (uint32_t i = 0; coordinator->sched && i < coordinator->plan->stage_count; i++)
        for (enum sched_kind kind = SCHED_SAMPLE; kind < SCHED_KIND_COUNT; kind++)
            for (uint32_t task = 0;
                 task < run_stage_task_count(&coordinator->plan->stages[i], kind); task++)
                if (counts(coordinator, i, kind, task))
                    tally_add(&coordinator->tally,
                              run_plan_number(coordinator->plan, i, kind, task),
                              i == 0 && kind == SCHED_MAP ? totals : others);
}

// Large inputs that one task had to read alone.
static void count_whole(const struct run_plan *plan, struct summary *summary)
{
    for (size_t i = 0; plan->looks && i < plan->inputs.count; i++) {
        const struct input_look *look = &plan->looks[i];
        if (!look->is_whole || plan->inputs.items[i].size <= plan->split.split_bytes)
            continue;
        summary->whole_count++;
        if (look->codec > 0)
            summary->whole_codec = codec_name((enum codec_kind)(look->codec - 1));
    }
}

static void add_figures(const struct coordinator *coordinator, struct summary *summary)
{
    struct agent_figures figures;
    coordinator_read_figures(coordinator, &figures);
    summary->memory_peak = figures.memory_peak;
    summary->has_switched_to_sort = figures.has_switched_to_sort;
    summary->spill_bytes = figures.spill_bytes;
    summary->spill_runs = figures.spill_runs;
    summary->saved_bytes = figures.saved_bytes;
    summary->relayed_bytes = coordinator->relayed_bytes;
    memcpy(summary->phase_ns, figures.phase_ns, sizeof summary->phase_ns);
}

static void add_workers(const struct coordinator *coordinator, struct summary *summary)
{
    const struct run_plan *plan = coordinator->plan;
    summary->is_far = run_plan_is_far(plan);
    summary->clients = coordinator->client_list;
    summary->client_count = coordinator->client_count;
    summary->workers = summary->is_far ? (uint32_t)coordinator->client_count : plan->worker_count;
    summary->slots = summary->is_far ? 0 : plan->worker_count * plan->slot_count;
    for (size_t i = 0; i < coordinator->client_count; i++)
        summary->slots += coordinator->client_list[i].slots;
}

void coordinator_sum_up(struct coordinator *coordinator, struct summary *summary)
{
    const struct run_plan *plan = coordinator->plan;
    const struct run_options *options = plan->options;
    struct tally_totals totals = {0}, others = {0};
    add_up(coordinator, &totals, &others);
    tally_sort(&coordinator->tally);
    for (uint32_t i = 0; plan->stages && i < plan->stage_count; i++) {
        summary->map_count += plan->stages[i].map_count;
        summary->reduce_count += run_stage_task_count(&plan->stages[i], SCHED_REDUCE);
    }
    count_whole(plan, summary);
    add_figures(coordinator, summary);
    summary->records_in = totals.records_in;
    summary->bytes_in = totals.bytes_in;
    summary->stage_count = plan->stage_count;
    summary->worker_lost_count = coordinator->worker_lost_count;
    add_workers(coordinator, summary);
    summary->resumed_count = resume_restored_count(coordinator->resume);
    summary->has_checkpoints = resume_has_checkpoints(coordinator->resume);
    summary->bad_count = coordinator->bad_count;
    if (coordinator->bad.is_judged && options->skip_bad.is_set)
        summary->bad_records = options->bad_records;
    summary->counters = coordinator->tally.counters.items;
    summary->counter_count = coordinator->tally.counters.count;
}

// ---- Its life -----------------------------------------------------------------------------------

static void tell_change(void *owner, const struct crowd_change *change)
{
    struct coordinator *coordinator = owner;
    report_client(coordinator->report, change, clock_now_ns());
    coordinator_show_progress(coordinator);
}

static void tell_stranger(void *owner, const char *sentence)
{
    struct coordinator *coordinator = owner;
    if (!coordinator->plan->options->quiet)
        report_warn(coordinator->report, sentence);
}

uint16_t coordinator_earlier_port(const struct coordinator *coordinator)
{
    return resume_port(coordinator->resume);
}

const struct secret *coordinator_earlier_token(const struct coordinator *coordinator)
{
    return resume_token(coordinator->resume);
}

weft_err coordinator_let_in(struct coordinator *coordinator, const struct entrance *entrance)
{
    static const struct clients_calls calls = {
        .changed = tell_change, .say = tell_stranger, .silent = coordinator_take_silence};
    const struct clients_options options = {.loop = coordinator->loop,
                                            .entrance = entrance,
                                            .files = coordinator->files,
                                            .calls = &calls,
                                            .owner = coordinator};
    weft_err code = resume_begin_far(coordinator->resume);
    if (code == WEFT_OK)
        code = resume_note_entrance(coordinator->resume, entrance->listener.port,
                                    entrance->has_made_token ? &entrance->token : NULL);
    if (code != WEFT_OK)
        return code;
    coordinator->clients = clients_new(&options);
    if (!coordinator->clients)
        return WEFT_RESOURCE_EXHAUSTED;
    clients_set_job(coordinator->clients, package_message(coordinator->package),
                    resume_run(coordinator->resume));
    const struct handovers_options handovers = {.tmp = coordinator->plan->options->tmp,
                                                .calls = &coordinator_handovers_calls,
                                                .owner = coordinator};
    coordinator->handovers = handovers_new(&handovers);
    if (!coordinator->handovers)
        return WEFT_RESOURCE_EXHAUSTED;
    coordinator->arrivals =
        arrivals_new(coordinator->clients, coordinator->loop, coordinator->plan->options->tmp,
                     &coordinator_arrivals_calls, coordinator);
    return coordinator->arrivals ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
}

struct coordinator *coordinator_new(const struct coordinator_options *options)
{
    struct coordinator *coordinator = calloc(1, sizeof *coordinator);
    if (!coordinator) {
        (void)err_no_memory("to run a job");
        return NULL;
    }
    coordinator->plan = options->plan;
    coordinator->report = options->report;
    coordinator->loop = options->loop;
    coordinator->keeps_replays = options->keeps_replays;
    coordinator->blame.plan = options->plan;
    bad_records_init(&coordinator->bad, options->plan, &coordinator->tally);
    const struct probe_options probe = {.plan = options->plan,
                                        .bad = &coordinator->bad,
                                        .loop = options->loop,
                                        .items = &coordinator->items,
                                        .calls = &coordinator_probe_calls,
                                        .owner = coordinator};
    probe_init(&coordinator->probe, &probe);
    const struct resume_options resume = {.plan = options->plan,
                                          .tally = &coordinator->tally,
                                          .bad = &coordinator->bad,
                                          .loop = options->loop,
                                          .calls = &coordinator_resume_calls,
                                          .owner = coordinator};
    coordinator->resume = resume_new(&resume);
    if (coordinator->resume)
        return coordinator;
    coordinator_free(coordinator);
    return NULL;
}

static void free_samples(struct coordinator *coordinator)
{
    for (size_t i = 0; coordinator->samples && i < coordinator->plan->task_count; i++)
        message_free(coordinator->samples[i]);
    free(coordinator->samples);
    free(coordinator->seal_of_task);
}

void coordinator_free(struct coordinator *coordinator)
{
    if (!coordinator)
        return;
    probe_fini(&coordinator->probe);
    bad_records_fini(&coordinator->bad);
    resume_free(coordinator->resume);
    free_samples(coordinator);
    loop_timer_free(coordinator->return_timer);
    clients_free(coordinator->clients);
    items_free(coordinator->items);
    handovers_free(coordinator->handovers);
    fetch_files_free(coordinator->files);
    for (size_t i = 0; i < coordinator->handed.count; i++)
        file_close(coordinator->handed.items[i]);
    VEC_FINI(&coordinator->handed);
    package_free(coordinator->package);
    free(coordinator->is_noted);
    free(coordinator->has_ended);
    free(coordinator->client_list);
    lateness_free(coordinator->lateness);
    free(coordinator->pieces);
    free(coordinator->places);
    VEC_FINI(&coordinator->deferred);
    VEC_FINI(&coordinator->failed_tasks);
    tally_fini(&coordinator->tally);
    free(coordinator->actions);
    sched_free(coordinator->sched);
    machines_fini(&coordinator->machines);
    free(coordinator);
}
