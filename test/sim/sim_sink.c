// The model of where the text of the last stage goes: a piece is written once all before it in its part are.
#include "sim/sim.h"

static void tell_written(struct sim *sim, struct sim_worker *worker, const struct sched_attempt *at,
                         uint32_t piece)
{
    worker_say(sim, worker,
               (struct sched_event){
                   .type = EVENT_TASK_COMMITTED,
                   .at = {.kind = at->kind, .task = piece, .stage = at->stage},
                   .is_durable = true,
               });
}

// Writes every piece whose place is known, and says so for the worker that made it.
static void write_pieces(struct sim *sim, const struct sched_attempt *at)
{
    struct sim_sink *sink = &sim->sink;
    const uint32_t count = sim_piece_count(&sim->options, at->stage);
    const uint32_t part_pieces = (count + sim->options.part_count - 1) / sim->options.part_count;
    for (uint32_t piece = 0; piece < count; piece++) {
        const uint64_t bit = UINT64_C(1) << piece;
        if (!(sink->submitted & bit)) {
            piece += part_pieces - 1 - piece % part_pieces;  // the rest of the part waits for it
            continue;
        }
        if (sink->written & bit)
            continue;
        sink->written |= bit;
        tell_written(sim, sim_find_worker(sim, sink->submitters[piece]), at, piece);
    }
}

// A piece that is submitted again has to be the same. It is not written again, but told: who runs it again
// may not have heard of it.
void sink_submit(struct sim *sim, struct sim_worker *worker, const struct sched_attempt *at,
                 uint64_t value)
{
    struct sim_sink *sink = &sim->sink;
    const uint64_t bit = UINT64_C(1) << at->task;
    if (sink->submitted & bit && sink->values[at->task] != value)
        sim_wrong(sim, "task %u made something else this time", at->task);
    if (sink->written & bit)
        return tell_written(sim, worker, at, at->task);
    sink->submitted |= bit;
    sink->values[at->task] = value;
    sink->submitters[at->task] = worker->number;
    write_pieces(sim, at);
}

void sink_forget(struct sim *sim, uint32_t number)
{
    struct sim_sink *sink = &sim->sink;
    for (uint32_t piece = 0; piece < SIM_TASKS_MAX; piece++)
        if (sink->submitters[piece] == number && !(sink->written >> piece & 1))
            sink->submitted &= ~(UINT64_C(1) << piece);
}
