// host: everything that one member shares with others, as one machine of pure state.
//
// Calls go in, answers come out in the sessions they belong to. No clock, no I/O, no chance: the same
// inputs in the same order give the same state and the same answers. The journal rests on that: it holds
// what went in, and opening it is doing it again. What the world adds is an input too, and journalled as
// one: sessions that begin and end, leases that ran out.
//
//     CALLS --> host_call --> kind->apply --> answers, in sessions that are stirred
//     time  --> host_expire ----^
//
// The server (host/server.c) owns connections, the clock and the journal. Thread: one at a time.
#ifndef RESOURCE_HOST_H
#define RESOURCE_HOST_H

#include "resource/session.h"

// Adds a record to the journal. A failure refuses the change.
typedef weft_err host_log_fn(void *owner, uint32_t type, weft_bytes payload);

struct host_options {
    const char
        *member;  // "/files/0"; "" for a broker, which is not a member; NULL: as its journal says
    uint64_t epoch;     // drawn; a journal's own replaces it
    uint64_t seed;      // drawn; of tables whose keys come from strangers
    bool ends_watches;  // a watch ends when no member is left that could write
    host_log_fn *log;   // NULL: no journal
    void *log_owner;
    bool gathers_calls;  // calls of one session are one record, which waits for host_write_calls
};

struct host *host_new(const struct host_options *options);  // NULL: out of memory
void host_free(struct host *host);                          // NULL is fine

const char *host_member(const struct host *host);

// Which life of the state this is: another number means that all before is gone.
uint64_t host_epoch(const struct host *host);

// What time it is. Deadlines are counted from here.
void host_set_time(struct host *host, uint64_t now_ms);
uint64_t host_time(const struct host *host);

// ---- Sessions --------------------------------------------------------------------------------------

enum {
    HOST_SESSIONS_MAX = 1 << 16,
    HOST_LEFT_MAX = 1 << 16,  // names of members that said goodbye; no more are kept
};

struct session_name {
    uint8_t id[SESSION_ID_BYTES];
    const char *member;  // "": a tool
    uint64_t incarnation;
};

struct session *host_find_session(struct host *host, const uint8_t id[SESSION_ID_BYTES]);

// One of the member's in another life of it; NULL: there is none.
struct session *host_find_other_life(struct host *host, const char *member, uint64_t incarnation);

// Begins one whose id is not there yet. INVALID_ARGUMENT: the name of its member is too long or is
// not a text; RESOURCE_EXHAUSTED: there are too many.
MUST_CHECK weft_err host_open_session(struct host *host, const struct session_name *name,
                                      struct session **session);

// Its waits are cancelled, its leases return, its keys vanish; the session is freed. If the journal
// refuses that, nothing has happened: what comes after would not fit to what the journal says.
MUST_CHECK weft_err host_end_session(struct host *host, struct session *session);

// All sessions, in the order they came: NULL starts, NULL ends.
struct session *host_next_session(struct host *host, struct session *previous);

// The sessions that have something to send, a list of their in_stirred links: the sender takes them out.
struct link *host_stirred(struct host *host);

// ---- What happens ------------------------------------------------------------------------------------

// Does one call; `answered` is what its frame said. A call that was done before does nothing. After an
// error its connection is to be given up: DATA_LOSS, it breaks the rules; or the journal refused it, and
// nothing was done: a client that connects again sends it again.
MUST_CHECK weft_err host_call(struct host *host, struct session *session, const struct call *call,
                              uint64_t answered);

// Members that were named and have not come yet may still come, or are given up. A host is made with
// no member expected.
void host_expect(struct host *host, bool someone);

// Whether a member other than `except` (NULL: any) may still call: here and not left, or expected.
bool host_has_users(struct host *host, const struct session *except);

// Whether the member has said goodbye, in this life of the host or, by its journal, in an earlier one.
bool host_has_left(const struct host *host, const char *member);

size_t host_resource_count(const struct host *host);

uint64_t host_next_deadline(struct host *host);  // UINT64_MAX: none
void host_expire(struct host *host);             // everything that is due at host_time

// ---- For kinds -----------------------------------------------------------------------------------------

// Journals something that no call brought about, before it is done. False: the journal refused, and
// it must not be done.
MUST_CHECK bool host_note(struct resource *resource, weft_bytes note);

struct session *host_session_by_number(struct host *host, uint32_t number);  // NULL: none
uint64_t host_seed(const struct host *host);

// A watch begins or ends: its session is taken for one that does not write.
void host_begin_watch(struct host *host, struct session *session);
void host_end_watch(struct host *host, struct session *session);

// The resource of a kind and name in the container, made if it is missing. Attributes that are empty
// fit whatever is there, and make one by default.
MUST_CHECK weft_err host_open_resource(struct host *host, enum call_kind kind, weft_bytes container,
                                       weft_bytes name, weft_bytes attributes,
                                       struct resource **resource);

MUST_CHECK weft_err host_save_part(struct host_saver *saver, weft_bytes part);

// ---- The journal -----------------------------------------------------------------------------------------

// Does a journalled input again. DATA_LOSS: it is not an input, or does not fit the state.
MUST_CHECK weft_err host_replay(struct host *host, uint32_t type, weft_bytes payload);

// Logs the calls that wait for others of their session, before the journal is synced and their answers
// are sent. On failure they wait on.
MUST_CHECK weft_err host_write_calls(struct host *host);
bool host_has_unwritten_calls(const struct host *host);

// A life of the host begins, after a journal was replayed; the mark is drawn. Without a journal there is none.
MUST_CHECK weft_err host_begin_life(struct host *host, uint64_t mark);

// The number and mark of this life; 0: none, there is no journal.
uint64_t host_life(const struct host *host, uint64_t *mark);

// What a client that comes again knows of an earlier time.
struct host_memory {
    uint64_t epoch;
    uint64_t life, mark;      // of the host, when they last met; 0: it had no journal
    uint32_t session_number;  // of their session
    uint64_t changes;         // calls of the session that were in the journal
    uint64_t answers;         // counted answers that were received
};

// DATA_LOSS: the journal lacks changes that it knows; the second for one whose session is not there.
MUST_CHECK weft_err host_check_memory(const struct host *host, const struct session *session,
                                      const struct host_memory *memory);
MUST_CHECK weft_err host_check_stranger(const struct host *host, const struct host_memory *memory);

// Writes all of the state as records, through `log`; a replay of these gives the same host.
MUST_CHECK weft_err host_save(const struct host *host, host_log_fn *log, void *owner);

// The first record of a new journal.
MUST_CHECK weft_err host_log_epoch(struct host *host);

#endif
