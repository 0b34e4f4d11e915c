// How a host is kept: what a journal's records do when they are done again, and a snapshot of all state
// as records, which replaces a long journal.
//
// A snapshot stands in the order in which it can be read: sessions first, because leases name their
// holders; then resources; then what sessions have of resources.

#include <stdlib.h>

#include "resource/host.h"
#include "resource/host_state.h"
#include "wire/pack.h"

enum {
    CALLS_HEAD_BYTES = 12,
    CALLS_BYTES_MAX = 256 << 10,  // of a record: the next call begins another
};

struct host_saver {
    host_log_fn *log;
    void *owner;
    uint64_t uid;
    struct buf record;
};

static weft_err refuse(const char *why)
{
    return err_set(WEFT_DATA_LOSS, "the journal of a host does not fit together: %s", why);
}

// An error that a call may get is a damage here.
static weft_err refuse_for(weft_err err)
{
    if (err == WEFT_OK || err == WEFT_RESOURCE_EXHAUSTED)
        return err;
    err_wrap(err, "the journal of a host does not fit together");
    return WEFT_DATA_LOSS;
}

// ---- Calls ---------------------------------------------------------------------------------------------
//
// A member with many calls under way sends them together: they are one record with one checksum. The host
// writes that record before the journal is synced, so that nothing is answered that is not there.

weft_err host_write_calls(struct host *host)
{
    if (!host->calls.size)
        return WEFT_OK;
    const weft_err err =
        host->options.log(host->options.log_owner, HOST_RECORD_CALL, buf_bytes(&host->calls));
    if (!err)
        host->calls.size = 0;
    return err;
}

bool host_has_unwritten_calls(const struct host *host)
{
    return host->calls.size > 0;
}

static weft_err append_call(struct host *host, const struct session *session,
                            const struct call *call, uint64_t answered)
{
    struct buf *calls = &host->calls;
    if (!buf_reserve(calls, CALLS_HEAD_BYTES + call->whole.size)) {
        calls->has_failed = false;  // the content is still whole
        return err_no_memory("for the journal");
    }
    if (calls->size == 0) {
        pack_write_u32(calls, session->number);
        pack_write_u64(calls, answered);
        host->calls_session = session->number;
        host->calls_answered = answered;
    }
    buf_append(calls, call->whole.data, call->whole.size);
    return WEFT_OK;
}

weft_err host_log_call(struct host *host, const struct session *session, const struct call *call,
                       uint64_t answered)
{
    if (!host->options.log || host->is_replaying)
        return WEFT_OK;
    const bool is_other = session->number != host->calls_session ||
                          answered != host->calls_answered || host->calls.size > CALLS_BYTES_MAX;
    weft_err err = is_other ? host_write_calls(host) : WEFT_OK;
    if (!err)
        err = append_call(host, session, call, answered);
    if (err || host->options.gathers_calls)
        return err;
    err = host_write_calls(host);
    host->calls.size = 0;  // it is not done if it could not be logged
    return err;
}

// ---- Replaying ---------------------------------------------------------------------------------------

static void write_epoch(const struct host *host, struct buf *record)
{
    record->size = 0;
    pack_write_u64(record, host->options.epoch);
    pack_write_u64(record, host->registry.made_count);
    pack_write_u32(record, host->session_count_ever);
    pack_write_text(record, weft_text(host->member));
}

// A program that only looks at a journal learns whose it is: names that have no container depend on it. Journals
// of an older weft do not say.
static weft_err replay_member(struct host *host, struct pack_reader *reader)
{
    char text[SESSION_MEMBER_BYTES] = "";
    const weft_bytes member = reader->rest.size ? pack_read_text(reader) : weft_none();
    if (reader->has_failed || member.size >= sizeof text)
        return refuse("the name of its member");
    if (host->options.member)
        return WEFT_OK;
    if (member.size)
        memcpy(text, member.data, member.size);
    host->options.ends_watches = text[0];
    host_set_member(host, text);
    return WEFT_OK;
}

weft_err host_log_epoch(struct host *host)
{
    write_epoch(host, &host->scratch);
    return host_log(host, HOST_RECORD_EPOCH, buf_bytes(&host->scratch));
}

static weft_err replay_epoch(struct host *host, struct pack_reader *reader)
{
    if (host->registry.made_count || host->session_count_ever)
        return refuse("it begins twice");
    host->options.epoch = pack_read_u64(reader);
    host->registry.made_count = pack_read_u64(reader);
    host->session_count_ever = pack_read_u32(reader);
    return replay_member(host, reader);
}

