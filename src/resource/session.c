// Answers are one buffer: after kept_from they are kept, after sent_to they are unsent. The front is
// moved away only when most of the buffer is front, so an answer costs one copy and no allocation.

#include "resource/session.h"

#include <stdarg.h>
#include <stdio.h>

#include "resource/host.h"

enum { FRONT_BYTES_MAX = 64 << 10 };

static void stir(struct session *session)
{
    if (!session->in_stirred.next)
        list_append(host_stirred(session->host), &session->in_stirred);
}

static bool is_counted(uint64_t sequence)
{
    return !(sequence & CALL_ASKS_BIT);
}

static char *begin_record(struct session *session, uint64_t sequence, weft_err code, uint8_t flags,
                          size_t size)
{
    stir(session);
    char *room = buf_reserve(&session->answers, CALL_HEAD_BYTES + size);
    if (!room)
        return NULL;
    if (is_counted(sequence))
        flags |= ANSWER_FLAG_COUNTED;
    call_put_head(room, (uint8_t)code, flags, 0, sequence, size);
    session->answers.size += CALL_HEAD_BYTES + size;
    return room + CALL_HEAD_BYTES;
}

char *session_begin_answer(struct session *session, uint64_t sequence, uint8_t flags, size_t size)
{
    return begin_record(session, sequence, WEFT_OK, flags, size);
}

void session_answer(struct session *session, uint64_t sequence, uint8_t flags, weft_bytes payload)
{
    char *to = begin_record(session, sequence, WEFT_OK, flags, payload.size);
    if (to && payload.size)
        memcpy(to, payload.data, payload.size);
}

void session_fail(struct session *session, uint64_t sequence, weft_err code, const char *format,
                  ...)
{
    char text[ERR_TEXT_BYTES_MAX];
    va_list args;
    va_start(args, format);
    const int written = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const size_t size = written < 0 ? 0 : strlen(text);
    char *to = begin_record(session, sequence, code, 0, size);
    if (to && size)
        memcpy(to, text, size);
}

void session_fail_by_err(struct session *session, uint64_t sequence, weft_err code)
{
    session_fail(session, sequence, code, "%s", err_text());
    err_clear();
}

void session_fail_unknown(struct session *session, const struct call *call, const char *kind)
{
    session_fail(session, call->sequence, WEFT_INVALID_ARGUMENT,
                 "the host does not know what this %s is asked for (%s, flags %u)\n"
                 "  try: the same version of weft here and at the host",
                 kind, call_op_name(call->op), call->flags);
}

// Calls that ask are counted apart: a journal does not know them, and a replay must give the same counts.
static uint32_t *count_of_waits(struct session *session, uint64_t sequence)
{
    return is_counted(sequence) ? &session->wait_count : &session->asking_count;
}

// Waits are in the order of their sequence, also those of a snapshot: it has them resource by resource, and they end
// in the same order anyway.
bool session_add_wait(struct session *session, struct resource *resource, uint64_t sequence,
                      struct wait *wait)
{
    uint32_t *count = count_of_waits(session, sequence);
    if (*count == SESSION_WAITS_MAX) {
        session_fail(session, sequence, WEFT_RESOURCE_EXHAUSTED,
                     "%u calls of one member wait already: that is the limit", SESSION_WAITS_MAX);
        return false;
    }
    wait->session = session;
    wait->resource = resource;
    wait->sequence = sequence;
    struct link *place = &session->waits;
    while (place->previous != &session->waits &&
           LIST_ITEM(place->previous, struct wait, in_session)->sequence > sequence)
        place = place->previous;
    list_put_before(place, &wait->in_session);
    ++*count;
    return true;
}

void session_drop_wait(struct wait *wait)
{
    list_take_out(&wait->in_session);
    --*count_of_waits(wait->session, wait->sequence);
}

void session_add_holding(struct session *session, struct resource *resource,
                         struct holding *holding)
{
    holding->session = session;
    holding->resource = resource;
    list_append(&session->holdings, &holding->in_session);
}

void session_drop_holding(struct holding *holding)
{
    list_take_out(&holding->in_session);
    holding->session = NULL;
}

static uint32_t record_size(const struct session *session, size_t at)
{
    uint32_t size;
    memcpy(&size, session->answers.data + at, sizeof size);
    return size;
}

static bool record_is_counted(const struct session *session, size_t at)
{
    return (uint8_t)session->answers.data[at + 5] & ANSWER_FLAG_COUNTED;
}

// Moves the kept answers to the front of the buffer when that pays.
static void close_gap(struct session *session)
{
    struct buf *answers = &session->answers;
    const size_t kept = answers->size - session->kept_from;
    if (kept > 0 && (session->kept_from < FRONT_BYTES_MAX || kept > session->kept_from))
        return;
    if (kept > 0)
        memmove(answers->data, answers->data + session->kept_from, kept);
    session->sent_to -= session->kept_from;
    session->kept_from = 0;
    answers->size = kept;
}

// Drops answers that need not be kept: the first `count` counted ones, and those that are sent and not counted
// between and after them. Answers that the other side has were sent, though a replay has not seen it go.
static void drop_front(struct session *session, uint64_t count)
{
    while (session->kept_from < session->answers.size) {
        const size_t next = session->kept_from + record_size(session, session->kept_from);
        const bool counted = record_is_counted(session, session->kept_from);
        if (counted ? count == 0 : next > session->sent_to)
            break;
        count -= counted;
        session->acknowledged += counted;
        session->kept_from = next;
    }
    if (session->sent_to < session->kept_from)
        session->sent_to = session->kept_from;
    close_gap(session);
}

uint64_t session_answer_count(const struct session *session)
{
    uint64_t count = session->acknowledged;
    for (size_t at = session->kept_from; at < session->answers.size; at += record_size(session, at))
        count += record_is_counted(session, at);
    return count;
}

void session_acknowledge(struct session *session, uint64_t count)
{
    drop_front(session, count > session->acknowledged ? count - session->acknowledged : 0);
}

void session_sent(struct session *session, size_t bytes)
{
    session->sent_to += bytes;
    drop_front(session, 0);
}

// A client that connects again asks its questions again.
void session_rewind(struct session *session)
{
    struct buf *answers = &session->answers;
    size_t end = session->kept_from;
    for (size_t at = end, next; at < answers->size; at = next) {
        next = at + record_size(session, at);
        if (!record_is_counted(session, at))
            continue;
        memmove(answers->data + end, answers->data + at, next - at);
        end += next - at;
    }
    answers->size = end;
    session->sent_to = session->kept_from;
    close_gap(session);
    if (answers->size > session->sent_to)
        stir(session);
}

void session_drop_questions(struct session *session)
{
    for (struct link *at = session->waits.next, *next; at != &session->waits; at = next) {
        next = at->next;
        struct wait *wait = LIST_ITEM(at, struct wait, in_session);
        if (wait->sequence & CALL_ASKS_BIT)
            wait->resource->kind->cancel(wait, WEFT_CANCELLED, "its connection was lost");
    }
}
