// What a resource manager answers: grants, ends, tokens, and its restart.

#include <stdio.h>
#include <stdlib.h>

#include "launch/yarn/yarn_message.h"
#include "launch/yarn/yarn_roster_state.h"

enum {
    RETURN_ANSWERS_MAX = 20
};  // without an end: then the resource manager does not know the container

// ---- Tokens of nodes ----------------------------------------------------------------------------------------------

// A node's token comes once, and again when its keys have changed.
static void keep_node_token(struct yarn_roster *roster, const Hadoop__NodeToken *message)
{
    struct yarn_maker maker = {0};
    if (!message->node || !message->node->host || !message->token)
        return;
    struct yarn_node_token token = {.host = yarn_make_text(&maker, message->node->host),
                                    .port = (uint16_t)message->node->port,
                                    .token = yarn_make_copy(&maker, message->token)};
    for (size_t i = 0; !maker.has_failed && i < roster->node_tokens.count; i++) {
        struct yarn_node_token *known = &roster->node_tokens.items[i];
        if (known->port != token.port || strcmp(known->host, token.host) != 0)
            continue;
        yarn_free(known->token);
        known->token = token.token;
        free(token.host);
        return;
    }
    if (!maker.has_failed && VEC_PUSH(&roster->node_tokens, token))
        return;
    roster->is_incomplete = true;
    free(token.host);
    yarn_free(token.token);
}

const Hadoop__Token *roster_node_token(const struct yarn_roster *roster, const char *host,
                                       uint16_t port)
{
    for (size_t i = 0; i < roster->node_tokens.count; i++)
        if (roster->node_tokens.items[i].port == port &&
            strcmp(roster->node_tokens.items[i].host, host) == 0)
            return roster->node_tokens.items[i].token;
    return NULL;
}

// ---- Grants -------------------------------------------------------------------------------------------------------

static struct yarn_grant *find_grant(const struct yarn_roster *roster,
                                     const struct yarn_container_id *id)
{
    for (size_t i = 0; i < roster->grants.count; i++)
        if (yarn_is_same_container(&roster->grants.items[i]->id, id))
            return roster->grants.items[i];
    return NULL;
}

struct yarn_grant *roster_grant(struct yarn_container *shown)
{
    return (struct yarn_grant *)shown;
}

// NULL: out of memory, or the message lacks something.
static struct yarn_grant *read_grant(const Hadoop__Container *message,
                                     const struct yarn_container_id *id)
{
    struct yarn_maker maker = {0};
    if (!message->node || !message->node->host || !message->token || !message->priority)
        return NULL;
    struct yarn_grant *grant = calloc(1, sizeof *grant);
    if (!grant)
        return NULL;
    grant->id = *id;
    yarn_write_container(id, grant->id_text);
    grant->host = yarn_make_text(&maker, message->node->host);
    grant->web = yarn_make_text(&maker, message->web ? message->web : "");
    grant->token = yarn_make_copy(&maker, message->token);
    grant->shown = (struct yarn_container){.ask = (size_t)message->priority->value - 1,
                                           .id = grant->id_text,
                                           .host = grant->host,
                                           .port = (uint16_t)message->node->port,
                                           .web = grant->web};
    if (message->resource) {
        grant->shown.memory_bytes = (uint64_t)message->resource->memory_mb * YARN_MB;
        grant->shown.cores = (uint32_t)message->resource->cores;
    }
    if (!maker.has_failed)
        return grant;
    roster_free_grant(grant);
    return NULL;
}

static void give_back(struct yarn_roster *roster, const struct yarn_container_id *id)
{
    const struct yarn_return one = {.id = *id};
    roster->is_incomplete |= !VEC_PUSH(&roster->returns, one);
}

// The scheduler has counted it, so an ask that does not take it has to be sent again. False: it is not wanted.
static bool assign_grant(struct yarn_roster *roster, struct yarn_grant *grant)
{
    const size_t number = grant->shown.ask;
    struct yarn_ask *ask = number < roster->asks.count ? &roster->asks.items[number] : NULL;
    if (!ask || ask->outstanding == 0)
        return false;
    if (roster_is_excluded(roster, grant->host)) {
        ask->is_changed = true;
        return false;
    }
    const struct yarn_event event = {.kind = YARN_EVENT_GRANTED, .grant = grant};
    ask->outstanding--;
    ask->has_moved |= ask->hosts.count > 0;
    roster_push_event(roster, &event);
    return true;
}

