// Asks, and what becomes of them.

#include <stdlib.h>

#include "launch/yarn/yarn_roster_state.h"

#include "launch/yarn/yarn_message.h"

enum { ASKS_MAX = 1 << 20, COUNT_MAX = 100000 };

// ---- Memory -------------------------------------------------------------------------------------------------------

static void fini_ask(struct yarn_ask *ask)
{
    yarn_free(ask->resource);
    free(ask->label);
    for (size_t i = 0; i < ask->hosts.count; i++) {
        free(ask->hosts.items[i].name);
        free(ask->hosts.items[i].rack);
    }
    VEC_FINI(&ask->hosts);
}

void roster_free_grant(struct yarn_grant *grant)
{
    if (!grant)
        return;
    free(grant->host);
    free(grant->web);
    free(grant->end_text);
    yarn_free(grant->token);
    free(grant);
}

void roster_fini(struct yarn_roster *roster)
{
    for (size_t i = 0; i < roster->asks.count; i++)
        fini_ask(&roster->asks.items[i]);
    for (size_t i = 0; i < roster->grants.count; i++)
        roster_free_grant(roster->grants.items[i]);
    for (size_t i = 0; i < roster->exclusions.count; i++)
        free(roster->exclusions.items[i].host);
    for (size_t i = 0; i < roster->node_tokens.count; i++) {
        free(roster->node_tokens.items[i].host);
        yarn_free(roster->node_tokens.items[i].token);
    }
    for (size_t i = roster->next_event; i < roster->events.count; i++)
        free(roster->events.items[i].text);
    for (size_t i = 0; i < roster->types.count; i++)
        free(roster->types.items[i]);
    VEC_FINI(&roster->asks);
    VEC_FINI(&roster->grants);
    VEC_FINI(&roster->exclusions);
    VEC_FINI(&roster->returns);
    VEC_FINI(&roster->node_tokens);
    VEC_FINI(&roster->events);
    VEC_FINI(&roster->types);
}

// ---- Events -------------------------------------------------------------------------------------------------------

void roster_push_event(struct yarn_roster *roster, const struct yarn_event *event)
{
    if (!VEC_PUSH(&roster->events, *event)) {
        roster->is_incomplete = true;
        free(event->text);
    }
}

void roster_tell(struct yarn_roster *roster, enum yarn_event_kind kind, weft_err err,
                 const char *text)
{
    struct yarn_maker maker = {0};
    const struct yarn_event event = {
        .kind = kind, .err = err, .text = yarn_make_text(&maker, text)};
    roster_push_event(roster, &event);
}

bool roster_next_event(struct yarn_roster *roster, struct yarn_event *event)
{
    if (roster->next_event == roster->events.count) {
        roster->next_event = roster->events.count = 0;
        return false;
    }
    *event = roster->events.items[roster->next_event++];
    return true;
}

void roster_refuse(struct yarn_roster *roster, size_t number, weft_err err, const char *why)
{
    struct yarn_maker maker = {0};
    struct yarn_ask *ask = &roster->asks.items[number];
    const struct yarn_event event = {
        .kind = YARN_EVENT_REFUSED, .ask = number, .err = err, .text = yarn_make_text(&maker, why)};
    ask->outstanding = 0;
    ask->is_changed = ask->has_moved = ask->needs_racks = false;
    roster_push_event(roster, &event);
}

// ---- Asks ---------------------------------------------------------------------------------------------------------

static weft_err check_want(const struct yarn_want *want)
{
    const uint64_t mb = want->memory_bytes / YARN_MB;
    if (want->count == 0 || want->count > COUNT_MAX)
        return err_set(WEFT_INVALID_ARGUMENT, "%u containers of a kind cannot be asked for",
                       want->count);
    if (mb >= INT32_MAX || want->cores > INT32_MAX)
        return err_set(WEFT_INVALID_ARGUMENT, "no container has %llu MB of memory and %u cores",
                       (unsigned long long)mb, want->cores);
    for (size_t i = 0; i < want->amount_count; i++)
        if (!want->amounts[i].name || !want->amounts[i].name[0] || want->amounts[i].count < 0)
            return err_set(WEFT_INVALID_ARGUMENT, "%lld is not an amount of %.100s",
                           (long long)want->amounts[i].count,
                           want->amounts[i].name ? want->amounts[i].name : "a resource");
    return WEFT_OK;
}