static weft_err replay_session(struct host *host, struct pack_reader *reader)
{
    struct session_name name = {0};
    const uint32_t number = pack_read_u32(reader);
    const weft_bytes id = pack_read_bytes(reader, SESSION_ID_BYTES);
    name.incarnation = pack_read_u64(reader);
    const weft_bytes member = pack_read_text(reader);
    char text[SESSION_MEMBER_BYTES] = "";
    const struct session *last =
        host->sessions.count ? host->sessions.items[host->sessions.count - 1] : NULL;
    if (reader->has_failed || member.size >= sizeof text || number == 0 ||
        (last && last->number >= number))
        return refuse("a session");
    memcpy(name.id, id.data, SESSION_ID_BYTES);
    if (member.size)
        memcpy(text, member.data, member.size);
    name.member = text;
    if (host_find_session(host, name.id))
        return refuse("a session that begins twice");
    struct session *session;
    return host_add_session(host, number, &name, &session);
}

static weft_err replay_call(struct host *host, struct pack_reader *reader)
{
    struct session *session = host_session_by_number(host, pack_read_u32(reader));
    const uint64_t answered = pack_read_u64(reader);
    struct call call;
    if (!session || reader->has_failed)
        return refuse("a call of an unknown session");
    weft_err err;
    do {
        err = call_next(&reader->rest, &call);
        if (!err && call.sequence & CALL_ASKS_BIT)
            err = refuse("a call");
        if (!err)
            err = host_call(host, session, &call, answered);
    } while (!err && reader->rest.size);
    return err;
}

static weft_err replay_note(struct host *host, struct pack_reader *reader)
{
    struct resource *resource = registry_find_by_uid(&host->registry, pack_read_u64(reader));
    if (!resource || reader->has_failed || !resource->kind->replay)
        return refuse("something happened to a resource that is not there");
    return resource->kind->replay(resource, reader->rest);
}

// A record of its own, although it follows from the calls: in journals of an older weft it did not.
void host_let_go(struct host *host, struct resource *resource)
{
    const bool is_last = resource->handle_count == 1 && !resource->is_removed;
    if (is_last && !host->is_replaying && resource->kind->is_blank &&
        resource->kind->is_blank(resource)) {
        host->scratch.size = 0;
        pack_write_u64(&host->scratch, resource->uid);
        if (host_log(host, HOST_RECORD_BLANK, buf_bytes(&host->scratch)) == WEFT_OK)
            registry_remove(&host->registry, resource);
        else
            err_clear();  // it stays
    }
    registry_release(&host->registry, resource);
}

static weft_err replay_blank(struct host *host, struct pack_reader *reader)
{
    struct resource *resource = registry_find_by_uid(&host->registry, pack_read_u64(reader));
    if (!resource || reader->has_failed || resource->handle_count || resource->is_removed ||
        !resource->kind->is_blank || !resource->kind->is_blank(resource))
        return refuse("the end of a resource that is in use or not there");
    registry_remove(&host->registry, resource);
    return WEFT_OK;
}

static weft_err replay_resource(struct host *host, struct pack_reader *reader)
{
    const uint64_t uid = pack_read_u64(reader);
    const weft_bytes key = pack_read_blob(reader);
    const bool is_removed = pack_read_u8(reader);
    if (registry_find_by_uid(&host->registry, uid))
        return refuse("two resources with one number");
    const char *zero = key.size > 1 ? memchr(key.data + 1, 0, key.size - 1) : NULL;
    if (reader->has_failed || !zero)
        return refuse("a resource without a name");
    const struct registry_wish wish = {
        (uint8_t)key.data[0],
        {key.data + 1, (size_t)(zero - key.data) - 1},
        {zero + 1, key.size - (size_t)(zero - key.data) - 1},
        reader->rest,
    };
    const uint64_t made_count = host->registry.made_count;
    struct resource *resource;
    const weft_err err = registry_open(&host->registry, host, 0, &wish, &resource);
    if (err)
        return refuse_for(err);
    if (host->registry.made_count == made_count)
        return refuse("a resource that is there twice");
    host->registry.made_count = made_count;
    resource->uid = uid;
    if (is_removed) {
        registry_acquire(resource);  // until its handles are there
        registry_remove(&host->registry, resource);
        resource->handle_count--;
    }
    return WEFT_OK;
}