static void take_container(struct yarn_roster *roster, const Hadoop__Container *message)
{
    struct yarn_container_id id = {0};
    if (!yarn_take_container(message->id, &id) || find_grant(roster, &id))
        return;  // said before
    struct yarn_grant *grant = read_grant(message, &id);
    if (!grant || !VEC_NEXT(&roster->grants)) {
        roster->is_incomplete = true;
        roster_free_grant(grant);
    } else if (assign_grant(roster, grant)) {
        roster->grants.items[roster->grants.count++] = grant;
    } else {
        give_back(roster, &id);
        roster_free_grant(grant);
    }
}

// A container of the attempt before this one.
static void take_kept(struct yarn_roster *roster, const Hadoop__Container *message)
{
    struct yarn_container_id id = {0};
    if (!yarn_take_container(message->id, &id) || find_grant(roster, &id))
        return;
    if (!roster->takes_kept) {
        give_back(roster, &id);
        return;
    }
    struct yarn_grant *grant = read_grant(message, &id);
    if (!grant || !VEC_PUSH(&roster->grants, grant)) {
        roster->is_incomplete = true;
        roster_free_grant(grant);
        return;
    }
    const struct yarn_event event = {.kind = YARN_EVENT_KEPT, .grant = grant};
    grant->shown.ask = YARN_ASK_KEPT;
    grant->state = YARN_GRANT_RUNNING;
    grant->is_launched = true;
    roster_push_event(roster, &event);
}

void roster_release(struct yarn_roster *roster, struct yarn_grant *grant)
{
    if (grant->is_released)
        return;
    grant->is_released = true;
    give_back(roster, &grant->id);
}

void roster_forget(struct yarn_roster *roster, struct yarn_grant *grant)
{
    for (size_t i = 0; i < roster->grants.count; i++)
        if (roster->grants.items[i] == grant) {
            roster->grants.items[i] = roster->grants.items[--roster->grants.count];
            roster_free_grant(grant);
            return;
        }
}

// ---- Ends ---------------------------------------------------------------------------------------------------------

void roster_settle(struct yarn_roster *roster, struct yarn_grant *grant)
{
    if (!grant->has_end || grant->is_busy || grant->state == YARN_GRANT_GONE)
        return;
    grant->state = YARN_GRANT_GONE;
    const struct yarn_event event = {.kind = YARN_EVENT_ENDED, .grant = grant};
    roster_push_event(roster, &event);
}

void roster_end_as(struct yarn_roster *roster, struct yarn_grant *grant, const struct yarn_end *end,
                   const char *text)
{
    struct yarn_maker maker = {0};
    if (grant->has_end)
        return;
    grant->has_end = true;
    grant->end = *end;
    grant->end_text = yarn_make_text(&maker, text);
    grant->end.text = grant->end_text ? grant->end_text : "";
    roster_settle(roster, grant);
}

void roster_end(struct yarn_roster *roster, struct yarn_grant *grant, int status,
                const char *diagnostics)
{
    struct buf text = {0};
    struct yarn_end end;
    yarn_judge_end(status, diagnostics, grant->is_stopped || grant->is_released, &end, &text);
    roster_end_as(roster, grant, &end, buf_text(&text));
    buf_fini(&text);
}

static void drop_return(struct yarn_roster *roster, const struct yarn_container_id *id)
{
    for (size_t i = 0; i < roster->returns.count; i++)
        if (yarn_is_same_container(&roster->returns.items[i].id, id)) {
            roster->returns.items[i] = roster->returns.items[--roster->returns.count];
            return;
        }
}

static void take_status(struct yarn_roster *roster, const Hadoop__ContainerStatus *status)
{
    enum { STATUS_UNKNOWN = -1000 };
    struct yarn_container_id id = {0};
    if (!yarn_take_container(status->id, &id))
        return;
    struct yarn_grant *grant = find_grant(roster, &id);
    drop_return(roster, &id);
    if (grant)
        roster_end(roster, grant, status->has_exit_status ? status->exit_status : STATUS_UNKNOWN,
                   status->diagnostics);
}