static void set_resource(struct yarn_maker *maker, const struct yarn_want *want,
                         Hadoop__Resource *resource)
{
    const uint64_t mb = (want->memory_bytes + YARN_MB - 1) / YARN_MB;
    resource->has_memory_mb = resource->has_cores = true;
    resource->memory_mb = (int64_t)(mb ? mb : 1);
    resource->cores = want->cores ? (int32_t)want->cores : 1;
    for (size_t i = 0; i < want->amount_count; i++) {
        Hadoop__ResourceValue *value = yarn_make_next(maker, &hadoop__resource_value__descriptor,
                                                      &resource->others, &resource->n_others);
        if (!value)
            return;
        value->name = yarn_make_text(maker, want->amounts[i].name);
        value->units = yarn_make_text(maker, "");
        value->has_value = value->has_type = true;
        value->value = want->amounts[i].count;
    }
}

weft_err yarn_make_resource(struct yarn_maker *maker, const struct yarn_want *want,
                            Hadoop__Resource **resource)
{
    const weft_err err = check_want(want);
    *resource = err ? NULL : yarn_make(maker, &hadoop__resource__descriptor);
    if (*resource)
        set_resource(maker, want, *resource);
    return err;
}

static void set_hosts(struct yarn_maker *maker, const char *const *hosts, struct yarn_ask *ask)
{
    for (; hosts && *hosts; hosts++) {
        struct yarn_host *host = VEC_NEXT(&ask->hosts);
        maker->has_failed |= !host;
        if (!host)
            return;
        *host = (struct yarn_host){.name = yarn_make_text(maker, *hosts)};
        ask->hosts.count++;
    }
    ask->needs_racks = ask->hosts.count > 0;
}

// Why no scheduler of this cluster grants it, once that is known. False: it may.
static bool is_beyond(const struct yarn_roster *roster, const struct yarn_ask *ask, struct buf *why)
{
    const Hadoop__Resource *resource = ask->resource;
    if ((uint64_t)resource->memory_mb > roster->memory_mb_max)
        buf_format(why, "a container of %lld MB is larger than this YARN allows: %llu MB",
                   (long long)resource->memory_mb, (unsigned long long)roster->memory_mb_max);
    else if ((uint32_t)resource->cores > roster->cores_max)
        buf_format(why, "a container of %d cores is larger than this YARN allows: %u cores",
                   (int)resource->cores, roster->cores_max);
    for (size_t i = 0; why->size == 0 && i < resource->n_others; i++) {
        bool is_known = roster->types.count == 0;  // it has not listed them
        for (size_t k = 0; k < roster->types.count; k++)
            is_known |= strcmp(roster->types.items[k], resource->others[i]->name) == 0;
        if (!is_known)
            buf_format(why,
                       "this YARN has no resource of the type %.100s (yarn.resource-types in its "
                       "resource-types.xml)",
                       resource->others[i]->name);
    }
    return why->size > 0;
}

void roster_check_ask(struct yarn_roster *roster, size_t number)
{
    struct buf why = {0};
    const struct yarn_ask *ask = &roster->asks.items[number];
    if (roster->is_registered && ask->outstanding && is_beyond(roster, ask, &why))
        roster_refuse(roster, number, WEFT_INVALID_ARGUMENT, buf_text(&why));
    buf_fini(&why);
}

weft_err roster_ask(struct yarn_roster *roster, const struct yarn_want *want, size_t *number)
{
    struct yarn_maker maker = {0};
    struct yarn_ask ask = {
        .outstanding = want->count, .is_strict = want->is_strict, .is_changed = true};
    const weft_err err = yarn_make_resource(&maker, want, &ask.resource);
    if (err)
        return err;
    ask.label = yarn_make_text(&maker, want->label);
    set_hosts(&maker, want->hosts, &ask);
    if (maker.has_failed || roster->asks.count == ASKS_MAX || !VEC_PUSH(&roster->asks, ask)) {
        fini_ask(&ask);
        return err_no_memory("for containers to ask for");
    }
    *number = roster->asks.count - 1;
    roster_check_ask(roster, *number);
    return WEFT_OK;
}

void roster_withdraw(struct yarn_roster *roster, size_t number)
{
    struct yarn_ask *ask = &roster->asks.items[number];
    ASSERT(number < roster->asks.count);
    if (ask->outstanding == 0)
        return;
    ask->outstanding = 0;
    ask->is_changed = true;
}

