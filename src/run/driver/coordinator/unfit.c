// Machines that are to blame when tasks fail: a client whose workers are killed again and again, or where a task fails that is well on the server.
// Such a client is set aside while others can do the work.
#include "run/driver/coordinator/coordinator_state.h"

#include <stdio.h>

enum { FAILED_TASKS_MAX = 4096, LOSSES_MAX = 3 };

static struct failed_task *find(struct coordinator *coordinator, size_t number)
{
    for (size_t i = 0; i < coordinator->failed_tasks.count; i++)
        if (coordinator->failed_tasks.items[i].number == number)
            return &coordinator->failed_tasks.items[i];
    return NULL;
}

void coordinator_note_failed_at(const struct worker_place *place, const struct sched_attempt *at)
{
    struct coordinator *coordinator = place->coordinator;
    // Only such tasks are looked into before they end the job.
    if (!coordinator->clients || at->stage != 0 || at->kind == SCHED_REDUCE)
        return;
    const size_t number = run_plan_number(coordinator->plan, 0, at->kind, at->task);
    const uint32_t holder = agent_holder(&place->agent);
    struct failed_task *found = find(coordinator, number);
    if (found)
        found->is_elsewhere |= found->holder != holder;
    else if (coordinator->failed_tasks.count < FAILED_TASKS_MAX &&
             !VEC_PUSH(&coordinator->failed_tasks, ((struct failed_task){number, holder, false})))
        err_clear();
}

// A task that does not fail on the server, and has failed at one client only, is tried at others; then it ends the job if it fails there, too.
bool coordinator_blame_client(struct coordinator *coordinator, const struct probe_task *task)
{
    char why[ERR_TEXT_BYTES_MAX];
    const struct failed_task *found =
        coordinator->clients
            ? find(coordinator, run_plan_number(coordinator->plan, 0, task->at.kind, task->at.task))
            : NULL;
    if (!found || found->is_elsewhere)
        return false;
    if (clients_find(coordinator->clients, found->holder) &&
        clients_count(coordinator->clients) == 1)
        return false;  // there is no other one to try
    snprintf(why, sizeof why, "%s task %u fails there and not on the server: %.300s",
             sched_kind_name(task->at.kind), task->at.task, task->why);
    clients_drop(coordinator->clients, found->holder, why);
    const struct sched_event event = {.type = EVENT_TASK_EXCUSED, .at = task->at};
    if (!coordinator->is_over)
        coordinator_step(coordinator, &event);
    return true;
}

bool coordinator_take_useless(struct worker_place *place, const struct agent_loss *loss,
                              struct sched_event *event)
{
    const struct coordinator *coordinator = place->coordinator;
    if (!coordinator->clients || loss->is_machine || loss->is_told || event->is_blameless)
        return false;
    const bool could_not_start = !loss->was_ready && loss->code != WEFT_OK;
    if (!could_not_start && event->inside_count > 0)
        return false;
    event->is_blameless = true;
    return ++place->useless_count >= LOSSES_MAX;
}

void coordinator_set_aside(struct worker_place *place)
{
    struct coordinator *coordinator = place->coordinator;
    if (++coordinator->unfit_count >= UNFIT_MAX && !coordinator->has_worked)
        coordinator_fail(coordinator, err_set(WEFT_UNAVAILABLE, "%s", coordinator->blame.why));
    else
        clients_drop(coordinator->clients, agent_holder(&place->agent), coordinator->blame.why);
}