static const struct yarn_end stopped = {.kind = YARN_STOPPED, .exit_code = -105};
static const struct yarn_end lost = {.kind = YARN_LOST, .exit_code = -100};

static void count_returns(struct yarn_roster *roster)
{
    for (size_t i = roster->returns.count; i-- > 0;) {
        const struct yarn_container_id id = roster->returns.items[i].id;
        if (++roster->returns.items[i].answers < RETURN_ANSWERS_MAX)
            continue;
        struct yarn_grant *grant = find_grant(roster, &id);
        drop_return(roster, &id);
        if (grant)
            roster_end_as(roster, grant, &stopped, "it was given back");
    }
}

// ---- Answers ------------------------------------------------------------------------------------------------------

static uint64_t at_least_zero(int64_t value)
{
    return value > 0 ? (uint64_t)value : 0;
}

static void take_maximum(struct yarn_roster *roster, const Hadoop__Resource *maximum)
{
    roster->memory_mb_max = maximum ? (uint64_t)maximum->memory_mb : UINT64_MAX;
    roster->cores_max = maximum ? (uint32_t)maximum->cores : UINT32_MAX;
}

void roster_take_registration(struct yarn_roster *roster, const Hadoop__RegisterAnswer *answer)
{
    struct yarn_maker maker = {0};
    take_maximum(roster, answer->maximum);
    snprintf(roster->queue, sizeof roster->queue, "%s", answer->queue ? answer->queue : "");
    for (size_t i = 0; i < roster->types.count; i++)
        free(roster->types.items[i]);
    roster->types.count = 0;
    for (size_t i = 0; i < answer->n_types; i++) {
        char *name = yarn_make_text(&maker, answer->types[i]->name);
        if (name && !VEC_PUSH(&roster->types, name))
            free(name);
    }
    for (size_t i = 0; i < answer->n_node_tokens; i++)
        keep_node_token(roster, answer->node_tokens[i]);
    roster->response = 0;
    const bool was_registered = roster->is_registered;
    roster->is_registered = true;
    if (!was_registered)
        roster_tell(roster, YARN_EVENT_REGISTERED, WEFT_OK, NULL);
    for (size_t i = 0; i < answer->n_kept; i++)
        take_kept(roster, answer->kept[i]);
    for (size_t i = 0; i < roster->asks.count; i++)
        roster_check_ask(roster, i);
}

void roster_resync(struct yarn_roster *roster)
{
    roster->response = 0;
    for (size_t i = 0; i < roster->asks.count; i++) {
        struct yarn_ask *ask = &roster->asks.items[i];
        ask->is_changed = ask->outstanding > 0;
        ask->has_moved = ask->is_in_flight = false;
    }
    for (size_t i = 0; i < roster->exclusions.count; i++)
        roster->exclusions.items[i].is_sent = !roster->exclusions.items[i].is_excluded;
    // Node managers have reported containers that run to the new one, and no others.
    for (size_t i = roster->grants.count; i-- > 0;) {
        struct yarn_grant *grant = roster->grants.items[i];
        if (grant->state != YARN_GRANT_IDLE)
            continue;
        if (grant->is_stopped || grant->is_released)
            roster_end_as(roster, grant, &stopped, "it was given back");
        else
            roster_end_as(roster, grant, &lost,
                          "the resource manager has restarted before it was used");
    }
}

// The scheduler takes them in some seconds.
static void note_preemption(struct yarn_roster *roster, Hadoop__PreemptedContainer *const *list,
                            size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct yarn_container_id id = {0};
        struct yarn_grant *grant =
            yarn_take_container(list[i]->id, &id) ? find_grant(roster, &id) : NULL;
        char text[400];
        if (!grant || grant->is_preempted)
            continue;
        grant->is_preempted = true;
        snprintf(text, sizeof text, "YARN takes %s on %.200s back soon, for another application",
                 grant->id_text, grant->host);
        roster_tell(roster, YARN_EVENT_NEWS, WEFT_OK, text);
    }
}

static void take_preemption(struct yarn_roster *roster, const Hadoop__Preemption *preemption)
{
    if (preemption->strict)
        note_preemption(roster, preemption->strict->containers, preemption->strict->n_containers);
    if (preemption->negotiation)
        note_preemption(roster, preemption->negotiation->containers,
                        preemption->negotiation->n_containers);
}