static weft_err replay_part(struct host *host, struct pack_reader *reader)
{
    struct resource *resource = registry_find_by_uid(&host->registry, pack_read_u64(reader));
    if (!resource || reader->has_failed)
        return refuse("a part of a resource that is not there");
    return resource->kind->load(resource, reader);
}

static weft_err replay_handles(struct host *host, struct session *session,
                               struct pack_reader *reader)
{
    for (uint32_t left = pack_read_u32(reader); left > 0 && !reader->has_failed; left--) {
        const uint16_t handle = pack_read_u16(reader);
        struct resource *resource = registry_find_by_uid(&host->registry, pack_read_u64(reader));
        if (!resource)
            return refuse("a handle of a resource that is not there");
        const weft_err err = host_set_handle(session, handle, resource);
        if (err)
            return refuse_for(err);
    }
    return reader->has_failed ? refuse("handles") : WEFT_OK;
}

static weft_err replay_answers(struct session *session, weft_bytes answers)
{
    weft_bytes rest = answers;
    while (rest.size) {
        struct answer answer;
        const weft_err err = answer_next(&rest, &answer);
        if (err)
            return err;
        if (!(answer.flags & ANSWER_FLAG_COUNTED))
            return refuse("an answer that is not counted");
    }
    buf_append(&session->answers, answers.data, answers.size);
    return session->answers.has_failed ? err_no_memory("for an answer") : WEFT_OK;
}

static bool has_come_before(const struct link *a, const struct link *b)
{
    return LIST_ITEM(a, const struct wait, in_session)->sequence <
           LIST_ITEM(b, const struct wait, in_session)->sequence;
}

static weft_err replay_state(struct host *host, struct pack_reader *reader)
{
    struct session *session = host_session_by_number(host, pack_read_u32(reader));
    if (!session)
        return refuse("the state of an unknown session");
    session->applied = pack_read_u64(reader);
    session->acknowledged = pack_read_u64(reader);
    session->has_left = pack_read_u8(reader);
    list_sort(&session->waits, has_come_before);  // resources brought them, one by one
    const weft_err err = replay_handles(host, session, reader);
    return err ? err : replay_answers(session, reader->rest);
}

static weft_err replay_left(struct host *host, struct pack_reader *reader)
{
    const weft_bytes member = pack_read_text(reader);
    char text[SESSION_MEMBER_BYTES] = "";
    if (member.size == 0 || member.size >= sizeof text)
        return refuse("the name of a member");
    memcpy(text, member.data, member.size);
    return host_add_left(host, text);
}

static weft_err replay_end(struct host *host, struct pack_reader *reader)
{
    struct session *session = host_session_by_number(host, pack_read_u32(reader));
    if (!session)
        return refuse("the end of a session that is not there");
    host_drop_session(host, session);
    return WEFT_OK;
}

weft_err host_replay(struct host *host, uint32_t type, weft_bytes payload)
{
    static weft_err (*const replays[])(struct host *, struct pack_reader *) = {
        [HOST_RECORD_EPOCH] = replay_epoch,      [HOST_RECORD_SESSION] = replay_session,
        [HOST_RECORD_CALL] = replay_call,        [HOST_RECORD_END] = replay_end,
        [HOST_RECORD_NOTE] = replay_note,        [HOST_RECORD_RESOURCE] = replay_resource,
        [HOST_RECORD_PART] = replay_part,        [HOST_RECORD_STATE] = replay_state,
        [HOST_RECORD_LEFT] = replay_left,        [HOST_RECORD_LIFE] = host_replay_life,
        [HOST_RECORD_LIVES] = host_replay_lives, [HOST_RECORD_STARTS] = host_replay_starts,
        [HOST_RECORD_BLANK] = replay_blank,
    };
    if (type == 0 || type >= sizeof replays / sizeof *replays)
        return refuse("a record of an unknown type");
    struct pack_reader reader = {payload, false};
    host->is_replaying = true;
    weft_err err = replays[type](host, &reader);
    host->is_replaying = false;
    if (!err && reader.has_failed)
        err = refuse("a record is cut");
    return err;
}

// ---- Saving --------------------------------------------------------------------------------------------

weft_err host_save_part(struct host_saver *saver, weft_bytes part)
{
    saver->record.size = 0;
    pack_write_u64(&saver->record, saver->uid);
    buf_append(&saver->record, part.data, part.size);
    if (saver->record.has_failed)
        return err_no_memory("for a snapshot");
    return saver->log(saver->owner, HOST_RECORD_PART, buf_bytes(&saver->record));
}