uint32_t roster_outstanding(const struct yarn_roster *roster)
{
    uint32_t count = 0;
    for (size_t i = 0; i < roster->asks.count; i++)
        count += roster->asks.items[i].outstanding;
    return count;
}

weft_err roster_exclude(struct yarn_roster *roster, const char *host, bool is_excluded)
{
    struct yarn_maker maker = {0};
    for (size_t i = 0; i < roster->exclusions.count; i++) {
        struct yarn_exclusion *one = &roster->exclusions.items[i];
        if (strcmp(one->host, host) != 0)
            continue;
        one->is_sent &= one->is_excluded == is_excluded;
        one->is_excluded = is_excluded;
        return WEFT_OK;
    }
    const struct yarn_exclusion exclusion = {.host = yarn_make_text(&maker, host),
                                             .is_excluded = is_excluded};
    if (!maker.has_failed && VEC_PUSH(&roster->exclusions, exclusion))
        return WEFT_OK;
    free(exclusion.host);
    return err_no_memory("for a host that is excluded");
}

bool roster_is_excluded(const struct yarn_roster *roster, const char *host)
{
    for (size_t i = 0; i < roster->exclusions.count; i++)
        if (strcmp(roster->exclusions.items[i].host, host) == 0)
            return roster->exclusions.items[i].is_excluded;
    return false;
}

// ---- Nodes --------------------------------------------------------------------------------------------------------

bool roster_needs_nodes(const struct yarn_roster *roster)
{
    for (size_t i = 0; i < roster->asks.count; i++)
        if (roster->asks.items[i].needs_racks && roster->asks.items[i].outstanding)
            return true;
    return false;
}

static const char *find_rack(const Hadoop__NodesAnswer *nodes, const char *host)
{
    for (size_t i = 0; i < nodes->n_nodes; i++)
        if (nodes->nodes[i]->node && nodes->nodes[i]->node->host &&
            strcmp(nodes->nodes[i]->node->host, host) == 0)
            return nodes->nodes[i]->rack ? nodes->nodes[i]->rack : "/default-rack";
    return NULL;
}

static void refuse_hosts(struct yarn_roster *roster, size_t number)
{
    struct buf why = {0};
    const struct yarn_ask *ask = &roster->asks.items[number];
    buf_format(&why, "YARN has no node manager on %.200s", ask->hosts.items[0].name);
    for (size_t i = 1; i < ask->hosts.count && i < 8; i++)
        buf_format(&why, ", %.200s", ask->hosts.items[i].name);
    roster_refuse(roster, number, WEFT_NOT_FOUND, buf_text(&why));
    buf_fini(&why);
}

void roster_take_nodes(struct yarn_roster *roster, const Hadoop__NodesAnswer *nodes)
{
    for (size_t i = 0; i < roster->asks.count; i++) {
        struct yarn_ask *ask = &roster->asks.items[i];
        size_t found = 0;
        if (!ask->needs_racks)
            continue;
        for (size_t k = 0; k < ask->hosts.count; k++) {
            struct yarn_maker maker = {0};
            struct yarn_host *host = &ask->hosts.items[k];
            host->rack = yarn_make_text(&maker, find_rack(nodes, host->name));
            found += host->rack != NULL;
        }
        ask->needs_racks = false;
        if (found == 0 && ask->is_strict && ask->outstanding)
            refuse_hosts(roster, i);
    }
}

// ---- Requests -----------------------------------------------------------------------------------------------------

static Hadoop__ResourceRequest *add_line(struct yarn_maker *maker, Hadoop__Allocate *request,
                                         const struct yarn_ask *ask, size_t number,
                                         const char *place)
{
    Hadoop__ResourceRequest *line = yarn_make_next(maker, &hadoop__resource_request__descriptor,
                                                   &request->asks, &request->n_asks);
    if (!line)
        return NULL;
    line->priority = yarn_make(maker, &hadoop__priority__descriptor);
    line->execution = yarn_make(maker, &hadoop__execution_type__descriptor);
    line->capability = yarn_make_copy(maker, ask->resource);
    line->place = yarn_make_text(maker, place);
    if (maker->has_failed)
        return NULL;
    line->priority->has_value = line->execution->has_type = true;
    line->priority->value = (int32_t)number + 1;
    line->execution->type = 1;
    line->has_request = line->has_count = line->has_relaxes_locality = true;
    line->request = (int64_t)number + 1;
    line->count = (int32_t)ask->outstanding;
    line->relaxes_locality = true;
    return line;
}