static void take_figures(struct yarn_roster *roster, const Hadoop__AllocateAnswer *answer)
{
    struct yarn_figures *figures = &roster->figures;
    if (answer->limit) {
        figures->headroom_mb = at_least_zero(answer->limit->memory_mb);
        figures->headroom_cores = (uint32_t)at_least_zero(answer->limit->cores);
        figures->has_headroom = true;
    }
    figures->node_count = (uint32_t)answer->node_count;
}

void roster_take_answer(struct yarn_roster *roster, const Hadoop__AllocateAnswer *answer)
{
    roster->response = answer->response;
    for (size_t i = 0; i < roster->asks.count; i++)
        roster->asks.items[i].is_in_flight = false;
    for (size_t i = 0; i < answer->n_node_tokens; i++)
        keep_node_token(roster, answer->node_tokens[i]);
    for (size_t i = 0; i < answer->n_allocated; i++)
        take_container(roster, answer->allocated[i]);
    for (size_t i = 0; i < answer->n_kept; i++)
        take_kept(roster, answer->kept[i]);
    for (size_t i = 0; i < answer->n_completed; i++)
        take_status(roster, answer->completed[i]);
    if (answer->preemption)
        take_preemption(roster, answer->preemption);
    count_returns(roster);
    take_figures(roster, answer);
}

void roster_take_back(struct yarn_roster *roster)
{
    for (size_t i = 0; i < roster->asks.count; i++) {
        struct yarn_ask *ask = &roster->asks.items[i];
        ask->is_changed |= ask->is_in_flight;
        ask->is_in_flight = false;
    }
    for (size_t i = 0; i < roster->exclusions.count; i++)
        roster->exclusions.items[i].is_sent = false;
}

void roster_take_refusal(struct yarn_roster *roster, const char *why)
{
    size_t count = 0, last = 0;
    for (size_t i = 0; i < roster->asks.count; i++)
        if (roster->asks.items[i].is_in_flight) {
            count++;
            last = i;
        }
    roster_take_back(roster);
    roster->asks_singly = true;
    if (count == 1)
        roster_refuse(roster, last, WEFT_INVALID_ARGUMENT, why);
}

void roster_take_queue(struct yarn_roster *roster, const Hadoop__Queue *queue)
{
    const Hadoop__QueueFigures *figures = queue->figures;
    if (!figures)
        return;
    roster->figures.has_queue = true;
    roster->figures.queue_available_mb = at_least_zero(figures->available_mb);
    roster->figures.queue_used_mb = at_least_zero(figures->used_mb);
    roster->figures.queue_pending_mb = at_least_zero(figures->pending_mb);
    roster->figures.queue_available_cores = (uint32_t)at_least_zero(figures->available_cores);
    roster->figures.applications = (uint32_t)at_least_zero(figures->running);
}

// ---- For people ---------------------------------------------------------------------------------------------------

void roster_describe(const struct yarn_roster *roster, size_t number, struct buf *text)
{
    const struct yarn_figures *figures = &roster->figures;
    ASSERT(number < roster->asks.count);
    const struct yarn_ask *ask = &roster->asks.items[number];
    buf_format(text, "%u of %lld MB and %d core%s in queue %s", ask->outstanding,
               (long long)ask->resource->memory_mb, (int)ask->resource->cores,
               ask->resource->cores == 1 ? "" : "s", roster->queue[0] ? roster->queue : "default");
    for (size_t i = 0; i < ask->resource->n_others; i++)
        buf_format(text, ", each with %lld %s", (long long)ask->resource->others[i]->value,
                   ask->resource->others[i]->name);
    if (ask->label && ask->label[0])
        buf_format(text, ", on nodes with the label %s", ask->label);
    if (figures->has_headroom)
        buf_format(text, "; it has %llu MB and %u core%s left for this application",
                   (unsigned long long)figures->headroom_mb, figures->headroom_cores,
                   figures->headroom_cores == 1 ? "" : "s");
    if (figures->has_queue)
        buf_format(text, ", %llu MB are used and %llu MB wanted by %u application%s",
                   (unsigned long long)figures->queue_used_mb,
                   (unsigned long long)figures->queue_pending_mb, figures->applications,
                   figures->applications == 1 ? "" : "s");
    if (figures->has_headroom && figures->node_count == 0)
        buf_append_text(text, "; no node manager runs");
}
