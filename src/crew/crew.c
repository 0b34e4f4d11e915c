// crew: every event changes at most one member and the crew's own mood; what follows for the others is
// one loop over them.

#include "crew/crew.h"

#include <stdlib.h>

weft_err crew_init(struct crew *crew, size_t count)
{
    ASSERT(count >= 1 && count <= CREW_MEMBERS_MAX);
    *crew = (struct crew){.count = count, .grace_ms = CREW_GRACE_DEFAULT_MS};
    crew->members = calloc(count, sizeof *crew->members);
    return crew->members ? WEFT_OK : err_no_memory("for the members");
}

void crew_fini(struct crew *crew)
{
    free(crew->members);
    *crew = (struct crew){0};
}

uint64_t crew_count_restarts(const struct crew *crew)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < crew->count; i++)
        sum += crew->members[i].restarts;
    return sum;
}

uint32_t crew_backoff_ms(uint32_t restart)
{
    uint32_t delay_ms = CREW_BACKOFF_FIRST_MS;
    for (; restart > 1 && delay_ms < CREW_BACKOFF_MAX_MS; restart--)
        delay_ms *= 2;
    return delay_ms < CREW_BACKOFF_MAX_MS ? delay_ms : CREW_BACKOFF_MAX_MS;
}

static struct crew_action *add(struct crew_actions *actions, enum crew_action_kind kind,
                               size_t member)
{
    ASSERT(actions->count < sizeof actions->items / sizeof *actions->items);
    struct crew_action *action = &actions->items[actions->count++];
    *action = (struct crew_action){.kind = kind, .member = member};
    return action;
}

static void start(struct crew *crew, size_t member, struct crew_actions *actions)
{
    crew->members[member].state = CREW_RUNNING;
    add(actions, CREW_START, member);
}

void crew_begin(struct crew *crew, struct crew_actions *actions)
{
    actions->count = 0;
    for (size_t i = 0; i < crew->count; i++)
        start(crew, i, actions);
}

static void tell_all_running(struct crew *crew, enum crew_action_kind kind,
                             struct crew_actions *actions)
{
    for (size_t i = 0; i < crew->count; i++)
        if (crew->members[i].state == CREW_RUNNING)
            add(actions, kind, i);
}

// A member that rests has ended already; it is only not started again.
static void stop(struct crew *crew, struct crew_actions *actions)
{
    if (crew->is_stopping)
        return;
    crew->is_stopping = true;
    for (size_t i = 0; i < crew->count; i++)
        if (crew->members[i].state == CREW_RESTING)
            crew->members[i].state = CREW_STOPPED;
    tell_all_running(crew, CREW_TERMINATE, actions);
    add(actions, CREW_SET_GRACE, 0)->delay_ms = crew->grace_ms;
}

static void kill_all(struct crew *crew, struct crew_actions *actions)
{
    if (crew->is_killing)
        return;
    crew->is_killing = true;
    tell_all_running(crew, CREW_KILL, actions);
}

static void note_failure(struct crew *crew, int exit_code)
{
    if (!crew->has_failed)
        crew->exit_code = exit_code;
    crew->has_failed = true;
}

static void give_up(struct crew *crew, size_t member, int exit_code, struct crew_actions *actions)
{
    crew->members[member].state = CREW_FAILED;
    add(actions, CREW_GIVEN_UP, member)->exit_code = exit_code;
    if (crew->members[member].may_fail)
        return;
    note_failure(crew, exit_code);
    if (!crew->keeps_going)
        stop(crew, actions);
}

static void end_member(struct crew *crew, size_t index, int exit_code, struct crew_actions *actions)
{
    struct crew_member *member = &crew->members[index];
    if (member->state != CREW_RUNNING)
        return;
    member->exit_code = exit_code;
    if (exit_code == 0)
        member->state = CREW_DONE;
    else if (crew->is_stopping)
        member->state = CREW_STOPPED;
    else if (member->restarts < member->restarts_max) {
        member->state = CREW_RESTING;
        member->restarts++;
        add(actions, CREW_START_LATER, index)->delay_ms = crew_backoff_ms(member->restarts);
    } else {
        give_up(crew, index, exit_code, actions);
    }
}

// The program has done nothing wrong, so the start that follows is not counted. There cannot be many: each of them
// costs a host. A role without restarts has no members that may be started twice.
static void lose_member(struct crew *crew, size_t index, int exit_code,
                        struct crew_actions *actions)
{
    struct crew_member *member = &crew->members[index];
    const bool may_start = member->state == CREW_RUNNING && !crew->is_stopping;
    if (may_start && member->restarts_max > 0) {
        member->exit_code = exit_code;
        member->state = CREW_RESTING;
        add(actions, CREW_START_LATER, index)->delay_ms = crew_backoff_ms(1);
    } else {
        end_member(crew, index, exit_code, actions);
    }
}

// What cannot be executed now cannot be in a moment either, so no restart is tried.
static void fail_start(struct crew *crew, size_t index, int exit_code, struct crew_actions *actions)
{
    const enum crew_state state = crew->members[index].state;
    if (state != CREW_RUNNING && state != CREW_RESTING)
        return;
    crew->members[index].exit_code = exit_code;
    crew->members[index].state = CREW_STOPPED;
    // The cause of the first failed start makes the others fail: it is reported once.
    if (!crew->is_stopping)
        give_up(crew, index, exit_code, actions);
}

static void ask_to_stop(struct crew *crew, const struct crew_event *event,
                        struct crew_actions *actions)
{
    const bool was_stopping = crew->is_stopping;
    note_failure(crew, event->exit_code);
    stop(crew, actions);
    if (was_stopping && event->is_person)
        kill_all(crew, actions);
}

// Servers that never end by themselves are stopped when no client is left to serve.
static void stop_when_done(struct crew *crew, struct crew_actions *actions)
{
    size_t awaited = 0;
    for (size_t i = 0; i < crew->count; i++) {
        const struct crew_member *member = &crew->members[i];
        awaited += member->is_awaited;
        if (member->is_awaited && (member->state == CREW_RUNNING || member->state == CREW_RESTING))
            return;
    }
    if (awaited > 0 && awaited < crew->count)
        stop(crew, actions);
}

static void finish_when_over(struct crew *crew, struct crew_actions *actions)
{
    for (size_t i = 0; i < crew->count; i++) {
        const enum crew_state state = crew->members[i].state;
        if (state == CREW_RUNNING || state == CREW_RESTING)
            return;
    }
    crew->is_finished = true;
    add(actions, CREW_FINISHED, 0)->exit_code = crew->exit_code;
}

void crew_step(struct crew *crew, const struct crew_event *event, struct crew_actions *actions)
{
    actions->count = 0;
    if (crew->is_finished)
        return;
    switch (event->kind) {
    case CREW_MEMBER_ENDED:
        end_member(crew, event->member, event->exit_code, actions);
        break;
    case CREW_START_FAILED:
        fail_start(crew, event->member, event->exit_code, actions);
        break;
    case CREW_MEMBER_LOST:
        lose_member(crew, event->member, event->exit_code, actions);
        break;
    case CREW_START_DUE:
        if (crew->members[event->member].state == CREW_RESTING)
            start(crew, event->member, actions);
        break;
    case CREW_STOP_ASKED:
        ask_to_stop(crew, event, actions);
        break;
    case CREW_GRACE_ENDED:
        kill_all(crew, actions);
        break;
    }
    if (!crew->is_stopping)
        stop_when_done(crew, actions);
    finish_when_over(crew, actions);
}
