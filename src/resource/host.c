// What happens in a host: sessions begin and end, calls are done, time passes.

#include "resource/host.h"

#include <stdio.h>
#include <stdlib.h>

#include "resource/host_state.h"
#include "wire/ops/host.h"
#include "wire/pack.h"

static weft_bytes id_of(const void *item)
{
    const struct session *session = item;
    return (weft_bytes){(const char *)session->id, SESSION_ID_BYTES};
}

static weft_bytes member_of(const void *item)
{
    return weft_text(((const struct session *)item)->member);
}

// "files" of "/files/0".
static weft_bytes role_of(const char *member)
{
    const char *role = member + (*member == '/');
    const char *end = strchr(role, '/');
    if (!*role)
        return weft_text("localhost");
    return end ? (weft_bytes){role, (size_t)(end - role)} : weft_text(role);
}

void host_set_member(struct host *host, const char *member)
{
    snprintf(host->member, sizeof host->member, "%s", member);
    host->container = role_of(host->member);
}

struct host *host_new(const struct host_options *options)
{
    struct host *host = calloc(1, sizeof *host);
    if (!host)
        return NULL;
    host->options = *options;
    host_set_member(host, options->member ? options->member : "");
    registry_init(&host->registry, options->seed);
    map_init(&host->sessions_by_id, id_of, options->seed);
    map_init(&host->sessions_by_member, member_of, options->seed);
    list_init(&host->stirred);
    return host;
}

void host_free(struct host *host)
{
    if (!host)
        return;
    host->options.log = NULL;
    while (host->sessions.count)
        host_drop_session(host, host->sessions.items[host->sessions.count - 1]);
    VEC_FINI(&host->sessions);
    for (size_t i = 0; i < host->left.count; i++)
        free(host->left.items[i]);
    VEC_FINI(&host->left);
    map_fini(&host->sessions_by_id);
    map_fini(&host->sessions_by_member);
    registry_fini(&host->registry);
    buf_fini(&host->scratch);
    buf_fini(&host->calls);
    free(host);
}

const char *host_member(const struct host *host)
{
    return host->member;
}

uint64_t host_epoch(const struct host *host)
{
    return host->options.epoch;
}

uint64_t host_seed(const struct host *host)
{
    return host->options.seed;
}

void host_set_time(struct host *host, uint64_t now_ms)
{
    host->now_ms = now_ms;
}

uint64_t host_time(const struct host *host)
{
    return host->now_ms;
}

struct link *host_stirred(struct host *host)
{
    return &host->stirred;
}

weft_err host_log(struct host *host, uint32_t type, weft_bytes payload)
{
    if (!host->options.log || host->is_replaying)
        return WEFT_OK;
    const weft_err err = host_write_calls(host);
    return err ? err : host->options.log(host->options.log_owner, type, payload);
}

bool host_note(struct resource *resource, weft_bytes note)
{
    struct host *host = resource->host;
    host->scratch.size = 0;
    pack_write_u64(&host->scratch, resource->uid);
    buf_append(&host->scratch, note.data, note.size);
    const weft_err err = host_log(host, HOST_RECORD_NOTE, buf_bytes(&host->scratch));
    if (err)
        err_clear();
    return !err;
}

// ---- Sessions --------------------------------------------------------------------------------------

struct session *host_find_session(struct host *host, const uint8_t id[SESSION_ID_BYTES])
{
    return map_find(&host->sessions_by_id, (weft_bytes){(const char *)id, SESSION_ID_BYTES});
}

// Tools belong to no member.
static bool enter_by_member(struct host *host, struct session *session)
{
    if (!session->member[0])
        return true;
    struct session *first = map_find(&host->sessions_by_member, member_of(session));
    if (!first)
        return map_add(&host->sessions_by_member, session);
    session->of_member = first->of_member;
    first->of_member = session;
    return true;
}