static weft_err save_sessions(const struct host *host, struct host_saver *saver)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; i < host->sessions.count && !err; i++) {
        const struct session *session = host->sessions.items[i];
        saver->record.size = 0;
        pack_write_u32(&saver->record, session->number);
        buf_append(&saver->record, session->id, SESSION_ID_BYTES);
        pack_write_u64(&saver->record, session->incarnation);
        pack_write_text(&saver->record, weft_text(session->member));
        err = saver->log(saver->owner, HOST_RECORD_SESSION, buf_bytes(&saver->record));
    }
    return err;
}

static weft_err save_lives(const struct host *host, struct host_saver *saver)
{
    if (!host->life)
        return WEFT_OK;
    host_write_lives(host, &saver->record);
    weft_err err = saver->log(saver->owner, HOST_RECORD_LIVES, buf_bytes(&saver->record));
    for (size_t i = 0; i < host->sessions.count && !err; i++) {
        if (!host->sessions.items[i]->start_count)
            continue;
        host_write_starts(host->sessions.items[i], &saver->record);
        err = saver->log(saver->owner, HOST_RECORD_STARTS, buf_bytes(&saver->record));
    }
    return err;
}

static weft_err save_left(const struct host *host, struct host_saver *saver)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; i < host->left.count && !err; i++) {
        saver->record.size = 0;
        pack_write_text(&saver->record, weft_text(host->left.items[i]));
        err = saver->log(saver->owner, HOST_RECORD_LEFT, buf_bytes(&saver->record));
    }
    return err;
}

static weft_err save_resource(const struct resource *resource, struct host_saver *saver)
{
    saver->uid = resource->uid;
    saver->record.size = 0;
    pack_write_u64(&saver->record, resource->uid);
    pack_write_blob(&saver->record, resource->key);
    pack_write_u8(&saver->record, resource->is_removed);
    resource->kind->describe(resource, &saver->record);
    const weft_err err = saver->log(saver->owner, HOST_RECORD_RESOURCE, buf_bytes(&saver->record));
    return err ? err : resource->kind->save(resource, saver);
}

// Only answers that are counted: a client that has asked a question asks again.
static void write_kept_answers(const struct session *session, struct buf *record)
{
    weft_bytes rest = buf_bytes(&session->answers);
    if (!rest.size)
        return;
    rest.data += session->kept_from;
    rest.size -= session->kept_from;
    while (rest.size) {
        uint32_t size;
        memcpy(&size, rest.data, sizeof size);
        if ((uint8_t)rest.data[5] & ANSWER_FLAG_COUNTED)
            buf_append(record, rest.data, size);
        rest.data += size;
        rest.size -= size;
    }
}

static weft_err save_state(const struct session *session, struct host_saver *saver)
{
    struct buf *record = &saver->record;
    uint32_t handle_count = 0;
    for (size_t i = 0; i < session->handles.count; i++)
        handle_count += session->handles.items[i] != NULL;
    record->size = 0;
    pack_write_u32(record, session->number);
    pack_write_u64(record, session->applied);
    pack_write_u64(record, session->acknowledged);
    pack_write_u8(record, session->has_left);
    pack_write_u32(record, handle_count);
    for (size_t i = 0; i < session->handles.count; i++) {
        if (!session->handles.items[i])
            continue;
        pack_write_u16(record, (uint16_t)i);
        pack_write_u64(record, session->handles.items[i]->uid);
    }
    write_kept_answers(session, record);
    return saver->log(saver->owner, HOST_RECORD_STATE, buf_bytes(record));
}

weft_err host_save(const struct host *host, host_log_fn *log, void *owner)
{
    struct host_saver saver = {.log = log, .owner = owner};
    write_epoch(host, &saver.record);
    weft_err err = log(owner, HOST_RECORD_EPOCH, buf_bytes(&saver.record));
    if (!err)
        err = save_sessions(host, &saver);
    if (!err)
        err = save_lives(host, &saver);
    if (!err)
        err = save_left(host, &saver);
    for (size_t i = 0; i < host->registry.all.count && !err; i++)
        err = save_resource(host->registry.all.items[i], &saver);
    for (size_t i = 0; i < host->sessions.count && !err; i++)
        err = save_state(host->sessions.items[i], &saver);
    if (!err && saver.record.has_failed)
        err = err_no_memory("for a snapshot");
    buf_fini(&saver.record);
    return err;
}