static bool is_first_of_rack(const struct yarn_ask *ask, size_t host)
{
    for (size_t i = 0; i < host; i++)
        if (ask->hosts.items[i].rack &&
            strcmp(ask->hosts.items[i].rack, ask->hosts.items[host].rack) == 0)
            return false;
    return true;
}

// Hosts and their racks are preferences within the count of all places, unless that may not be filled from elsewhere.
static void add_ask(struct yarn_maker *maker, Hadoop__Allocate *request, const struct yarn_ask *ask,
                    size_t number)
{
    for (size_t i = 0; i < ask->hosts.count; i++) {
        const struct yarn_host *host = &ask->hosts.items[i];
        if (!host->rack)
            continue;
        add_line(maker, request, ask, number, host->name);
        Hadoop__ResourceRequest *rack =
            is_first_of_rack(ask, i) ? add_line(maker, request, ask, number, host->rack) : NULL;
        if (rack)
            rack->relaxes_locality = !ask->is_strict;
    }
    Hadoop__ResourceRequest *any =
        ask->is_changed ? add_line(maker, request, ask, number, "*") : NULL;
    if (!any)
        return;
    any->relaxes_locality = !ask->is_strict;
    any->label = yarn_make_text(maker, ask->label);
}

static void add_asks(struct yarn_roster *roster, struct yarn_maker *maker,
                     Hadoop__Allocate *request)
{
    for (size_t i = 0; i < roster->asks.count; i++) {
        struct yarn_ask *ask = &roster->asks.items[i];
        if ((!ask->is_changed && !ask->has_moved) || (ask->needs_racks && ask->outstanding) ||
            (roster->asks_singly && request->n_asks > 0))
            continue;
        add_ask(maker, request, ask, i);
        ask->is_in_flight = true;
        ask->is_changed = ask->has_moved = false;
    }
    if (request->n_asks == 0)
        roster->asks_singly = false;
}

static void add_exclusions(struct yarn_roster *roster, struct yarn_maker *maker,
                           Hadoop__Allocate *request)
{
    Hadoop__Blacklist *list = NULL;
    for (size_t i = 0; i < roster->exclusions.count; i++) {
        struct yarn_exclusion *one = &roster->exclusions.items[i];
        if (one->is_sent)
            continue;
        if (!list)
            list = request->blacklist = yarn_make(maker, &hadoop__blacklist__descriptor);
        if (list && one->is_excluded)
            yarn_make_next_text(maker, one->host, &list->additions, &list->n_additions);
        else if (list)
            yarn_make_next_text(maker, one->host, &list->removals, &list->n_removals);
        one->is_sent = true;
    }
}

static void add_id(struct yarn_maker *maker, Hadoop__Allocate *request,
                   const struct yarn_container_id *id)
{
    Hadoop__ContainerId *release = yarn_make_next(maker, &hadoop__container_id__descriptor,
                                                  &request->releases, &request->n_releases);
    if (release)
        yarn_make_id(maker, id, release);
}

Hadoop__Allocate *roster_make_request(struct yarn_roster *roster)
{
    struct yarn_maker maker = {0};
    Hadoop__Allocate *request = yarn_make(&maker, &hadoop__allocate__descriptor);
    if (!request)
        return NULL;
    request->has_response = request->has_progress = true;
    request->response = roster->response;
    add_asks(roster, &maker, request);
    add_exclusions(roster, &maker, request);
    // Again in each request until their ends have come, as an answer does not say whether it has seen them.
    for (size_t i = 0; i < roster->returns.count; i++)
        add_id(&maker, request, &roster->returns.items[i].id);
    if (!maker.has_failed)
        return request;
    yarn_free(request);
    return NULL;
}

bool roster_has_news(const struct yarn_roster *roster)
{
    for (size_t i = 0; i < roster->asks.count; i++)
        if (roster->asks.items[i].is_changed || roster->asks.items[i].has_moved)
            return true;
    for (size_t i = 0; i < roster->exclusions.count; i++)
        if (!roster->exclusions.items[i].is_sent)
            return true;
    return false;
}
