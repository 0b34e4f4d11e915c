// session: one user of a host, known by a number it drew, with the answers to its calls.
//
// Answers to calls that changed something are kept until the other side says that it has them: after a
// break they are sent again, so that such a call is not done twice. The messages for that are in
// wire/call.h. Calls that wait and things held are lists here, because they end with the session.
#ifndef RESOURCE_SESSION_H
#define RESOURCE_SESSION_H

#include "base/vec.h"
#include "resource/resource.h"

enum {
    SESSION_ID_BYTES = 16,
    SESSION_MEMBER_BYTES = 128,   // "/role/index" and its end
    SESSION_WAITS_MAX = 1 << 16,  // calls of one session that wait, and as many that ask
    SESSION_STARTS_MAX = 4,
};

// What a session had when a life of the host began.
struct session_start {
    uint64_t life, applied, answers;
};

struct session {
    struct host *host;
    uint8_t id[SESSION_ID_BYTES];
    char member[SESSION_MEMBER_BYTES];  // "": a tool, no member
    uint64_t incarnation;               // of the member's process
    uint32_t number;                    // in the journal
    struct session *of_member;          // another one of the same member
    uint64_t applied;                   // the last changing call that was done
    bool has_left;

    struct buf answers;     // from kept_from on: not yet sent, or sent and not acknowledged
    size_t kept_from;       // the first answer that is kept
    size_t sent_to;         // what follows is still to be sent; the connection's business
    uint64_t acknowledged;  // counted answers that are gone

    struct session_start starts[SESSION_STARTS_MAX];  // of the last lives, see host_lives.c
    uint32_t start_count;

    VEC(struct resource *) handles;  // by number; NULL: none
    struct link waits;               // by sequence, ascending
    struct link holdings;            // those of one resource in the order they were added
    uint32_t wait_count, asking_count, watch_count;
    struct link in_stirred;  // in the host's list when there is something to send
    void *connection;        // the server's; NULL: none at the moment
    uint64_t lost_ms;        // when the connection was lost; the server's
    int peer_pid;            // of a process on this machine; 0: not known; the server's
};

// Answers a call. payload is copied.
void session_answer(struct session *session, uint64_t sequence, uint8_t flags, weft_bytes payload);

// The same in two steps, for payloads that are put together in place: exactly `size` bytes are to be
// written there; NULL: out of memory, then the session is broken.
char *session_begin_answer(struct session *session, uint64_t sequence, uint8_t flags, size_t size);

// Answers with a failure and its sentence.
void session_fail(struct session *session, uint64_t sequence, weft_err code, const char *format,
                  ...) __attribute__((format(printf, 4, 5)));
// The same with this thread's sentence.
void session_fail_by_err(struct session *session, uint64_t sequence, weft_err code);

// A kind of resource knows no such call, or none with such flags: its caller is of another version.
void session_fail_unknown(struct session *session, const struct call *call, const char *kind);

// A call begins to wait, or no longer does. False: too many do, and it was answered so.
bool session_add_wait(struct session *session, struct resource *resource, uint64_t sequence,
                      struct wait *wait);
void session_drop_wait(struct wait *wait);

void session_add_holding(struct session *session, struct resource *resource,
                         struct holding *holding);
void session_drop_holding(struct holding *holding);

// Counted answers that were ever given.
uint64_t session_answer_count(const struct session *session);

// The other side has that many counted answers.
void session_acknowledge(struct session *session, uint64_t count);

// The bytes to be sent now; session_sent says how many of them were.
static inline weft_bytes session_unsent(const struct session *session)
{
    if (session->answers.size == session->sent_to)
        return weft_none();
    return (weft_bytes){session->answers.data + session->sent_to,
                        session->answers.size - session->sent_to};
}
void session_sent(struct session *session, size_t bytes);

// A new connection: all counted answers are to be sent again. The rest will be asked again.
void session_rewind(struct session *session);

// The connection is gone: no client waits for the answers to questions any more.
void session_drop_questions(struct session *session);

#endif
