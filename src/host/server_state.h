// The insides of a host server, shared by its files.
#ifndef HOST_SERVER_STATE_H
#define HOST_SERVER_STATE_H

#include "base/list.h"
#include "host/server.h"
#include "store/journal/journal.h"
#include "sys/process/process.h"
#include "sys/thread/thread.h"
#include "transport/door.h"
#include "transport/lived.h"
#include "transport/refusals.h"

// A member that may still come: one that has not been here yet, or was lost and may be started again.
struct awaited {
    char member[SESSION_MEMBER_BYTES];
    uint64_t until_ms;
    bool was_here;
};

struct host_server {
    struct host_server_options options;  // journal and expected only while it is started
    struct loop *loop;
    struct mutex
        lock;  // held by the loop in its turns, and by threads of the member that call in this process
    struct secret token;
    struct host *host;
    struct journal *journal;  // NULL: none
    uint64_t journal_base;    // its size after the last rewrite
    bool is_journal_dirty, is_journal_stuck;
    bool is_journal_check_due;  // of its name, though nothing is written
    weft_err stuck_code;
    char stuck_text[ERR_TEXT_BYTES_MAX];  // why it is stuck
    bool is_broken;                       // the journal has failed for good
    char broken_text[ERR_TEXT_BYTES_MAX];
    struct process rewriter;            // writes a snapshot of it
    struct loop_watch *rewriter_watch;  // NULL: there is none
    uint64_t rewritten_bytes;           // the size that made it start
    struct door *door;
    struct loop_timer *tick;
    struct link connections;  // of guests that were welcomed
    VEC(struct awaited) awaited;
    struct lived lived;
    uint64_t started_ms, ticks;
    uint64_t applied_before;  // by our own member, when host_server_waits_alone was last asked
    struct refusals refusals;
    bool is_leaving, has_told_idle;
};

// A client that the door has let in, or the member in the same process.
struct host_connection {
    struct host_server *server;
    struct guest *guest;         // NULL: none, it is a host_local's
    struct loop_stream *stream;  // the guest's
    struct session *session;
    struct link in_server;
    uint64_t since_ms;  // it last took something
    size_t unsent_before;
    struct buf held;   // u64 answers received, blob calls: that wait for room for their answers
    uint64_t held_ms;  // since when none of them was done
    bool is_paused;
};

// ---- connection.c ---------------------------------------------------------------------------------

extern const struct door_calls host_door_calls;
void host_connection_drop(struct host_connection *connection);

// Applies calls that were held, if there is room now; drops a client that makes none. To be called now and then.
void host_connection_go_on(struct host_connection *connection, uint64_t now_ms);

// Hands the answers of its session to the stream.
void host_connection_send(struct host_connection *connection);

// The same by another thread than the loop's. False: the loop has to do the rest.
MUST_CHECK bool host_connection_push(struct host_connection *connection);

// The session that a hello names, found or made; all others of that member's earlier lives end.
MUST_CHECK weft_err host_connection_find_session(struct host_server *server,
                                                 const struct hello *hello,
                                                 struct session **session);

// Binds the connection to the session and returns the welcome. `pid` is that of the client's process; 0: not known.
struct hello_welcome host_connection_join(struct host_connection *connection,
                                          struct session *session, const struct hello *hello,
                                          pid_t pid);

// ---- local.c ----------------------------------------------------------------------------------------

// There is something for its session, or the session has another connection or none.
void host_local_stir(struct host_connection *connection);

// ---- server_journal.c ------------------------------------------------------------------------------

MUST_CHECK weft_err host_server_open_journal(struct host_server *server);

// Makes all applied changes durable. False: that failed, and no answer may be sent. It is tried
// again with every turn, unless the journal has failed for good. The sentence is this thread's.
MUST_CHECK bool host_server_commit(struct host_server *server);

// Whether all applied changes are durable: their answers may be sent.
bool host_server_is_committed(const struct host_server *server);
void host_server_close_journal(struct host_server *server);
host_log_fn host_server_log;

// The refusal of a client that comes while the journal cannot be written.
weft_err host_server_refuse_stuck(const struct host_server *server);

// The refusal of a call to a host whose journal has failed for good.
weft_err host_server_refuse_broken(const struct host_server *server);

// The sentence for the owner of a host whose journal has failed for good, made of the journal's own.
weft_err host_server_describe_broken(weft_err code);

// ---- server.c --------------------------------------------------------------------------------------

// Milliseconds that this host has lived. Time in which it stood still, stopped or suspended with its
// machine, does not count: the calls sent during that time must be applied before their senders' leases end.
uint64_t host_server_now_ms(struct host_server *server);
void host_server_say(struct host_server *server, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Says that a client was refused, for this thread's reason; of many refusals only some are said.
void host_server_say_refused(struct host_server *server, const char *peer);

// The time of sessions that have no connection begins now.
void host_server_restart_clock(struct host_server *server);

// A member is here: it is not waited for.
void host_server_met(struct host_server *server, const char *member);

#endif