static void take_out_by_member(struct host *host, struct session *session)
{
    struct session *at = map_find(&host->sessions_by_member, member_of(session));
    if (at == session) {
        map_take_out(&host->sessions_by_member, member_of(session));
        if (session->of_member)
            ASSERT(map_add(&host->sessions_by_member, session->of_member));  // into its place
        return;
    }
    while (at && at->of_member != session)
        at = at->of_member;
    if (at)
        at->of_member = session->of_member;
}

struct session *host_find_other_life(struct host *host, const char *member, uint64_t incarnation)
{
    struct session *session = map_find(&host->sessions_by_member, weft_text(member));
    while (session && session->incarnation == incarnation)
        session = session->of_member;
    return session;
}

static size_t place_of_number(const struct host *host, uint32_t number)
{
    size_t low = 0, high = host->sessions.count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (host->sessions.items[middle]->number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct session *host_session_by_number(struct host *host, uint32_t number)
{
    const size_t at = place_of_number(host, number);
    if (at == host->sessions.count || host->sessions.items[at]->number != number)
        return NULL;
    return host->sessions.items[at];
}

struct session *host_next_session(struct host *host, struct session *previous)
{
    const size_t at = previous ? place_of_number(host, previous->number) + 1 : 0;
    return at < host->sessions.count ? host->sessions.items[at] : NULL;
}

static size_t place_in_left(const struct host *host, const char *member)
{
    size_t at = 0;
    while (at < host->left.count && strcmp(host->left.items[at], member) != 0)
        at++;
    return at;
}

bool host_has_left(const struct host *host, const char *member)
{
    return place_in_left(host, member) < host->left.count;
}

weft_err host_add_left(struct host *host, const char *member)
{
    if (!*member || host_has_left(host, member) || host->left.count >= HOST_LEFT_MAX)
        return WEFT_OK;
    char *copy = strdup(member);
    if (copy && VEC_PUSH(&host->left, copy))
        return WEFT_OK;
    free(copy);
    return err_no_memory("for the name of a member");
}

static void take_out_of_left(struct host *host, const char *member)
{
    const size_t at = place_in_left(host, member);
    if (at == host->left.count)
        return;
    free(host->left.items[at]);
    memmove(host->left.items + at, host->left.items + at + 1,
            (--host->left.count - at) * sizeof *host->left.items);
}

weft_err host_add_session(struct host *host, uint32_t number, const struct session_name *name,
                          struct session **made)
{
    struct session *session = calloc(1, sizeof *session);
    if (!session || !VEC_NEXT(&host->sessions)) {
        free(session);
        return err_no_memory("for another session");
    }
    session->host = host;
    session->number = number;
    session->incarnation = name->incarnation;
    memcpy(session->id, name->id, SESSION_ID_BYTES);
    snprintf(session->member, sizeof session->member, "%s", name->member);
    list_init(&session->waits);
    list_init(&session->holdings);
    const bool is_entered = map_add(&host->sessions_by_id, session);
    if (!is_entered || !enter_by_member(host, session)) {
        if (is_entered)
            map_take_out(&host->sessions_by_id, id_of(session));
        free(session);
        return err_no_memory("for another session");
    }
    take_out_of_left(host, session->member);
    host->sessions.items[host->sessions.count++] = session;
    if (host->session_count_ever < number)
        host->session_count_ever = number;
    *made = session;
    return WEFT_OK;
}

static weft_err check_name(const struct host *host, const char *member)
{
    if (strlen(member) >= SESSION_MEMBER_BYTES)
        return err_set(WEFT_INVALID_ARGUMENT, "the name of a member has at most %u bytes",
                       SESSION_MEMBER_BYTES - 1);
    for (const char *at = member; *at; at++)  // people read it, in terminals
        if ((unsigned char)*at < ' ' || *at == 127)
            return err_set(WEFT_INVALID_ARGUMENT, "the name of a member holds the byte %d", *at);
    if (host->sessions.count >= HOST_SESSIONS_MAX)
        return err_set(WEFT_RESOURCE_EXHAUSTED, "%u sessions at once are the limit",
                       HOST_SESSIONS_MAX);
    return WEFT_OK;
}

weft_err host_open_session(struct host *host, const struct session_name *name,
                           struct session **session)
{
    const weft_err refused = check_name(host, name->member);
    if (refused)
        return refused;
    const uint32_t number = host->session_count_ever + 1;
    struct buf *record = &host->scratch;
    record->size = 0;
    pack_write_u32(record, number);
    buf_append(record, name->id, SESSION_ID_BYTES);
    pack_write_u64(record, name->incarnation);
    pack_write_text(record, weft_text(name->member));
    const weft_err err = host_log(host, HOST_RECORD_SESSION, buf_bytes(record));
    if (err)
        return err;
    host->session_count_ever = number;  // also when memory ends here: the journal has it
    return host_add_session(host, number, name, session);
}

// By resource, then in the kind's order. Not as they stand in the list: a snapshot lists them anew, and
// the next holder of an element depends on the order in which they come back.
static bool is_released_before(const struct link *a, const struct link *b)
{
    const struct holding *x = LIST_ITEM(a, const struct holding, in_session);
    const struct holding *y = LIST_ITEM(b, const struct holding, in_session);
    return x->resource->uid != y->resource->uid ? x->resource->uid < y->resource->uid
                                                : x->order < y->order;
}

// No more answers are sent, but everything that the session held goes back. The last call first: what the
// first one in a line gives up would otherwise serve the next, of the same session.
static void give_up_all(struct session *session, weft_err code, const char *why)
{
    while (!list_is_empty(&session->waits)) {
        struct wait *wait = LIST_ITEM(session->waits.previous, struct wait, in_session);
        wait->resource->kind->cancel(wait, code, why);
    }
    list_sort(&session->holdings, is_released_before);
    while (!list_is_empty(&session->holdings)) {
        struct holding *holding = LIST_ITEM(session->holdings.next, struct holding, in_session);
        holding->resource->kind->release(holding);
    }
}

void host_drop_session(struct host *host, struct session *session)
{
    give_up_all(session, WEFT_CANCELLED, "its session has ended");
    for (size_t i = 0; i < session->handles.count; i++)
        if (session->handles.items[i])
            host_let_go(host, session->handles.items[i]);
    VEC_FINI(&session->handles);
    list_take_out(&session->in_stirred);
    map_take_out(&host->sessions_by_id, id_of(session));
    take_out_by_member(host, session);
    const size_t at = place_of_number(host, session->number);
    host->sessions.count--;
    memmove(host->sessions.items + at, host->sessions.items + at + 1,
            (host->sessions.count - at) * sizeof *host->sessions.items);
    buf_fini(&session->answers);
    free(session);
    host_end_watches_if_alone(host);
}

weft_err host_end_session(struct host *host, struct session *session)
{
    const uint32_t number = session->number;
    const weft_err err =
        host_log(host, HOST_RECORD_END, (weft_bytes){(const char *)&number, sizeof number});
    if (!err)
        host_drop_session(host, session);
    return err;
}

size_t host_resource_count(const struct host *host)
{
    return host->registry.all.count;
}

// ---- Calls -----------------------------------------------------------------------------------------------

weft_err host_open_resource(struct host *host, enum call_kind kind, weft_bytes container,
                            weft_bytes name, weft_bytes attributes, struct resource **resource)
{
    const struct registry_wish wish = {(uint8_t)kind, container, name, attributes};
    return registry_open(&host->registry, host, host->options.epoch, &wish, resource);
}

weft_err host_set_handle(struct session *session, uint16_t handle, struct resource *resource)
{
    while (session->handles.count <= handle)
        if (!VEC_PUSH(&session->handles, NULL))
            return err_no_memory("for another handle");
    if (session->handles.items[handle])
        return err_set(WEFT_INVALID_ARGUMENT, "handle %u is in use", handle);
    session->handles.items[handle] = resource;
    registry_acquire(resource);
    return WEFT_OK;
}

static bool is_in_use(const struct session *session, uint16_t handle)
{
    return handle < session->handles.count && session->handles.items[handle];
}

static void do_open(struct host *host, struct session *session, const struct call *call)
{
    struct ops_open open;
    const bool is_whole = ops_open_decode(call->payload, &open);
    struct registry_wish wish = {open.kind, open.container, open.name, open.attributes};
    if (wish.container.size == 0)
        wish.container = host->container;
    struct resource *resource;
    weft_err err;
    if (!is_whole)
        err = err_set(WEFT_INVALID_ARGUMENT, "the call to open is cut");
    else if (is_in_use(session, call->handle))
        err = err_set(WEFT_INVALID_ARGUMENT, "handle %u is in use", call->handle);
    else
        err = registry_open(&host->registry, host, host->options.epoch, &wish, &resource);
    if (!err)
        err = host_set_handle(session, call->handle, resource);
    if (err) {
        session_fail_by_err(session, call->sequence, err);
        return;
    }
    struct buf answer = {0};
    ops_opened_encode(&answer,
                      &(struct ops_opened){resource->uid, host->options.epoch, weft_none()});
    resource->kind->describe(resource, &answer);
    session_answer(session, call->sequence, 0, buf_bytes(&answer));
    buf_fini(&answer);
}

static void cancel_all_of(struct session *session, struct resource *resource)
{
    for (struct link *at = session->waits.next, *next; at != &session->waits; at = next) {
        next = at->next;
        struct wait *wait = LIST_ITEM(at, struct wait, in_session);
        if (wait->resource == resource)
            resource->kind->cancel(
                wait, WEFT_ABORTED,
                "it was removed\n  try: the same again, which creates a new one");
    }
    for (struct link *at = session->holdings.next, *next; at != &session->holdings; at = next) {
        next = at->next;
        struct holding *holding = LIST_ITEM(at, struct holding, in_session);
        if (holding->resource == resource)
            resource->kind->release(holding);
    }
}

static void do_remove(struct host *host, struct session *session, const struct call *call,
                      struct resource *resource)
{
    // First, so that what one call gives up does not serve the next. The caller's handle keeps it.
    registry_remove(&host->registry, resource);
    for (size_t i = 0; i < host->sessions.count; i++)
        cancel_all_of(host->sessions.items[i], resource);
    session_answer(session, call->sequence, 0, weft_none());
}

// Calls that wait by it keep waiting and things taken by it stay taken: both are the session's. One that
// was removed has neither, and may go.
static void do_release(struct host *host, struct session *session, const struct call *call)
{
    struct resource *resource = session->handles.items[call->handle];
    session->handles.items[call->handle] = NULL;
    host_let_go(host, resource);
    session_answer(session, call->sequence, 0, weft_none());
}

static void do_cancel(struct session *session, const struct call *call)
{
    struct ops_recall recall;
    const uint64_t sequence = ops_recall_decode(call, &recall) ? recall.sequence : 0;
    for (struct link *at = session->waits.next; at != &session->waits; at = at->next) {
        struct wait *wait = LIST_ITEM(at, struct wait, in_session);
        if (wait->sequence != sequence)
            continue;
        wait->resource->kind->cancel(wait, WEFT_CANCELLED, "it was cancelled by its caller");
        break;
    }
    session_answer(session, call->sequence, 0, weft_none());
}

static void do_leave(struct host *host, struct session *session, const struct call *call)
{
    session->has_left = true;
    give_up_all(session, WEFT_CANCELLED, "its member has left");
    if (host_add_left(host, session->member))
        err_clear();  // then it is waited for in vain, for a while
    session_answer(session, call->sequence, 0, weft_none());
    host_end_watches_if_alone(host);
}

static void do_list(struct host *host, struct session *session, const struct call *call)
{
    struct buf answer = {0};
    for (size_t i = 0; i < host->registry.all.count; i++) {
        const struct resource *resource = host->registry.all.items[i];
        if (resource->is_removed)
            continue;
        const size_t container_size = resource->key.size - resource->name.size - 2;
        ops_listed_encode(&answer, &(struct ops_listed){(uint8_t)resource->kind->number,
                                                        {resource->key.data + 1, container_size},
                                                        resource->name});
    }
    session_answer(session, call->sequence, 0, buf_bytes(&answer));
    buf_fini(&answer);
}

static bool check_handle(struct session *session, const struct call *call)
{
    const bool is_open = is_in_use(session, call->handle);
    if (!is_open)
        session_fail(session, call->sequence, WEFT_INVALID_ARGUMENT, "handle %u is not open",
                     call->handle);
    return is_open;
}

static struct resource *find_resource(struct session *session, const struct call *call)
{
    struct resource *resource = session->handles.items[call->handle];
    if (resource->is_removed) {
        session_fail(session, call->sequence, WEFT_NOT_FOUND, "the %s '%.*s' was removed",
                     resource->kind->name, (int)resource->name.size, resource->name.data);
        return NULL;
    }
    return resource;
}

static void dispatch(struct host *host, struct session *session, const struct call *call)
{
    switch (call->op) {
    case CALL_OPEN:
        do_open(host, session, call);
        return;
    case CALL_CANCEL:
    case CALL_WITHDRAW:
        do_cancel(session, call);
        return;
    case CALL_LEAVE:
        do_leave(host, session, call);
        return;
    case CALL_LIST:
        do_list(host, session, call);
        return;
    case CALL_PING:
        session_answer(session, call->sequence, 0, weft_none());
        return;
    default:
        break;
    }
    if (!check_handle(session, call))
        return;
    if (call->op == CALL_RELEASE) {
        do_release(host, session, call);
        return;
    }
    struct resource *resource = find_resource(session, call);
    if (!resource)
        return;
    if (call->op == CALL_REMOVE)
        do_remove(host, session, call, resource);
    else
        resource->kind->apply(resource, session, call);
    if (host->watch_count)
        host_end_watches_if_alone(host);
}

weft_err host_call(struct host *host, struct session *session, const struct call *call,
                   uint64_t answered)
{
    if (answered != session->acknowledged)
        session_acknowledge(session, answered);
    if (call->sequence & CALL_ASKS_BIT) {
        dispatch(host, session, call);
        return WEFT_OK;
    }
    if (call->sequence <= session->applied)
        return WEFT_OK;
    if (call->sequence != session->applied + 1 && !host->is_replaying)
        return err_set(WEFT_DATA_LOSS, "calls are missing between %llu and %llu of %s",
                       (unsigned long long)session->applied, (unsigned long long)call->sequence,
                       session->member[0] ? session->member : "a tool");
    const weft_err err = host_log_call(host, session, call, answered);
    if (err)
        return err;
    session->applied = call->sequence;
    dispatch(host, session, call);
    return session->answers.has_failed
               ? err_set(WEFT_DATA_LOSS, "no memory for the answers to %s", session->member)
               : WEFT_OK;
}

// ---- Time --------------------------------------------------------------------------------------------------

uint64_t host_next_deadline(struct host *host)
{
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < host->registry.all.count; i++) {
        const struct resource *resource = host->registry.all.items[i];
        if (!resource->kind->next_deadline)
            continue;
        const uint64_t due = resource->kind->next_deadline(resource);
        next = due < next ? due : next;
    }
    return next;
}

void host_expire(struct host *host)
{
    for (size_t i = 0; i < host->registry.all.count; i++) {
        struct resource *resource = host->registry.all.items[i];
        if (resource->kind->expire)
            resource->kind->expire(resource, host->now_ms);
    }
}
