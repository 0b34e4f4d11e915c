// Programs in containers: a node manager is called by a thread beside the loop, and the outcome is handled in the loop's.

#include <stdio.h>
#include <stdlib.h>

#include "launch/yarn/master_state.h"
#include "launch/yarn/yarn_message.h"
#include "launch/yarn/yarn_node.h"
#include "launch/yarn/yarn_program.h"
#include "sys/thread/interrupt.h"

enum {
    START_PATIENCE_MS = 15000,
    START_SILENCE_MS = 20000,
    STOP_PATIENCE_MS = 3000,
    STOP_SILENCE_MS = 5000,
};

// ---- Jobs ---------------------------------------------------------------------------------------------------------

static void free_job(struct master_job *job)
{
    struct yarn_master *master = job->master;
    for (size_t i = 0; i < master->jobs.count; i++)
        if (master->jobs.items[i] == job) {
            master->jobs.items[i] = master->jobs.items[--master->jobs.count];
            break;
        }
    yarn_free(job->context);
    yarn_free(job->node_token);
    yarn_free(job->container_token);
    free(job);
}

void master_free_jobs(struct yarn_master *master)
{
    while (master->jobs.count)
        free_job(master->jobs.items[0]);
    VEC_FINI(&master->jobs);
}

// NULL: out of memory.
static struct master_job *new_job(struct yarn_master *master, struct yarn_grant *grant)
{
    struct yarn_maker maker = {0};
    struct master_job *job = calloc(1, sizeof *job);
    if (!job || !VEC_PUSH(&master->jobs, job)) {
        free(job);
        return NULL;
    }
    job->master = master;
    job->grant = grant;
    mutex_lock(&master->mutex);
    job->node_token =
        yarn_make_copy(&maker, roster_node_token(&master->roster, grant->host, grant->shown.port));
    mutex_unlock(&master->mutex);
    job->container_token = yarn_make_copy(&maker, grant->token);
    if (!maker.has_failed)
        return job;
    free_job(job);
    return NULL;
}

static bool is_cut(void *owner)
{
    struct yarn_master *master = owner;
    mutex_lock(&master->mutex);
    const bool is_wanted = master->is_cut;
    mutex_unlock(&master->mutex);
    return is_wanted;
}

static weft_err call_node(struct master_job *job)
{
    const struct yarn_node_call call = {
        .host = job->grant->host,
        .port = job->grant->shown.port,
        .node_token = job->node_token,
        .container = job->grant->id,
        .patience_ms = job->context ? START_PATIENCE_MS : STOP_PATIENCE_MS,
        .silence_ms = job->context ? START_SILENCE_MS : STOP_SILENCE_MS};
    if (!job->node_token)
        return err_set(WEFT_FAILED_PRECONDITION,
                       "YARN has given no token for the node manager of %s", job->grant->host);
    return job->context ? yarn_node_start(&call, job->container_token, job->context)
                        : yarn_node_stop(&call);
}

// In another thread: only what never changes in a grant is used here.
static void work(void *owner)
{
    struct master_job *job = owner;
    interrupt_set_own(is_cut, job->master);
    job->err = call_node(job);
    snprintf(job->text, sizeof job->text, "%s", job->err ? err_text() : "");
    err_clear();
    interrupt_set_own(NULL, NULL);
}

// ---- Starting -----------------------------------------------------------------------------------------------------

// The container is of no use: it goes back, and its owner is notified.
static void give_up(struct yarn_master *master, const struct master_job *job)
{
    static const struct yarn_end end = {.kind = YARN_NOT_STARTED, .exit_code = -1000};
    roster_release(&master->roster, job->grant);
    roster_end_as(&master->roster, job->grant, &end, job->text);
}

static void start_done(void *owner)
{
    struct master_job *job = owner;
    struct yarn_master *master = job->master;
    struct yarn_grant *grant = job->grant;
    const struct yarn_event event = {.kind = YARN_EVENT_STARTED, .grant = grant};
    mutex_lock(&master->mutex);
    grant->is_busy = false;
    if (job->err) {
        give_up(master, job);
    } else {
        grant->state = YARN_GRANT_RUNNING;
        roster_push_event(&master->roster, &event);
    }
    roster_settle(&master->roster, grant);
    const bool has_to_stop = grant->is_stopped && grant->state == YARN_GRANT_RUNNING;
    master_hurry(master);
    master_ring(master);
    mutex_unlock(&master->mutex);
    free_job(job);
    if (has_to_stop)
        master_stop_program(master, grant);
}

weft_err yarn_master_launch(struct yarn_master *master, struct yarn_container *container,
                            const struct yarn_program *program)
{
    struct yarn_maker maker = {0};
    struct yarn_grant *grant = roster_grant(container);
    Hadoop__LaunchContext *context = yarn_make(&maker, &hadoop__launch_context__descriptor);
    weft_err err = context
                       ? yarn_set_program(&maker, program, buf_bytes(&master->credentials), context)
                       : err_no_memory("for a program of a container");
    struct master_job *job = err ? NULL : new_job(master, grant);
    if (!err && !job)
        err = err_no_memory("for a program of a container");
    if (err) {
        yarn_free(context);
        return err;
    }
    job->context = context;
    mutex_lock(&master->mutex);
    ASSERT(!grant->is_launched);
    grant->is_launched = true;
    // It may have ended unused, or be given back already: that is reported then, or has been.
    const bool is_usable = grant->state == YARN_GRANT_IDLE && !grant->has_end && !grant->is_stopped;
    if (is_usable) {
        grant->state = YARN_GRANT_STARTING;
        grant->is_busy = true;
    }
    mutex_unlock(&master->mutex);
    if (!is_usable) {
        free_job(job);
        return WEFT_OK;
    }
    err = errands_do(master->nodes, work, start_done, job);
    if (!err)
        return WEFT_OK;
    mutex_lock(&master->mutex);
    grant->state = YARN_GRANT_IDLE;
    grant->is_launched = grant->is_busy = false;
    roster_settle(&master->roster, grant);
    master_ring(master);
    mutex_unlock(&master->mutex);
    free_job(job);
    return err;
}

// ---- Stopping -----------------------------------------------------------------------------------------------------

// Where its node manager does not answer, the resource manager ends it.
static void stop_done(void *owner)
{
    struct master_job *job = owner;
    struct yarn_master *master = job->master;
    mutex_lock(&master->mutex);
    job->grant->is_busy = false;
    if (job->err && !job->grant->has_end)
        roster_release(&master->roster, job->grant);
    roster_settle(&master->roster, job->grant);
    master_hurry(master);
    master_ring(master);
    mutex_unlock(&master->mutex);
    free_job(job);
}

void master_stop_program(struct yarn_master *master, struct yarn_grant *grant)
{
    struct master_job *job = new_job(master, grant);
    mutex_lock(&master->mutex);
    grant->is_busy = job && !grant->has_end;
    const bool is_needed = grant->is_busy;
    mutex_unlock(&master->mutex);
    if (is_needed && !errands_do(master->nodes, work, stop_done, job))
        return;
    mutex_lock(&master->mutex);
    grant->is_busy = false;
    if (!grant->has_end)
        roster_release(&master->roster, grant);
    roster_settle(&master->roster, grant);
    master_hurry(master);
    master_ring(master);
    mutex_unlock(&master->mutex);
    if (job)
        free_job(job);
    err_clear();
}
