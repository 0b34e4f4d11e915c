#include "prop/wire_member.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "wire/pack.h"

// ---- The host ------------------------------------------------------------------------------------------

static weft_err record(void *owner, uint32_t type, weft_bytes payload)
{
    pack_write_u32(owner, type);
    pack_write_blob(owner, payload);
    return WEFT_OK;
}

static weft_err record_or_refuse(void *owner, uint32_t type, weft_bytes payload)
{
    struct wire_world *world = owner;
    if (world->refuses)
        return err_set(WEFT_RESOURCE_EXHAUSTED, "the journal is full");
    return record(&world->journal, type, payload);
}

void wire_start(struct wire_world *world)
{
    world->options = (struct host_options){.member = "/host/0",
                                           .epoch = UINT64_C(1) << 40,
                                           .seed = 11,
                                           .log = record_or_refuse,
                                           .log_owner = world};
    world->host = host_new(&world->options);
    ASSERT(world->host && !host_log_epoch(world->host));
}

void wire_stop(struct wire_world *world)
{
    host_free(world->host);
    buf_fini(&world->journal);
}

static struct host *replay(const struct wire_world *world)
{
    struct host *host = host_new(&world->options);
    ASSERT(host);
    host_set_time(host, host_time(world->host));
    struct pack_reader reader = {buf_bytes(&world->journal), false};
    while (reader.rest.size) {
        const uint32_t type = pack_read_u32(&reader);
        const weft_err err = host_replay(host, type, pack_read_blob(&reader));
        if (err)
            fprintf(stderr, "%s\n", err_text());
        ASSERT(!err);
    }
    return host;
}

void wire_crash(struct wire_world *world, size_t lucky)
{
    struct pack_reader reader = {buf_bytes(&world->journal), false};
    size_t whole = 0;
    while (reader.rest.size && whole < world->synced + lucky) {
        pack_read_u32(&reader);
        pack_read_blob(&reader);
        whole = world->journal.size - reader.rest.size;
    }
    world->journal.size = world->synced = whole;
    struct host *host = replay(world);
    host_free(world->host);
    world->host = host;
}

void wire_snapshot(struct wire_world *world)
{
    struct buf snapshot = {0};
    ASSERT(!host_save(world->host, record, &snapshot));
    buf_fini(&world->journal);
    world->journal = snapshot;
    world->synced = snapshot.size;
}

// What a member said with its last frames may not be in the journal; what it was answered is left out.
static uint64_t applied_of(struct host *host, struct buf *saved)
{
    uint64_t applied = 0;
    for (struct session *at = NULL; (at = host_next_session(host, at)) != NULL;) {
        applied += at->applied;
        session_acknowledge(at, UINT64_MAX);
        at->acknowledged = 0;
    }
    ASSERT(!host_save(host, record, saved));
    return applied;
}

bool wire_check(struct wire_world *world)
{
    struct host *host = replay(world);
    struct buf one = {0}, two = {0};
    bool is_same = applied_of(host, &one) == applied_of(world->host, &two);
    is_same = is_same && bytes_equal(buf_bytes(&one), buf_bytes(&two));
    buf_fini(&one);
    buf_fini(&two);
    host_free(host);
    return is_same;
}

// ---- Connections -----------------------------------------------------------------------------------------

void wire_free(struct wire_member *member)
{
    for (size_t i = 0; i < member->calls.count; i++)
        buf_fini(&member->calls.items[i].bytes);
    VEC_FINI(&member->calls);
    buf_fini(&member->up);
    buf_fini(&member->down);
    buf_fini(&member->taken);
    *member = (struct wire_member){0};
}

static struct session *session_of(struct wire_world *world, const struct wire_member *member)
{
    uint8_t id[SESSION_ID_BYTES] = {0};
    memcpy(id, &member->id, sizeof member->id);
    return host_find_session(world->host, id);
}

// The same member in an earlier life, whose end a crash may have undone.
static bool end_earlier_lives(struct wire_world *world, const struct wire_member *member)
{
    struct session *at = host_next_session(world->host, NULL);
    bool have_ended = true;
    while (at) {
        struct session *next = host_next_session(world->host, at);
        if (strcmp(at->member, member->name) == 0)
            have_ended = have_ended && !host_end_session(world->host, at);
        at = next;
    }
    return have_ended;
}

