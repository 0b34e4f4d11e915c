// The insides of a host, shared by host.c (what happens) and host_journal.c (how it is kept).
#ifndef RESOURCE_HOST_STATE_H
#define RESOURCE_HOST_STATE_H

#include "resource/host.h"
#include "resource/registry.h"

enum { HOST_LIVES_MAX = 64 };  // that are remembered

struct host_life {
    uint64_t mark;
    uint32_t session_count;  // ever, when it began
};

struct host {
    struct host_options options;
    char member[SESSION_MEMBER_BYTES];
    weft_bytes container;  // the default one: the role, inside member; "localhost" for a broker
    uint64_t now_ms;
    struct registry registry;
    struct map sessions_by_id;
    struct map sessions_by_member;   // one of each member's; the others follow by of_member
    VEC(struct session *) sessions;  // by number, ascending
    uint32_t session_count_ever;
    VEC(char *) left;  // members that said goodbye and have not come again
    struct link stirred;
    uint32_t watch_count;
    bool expects_someone, is_replaying, is_ending_watches;
    struct buf scratch;
    struct buf calls;         // a record that is not in the journal yet, of calls that were done
    uint32_t calls_session;   // whose
    uint64_t calls_answered;  // that it had acknowledged, with each of them
    uint64_t life;            // 1, 2, 3, ...; 0: none
    struct host_life lives[HOST_LIVES_MAX];  // at their number modulo it
};

// The types of records in a host's journal. Numbers are never reused.
enum {
    HOST_RECORD_EPOCH = 1,     // u64 epoch, u64 resources ever made, u32 sessions ever, text member
    HOST_RECORD_SESSION = 2,   // u32 number, id, u64 incarnation, text member
    HOST_RECORD_CALL = 3,      // u32 session, u64 answers received, calls one after the other
    HOST_RECORD_END = 4,       // u32 session
    HOST_RECORD_NOTE = 5,      // u64 resource, the kind's note
    HOST_RECORD_RESOURCE = 6,  // of a snapshot: u64 uid, blob key, u8 removed, attributes
    HOST_RECORD_PART = 7,      // of a snapshot: u64 uid, a part of its state
    HOST_RECORD_STATE = 8,     // of a snapshot: u32 session, its counts, handles and answers
    HOST_RECORD_LEFT = 9,      // of a snapshot: text member
    HOST_RECORD_LIFE = 10,     // u64 mark: the host was started
    HOST_RECORD_LIVES = 11,   // of a snapshot: u64 life, then u64 mark and u32 sessions of the last
    HOST_RECORD_STARTS = 12,  // of a snapshot: u32 session, then u64 life, applied, answers
    HOST_RECORD_BLANK = 13,   // u64 resource, which was never used and has no handle: it is gone
};

// Nothing happens while a journal is replayed or there is none.
MUST_CHECK weft_err host_log(struct host *host, uint32_t type, weft_bytes payload);

// The same for a call that is about to be done.
MUST_CHECK weft_err host_log_call(struct host *host, const struct session *session,
                                  const struct call *call, uint64_t answered);

// A handle of the resource goes; with the last one the resource goes too, if it was removed or never used.
void host_let_go(struct host *host, struct resource *resource);

// host_lives.c: for the journal.
MUST_CHECK weft_err host_replay_life(struct host *host, struct pack_reader *reader);
MUST_CHECK weft_err host_replay_lives(struct host *host, struct pack_reader *reader);
MUST_CHECK weft_err host_replay_starts(struct host *host, struct pack_reader *reader);
void host_write_lives(const struct host *host, struct buf *record);
void host_write_starts(const struct session *session, struct buf *record);

// The name of the host's member, and what follows from it.
void host_set_member(struct host *host, const char *member);

// Adds a session that is known to be new.
MUST_CHECK weft_err host_add_session(struct host *host, uint32_t number,
                                     const struct session_name *name, struct session **session);
void host_drop_session(struct host *host, struct session *session);

// A session has ended, or begun to watch.
void host_end_watches_if_alone(struct host *host);

MUST_CHECK weft_err host_add_left(struct host *host, const char *member);

// Points a handle of a session at a resource.
MUST_CHECK weft_err host_set_handle(struct session *session, uint16_t handle,
                                    struct resource *resource);

#endif