bool wire_connect(struct wire_world *world, struct wire_member *member)
{
    struct session *session = session_of(world, member);
    if (!session && member->had_session)
        return false;
    if (!session) {
        struct session_name name = {.member = member->name};
        memcpy(name.id, &member->id, sizeof member->id);
        if (!end_earlier_lives(world, member) || host_open_session(world->host, &name, &session)) {
            err_clear();
            return true;
        }
    }
    // The welcome is sent when the journal is safe, and so is the session.
    world->synced = world->journal.size;
    member->had_session = member->is_connected = true;
    session_acknowledge(session, member->answered);
    session_rewind(session);
    member->sent = 0;
    // Whoever is cautious sends all that has no answer: what was done is not done again.
    while (member->id % 4 && member->sent < member->calls.count &&
           member->calls.items[member->sent].sequence <= session->applied)
        member->sent++;
    return true;
}

void wire_break(struct wire_member *member)
{
    member->is_connected = false;
    member->up.size = member->down.size = 0;
}

bool wire_end_session(struct wire_world *world, struct wire_member *member)
{
    struct session *session = session_of(world, member);
    if (session && host_end_session(world->host, session)) {
        err_clear();
        return false;
    }
    wire_break(member);
    return true;
}

// ---- Calls and answers -------------------------------------------------------------------------------------

uint64_t wire_call(struct wire_member *member, uint8_t op, uint8_t flags, uint16_t handle,
                   weft_bytes payload)
{
    struct wire_call call = {.sequence = ++member->sequence};
    call_append_head(&call.bytes, op, flags, handle, call.sequence, payload.size);
    buf_append(&call.bytes, payload.data, payload.size);
    ASSERT(VEC_PUSH(&member->calls, call));
    return call.sequence;
}

bool wire_send(struct wire_member *member)
{
    if (!member->is_connected || member->sent == member->calls.count)
        return false;
    const struct buf *bytes = &member->calls.items[member->sent++].bytes;
    pack_write_u64(&member->up, member->answered);
    buf_append(&member->up, bytes->data, bytes->size);
    return true;
}

bool wire_arrive(struct wire_world *world, struct wire_member *member)
{
    if (!member->is_connected || member->up.size == 0)
        return false;
    struct pack_reader reader = {buf_bytes(&member->up), false};
    const uint64_t answered = pack_read_u64(&reader);
    struct call call;
    ASSERT(!call_next(&reader.rest, &call));
    // What the journal refuses ends the connection: the call is sent again.
    if (host_call(world->host, session_of(world, member), &call, answered)) {
        ASSERT(world->refuses);
        err_clear();
        wire_break(member);
        return true;
    }
    member->up.size = reader.rest.size;
    if (reader.rest.size)
        memmove(member->up.data, reader.rest.data, reader.rest.size);
    return true;
}

bool wire_answer(struct wire_world *world, struct wire_member *member, size_t bytes_max)
{
    if (!member->is_connected)
        return false;
    struct session *session = session_of(world, member);
    const weft_bytes unsent = session_unsent(session);
    const size_t size = unsent.size < bytes_max ? unsent.size : bytes_max;
    if (size == 0)
        return false;
    world->synced = world->journal.size;
    buf_append(&member->down, unsent.data, size);
    session_sent(session, size);
    return true;
}

// False: there is none.
static bool forget_call(struct wire_member *member, uint64_t sequence)
{
    size_t at = 0;
    while (at < member->calls.count && member->calls.items[at].sequence != sequence)
        at++;
    if (at == member->calls.count)
        return false;
    buf_fini(&member->calls.items[at].bytes);
    member->calls.count--;
    member->sent -= at < member->sent;
    memmove(member->calls.items + at, member->calls.items + at + 1,
            (member->calls.count - at) * sizeof *member->calls.items);
    return true;
}

bool wire_receive(struct wire_member *member, struct answer *answer)
{
    weft_bytes rest = buf_bytes(&member->down);
    if (answer_next(&rest, answer)) {
        err_clear();
        return false;  // not whole yet
    }
    member->answered += answer->flags / ANSWER_FLAG_COUNTED;
    answer->flags &= (uint8_t)~ANSWER_FLAG_COUNTED;
    member->taken.size = 0;
    buf_append(&member->taken, answer->payload.data, answer->payload.size);
    answer->payload = buf_bytes(&member->taken);
    member->down.size = rest.size;
    if (rest.size)
        memmove(member->down.data, rest.data, rest.size);
    member->is_confused = !forget_call(member, answer->sequence);
    return true;
}
